"""Supports that are switched, or granted another authority, together: what that does to a slot."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from corrigenda_core.domain.changes import Changes
from corrigenda_core.domain.evidence import SupportDecision, SupportDecisionKind
from corrigenda_core.domain.slots import PlanContext, SlotView
from corrigenda_core.domain.sources import RetiredFragment
from corrigenda_core.policy.slot_change import plan_slot_change
from corrigenda_core.policy.view_changes import apply_changes


def plan_support_switches(
    view: SlotView, context: PlanContext, decisions: Sequence[SupportDecision], reason: str
) -> Changes:
    """What decisions on supports do to their slot: tiers, timelines, items and team cases follow from them.

    Args:
        view: the slot as it stands.
        context: the commit.
        decisions: on supports of the slot, at most one for each.
        reason: the reason code of every transition.
    """
    switched = Changes(support_decisions=tuple(decisions))
    return plan_slot_change(view, apply_changes(view, switched), context, reason, beside=switched)


def plan_fragment_retirement(view: SlotView, context: PlanContext, retired: Iterable[RetiredFragment]) -> Changes:
    """Takes the effect from every support by these fragments, whoever owns the relationship that it carries.

    A statement that has another effective support stays, one without leaves the timeline. What a decision has closed
    stays closed.

    Args:
        view: the slot as it stands.
        context: the commit.
        retired: the fragments that support nothing any more; each decision names the reason of its own.
    """
    reasons = {one.fragment_id: one.reason for one in retired}
    revoked = [
        SupportDecision(
            support_id=support.support_id,
            kind=SupportDecisionKind.REVOKE,
            authority=support.authority,
            reason=reasons[support.fragment_id].value,
        )
        for support in view.supports
        if support.effective and support.fragment_id in reasons
    ]
    if not revoked:
        return Changes()
    return plan_support_switches(view, context, revoked, revoked[0].reason)
