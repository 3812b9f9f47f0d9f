"""Writes a planned submission: one revision after the other, every row in the order that its foreign keys want."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from corrigenda_core.domain.actors import Actor, ActorKind, Caller, KeyScope
from corrigenda_core.domain.changes import OutcomeKind
from corrigenda_core.domain.ids import EntityId, FragmentId, IdRange, StatementId
from corrigenda_core.domain.items import ReviewItem
from corrigenda_core.domain.sources import RetiredFragment
from corrigenda_core.domain.submissions import EntityRef
from corrigenda_core.persistence import tables
from corrigenda_core.persistence.changes_writer import ChangesWriter
from corrigenda_core.persistence.database import Unbounded
from corrigenda_core.persistence.ingest_store import SubmissionFacts, insert_text_bands
from corrigenda_core.persistence.question_store import mention_columns
from corrigenda_core.persistence.row_values import actor_columns, object_columns
from corrigenda_core.persistence.slot_store import CaseRowVersions
from corrigenda_core.persistence.transaction import Transaction
from corrigenda_core.policy.normalisation import decide_text_form
from corrigenda_core.ports.providers import Finding

from corrigenda_ingest.submission import (
    BoundRelationship,
    EntityAnswer,
    FragmentAnswer,
    PlannedState,
    PlannedSubmission,
)
from corrigenda_ingest.verdict_rows import verdict_row


class SubmissionWriter:
    """Writes one submission into one transaction; ``ids`` names the rows that nothing else refers to."""

    def __init__(
        self,
        transaction: Transaction,
        planned: PlannedSubmission,
        facts: SubmissionFacts,
        *,
        author: Caller,
        ids: IdRange,
        versions: CaseRowVersions,
    ) -> None:
        self._transaction = transaction
        self._planned = planned
        self._facts = facts
        self._actor = Actor(kind=ActorKind.PROFILE, profile_id=author.profile_id)
        self._ids = ids
        self._author_id = author.profile_id
        self._confirms_names = KeyScope.ADMIN in author.scopes
        self._changes = ChangesWriter(
            transaction=transaction, actor=self._actor, versions=versions, key=planned.prepared.given.idempotency_key
        )

    def write(self, result: bytes) -> None:
        """Writes everything; ``result`` is the answer as it is stored with the submission.

        Raises:
            RuntimeError: if the plan was made for other moments than those that the clock gives out.
        """
        for number, revision in enumerate(self._planned.revisions):
            moment = self._transaction.next_moment(self._actor, revision.change_kind)
            if moment != revision.moment:
                raise RuntimeError(f"the plan was made for {revision.moment}, the clock gives out {moment}")
            if number == 0:
                self._first_revision(result)
            for fragment in revision.retired:
                self._retired(fragment)
            if revision.before is None:
                self._changes.write(revision.changes, at=moment.at, cases=(), predicate_version=None)
            for change in revision.slot_changes:
                change.write(self._changes, moment)
            for item in revision.items:
                self._changes.item(item)
            for binding in revision.bindings:
                self._changes.binding(binding)
            self._changes.refresh(revision.released, "fragment_changed")
            for place, verdict in enumerate(revision.verdicts):
                ids = self._ids.part(2).part(number)
                self._verification(ids.nth(place), verdict.observation_id, verdict.finding, verdict.fragment_ids)

    def write_evidence(self, result: bytes) -> None:
        """Writes a submission that places nothing into the revision under construction, which may be about more."""
        self._first_revision(result)

    def _first_revision(self, result: bytes) -> None:
        planned = self._planned
        self._transaction.insert(
            tables.ingests, {"ingest_id": planned.ingest_id, "profile_id": self._author_id, "result": result}
        )
        for fragment in planned.fragments:
            self._fragment(fragment)
        for source in planned.sources:
            self._state(source)
        self._bands()
        for entity in planned.entities:
            self._entity(entity)
        for number, bound in enumerate(planned.bound):
            self._observation(number, bound)
        for item in self._items():
            self._changes.item(item)
        self._changes.refresh((one.fragment_id for one in planned.fragments if one.is_new), "fragment_stored")

    def _state(self, planned: PlannedState) -> None:
        """Where a source key stands, if this submission has moved it."""
        if not planned.is_new:
            return
        state, prior = planned.state, planned.prior_version
        self._transaction.put(
            tables.source_states,
            {
                "source_key": state.source_key,
                "version": 1 if prior is None else prior + 1,
                "first_user": state.first_user,
                "current_revision": state.current_revision,
                "prior_revision": state.prior_revision,
            },
            prior,
            ("current_revision", "prior_revision"),
        )

    def _retired(self, fragment: RetiredFragment) -> None:
        self._transaction.insert(
            tables.fragment_retirements,
            {
                "fragment_id": fragment.fragment_id,
                "reason": fragment.reason,
                "superseded_by": fragment.superseded_by,
                **actor_columns(self._actor),
            },
        )

    def _bands(self) -> None:
        new = [one for one in self._planned.fragments if one.is_new]
        if new:
            evidence = self._planned.prepared.evidence
            bands = [(one.fragment_id, evidence[one.index].bands) for one in new]
            self._transaction.gather(insert_text_bands(self._transaction.team_id, bands))

    def _items(self) -> Iterable[ReviewItem]:
        """Questions that the submission raises before any placement, each once."""
        about_fragments = [one.item for one in self._planned.fragments]
        about_entities = [one.item for one in self._planned.entities]
        return {item.item_id: item for item in (*about_fragments, *about_entities) if item is not None}.values()

    def _fragment(self, fragment: FragmentAnswer) -> None:
        planned = self._planned
        evidence = planned.prepared.evidence[fragment.index]
        given = evidence.given
        shared = {
            "fragment_id": fragment.fragment_id,
            "ingest_id": planned.ingest_id,
            "occurred_at": given.occurred_at,
            "occurred_at_offset_minutes": given.occurred_at_offset_minutes,
            "labels": given.labels,
            "metadata": dict(planned.prepared.given.metadata),
        }
        if not fragment.is_new:
            occurrence = {"occurrence_id": self._ids.part(0).nth(fragment.index), **shared}
            self._transaction.insert(tables.evidence_occurrences, occurrence)
            return
        self._transaction.insert(
            tables.evidence_fragments,
            {
                **shared,
                "author_id": self._author_id,
                "content": given.content,
                "content_sha256": evidence.content_sha256,
                "normal_sha256": evidence.normal_sha256,
                "source_type": fragment.source_type,
                "claimed_authority": given.authority,
                "source_group": given.source_group,
                "source_key": given.source_key,
                "source_revision": given.source_revision,
                "previous_source_revision": given.previous_source_revision,
                "supersedes_fragment_ids": given.supersedes_fragment_ids,
                "derived_from_fragment_ids": fragment.derived_from_fragment_ids,
                "inherited_labels": fragment.inherited_labels,
                "confidence": given.confidence,
                "scan_verdict": fragment.scan.verdict,
                "scan_findings": [
                    {"family": one.family, "rule": one.rule, "start": one.span.start, "end": one.span.end}
                    for one in fragment.scan.findings
                ],
            },
        )

    def _entity(self, answer: EntityAnswer) -> None:
        """The entity if it is new, and every name and context pair that a mention adds to it; each pair once."""
        if answer.entity_id is None or self._is_repeated(answer):
            return
        prepared = self._planned.prepared
        mentions = [
            (mention, given)
            for mention, given in zip(prepared.mentions, prepared.given.entities, strict=True)
            if self._entity_of(mention.ref) == answer.entity_id
        ]
        if answer.created:
            self._transaction.insert(
                tables.entities, {"entity_id": answer.entity_id, "kind": answer.kind, "created_by": self._author_id}
            )
        known = self._facts.entity(answer.entity_id)
        written = set(known.names) if known is not None else set()
        for mention, given in mentions:
            for form, name in [(mention.name, given.name), *_alias_forms(mention.aliases, given.aliases)]:
                if form not in written:
                    written.add(form)
                    self._name(answer.entity_id, form, name, is_primary=answer.created and len(written) == 1)
        pairs = set(known.context.pairs) if known is not None else set()
        for mention, _ in mentions:
            for key, value in sorted(mention.context.pairs - pairs):
                pairs.add((key, value))
                self._transaction.insert(
                    tables.entity_contexts,
                    {"entity_id": answer.entity_id, "context_key": key, "context_value": value},
                )

    def _entity_of(self, ref: str) -> EntityId | None:
        return next(answer.entity_id for answer in self._planned.entities if answer.ref == ref)

    def _is_repeated(self, answer: EntityAnswer) -> bool:
        """Whether an earlier mention of the request is the same entity and has written it."""
        first = next(one for one in self._planned.entities if one.entity_id == answer.entity_id)
        return first.ref != answer.ref

    def _name(self, entity_id: EntityId, form: str, name: str, *, is_primary: bool) -> None:
        self._transaction.insert(
            tables.entity_names,
            {
                "entity_id": entity_id,
                "normal_name": form,
                "name": name,
                "is_primary": is_primary,
                "given_by": self._author_id,
                "is_confirmed": self._confirms_names,
            },
        )

    def _observation(self, number: int, bound: BoundRelationship) -> None:
        planned, given = self._planned, bound.prepared.given
        answer = planned.answers[number]
        if answer.outcome is OutcomeKind.DUPLICATE or answer.is_repeat:
            return
        names = {entity.ref: entity.name for entity in planned.prepared.given.entities}
        object_ref = given.object.ref if isinstance(given.object, EntityRef) else None
        object_phrase = names[given.object.ref] if isinstance(given.object, EntityRef) else given.object.text
        self._transaction.insert(
            tables.observations,
            {
                "observation_id": answer.observation_id,
                "ingest_id": planned.ingest_id,
                "author_id": self._author_id,
                "proposal_id": given.proposal_id,
                "ordinal": number,
                "subject_ref": given.subject_ref,
                "subject_phrase": names[given.subject_ref],
                "predicate_phrase": given.predicate,
                "object_ref": object_ref,
                "object_phrase": object_phrase,
                "mentions": [
                    mention_columns(one)
                    for ref in dict.fromkeys(one for one in (given.subject_ref, object_ref) if one is not None)
                    for one in planned.prepared.given.entities
                    if one.ref == ref
                ],
                "subject_id": bound.subject_id,
                "predicate": bound.predicate and bound.predicate.key,
                "predicate_version": bound.predicate and bound.predicate.version,
                **object_columns(bound.object),
                "polarity": given.polarity,
                "modality": given.modality,
                "scope": bound.prepared.scope,
                "stated_from": given.valid_from or Unbounded.START,
                "stated_to": given.valid_to or Unbounded.END,
                "spans": [
                    {
                        "fragment_id": planned.fragments[cited.evidence_index].fragment_id,
                        "start": cited.span.start,
                        "end": cited.span.end,
                    }
                    for cited in given.spans
                ],
                "comment": given.comment,
                "correction_target_id": given.correction_target and given.correction_target.relationship_id,
                "correction_target_version": given.correction_target and given.correction_target.expected_version,
                "conflict_id": given.conflict_context and given.conflict_context.conflict_id,
                "conflict_version": given.conflict_context and given.conflict_context.expected_version,
            },
        )
        if answer.finding is not None:
            fragment_ids = [fragment.fragment_id for fragment in planned.fragments]
            self._verification(self._ids.part(1).nth(number), answer.observation_id, answer.finding, fragment_ids)

    def _verification(
        self, verification_id: str, observation_id: StatementId, finding: Finding, fragment_ids: Sequence[FragmentId]
    ) -> None:
        row = verdict_row(
            finding,
            verification_id=verification_id,
            observation_id=observation_id,
            verifier=self._planned.verifier,
            fragment_ids=fragment_ids,
        )
        self._transaction.insert(tables.verification_events, row)


def _alias_forms(forms: Iterable[str], aliases: Iterable[str]) -> list[tuple[str, str]]:
    """Each alias form with an alias that has it, as it was written."""
    written = {decide_text_form(alias): alias for alias in aliases}
    return [(form, written[form]) for form in sorted(forms)]
