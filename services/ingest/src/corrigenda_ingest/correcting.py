"""Plans `correct`: new evidence and what it says go the normal way, in the place of what the decision is about."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from corrigenda_core.domain.ids import DecisionId, FragmentId, RelationshipId
from corrigenda_core.domain.items import ItemKind, ReviewItem
from corrigenda_core.domain.objects import Slot
from corrigenda_core.domain.relationships import LIVING_STATUSES, Relationship, Status
from corrigenda_core.domain.resolutions import DecisionKind, DecisionRecord
from corrigenda_core.domain.slots import SlotView
from corrigenda_core.domain.submissions import CorrectionTarget
from corrigenda_core.domain.time import Interval
from corrigenda_core.policy.placement_actions import plan_answered_items

from corrigenda_ingest.deciding import DecisionPlanner, PlannedDecision
from corrigenda_ingest.phrase_questions import without_observations
from corrigenda_ingest.planning import SubmissionPlanner
from corrigenda_ingest.question import Question, binding_of
from corrigenda_ingest.slot_look import referred_slots
from corrigenda_ingest.submission import BoundRelationship, PlannedRevision, PreparedSubmission

_CORRECTABLE = LIVING_STATUSES | {Status.NEEDS_REVIEW}


def corrected_rows(question: Question) -> tuple[RelationshipId, ...]:
    """The rows that a correction can be about, those that came in first."""
    item = question.item
    if item is not None and item.kind in (ItemKind.RELATIONSHIP, ItemKind.CORRECTION, ItemKind.WINNER_WITHDRAWN):
        return (*item.incoming, *item.opposing)
    placed = [one.relationship_id for one in question.observations if one.ingest_id == question.ingest_id]
    return tuple(dict.fromkeys(one for one in placed if one is not None)) if item is None else ()


def with_targets(
    prepared: PreparedSubmission,
    bound: Sequence[BoundRelationship],
    rows: Sequence[RelationshipId],
    targets: Mapping[RelationshipId, Relationship],
) -> PreparedSubmission:
    """The submission with the relationship that each proposal corrects, where it names none itself.

    That is the first of ``rows`` in the slot that it speaks in which says something else.
    """
    found = [targets[row] for row in rows if row in targets]
    relationships = tuple(
        replace(one.prepared, given=replace(one.prepared.given, correction_target=_target(one, found))) for one in bound
    )
    return replace(prepared, relationships=relationships)


def _target(bound: BoundRelationship, rows: Sequence[Relationship]) -> CorrectionTarget | None:
    given = bound.prepared.given
    if given.correction_target is not None or bound.object is None:
        return given.correction_target
    said = (bound.object.key, given.polarity)
    for row in rows:
        is_living = row.status in _CORRECTABLE and isinstance(row.validity, Interval)
        if row.slot == bound.slot and is_living and (row.object.key, row.polarity) != said:
            return CorrectionTarget(relationship_id=row.relationship_id, expected_version=row.version)
    return None


@dataclass(frozen=True, slots=True, kw_only=True)
class CorrectionPlanner:
    """Plans the decision of ``base`` as the submission that ``placing`` places."""

    base: DecisionPlanner
    placing: SubmissionPlanner

    @property
    def slots(self) -> frozenset[Slot]:
        """The slots that the plan has to see."""
        bound = self.placing.bound
        spoken = frozenset(one.slot for one in bound if one.slot is not None)
        return spoken.union(referred_slots(bound, self.placing.facts))

    def planned(
        self, views: Mapping[Slot, SlotView], texts: Mapping[Slot, Sequence[tuple[FragmentId, str]]]
    ) -> PlannedDecision:
        """The whole plan: of the submission, with the decision that it is and the item that it answers.

        Raises:
            Refusal: as `SubmissionPlanner.planned` does.
        """
        submission = self.placing.planned(views, texts)
        own = self.base.record(submission.fragments)
        revisions, decision_id = _recorded(submission.revisions, own)
        first = revisions[0]
        bindings = tuple(
            replace(binding_of(one, decision_id), given_up=True)
            for one in self.base.question.waiting_for(self.base.decision)
        )
        revisions[0] = replace(first, bindings=bindings)
        item = self.base.question.item
        if item is not None:
            item = self._answer(revisions, item, decision_id)
        return PlannedDecision(
            submission=replace(submission, revisions=tuple(revisions)), decision_id=decision_id, item=item
        )

    def _answer(self, revisions: list[PlannedRevision], item: ReviewItem, decision_id: DecisionId) -> ReviewItem:
        """Puts the item as answered into the plan: where the placements have changed it last, or at its begin."""
        question, decision = self.base.question, self.base.decision
        for number in range(len(revisions) - 1, -1, -1):
            changes = revisions[number].changes
            if any(one.item_id == item.item_id for one in changes.items):
                items = plan_answered_items(changes.items, item, DecisionKind.CORRECT, decision_id)
                revisions[number] = replace(revisions[number], changes=replace(changes, items=items))
                return next(one for one in items if one.item_id == item.item_id)
        if item.kind is ItemKind.RELATIONSHIP:
            return item
        waited = {one.observation_id for one in question.waiting_for(decision)}
        left = without_observations(item, waited)
        if left is None or item.kind is not ItemKind.PREDICATE:
            (left,) = plan_answered_items((), item, DecisionKind.CORRECT, decision_id)
        revisions[0] = replace(revisions[0], items=(*revisions[0].items, left))
        return left


def _recorded(revisions: Sequence[PlannedRevision], own: DecisionRecord) -> tuple[list[PlannedRevision], DecisionId]:
    """The revisions with the decision as the first correction among them, or as one that corrects nothing in place."""
    recorded = list(revisions)
    for number, revision in enumerate(revisions):
        for record in revision.changes.decision_records:
            if record.kind is DecisionKind.CORRECT:
                known = replace(
                    record,
                    item_id=own.item_id,
                    item_version=own.item_version,
                    key=own.key,
                    reason=own.reason,
                    details=(*record.details, *own.details),
                )
                records = tuple(known if one is record else one for one in revision.changes.decision_records)
                recorded[number] = replace(revision, changes=replace(revision.changes, decision_records=records))
                return recorded, record.decision_id
    first = recorded[0]
    records = (own, *first.changes.decision_records)
    recorded[0] = replace(first, changes=replace(first.changes, decision_records=records))
    return recorded, own.decision_id
