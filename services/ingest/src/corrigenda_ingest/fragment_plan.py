"""Plans the evidence of a submission: new fragments or further occurrences, near duplicates, inherited labels."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from corrigenda_core.domain.evidence import ScanVerdict, SourceType, Support
from corrigenda_core.domain.ids import FragmentId, IdRange, IngestId, ItemId, ProfileId, SupportId
from corrigenda_core.domain.items import ItemKind, ItemStatus, ReviewItem
from corrigenda_core.domain.objects import Slot
from corrigenda_core.domain.sources import RetirementReason, SourceClaim
from corrigenda_core.domain.time import Instant
from corrigenda_core.persistence.ingest_store import StoredFragment, SubmissionFacts
from corrigenda_core.policy.authority import NOTE_STORED_AS_MANUAL, decide_source_type, decide_spoken_labels
from corrigenda_core.policy.independence import decide_inherited_labels, decide_labels, decide_near_duplicates
from corrigenda_core.policy.normalisation import decide_text_form

from corrigenda_ingest.source_plan import SourcePlan
from corrigenda_ingest.submission import BoundRelationship, FragmentAnswer, PreparedEvidence, PreparedSubmission

NOTE_AUTHOR_COUNTS = "author_counts_as_group"


@dataclass(frozen=True, slots=True, kw_only=True)
class FragmentPlanner:
    """Plans the fragments of one submission; ``ids`` names the fragments, ``item_ids`` the questions about them."""

    author_id: ProfileId
    ingest_id: IngestId
    prepared: PreparedSubmission
    facts: SubmissionFacts
    sources: SourcePlan
    ids: IdRange
    item_ids: IdRange
    at: Instant

    def fragments(self) -> tuple[FragmentAnswer, ...]:
        """Each item as a new fragment, or as another occurrence of one: of the team's, or of this same submission.

        The same text of the same author, source and revision is one fragment (R2.6), unless its source has moved on
        since: a revision that comes back is a new activation.
        """
        stored = {
            (one.content_sha256, one.source.claim): one
            for one in reversed(self.facts.own_fragments)
            if one.retired is not RetirementReason.REVISION_SUPERSEDED
            and one.fragment_id not in self.sources.left_behind
        }
        first: dict[tuple[bytes, SourceClaim], FragmentAnswer] = {}
        answers: list[FragmentAnswer] = []
        for number, evidence in enumerate(self.prepared.evidence):
            claim = replace(evidence.claim(self.author_id), previous_source_revision=None)
            source = (evidence.content_sha256, claim)
            answer = self._fragment(number, evidence, stored.get(source), first.get(source))
            first.setdefault(source, answer)
            answers.append(answer)
        return tuple(answers)

    def _fragment(
        self, number: int, evidence: PreparedEvidence, stored: StoredFragment | None, first: FragmentAnswer | None
    ) -> FragmentAnswer:
        """One item; ``stored`` is the team's fragment of the same text, ``first`` the answer of an earlier item."""
        claim = evidence.claim(self.author_id)
        source_type, _ = decide_source_type(evidence.given.source_type, claim, self.facts.registry)
        if first is not None:
            return replace(first, index=number, is_new=False, notes=self._notes(evidence, first.source_type), item=None)
        if stored is not None:
            return FragmentAnswer(
                index=number,
                fragment_id=stored.fragment_id,
                is_new=False,
                source_type=stored.source_type,
                authority=stored.claimed_authority,
                scan=evidence.scan,
                occurred_at=stored.occurred_at,
                inherited_labels=stored.inherited_labels,
                derived_from_fragment_ids=stored.derived_from_fragment_ids,
                released=stored.released,
                retired=stored.retired is not None or stored.fragment_id in self.sources.leaving,
                notes=self._notes(evidence, stored.source_type),
            )
        fragment_id = FragmentId(self.ids.nth(number))
        return FragmentAnswer(
            index=number,
            fragment_id=fragment_id,
            is_new=True,
            source_type=source_type,
            authority=evidence.given.authority,
            scan=evidence.scan,
            occurred_at=evidence.given.occurred_at,
            inherited_labels=self._inherited_labels(evidence, evidence.given.derived_from_fragment_ids),
            derived_from_fragment_ids=evidence.given.derived_from_fragment_ids,
            notes=self._notes(evidence, source_type),
            item=self._quarantine_item(number, fragment_id, evidence),
        )

    def _notes(self, evidence: PreparedEvidence, stored: SourceType) -> tuple[str, ...]:
        """What the author should know of how an item was stored."""
        as_manual = evidence.given.source_type is SourceType.SYSTEM_RECORD and stored is not SourceType.SYSTEM_RECORD
        # Without origins, all that a text inherits is its author's own label.
        counts_as_author = bool(self._inherited_labels(evidence, ()))
        told = ((NOTE_STORED_AS_MANUAL, as_manual), (NOTE_AUTHOR_COUNTS, counts_as_author))
        return tuple(note for note, applies in told if applies)

    def _quarantine_item(self, number: int, fragment_id: FragmentId, evidence: PreparedEvidence) -> ReviewItem | None:
        if evidence.scan.verdict is not ScanVerdict.QUARANTINED:
            return None
        return ReviewItem(
            item_id=ItemId(self.item_ids.nth(number)),
            version=1,
            kind=ItemKind.QUARANTINE,
            status=ItemStatus.PENDING,
            owner_id=self.author_id,
            reason=evidence.scan.findings[0].family.value,
            ingest_id=self.ingest_id,
            fragment_id=fragment_id,
            opened_at=self.at,
        )

    def near_duplicates(
        self,
        bound: Sequence[BoundRelationship],
        fragments: Sequence[FragmentAnswer],
        texts: Mapping[Slot, Sequence[tuple[FragmentId, str]]],
    ) -> tuple[tuple[FragmentId, ...], ...]:
        """For each item, earlier fragments that say nearly the same in a slot that it speaks in."""
        found: list[set[FragmentId]] = [set() for _ in self.prepared.evidence]
        for one in bound:
            if one.slot is None:
                continue
            others = [(fragment_id, decide_text_form(text)) for fragment_id, text in texts.get(one.slot, ())]
            for index in one.cited_indexes:
                own = self.prepared.evidence[index].normal_text
                found[index] |= set(decide_near_duplicates(own, others)) - {fragments[index].fragment_id}
        for index, evidence in enumerate(self.prepared.evidence):
            before = [(fragments[n].fragment_id, self.prepared.evidence[n].normal_text) for n in range(index)]
            found[index] |= set(decide_near_duplicates(evidence.normal_text, before)) - {fragments[index].fragment_id}
        return tuple(tuple(sorted(one)) for one in found)

    def _inherited_labels(self, evidence: PreparedEvidence, origin_ids: Iterable[FragmentId]) -> tuple[str, ...]:
        """The labels of independence that an item inherits from its author and its origins."""
        origins = (self.facts.origins[fragment_id] for fragment_id in origin_ids)
        return decide_inherited_labels(
            author=self.author_id,
            source_group=evidence.given.source_group,
            source_key=evidence.given.source_key,
            trusts_declared_groups=self.facts.policy.trusts_declared_groups,
            registered_labels=decide_spoken_labels(evidence.claim(self.author_id), self.facts.registry),
            origin_labels=[label for origin in origins for label in _labels(origin)],
        )


def _labels(fragment: StoredFragment) -> tuple[str, ...]:
    """All labels of a stored fragment, as those of a support by it."""
    return decide_labels(
        Support(
            support_id=SupportId(""),
            fragment_id=fragment.fragment_id,
            author=fragment.author_id,
            recorded_at=fragment.recorded_at,
            authority=fragment.claimed_authority,
            source_group=fragment.source_group,
            source_key=fragment.source_key,
            inherited_labels=fragment.inherited_labels,
        )
    )
