"""Resolutions of one owner's conflicts: each action only adds decisions to the timeline, and the slot folds again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import assert_never

from corrigenda_core.domain.actors import ActorKind
from corrigenda_core.domain.changes import Changes
from corrigenda_core.domain.decisions import Removal, RemovalReason, SameValue, TimelineDecision
from corrigenda_core.domain.errors import Reason, Refusal, stale
from corrigenda_core.domain.evidence import Support, SupportDecision
from corrigenda_core.domain.ids import DecisionId, ReferenceId, RelationshipId, StatementId
from corrigenda_core.domain.items import ItemKind, ItemStatus, ReviewItem
from corrigenda_core.domain.relationships import CrossReference, ReferenceKind
from corrigenda_core.domain.resolutions import (
    Accept,
    Answer,
    DecisionKind,
    DecisionRecord,
    KeepBoth,
    KeepExisting,
    KeepNew,
    Merge,
    Reject,
    Same,
)
from corrigenda_core.domain.slots import PlanContext, SlotView
from corrigenda_core.policy.authorization import Verb, may_change
from corrigenda_core.policy.facet_division import plan_facets
from corrigenda_core.policy.placement_actions import plan_answered_items
from corrigenda_core.policy.sides import (
    Side,
    decide_side,
    decide_start,
    decide_timeline,
    may_hold_beside_records,
    may_overrule,
    plan_side_end,
)
from corrigenda_core.policy.slot_change import plan_slot_change
from corrigenda_core.policy.view_changes import apply_changes

LOST_END = "lost_end"
"""The detail of a merge that names a stated end which the owner's sentence does not carry: row and instant."""

_REFERENCES = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Settlement:
    """What an action adds to the timeline, which statements it keeps, and what it says of itself."""

    kind: DecisionKind
    decisions: tuple[TimelineDecision, ...]
    kept: tuple[StatementId, ...] = ()
    kept_id: RelationshipId | None = None
    placed: tuple[StatementId, ...] = ()
    references: tuple[CrossReference, ...] = ()
    supports: tuple[Support, ...] = ()
    support_decisions: tuple[SupportDecision, ...] = ()
    details: tuple[tuple[str, str], ...] = ()


def plan_resolution(view: SlotView, context: PlanContext, answer: Answer) -> Changes:
    """What an owner, or the judge for them, decides about statements that exclude each other (R4.16a).

    ``keep_new`` keeps any one side and ends those it excludes at its start; what is held beside it is tried again.
    ``keep_existing`` rejects what came in and nothing else. ``keep_both`` lets every side hold in a facet of its own.
    ``merge`` ends every side where the owner's own sentence starts. ``accept`` and ``reject`` are keeping what came in,
    verified again, and rejecting it. Whatever dispute is left stays a pending item.

    Args:
        view: the slot as it stands; for a merge with the owner's sentence already placed.
        context: the commit. Its id 0 names the decision.
        answer: the action, the item at its current version (for a merge the one before the sentence was placed), and
            the version that the owner saw.

    Raises:
        Refusal: NOT_OWNER, ITEM_NOT_PENDING, STALE_VERSION; NOT_IN_CONFLICT for a side that the item does not have;
            SYSTEM_OF_RECORD, START_NEEDED and INVALID_FIELD where the timeline cannot say it. Nothing is changed then.
    """
    may_answer_item(context, answer.item, answer.expected_version)
    decision_id = DecisionId(context.ids.nth(0))
    sides = decide_sides(view, answer.item)
    settlement = _settle(view, context, answer, sides, decision_id)
    evidence = Changes(supports=settlement.supports, support_decisions=settlement.support_decisions)
    after = apply_changes(view, replace(evidence, decisions=settlement.decisions))
    may_hold_beside_records(after, answer.item.owner_id, settlement.kept)
    record = DecisionRecord(
        decision_id=decision_id,
        kind=settlement.kind,
        actor=context.actor,
        item_id=answer.item.item_id,
        item_version=answer.item.version,
        target_ids=tuple(side.row_id for side in sides),
        kept_id=settlement.kept_id,
        statement_ids=settlement.placed,
        key=answer.provenance.key,
        reason=answer.provenance.reason,
        details=(*answer.provenance.details, *settlement.details),
    )
    changes = plan_slot_change(
        view,
        after,
        context,
        settlement.kind.value,
        decision_id,
        beside=replace(evidence, decision_records=(record,), references=settlement.references),
        replacing=settlement.kind is not DecisionKind.MERGE,
    )
    answered = plan_answered_items(changes.items, answer.current or answer.item, settlement.kind, decision_id)
    return replace(changes, items=answered)


def may_answer_item(context: PlanContext, item: ReviewItem, expected_version: int) -> None:
    """Checks that the actor may answer a question about relationships as it stands.

    Raises:
        Refusal: NOT_OWNER; INVALID_FIELD for another kind of item; ITEM_NOT_PENDING for one that is answered or closed;
            STALE_VERSION with the current version, because nobody decides about what they have not seen.
    """
    verb = Verb.AUTO_RESOLVE if context.actor.kind is ActorKind.JUDGE else Verb.RESOLVE_CONFLICT
    may_change(context.actor, item.owner_id, verb, resource_type="review_item", resource_id=item.item_id)
    if item.kind is not ItemKind.RELATIONSHIP:
        raise Refusal(Reason.INVALID_FIELD, f"an item of kind {item.kind.value} has no sides", field="item_id")
    if item.status is not ItemStatus.PENDING:
        raise Refusal(
            Reason.ITEM_NOT_PENDING,
            f"the item is {item.status.value}",
            metadata={"item_id": item.item_id, "status": item.status.value, "reason": item.reason},
        )
    if item.version != expected_version:
        raise stale(
            f"the item is at version {item.version}, the decision was made for version {expected_version}",
            resource_type="review_item",
            resource_id=item.item_id,
            expected=expected_version,
            current=item.version,
        )


def decide_sides(view: SlotView, item: ReviewItem) -> tuple[Side, ...]:
    """The sides of an item, the incoming last."""
    rows = {row.relationship_id: row for row in view.rows}
    timeline = decide_timeline(view, item.owner_id)
    return tuple(decide_side(view, rows[row_id], timeline) for row_id in (*item.opposing, *item.incoming))


def _settle(
    view: SlotView, context: PlanContext, answer: Answer, sides: Sequence[Side], decision_id: DecisionId
) -> Settlement:
    item = answer.item
    match answer.resolution:
        case KeepNew() as action:
            return _keep_new(view, action, _named(action.kept_id, sides), sides, decision_id)
        case KeepExisting(kept_id=kept_id):
            kept = _named(kept_id, [side for side in sides if side.row_id in item.opposing])
            for side in _incoming(item, sides):
                may_overrule(kept.record_sources, side)
            return replace(_rejected(_incoming(item, sides), decision_id), kept_id=kept_id)
        case KeepBoth() as action:
            decisions, references = plan_facets(view, context, sides, action, decision_id)
            everything = tuple(statement_id for side in sides for statement_id in side.statement_ids)
            return Settlement(kind=DecisionKind.KEEP_BOTH, decisions=decisions, kept=everything, references=references)
        case Merge(statement_id=statement_id):
            return _merge(view, context, item, statement_id, sides, decision_id)
        case Same():
            return _same(_incoming(item, sides), sides, decision_id)
        case Accept() as action:
            (incoming,) = _incoming(item, sides)
            keeping = KeepNew(kept_id=incoming.row_id, start=action.start)
            settlement = _keep_new(view, keeping, incoming, sides, decision_id)
            return replace(
                settlement, kind=DecisionKind.ACCEPT, supports=action.supports, support_decisions=action.grants
            )
        case Reject():
            return replace(_rejected(_incoming(item, sides), decision_id), kind=DecisionKind.REJECT)
        case _:
            assert_never(answer.resolution)


def _named(row_id: RelationshipId, sides: Sequence[Side]) -> Side:
    for side in sides:
        if side.row_id == row_id:
            return side
    raise Refusal(
        Reason.NOT_IN_CONFLICT,
        "the item has no such side",
        field="relationship_id",
        metadata={"relationship_id": row_id, "sides": " ".join(side.row_id for side in sides)},
    )


def _incoming(item: ReviewItem, sides: Sequence[Side]) -> list[Side]:
    return [side for side in sides if side.row_id in item.incoming]


def _keep_new(
    view: SlotView, action: KeepNew, kept: Side, sides: Sequence[Side], decision_id: DecisionId
) -> Settlement:
    """One side holds; those that it excludes end at its start."""
    start = decide_start(view, kept, action.start, decision_id)
    decisions: list[TimelineDecision] = [*start.given]
    for side in sides:
        if side is not kept and _is_ended_by(side, kept):
            may_overrule(kept.record_sources, side)
            decisions += plan_side_end(side, start, kept.statement_ids, decision_id)
    return Settlement(
        kind=DecisionKind.KEEP_NEW,
        decisions=tuple(decisions),
        kept=kept.statement_ids,
        kept_id=kept.row_id,
    )


def _is_ended_by(side: Side, kept: Side) -> bool:
    """Whether keeping one side ends another one.

    What waits beside a side that waited too is not decided by that: it is tried again, against what holds now.
    """
    if kept.held:
        return not side.held
    return side.held or side.row_id in kept.against


def _rejected(incoming: Sequence[Side], decision_id: DecisionId) -> Settlement:
    return Settlement(
        kind=DecisionKind.KEEP_EXISTING,
        decisions=tuple(
            Removal(decision_id=decision_id, statement_id=statement_id, reason=RemovalReason.REJECTED)
            for side in incoming
            for statement_id in side.statement_ids
        ),
    )


def _merge(
    view: SlotView,
    context: PlanContext,
    item: ReviewItem,
    statement_id: StatementId,
    sides: Sequence[Side],
    decision_id: DecisionId,
) -> Settlement:
    """The owner's sentence holds, in whatever row carries it, and the others end at its start."""
    sentence = next((s for s in view.statements if s.statement_id == statement_id), None)
    if sentence is None or sentence.owner_id != item.owner_id or sentence.relationship_id is None:
        raise Refusal(Reason.INVALID_FIELD, "the sentence says nothing about this slot", field="statement_id")
    rows = {row.relationship_id: row for row in view.rows}
    successor = decide_side(view, rows[sentence.relationship_id], decide_timeline(view, item.owner_id))
    start = decide_start(view, successor, None, decision_id)
    decisions: list[TimelineDecision] = [*start.given]
    inputs = [side for side in sides if side.row_id != successor.row_id]
    for side in inputs:
        may_overrule(successor.record_sources, side)
        decisions += plan_side_end(side, start, (statement_id,), decision_id)
    return Settlement(
        kind=DecisionKind.MERGE,
        decisions=tuple(decisions),
        kept=(statement_id,),
        kept_id=successor.row_id,
        placed=(statement_id,),
        references=tuple(
            CrossReference(
                reference_id=ReferenceId(context.ids.part(_REFERENCES).nth(number)),
                kind=ReferenceKind.MERGED_INTO,
                source_id=side.row_id,
                target_id=successor.row_id,
                decision_id=decision_id,
            )
            for number, side in enumerate(inputs)
        ),
        details=tuple(
            (LOST_END, f"{side.row_id} {statement.end.at.isoformat()}")
            for side in inputs
            for statement in side.statements
            if statement.end is not None and sentence.end is None
        ),
    )


def _same(incoming: Sequence[Side], sides: Sequence[Side], decision_id: DecisionId) -> Settlement:
    """What came in is read as what the one other side says: its supports follow it there."""
    others = [side for side in sides if side not in incoming]
    if len(incoming) != 1 or len(others) != 1:
        raise Refusal(Reason.INVALID_FIELD, "only one side can be the same as one other", field="resolution")
    may_overrule(others[0].record_sources, incoming[0])
    may_overrule(incoming[0].record_sources, others[0])
    return Settlement(
        kind=DecisionKind.SAME,
        decisions=tuple(
            SameValue(decision_id=decision_id, statement_id=statement_id, same_as=others[0].statement_ids[0])
            for statement_id in incoming[0].statement_ids
        ),
        kept_id=others[0].row_id,
    )
