"""Forgetting: an owner says that a relationship is no longer true, or that it never was."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from corrigenda_core.domain.changes import Changes
from corrigenda_core.domain.decisions import Removal, RemovalReason, Reopening, TimelineDecision
from corrigenda_core.domain.errors import Reason, Refusal
from corrigenda_core.domain.evidence import SupportDecision, SupportDecisionKind
from corrigenda_core.domain.ids import DecisionId, FragmentId, ProfileId, RelationshipId
from corrigenda_core.domain.relationships import Closing, Relationship, Statement, Transition
from corrigenda_core.domain.resolutions import NO_PROVENANCE, DecisionKind, DecisionRecord, Provenance
from corrigenda_core.domain.slots import PlanContext, SlotView
from corrigenda_core.domain.time import EARLIEST, LATEST, Instant, Interval, TimeBasis, Validity
from corrigenda_core.policy.authorization import Verb, may_change
from corrigenda_core.policy.own_rows import decide_own_row, decide_standing
from corrigenda_core.policy.refold import plan_owner_refold
from corrigenda_core.policy.sides import SideStart, decide_closing, decide_side, decide_timeline
from corrigenda_core.policy.slot_change import plan_slot_change
from corrigenda_core.policy.validity import is_living

REVOKED_SUPPORT = "revoked_support"
"""The detail of a decision that names a support which it switched off: a revert switches it on again."""


def plan_end(
    view: SlotView,
    context: PlanContext,
    row_id: RelationshipId,
    at: Instant | None = None,
    *,
    expected_version: int | None = None,
    provenance: Provenance = NO_PROVENANCE,
) -> Changes:
    """Ends a relationship that is no longer true: a closing that holds until it is reverted.

    Args:
        view: the slot as it stands.
        context: the commit. Its id 0 names the decision.
        row_id: the owner's relationship.
        at: the instant from which on it is not true; the moment of the commit if it is not said.
        expected_version: the version that the owner saw; none means the current one.
        provenance: where the decision comes from.

    Raises:
        Refusal: RESOURCE_NOT_FOUND, NOT_OWNER, STALE_VERSION; INVALID_FIELD where it holds at no time, has not begun by
            the instant, or has ended by then.
    """
    row = decide_own_row(view, context.actor, row_id, Verb.END, expected_version)
    end = context.moment.at if at is None else at
    if not isinstance(row.validity, Interval) or not is_living(row.status, row.validity):
        raise Refusal(Reason.INVALID_FIELD, "the relationship holds at no time", field="relationship_id")
    if row.validity.start is not None and end <= row.validity.start:
        raise Refusal(Reason.INVALID_FIELD, "the relationship has not begun by then; retract it instead", field="at")
    if row.validity.end is not None and row.validity.end <= end:
        raise Refusal(Reason.INVALID_FIELD, "the relationship has ended by then", field="at")
    decision_id = DecisionId(context.ids.nth(0))
    side = decide_side(view, row, decide_timeline(view, row.owner_id))
    basis = TimeBasis.RECORDED_FALLBACK if at is None else TimeBasis.STATED_TIME
    closing = decide_closing(side, SideStart(at=end, basis=basis), decision_id)
    return _changed(view, view, context, DecisionKind.END, (closing,), [row_id], decision_id, provenance)


def plan_retract(
    view: SlotView,
    context: PlanContext,
    row_id: RelationshipId,
    *,
    revive: bool = True,
    expected_version: int | None = None,
    provenance: Provenance = NO_PROVENANCE,
) -> Changes:
    """Takes a relationship back that never was true: every statement that carries it leaves, its closings with it.

    What it alone had ended comes back by folding, clipped; `decide_revived` names it. Without ``revive`` it stays ended
    where the retracted one began. A case's closings stay for good.

    Args:
        view: the slot as it stands.
        context: the commit. Its id 0 names the decision.
        row_id: the owner's relationship, living, held or waiting for support.
        revive: whether what it had ended comes back.
        expected_version: the version that the owner saw; none means the current one.
        provenance: where the decision comes from.

    Raises:
        Refusal: RESOURCE_NOT_FOUND, NOT_OWNER, STALE_VERSION; INVALID_FIELD where nothing is left to take back.
    """
    row = decide_own_row(view, context.actor, row_id, Verb.RETRACT, expected_version)
    decision_id = DecisionId(context.ids.nth(0))
    carried = [s for s in decide_standing(view, row.owner_id) if s.relationship_id == row_id]
    if not carried:
        raise Refusal(Reason.INVALID_FIELD, "nothing carries the relationship any more", field="relationship_id")
    decisions: list[TimelineDecision] = [_retracted(statement, decision_id) for statement in carried]
    decisions += [
        Reopening(
            decision_id=decision_id,
            statement_id=carried[0].statement_id,
            closing_decision_id=closing.decision_id,
            relationship_id=row_id,
        )
        for closing in view.decisions
        if isinstance(closing, Closing) and closing.relationship_id == row_id and closing.conflict_id is None
    ]
    if not revive and isinstance(row.validity, Interval) and row.validity.start is not None:
        start = SideStart(at=row.validity.start, basis=row.start_basis or TimeBasis.RECORDED_FALLBACK)
        decisions += _kept_ended(view, context, row, start, decisions, decision_id)
    return _changed(view, view, context, DecisionKind.RETRACT, decisions, [row_id], decision_id, provenance)


def plan_fragment_retraction(
    view: SlotView,
    context: PlanContext,
    owner_id: ProfileId,
    fragment_id: FragmentId,
    *,
    provenance: Provenance = NO_PROVENANCE,
) -> Changes:
    """Takes one text of an owner back: its statements of this slot leave, and it supports no other one any more.

    A statement that the owner supports with another text as well stays. Closings stay.

    Args:
        view: the slot as it stands.
        context: the commit. Its id 0 names the decision.
        owner_id: whose statements they are.
        fragment_id: the text.
        provenance: where the decision comes from.

    Raises:
        Refusal: NOT_OWNER; INVALID_FIELD where the text says nothing in this slot.
    """
    may_change(context.actor, owner_id, Verb.RETRACT, resource_type="fragment", resource_id=fragment_id)
    own = {statement.statement_id: statement for statement in decide_standing(view, owner_id)}
    supports = [s for s in view.supports if s.effective and s.statement_id in own]
    revoked = [support for support in supports if support.fragment_id == fragment_id]
    if not revoked:
        raise Refusal(Reason.INVALID_FIELD, "the text supports nothing of the slot", field="fragment_id")
    elsewhere = {support.statement_id for support in supports if support.fragment_id != fragment_id}
    decision_id = DecisionId(context.ids.nth(0))
    gone = sorted({s.statement_id for s in revoked if s.statement_id is not None and s.statement_id not in elsewhere})
    switches = tuple(
        SupportDecision(
            support_id=support.support_id,
            kind=SupportDecisionKind.REVOKE,
            authority=support.authority,
            reason=DecisionKind.RETRACT.value,
        )
        for support in revoked
        if support.statement_id in elsewhere
    )
    switched = {switch.support_id for switch in switches}
    after = replace(
        view, supports=tuple(replace(s, effective=s.effective and s.support_id not in switched) for s in view.supports)
    )
    decisions = [_retracted(own[statement_id], decision_id) for statement_id in gone]
    return _changed(
        view, after, context, DecisionKind.RETRACT, decisions, [fragment_id], decision_id, provenance, switches
    )


def decide_revived(transitions: Sequence[Transition]) -> tuple[RelationshipId, ...]:
    """The relationships that come back by what was taken out: those that hold longer afterwards, or hold again."""
    return tuple(
        transition.relationship_id
        for transition in transitions
        if transition.prior is not None
        and is_living(transition.resulting.status, transition.resulting.validity)
        and _is_longer(transition.resulting.validity, transition.prior.validity)
    )


def _retracted(statement: Statement, decision_id: DecisionId) -> Removal:
    return Removal(decision_id=decision_id, statement_id=statement.statement_id, reason=RemovalReason.RETRACTED)


def _kept_ended(
    view: SlotView,
    context: PlanContext,
    row: Relationship,
    start: SideStart,
    decisions: Sequence[TimelineDecision],
    decision_id: DecisionId,
) -> list[TimelineDecision]:
    """The closings at the retracted start of every row that would come back without them.

    One closing may let another row come back, so it is looked again; each row is closed once.
    """
    before = {one.relationship_id: one for one in view.rows}
    timeline = decide_timeline(view, row.owner_id)
    closings: dict[RelationshipId, TimelineDecision] = {}
    while True:
        after = replace(view, decisions=(*view.decisions, *decisions, *closings.values()))
        rows = plan_owner_refold(view, after, row.owner_id, context, DecisionKind.RETRACT.value).rows.relationships
        back = [
            before[one.relationship_id]
            for one in rows
            if one.relationship_id in before
            and one.relationship_id not in closings
            and is_living(one.status, one.validity)
            and _comes_back(before[one.relationship_id], one.validity, start.at)
        ]
        if not back:
            return list(closings.values())
        for one in back:
            closings[one.relationship_id] = decide_closing(decide_side(view, one, timeline), start, decision_id)


def _comes_back(before: Relationship, after: Validity, at: Instant) -> bool:
    """Whether a row that was ended holds at or after ``at`` what it did not hold before."""
    was_ended = is_living(before.status, before.validity) or not isinstance(before.validity, Interval)
    return was_ended and _is_longer(after, before.validity) and _reach(after)[1] > at


def _is_longer(after: Validity, before: Validity) -> bool:
    (first, last), (begin, end) = _reach(after), _reach(before)
    return first < begin or last > end


def _reach(validity: Validity) -> tuple[Instant, Instant]:
    """First and last instant; for what holds at none they stand the wrong way round."""
    if not isinstance(validity, Interval):
        return LATEST, EARLIEST
    return validity.start or EARLIEST, validity.end or LATEST


def _changed(
    before: SlotView,
    after: SlotView,
    context: PlanContext,
    kind: DecisionKind,
    decisions: Sequence[TimelineDecision],
    target_ids: Sequence[str],
    decision_id: DecisionId,
    provenance: Provenance,
    switches: tuple[SupportDecision, ...] = (),
) -> Changes:
    record = DecisionRecord(
        decision_id=decision_id,
        kind=kind,
        actor=context.actor,
        target_ids=tuple(target_ids),
        key=provenance.key,
        reason=provenance.reason,
        details=(*provenance.details, *((REVOKED_SUPPORT, switch.support_id) for switch in switches)),
    )
    after = replace(after, decisions=(*after.decisions, *decisions))
    beside = Changes(decision_records=(record,), support_decisions=switches)
    return plan_slot_change(before, after, context, kind.value, decision_id, beside=beside)
