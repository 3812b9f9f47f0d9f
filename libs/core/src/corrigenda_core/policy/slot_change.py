"""The one way in which a decision changes a slot: what stands is folded again, and everything follows from that."""

from __future__ import annotations

from dataclasses import replace

from corrigenda_core.domain.changes import Changes
from corrigenda_core.domain.ids import DecisionId
from corrigenda_core.domain.slots import PlanContext, SlotView
from corrigenda_core.policy.case_side import plan_case_side
from corrigenda_core.policy.refold import plan_refold, plan_refold_of_all


def plan_slot_change(
    before: SlotView,
    after: SlotView,
    context: PlanContext,
    reason: str,
    decision_id: DecisionId | None = None,
    *,
    beside: Changes | None = None,
    replacing: bool = True,
) -> Changes:
    """Everything that follows from a change of what stands in a slot (R5.3).

    Placement actions, resolutions, forgetting, a loss of support and the undo of each of them differ only in what they
    add to the view or take out of it. They all come here, so none of them can do to a row, an item or a team case what
    another one could not.

    Args:
        before: the slot as it stands.
        after: the same rows with the statements, supports and decisions that are to stand, as in `plan_refold`.
        context: the commit. Its own ids, and those of its parts 4 and 5, are the caller's.
        reason: the reason code of every transition.
        decision_id: the decision that was taken, if one was.
        beside: what the decision appends by itself: its record, references, switches of supports and references.
        replacing: whether what ends a row replaces it, and refers to it so.
    """

    beside = beside or Changes()
    rows = plan_refold(before, after, context, reason, decision_id, replacing=replacing)
    changes = replace(
        rows,
        decision_records=beside.decision_records,
        supports=beside.supports,
        support_decisions=beside.support_decisions,
        references=(*rows.references, *beside.references),
        references_switched_off=beside.references_switched_off,
        items=(*rows.items, *beside.items),
    )
    return plan_case_side(before, changes, context)


def plan_slot_scan(view: SlotView, context: PlanContext, reason: str) -> Changes:
    """Everything that follows for a slot from what its predicate means by now; nothing, if it was looked at since.

    The same way as for a decision: rows, items and team cases follow from the fold of what stands.

    Args:
        view: the slot as it stands, with the current version of its predicate.
        context: the commit.
        reason: the reason code of every transition.
    """
    return plan_case_side(view, plan_refold_of_all(view, context, reason), context)
