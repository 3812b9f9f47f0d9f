"""Revert: a decision is taken out of the timeline, and the slot folds again without it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from corrigenda_core.domain.changes import Changes
from corrigenda_core.domain.decisions import Removal, RemovalReason
from corrigenda_core.domain.errors import Reason, Refusal
from corrigenda_core.domain.evidence import SupportDecision, SupportDecisionKind
from corrigenda_core.domain.ids import DecisionId, ProfileId, RelationshipId, StatementId
from corrigenda_core.domain.items import ItemStatus, ReviewItem
from corrigenda_core.domain.relationships import Relationship, RowState, Statement, Transition
from corrigenda_core.domain.resolutions import NO_PROVENANCE, DecisionKind, DecisionRecord, PastDecision, Provenance
from corrigenda_core.domain.slots import PlanContext, SlotView
from corrigenda_core.policy.authorization import Verb, may_change
from corrigenda_core.policy.forgetting import REVOKED_SUPPORT
from corrigenda_core.policy.slot_change import plan_slot_change

_BLOCKERS = (
    ("decision_id", "decision"),
    ("reverted_by", "decision"),
    ("item_id", "review_item"),
    ("transition_id", "transition"),
    ("relationship_id", "relationship"),
)

REVERTIBLE = frozenset(
    {
        DecisionKind.KEEP_NEW,
        DecisionKind.KEEP_EXISTING,
        DecisionKind.KEEP_BOTH,
        DecisionKind.MERGE,
        DecisionKind.SAME,
        DecisionKind.REJECT,
        DecisionKind.ACCEPT,
        DecisionKind.END,
        DecisionKind.RETRACT,
        DecisionKind.CORRECT,
    }
)
"""What shapes the timeline; a placement is taken back by `retract`, a revert by deciding again."""


def plan_revert(
    view: SlotView,
    context: PlanContext,
    owner_id: ProfileId,
    past: PastDecision,
    provenance: Provenance = NO_PROVENANCE,
) -> Changes:
    """Takes a decision back (R4.17).

    Its removals, closings, starts and facets stand no longer, what was placed with it leaves the timeline, its
    references and switches of supports are undone by appended decisions, and statements go back to the rows that
    carried them. With nothing recorded in the slot since, that is the exact prior state. The undo is a decision of its
    own.

    Args:
        view: the slot as it stands.
        context: the commit. Its id 0 names the undo.
        owner_id: whose decision it was.
        past: the decision with what the store knows of it.
        provenance: where the undo comes from.

    Raises:
        Refusal: NOT_OWNER; INVALID_FIELD for what is taken back otherwise; REVERT_BLOCKED naming what stands on it.
    """
    record = past.record
    may_change(
        context.actor, owner_id, Verb.REVERT_RESOLUTION, resource_type="decision", resource_id=record.decision_id
    )
    may_revert(view, past)
    decision_id = DecisionId(context.ids.nth(0))
    carriers = {carriage.statement_id: carriage.relationship_id for carriage in past.carriers}
    undone = DecisionRecord(
        decision_id=decision_id,
        kind=DecisionKind.REVERT,
        actor=context.actor,
        target_ids=record.target_ids,
        statement_ids=record.statement_ids,
        reverts=record.decision_id,
        key=provenance.key,
        reason=provenance.reason,
        details=provenance.details,
    )
    reinstated = _reinstated(view, past)
    effective = {switch.support_id for switch in reinstated}
    after = replace(
        view,
        statements=tuple(_put_back(statement, record, carriers) for statement in view.statements),
        supports=tuple(replace(s, effective=s.effective or s.support_id in effective) for s in view.supports),
        decisions=(
            *(decision for decision in view.decisions if decision.decision_id != record.decision_id),
            *(
                Removal(decision_id=decision_id, statement_id=statement_id, reason=RemovalReason.RETRACTED)
                for statement_id in record.statement_ids
            ),
        ),
        items=_recognised(view, past),
    )
    changes = plan_slot_change(
        view,
        after,
        context,
        DecisionKind.REVERT.value,
        decision_id,
        beside=Changes(
            decision_records=(undone,),
            support_decisions=reinstated,
            references_switched_off=tuple(
                replace(reference, active=False, decision_id=decision_id)
                for reference in view.references
                if reference.active and reference.reference_id in past.reference_ids
            ),
        ),
        replacing=False,
    )
    return replace(changes, decisions_taken_back=(record.decision_id,))


def _recognised(view: SlotView, past: PastDecision) -> tuple[ReviewItem, ...]:
    """The items with the sides that they had before the decision, so that each takes up its own dispute again.

    What is asked is written anew even where it reads as it did: the version that the decision answered is gone.
    """
    reopened = {
        before.item_id: replace(
            before,
            version=now.version,
            status=now.status,
            decision_id=now.decision_id,
            reason=DecisionKind.REVERT.value,
        )
        for before, now in past.items
    }
    return (*reopened.values(), *(item for item in view.items if item.item_id not in reopened))


def _put_back(
    statement: Statement, record: DecisionRecord, carriers: Mapping[StatementId, RelationshipId]
) -> Statement:
    """A statement on the row that carried it; what was placed with the decision leaves the rows of others."""
    row_id = carriers.get(statement.statement_id, statement.relationship_id)
    if statement.statement_id in record.statement_ids and row_id in carriers.values():
        row_id = None
    return replace(statement, relationship_id=row_id)


def may_revert(view: SlotView, past: PastDecision) -> None:
    """Checks that a decision can be taken back, and nothing stands on it.

    A row that it changed blocks while its status, interval, value or facet is no longer as the decision left it, and so
    does a pending item that came or changed since and names such a row. Supports and tiers do not.

    Raises:
        Refusal: INVALID_FIELD, or REVERT_BLOCKED naming the later decision, transition or item.
    """
    if past.record.kind not in REVERTIBLE:
        raise Refusal(Reason.INVALID_FIELD, f"a decision {past.record.kind.value} is not reverted", field="decision_id")
    if past.reverted_by is not None:
        raise _blocked("it was reverted already", reverted_by=past.reverted_by)
    rows = {row.relationship_id: row for row in view.rows}
    touched = {made.relationship_id: made for made in past.transitions}
    for row_id, made in touched.items():
        row = rows.get(row_id)
        if row is not None and not _is_as_left(row, made.resulting):
            raise _blocked_by_change(row, made, past.later)
    for item in view.items:
        is_named = not touched.keys().isdisjoint((*item.incoming, *item.opposing))
        if item.status is ItemStatus.PENDING and is_named and (item.item_id, item.version) not in past.left_items:
            raise _blocked("a later question names what it changed", item_id=item.item_id)


def _is_as_left(row: Relationship, left: RowState) -> bool:
    return (row.status, row.validity, row.facet) == (left.status, left.validity, left.facet)


def _blocked_by_change(row: Relationship, left: Transition, later: Iterable[Transition]) -> Refusal:
    """The refusal that names the last change of a row: what has to be taken back first."""
    changes = [transition for transition in later if transition.relationship_id == row.relationship_id]
    named: dict[str, str] = {"relationship_id": row.relationship_id}
    if changes:
        named |= {"transition_id": changes[-1].transition_id, "reason": changes[-1].reason}
        if changes[-1].decision_id is not None:
            named["decision_id"] = changes[-1].decision_id
    return _blocked(f"the relationship is {row.status.value} now, it was left {left.resulting.status.value}", **named)


def _blocked(message: str, **named: str) -> Refusal:
    """The refusal that names what stands on the decision: another decision, else a question, a transition or a row."""
    name, kind = next(one for one in _BLOCKERS if one[0] in named)
    blocker = {"blocker_type": kind, "blocker_id": named[name]}
    return Refusal(Reason.REVERT_BLOCKED, message, metadata=blocker | named)


def _reinstated(view: SlotView, past: PastDecision) -> tuple[SupportDecision, ...]:
    """The supports that the decision had revoked, as they were; what a source has left behind since stays out."""
    revoked = {value for name, value in past.record.details if name == REVOKED_SUPPORT}
    return tuple(
        SupportDecision(
            support_id=support.support_id,
            kind=SupportDecisionKind.REINSTATE,
            authority=support.authority,
            reason=DecisionKind.REVERT.value,
        )
        for support in view.supports
        if support.support_id in revoked and not (support.effective or support.erased or support.retired)
    )
