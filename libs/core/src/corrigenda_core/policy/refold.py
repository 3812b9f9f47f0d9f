"""One plan for every change of a timeline: fold what stands after it, and make the owner's rows say that."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import TypeVar, assert_never

from corrigenda_core.domain.changes import Changes
from corrigenda_core.domain.decisions import (
    Distinction,
    FacetAssignment,
    GivenStart,
    Removal,
    Reopening,
    SameValue,
    TimelineDecision,
)
from corrigenda_core.domain.ids import DecisionId, ProfileId, StatementId
from corrigenda_core.domain.relationships import Closing
from corrigenda_core.domain.slots import PlanContext, SlotView
from corrigenda_core.policy.own_items import plan_own_items
from corrigenda_core.policy.row_diff import Cause, RowChanges, plan_row_changes
from corrigenda_core.policy.row_references import plan_own_references
from corrigenda_core.policy.same_values import apply_same_values
from corrigenda_core.policy.timeline import Timeline, fold_slot

PARTS = 16
"""Parts of an id range that a plan for one owner may use; what is composed with it begins behind them."""

_Value = TypeVar("_Value")


@dataclass(frozen=True, slots=True, kw_only=True)
class Refold:
    """What one owner's statements say after a change, and what makes the rows say it."""

    timeline: Timeline
    rows: RowChanges
    changes: Changes


def plan_owner_refold(
    view_before: SlotView,
    view_after: SlotView,
    owner_id: ProfileId,
    context: PlanContext,
    reason: str,
    decision_id: DecisionId | None = None,
    timeline: Timeline | None = None,
    *,
    replacing: bool = True,
) -> Refold:
    """Folds one owner's slot as a change leaves it, and compares.

    Args:
        view_before: the slot with its rows, and the statements' rows, as they stand.
        view_after: the same rows with the statements, supports and decisions that are to stand. A revert also puts
            the statements back to the rows that carried them before the decision, so that these get them back.
        owner_id: whose slot it is.
        context: the commit. Ids 0.. name new rows, those of parts 1 to 3 transitions, references and items.
        reason: the reason code of every transition.
        decision_id: the decision that was taken, if one was.
        timeline: the fold of ``view_after`` for a caller that has it.
        replacing: whether what ends a row replaces it, and refers to it so.

    Returns:
        The changes hold new decisions and statements too: everything in which ``view_after`` differs.
    """
    added = _added(view_before, view_after)
    closings = tuple(decision for decision in added if isinstance(decision, Closing))
    cause = Cause(reason=reason, decision_id=decision_id, closings=closings, replacing=replacing)
    view_after = replace(view_after, statements=apply_same_values(view_after.statements, view_after.decisions))
    if timeline is None:
        own = [statement for statement in view_after.statements if statement.owner_id == owner_id]
        timeline = fold_slot(view_after.predicate, own, view_after.decisions)
    rows = plan_row_changes(view_before, view_after, owner_id, timeline, context, cause)
    return Refold(
        timeline=timeline,
        rows=rows,
        changes=Changes(
            relationships=rows.relationships,
            transitions=rows.transitions,
            carriages=rows.carriages,
            decisions=added,
            references=plan_own_references(view_before, timeline, rows, context, cause),
            items=plan_own_items(view_after, owner_id, timeline, rows, context, cause),
        ),
    )


def _added(before: SlotView, after: SlotView) -> tuple[TimelineDecision, ...]:
    known = set(before.decisions)
    return tuple(decision for decision in after.decisions if decision not in known)


def plan_refold(
    view_before: SlotView,
    view_after: SlotView,
    context: PlanContext,
    reason: str,
    decision_id: DecisionId | None = None,
    *,
    replacing: bool = True,
) -> Changes:
    """Makes the rows of every owner whose statements, supports or decisions a change touched say their timelines.

    Whoever takes a decision (`keep_new`, `retract`, `end`, a revert, a loss of support, ...) only adds decisions to the
    view, takes some out, or replaces statements and supports by what they are now, and calls this.

    Args:
        view_before: the slot with its rows, and the statements' rows, as they stand.
        view_after: the same rows with the statements, supports and decisions that are to stand, as in
            `plan_owner_refold`.
        context: the commit; each owner gets a part of the ids.
        reason: the reason code of every transition.
        decision_id: the decision that was taken, if one was.
        replacing: as in `plan_owner_refold`.
    """
    taken_back = {d.decision_id for d in set(view_before.decisions) - set(view_after.decisions)}
    parts = []
    for number, owner_id in enumerate(_touched_owners(view_before, view_after)):
        own = replace(context, ids=context.ids.part(number * PARTS))
        refold = plan_owner_refold(view_before, view_after, owner_id, own, reason, decision_id, replacing=replacing)
        parts.append(refold.changes)
    return Changes(
        relationships=_all(part.relationships for part in parts),
        transitions=_all(part.transitions for part in parts),
        carriages=_all(part.carriages for part in parts),
        decisions=_added(view_before, view_after),
        decisions_taken_back=tuple(sorted(taken_back)),
        references=_all(part.references for part in parts),
        items=_all(part.items for part in parts),
    )


def plan_refold_of_all(view: SlotView, context: PlanContext, reason: str) -> Changes:
    """Makes the rows of every owner say their timelines by the predicate as the view has it.

    A registry that has changed touches no statement; it changes what all of them together mean.

    Args:
        view: the slot as it stands, with the current version of its predicate.
        context: the commit; each owner gets a part of the ids.
        reason: the reason code of every transition.
    """
    owners = sorted({statement.owner_id for statement in view.statements})
    parts = [
        plan_owner_refold(
            view, view, owner_id, replace(context, ids=context.ids.part(number * PARTS)), reason, replacing=False
        ).changes
        for number, owner_id in enumerate(owners)
    ]
    return Changes(
        relationships=_all(part.relationships for part in parts),
        transitions=_all(part.transitions for part in parts),
        carriages=_all(part.carriages for part in parts),
        references=_all(part.references for part in parts),
        items=_all(part.items for part in parts),
    )


def _touched_owners(before: SlotView, after: SlotView) -> list[ProfileId]:
    """The owners of every statement that changed, or whose supports or decisions did."""
    changed = {s.statement_id for s in set(before.statements) ^ set(after.statements)}
    changed |= {s.statement_id for s in set(before.supports) ^ set(after.supports) if s.statement_id is not None}
    for decision in set(before.decisions) ^ set(after.decisions):
        changed.update(_statements_of(decision))
    return sorted({s.owner_id for s in after.statements if s.statement_id in changed})


def _statements_of(decision: TimelineDecision) -> tuple[StatementId, ...]:
    match decision:
        case Closing():
            return decision.statement_ids
        case Distinction():
            return decision.first, decision.second
        case Removal() | FacetAssignment() | GivenStart() | SameValue() | Reopening():
            return (decision.statement_id,)
        case _:
            assert_never(decision)


def _all(parts: Iterable[tuple[_Value, ...]]) -> tuple[_Value, ...]:
    return tuple(value for part in parts for value in part)
