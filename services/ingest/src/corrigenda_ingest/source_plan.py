"""Plans what a submission does to the sources that it names: which revision is current, and what is left behind."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from corrigenda_core.domain.errors import Reason, Refusal, missing
from corrigenda_core.domain.ids import FragmentId, ProfileId
from corrigenda_core.domain.sources import FragmentSource, RetiredFragment, SourceState
from corrigenda_core.persistence.ingest_store import StoredFragment, SubmissionFacts
from corrigenda_core.policy.authority import (
    Advance,
    FirstRevision,
    decide_source_revision,
    decide_superseded_fragments,
    may_correct_with,
    may_supersede_fragments,
    may_use_source,
)
from corrigenda_core.policy.limits import may_offer

from corrigenda_ingest.submission import PlannedState, PreparedEvidence, PreparedSubmission


@dataclass(frozen=True, slots=True, kw_only=True)
class SourcePlan:
    """What becomes of the named sources: where each key stands, and what each evidence item leaves behind.

    ``left_behind`` are fragments of revisions that are no longer current; ``superseded`` are by evidence item those
    that its author names.
    """

    states: tuple[PlannedState, ...] = ()
    left_behind: tuple[FragmentId, ...] = ()
    superseded: tuple[tuple[int, FragmentId], ...] = ()

    @property
    def leaving(self) -> frozenset[FragmentId]:
        """Everything that supports nothing any more."""
        return frozenset(self.left_behind) | {fragment_id for _, fragment_id in self.superseded}

    def retired(self, item_fragments: Sequence[FragmentId]) -> tuple[RetiredFragment, ...]:
        """The fragments that support nothing any more, each once; ``item_fragments`` are those of the items."""
        retired = {one: RetiredFragment(fragment_id=one) for one in self.left_behind}
        for index, one in self.superseded:
            retired.setdefault(one, RetiredFragment(fragment_id=one, superseded_by=item_fragments[index]))
        return tuple(retired[one] for one in sorted(retired))


def planned_sources(prepared: PreparedSubmission, facts: SubmissionFacts, *, author_id: ProfileId) -> SourcePlan:
    """What the evidence items do to their sources, decided one after the other.

    Raises:
        Refusal: SOURCE_NOT_ALLOWED, SOURCE_REVISION_STALE, NOT_OWNER; RESOURCE_NOT_FOUND for a superseded fragment;
            INVALID_FIELD for a source that moves on twice. Each names the evidence item.
    """
    planning = _Planning(facts, author_id)
    for index, evidence in enumerate(prepared.evidence):
        try:
            planning.add(index, evidence)
        except Refusal as refusal:
            # The policies know the claim, and not where in the request it stands.
            raise Refusal(
                refusal.reason,
                refusal.message,
                field=f"evidence[{index}].{refusal.field}",
                metadata=refusal.metadata,
            ) from refusal
    return planning.plan()


def require_no_revision(prepared: PreparedSubmission, *, author_id: ProfileId) -> None:
    """Evidence that comes with a decision advances no source and takes the place of nothing.

    Raises:
        Refusal: INVALID_FIELD naming the evidence item.
    """
    for index, evidence in enumerate(prepared.evidence):
        field = f"evidence[{index}]"
        may_correct_with(evidence.claim(author_id), field=field)
        if evidence.given.supersedes_fragment_ids:
            raise Refusal(
                Reason.INVALID_FIELD,
                "evidence of a decision takes the place of no other",
                field=f"{field}.supersedes_fragment_ids",
            )


def require_bounded(plan: SourcePlan, facts: SubmissionFacts) -> None:
    """What one submission leaves behind is no more than one commit can decide again.

    Args:
        plan: what becomes of its sources.
        facts: what the team knows of what this submission names, and no other one.

    Raises:
        Refusal: TOO_MANY_ITEMS.
    """
    if plan.leaving:
        may_offer("supports_per_source_change", len(facts.leaving), field="evidence")
        may_offer("slots_per_source_change", len(facts.touched), field="evidence")


class _Planning:
    def __init__(self, facts: SubmissionFacts, author_id: ProfileId) -> None:
        self._facts = facts
        self._author_id = author_id
        self._states = {key: stored.state for key, stored in facts.source_states.items()}
        self._mine: set[str] = set()
        self._activated: set[str] = set()
        self._left_behind: list[FragmentId] = []
        self._superseded: list[tuple[int, FragmentId]] = []

    def add(self, index: int, evidence: PreparedEvidence) -> None:
        claim = evidence.claim(self._author_id)
        before = None
        if claim.source_key is not None:
            self._mine.add(claim.source_key)
            before = self._states.get(claim.source_key)
        may_use_source(claim, self._facts.registry, before)
        decision = decide_source_revision(claim, before)
        if isinstance(decision, FirstRevision | Advance):
            self._activate(decision.state)
        if isinstance(decision, Advance):
            self._left_behind += decide_superseded_fragments(decision.state, self._facts.leaving)
        named = [self._named(evidence, place) for place in range(len(evidence.given.supersedes_fragment_ids))]
        may_supersede_fragments(claim, [one.source for one in named])
        self._superseded += [(index, one.fragment_id) for one in named if one.retired is None]

    def _activate(self, state: SourceState) -> None:
        if state.source_key in self._activated:
            raise Refusal(Reason.INVALID_FIELD, "a source moves on once in a call", field="previous_source_revision")
        self._activated.add(state.source_key)
        self._states[state.source_key] = state

    def _named(self, evidence: PreparedEvidence, place: int) -> StoredFragment:
        fragment_id = evidence.given.supersedes_fragment_ids[place]
        field = f"supersedes_fragment_ids[{place}]"
        fragment = self._facts.origins.get(fragment_id)
        if fragment is None:
            raise missing("fragment", fragment_id, field=field)
        same_text = fragment.content_sha256 == evidence.content_sha256
        if same_text and fragment.source == FragmentSource(
            fragment_id=fragment_id, claim=replace(evidence.claim(self._author_id), previous_source_revision=None)
        ):
            raise Refusal(Reason.INVALID_FIELD, "a text does not take the place of itself", field=field)
        return fragment

    def plan(self) -> SourcePlan:
        return SourcePlan(
            states=tuple(self._planned(key) for key in sorted(self._mine)),
            left_behind=tuple(self._left_behind),
            superseded=tuple(self._superseded),
        )

    def _planned(self, key: str) -> PlannedState:
        stored = self._facts.source_states.get(key)
        return PlannedState(
            state=self._states[key],
            prior_version=None if stored is None else stored.version,
            is_new=key in self._activated,
        )
