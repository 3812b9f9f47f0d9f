"""Merging: an owner's sentence, placed like any other, takes the place of the sides of the owner's question."""

from __future__ import annotations

from dataclasses import dataclass, replace

from corrigenda_core.domain.actors import Actor, ActorKind, Caller
from corrigenda_core.domain.changes import OutcomeKind
from corrigenda_core.domain.errors import Reason, Refusal
from corrigenda_core.domain.ids import IdRange
from corrigenda_core.domain.items import ReviewItem
from corrigenda_core.domain.objects import Slot
from corrigenda_core.domain.relationships import ReferenceKind
from corrigenda_core.domain.resolutions import Answer, Merge, Provenance
from corrigenda_core.domain.slots import PlanContext
from corrigenda_core.domain.submissions import ResolutionContext
from corrigenda_core.domain.time import Moment
from corrigenda_core.persistence.ingest_store import SubmissionFacts
from corrigenda_core.policy.resolution import plan_resolution
from corrigenda_core.policy.view_changes import apply_changes

from corrigenda_ingest.submission import PlannedRevision, RelationshipAnswer, ResolutionAnswer

_WAITING = frozenset({OutcomeKind.HELD, OutcomeKind.COMPETING})
_PLACED = _WAITING | {
    OutcomeKind.INSERTED,
    OutcomeKind.SUPERSEDED,
    OutcomeKind.INSERTED_HISTORICAL,
    OutcomeKind.EPISODE_DIVIDED,
    OutcomeKind.CORROBORATED,
    OutcomeKind.CLOSED,
    OutcomeKind.COEXISTS,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Merging:
    """The merge of one submission; it is a revision of its own, after the placement of the sentence."""

    caller: Caller
    answered: ResolutionContext
    facts: SubmissionFacts
    moment: Moment
    ids: IdRange

    def merged(
        self, sentence: RelationshipAnswer, slot: Slot | None, placed: PlannedRevision
    ) -> tuple[PlannedRevision, RelationshipAnswer, ResolutionAnswer]:
        """The revision of the decision, the answer to the sentence as it stands after it, and what was decided.

        Args:
            sentence: what became of the sentence.
            slot: the slot that it speaks in.
            placed: the revision that placed it.

        Raises:
            Refusal: VERIFIER_UNAVAILABLE or INVALID_FIELD if the sentence has not become a relationship of the slot
                that the question is about; as `plan_resolution` does.
        """
        item = self.facts.items[self.answered.item_id]
        context = PlanContext(
            moment=self.moment,
            ids=self.ids,
            actor=Actor(kind=ActorKind.PROFILE, profile_id=self.caller.profile_id),
            policy=self.facts.policy,
        )
        _require_relationship(sentence, slot, item)
        if placed.before is None:
            raise ValueError("a statement that was placed has the slot that it was placed in")
        view = apply_changes(placed.before, placed.changes)
        answer = Answer(
            item=item,
            current=next((one for one in placed.changes.items if one.item_id == item.item_id), item),
            expected_version=item.version if self.answered.expected_version is None else self.answered.expected_version,
            resolution=Merge(statement_id=sentence.observation_id),
            provenance=Provenance(reason=self.answered.reason),
        )
        changes = plan_resolution(view, context, answer)
        (record,) = changes.decision_records
        if record.kept_id is None:
            raise ValueError("a merge keeps the sentence")
        rows = {row.relationship_id: row for row in (*view.rows, *changes.relationships)}
        settled = replace(sentence, relationship=rows[record.kept_id], item=None)
        if sentence.outcome in _WAITING:
            # The decision has settled what the placement alone could not.
            settled = replace(settled, outcome=OutcomeKind.SUPERSEDED, rule="R4.16a")
        return (
            PlannedRevision(moment=self.moment, change_kind="resolve_conflict", before=view, changes=changes),
            settled,
            ResolutionAnswer(
                decision_id=record.decision_id,
                item=next(one for one in changes.items if one.item_id == item.item_id),
                kept_id=record.kept_id,
                merged_ids=tuple(one.source_id for one in changes.references if one.kind is ReferenceKind.MERGED_INTO),
            ),
        )


def _require_relationship(sentence: RelationshipAnswer, slot: Slot | None, item: ReviewItem) -> None:
    if sentence.retry_verification:
        raise Refusal(Reason.VERIFIER_UNAVAILABLE, "the verifier gave no valid answer about the sentence")
    if sentence.outcome not in _PLACED:
        raise Refusal(
            Reason.INVALID_FIELD,
            f"the sentence has not become a relationship of its own: {sentence.outcome.value}",
            field="proposal.relationships[0]",
            metadata={"outcome": sentence.outcome.value, "reason": sentence.reason},
        )
    if item.slot != slot:
        raise Refusal(
            Reason.INVALID_FIELD,
            "the sentence is about another subject, predicate or scope than the question",
            field="proposal.relationships[0]",
        )
