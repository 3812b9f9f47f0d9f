"""Case review: one look of the reviewer at one case, as a plan that the reviewer process commits."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import assert_never

from corrigenda_core.domain.actors import SYSTEM_REVIEWER
from corrigenda_core.domain.cases import CaseAction, CaseEvent, CaseMember, CaseStatus, ConflictCase
from corrigenda_core.domain.changes import Changes
from corrigenda_core.domain.ids import DecisionId, EventId, TransitionId
from corrigenda_core.domain.relationships import Closing, Relationship, RowState, Status, Transition
from corrigenda_core.domain.slots import CaseView, PlanContext
from corrigenda_core.domain.snapshots import (
    CaseSnapshot,
    Dismiss,
    Evaluation,
    KeepOpen,
    Loser,
    MarkOverdue,
    Resolve,
    SnapshotPosition,
)
from corrigenda_core.domain.time import Instant, TimeBasis
from corrigenda_core.policy.case_effects import (
    decide_member_versions,
    decide_snapshot_member,
    plan_case_event,
    plan_case_refresh,
)
from corrigenda_core.policy.case_members import is_taking_part
from corrigenda_core.policy.exclusion import is_excluding
from corrigenda_core.policy.team_conflict import decide_case
from corrigenda_core.policy.validity import apply_closing, is_overlapping

ATTEMPTS_EXHAUSTED = "attempts_exhausted"
_ALONE_IN_FORCE = frozenset({Status.ACTIVE, Status.SUPERSEDED})


@dataclass(frozen=True, slots=True, kw_only=True)
class ReviewPlan:
    """What a look found and what it changes; ``changes`` is empty where the case stays as it is."""

    snapshot: CaseSnapshot
    evaluation: Evaluation
    changes: Changes


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """What a case comes to at the instant of its snapshot, with the members that it has."""

    snapshot: CaseSnapshot
    evaluation: Evaluation

    @property
    def closes(self) -> bool:
        """Whether the case would end."""
        return isinstance(self.evaluation.decision, Resolve | Dismiss)


def decide_ahead(view: CaseView, at: Instant) -> Judged | None:
    """What a look at an instant would find, before it is known when the look is committed.

    Returns:
        ``None`` if a member has left by then or has another version: such a case is for the look itself.
    """
    return None if _is_followed(view, at) else _judged(view, at)


def _judged(view: CaseView, at: Instant, ahead: Judged | None = None) -> Judged:
    """Of the time of a look, the policy reads only whether the deadline has come: a verdict before it stays one."""
    if ahead is not None and ahead.snapshot.due == (at >= view.case.review_due_at):
        return replace(ahead, snapshot=replace(ahead.snapshot, now=at))
    snapshot = decide_snapshot(view, at)
    return Judged(snapshot=snapshot, evaluation=decide_case(snapshot))


def decide_snapshot(view: CaseView, at: Instant) -> CaseSnapshot:
    """The case as the policy reads it at an instant: the rows of its members with their supports."""
    case, rows = view.case, {row.relationship_id: row for row in view.rows}
    return CaseSnapshot(
        now=at,
        review_due_at=case.review_due_at,
        first_contradiction_at=case.first_contradiction_at,
        positions=tuple(
            SnapshotPosition(
                position_id=position.position_id,
                members=tuple(
                    decide_snapshot_member(rows[member.relationship_id], view.supports) for member in position.members
                ),
            )
            for position in case.positions
        ),
    )


def decide_staying(view: CaseView, at: Instant) -> CaseView:
    """The case with those members alone that still take part at an instant: what a look then would count."""
    rows = {row.relationship_id: row for row in view.rows}
    positions = tuple(
        replace(
            position,
            members=tuple(one for one in position.members if is_taking_part(rows[one.relationship_id], at)),
        )
        for position in view.case.positions
    )
    return replace(view, case=replace(view.case, positions=positions))


def plan_case_review(
    view: CaseView, context: PlanContext, others: Sequence[CaseView] = (), ahead: Judged | None = None
) -> ReviewPlan:
    """Looks at a live case and plans what its decision changes.

    Members that take part no more leave before anything is counted: time alone may have ended them. What a resolution
    ends leaves the other cases that it was a member of, in the same commit.

    Args:
        view: the case with a row for every member, as the commit's transaction sees it.
        context: the commit of the look; parts 0.. of its ids are those of the cases that follow their members.
        others: the other live cases that share a member with this one.
        ahead: what `decide_ahead` said of this very view for an earlier instant; it saves deciding again.
    """
    followed = _followed(view, replace(context, ids=context.ids.part(0)))
    now = view if followed is None else replace(view, case=followed.case)
    judged = _judged(now, context.moment.at, ahead if followed is None else None)
    evaluation = judged.evaluation
    match evaluation.decision:
        case Resolve() as decision:
            changes = _resolving(view.case, now, context, decision, evaluation.policy)
            changes = _beyond(changes, others, context)
        case MarkOverdue() as decision:
            changes = _with_followed(followed, _escalating(now.case, context, decision, evaluation.policy))
        case Dismiss() as decision:
            changes = _dismissing(view.case, now.case, context, decision, evaluation.policy)
        case KeepOpen():
            changes = _with_followed(followed, Changes())
        case _:
            assert_never(evaluation.decision)
    return ReviewPlan(snapshot=judged.snapshot, evaluation=evaluation, changes=changes)


def plan_case_alert(case: ConflictCase, context: PlanContext, policy_version: str) -> Changes:
    """The event that tells people that looks at a case keep failing; the case stays as it is."""
    event = _event(case, case, context, CaseAction.ALERTED, ATTEMPTS_EXHAUSTED, policy_version)
    return Changes(case_events=(event,))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Followed:
    """A case at the version that its members make, and the event of that."""

    case: ConflictCase
    event: CaseEvent


def _followed(view: CaseView, context: PlanContext) -> _Followed | None:
    """The case without the members that take part no more, or ``None`` if it stays as it is."""
    if not _is_followed(view, context.moment.at):
        return None
    rows = {row.relationship_id: row for row in view.rows}
    staying = [
        (key, rows[member.relationship_id])
        for key, member in sorted(_standing(view.case), key=lambda one: one[1].relationship_id)
        if is_taking_part(rows[member.relationship_id], context.moment.at)
    ]
    case = plan_case_refresh(view.case, staying, view.supports, context)
    return None if case is None else _Followed(case=case, event=plan_case_event(view.case, case, context))


def _standing(case: ConflictCase) -> list[tuple[str, CaseMember]]:
    return [(position.key, member) for position in case.positions for member in position.members]


def _is_followed(view: CaseView, at: Instant) -> bool:
    """Whether a member takes part no more at an instant, or has another version than the case knows."""
    rows = {row.relationship_id: row for row in view.rows}
    return not all(
        rows[member.relationship_id].version == member.version and is_taking_part(rows[member.relationship_id], at)
        for _, member in _standing(view.case)
    )


def _with_followed(followed: _Followed | None, changes: Changes) -> Changes:
    """What the look changes, with what the members have changed before it: one version of the case."""
    if followed is None:
        return changes
    return replace(changes, cases=changes.cases or (followed.case,), case_events=(followed.event, *changes.case_events))


def _beyond(changes: Changes, others: Iterable[CaseView], context: PlanContext) -> Changes:
    """A resolution with the next version of every other case that loses a member by it."""
    ended = {row.relationship_id: row for row in changes.relationships}
    found = []
    for number, other in enumerate(others, start=1):
        rows = tuple(ended.get(row.relationship_id, row) for row in other.rows)
        followed = _followed(replace(other, rows=rows), replace(context, ids=context.ids.part(number)))
        if followed is not None:
            found.append(followed)
    return replace(
        changes,
        cases=(*changes.cases, *(one.case for one in found)),
        case_events=(*changes.case_events, *(one.event for one in found)),
    )


def _resolving(
    before: ConflictCase, view: CaseView, context: PlanContext, decision: Resolve, policy_version: str
) -> Changes:
    """The case resolved and every loser ended by an explicit closing; nothing else is touched."""
    case, rows = view.case, {row.relationship_id: row for row in view.rows}
    lost = [_closed_row(rows[loser.relationship_id], loser, decision, context) for loser in decision.losers]
    ended = {row.relationship_id: row for row in lost}
    neighbours = [ended.get(row.relationship_id, row) for row in (*view.rows, *view.beside)]
    closed = [
        replace(after, status=decide_lost_status(rows[after.relationship_id], after, neighbours)) for after in lost
    ]
    transitions = [
        _closing_transition(view, rows[after.relationship_id], after, decision, context.ids.nth(2 + number))
        for number, after in enumerate(closed)
    ]
    resolved = replace(
        case,
        status=CaseStatus.RESOLVED,
        version=before.version + 1,
        resolved_at=context.moment.at,
        effective_at=decision.cutoff,
        effective_time_basis=decision.basis,
        preferred_position_id=decision.winner,
        resolution_reason=decision.reason.value,
        policy_version=policy_version,
    )
    event = _event(case, resolved, context, CaseAction.RESOLVED, decision.reason.value, policy_version, decision.basis)
    return Changes(relationships=tuple(closed), transitions=tuple(transitions), cases=(resolved,), case_events=(event,))


def decide_lost_status(before: Relationship, after: Relationship, neighbours: Iterable[Relationship]) -> Status:
    """The status of a loser: `superseded`, unless two of its owner's values would then be in force at once.

    Sides of one owner's dispute overlap. Where another one of them loses as well, or holds beside it, a competing
    loser stays `competing` with its end, as a side of a dispute that a later statement has overtaken does.

    Args:
        before: the row before the resolution.
        after: the row with its new end, superseded.
        neighbours: the rows of the slot with the ends and statuses that the resolution gives them.
    """
    if before.status is Status.COMPETING and any(
        other.relationship_id != after.relationship_id
        and (other.owner_id, other.facet) == (after.owner_id, after.facet)
        and other.status in _ALONE_IN_FORCE
        and is_excluding(other, after)
        and is_overlapping(other.validity, after.validity)
        for other in neighbours
    ):
        return Status.COMPETING
    return Status.SUPERSEDED


def _closed_row(before: Relationship, loser: Loser, decision: Resolve, context: PlanContext) -> Relationship:
    validity = apply_closing(before.validity, loser.valid_to)
    return replace(
        before,
        version=before.version + 1,
        status=Status.SUPERSEDED,
        validity=validity,
        end_basis=before.end_basis if validity == before.validity else decision.basis,
        revision=context.moment.revision,
        recorded_at=context.moment.at,
    )


def _closing_transition(
    view: CaseView, before: Relationship, after: Relationship, decision: Resolve, new_id: str
) -> Transition:
    case = view.case
    carried = sorted(statement_id for row_id, statement_id in view.carried if row_id == before.relationship_id)
    return Transition(
        transition_id=TransitionId(new_id),
        relationship_id=before.relationship_id,
        version=after.version,
        prior=_state(before),
        resulting=_state(after),
        actor=SYSTEM_REVIEWER,
        reason=decision.reason.value,
        time_basis=decision.basis,
        conflict_id=case.conflict_id,
        closing=Closing(
            decision_id=DecisionId(case.conflict_id),
            relationship_id=before.relationship_id,
            facet=before.facet,
            object_key=before.object.key,
            polarity=before.polarity,
            at=decision.cutoff,
            statement_ids=tuple(carried),
            basis=decision.basis,
            conflict_id=case.conflict_id,
        ),
    )


def _state(row: Relationship) -> RowState:
    return RowState(
        status=row.status,
        tier=row.tier,
        facet=row.facet,
        validity=row.validity,
        start_basis=row.start_basis,
        end_basis=row.end_basis,
    )


def _escalating(case: ConflictCase, context: PlanContext, decision: MarkOverdue, policy_version: str) -> Changes:
    """One event when the case becomes overdue; a case that is overdue already stays as it is. No version rises."""
    if case.status is CaseStatus.OVERDUE:
        return Changes()
    overdue = replace(case, status=CaseStatus.OVERDUE, policy_version=policy_version)
    event = _event(case, overdue, context, CaseAction.MARKED_OVERDUE, decision.reason.value, policy_version)
    return Changes(cases=(overdue,), case_events=(event,))


def _dismissing(
    before: ConflictCase, case: ConflictCase, context: PlanContext, decision: Dismiss, policy_version: str
) -> Changes:
    dismissed = replace(
        case,
        status=CaseStatus.DISMISSED,
        version=before.version + 1,
        dismissed_at=context.moment.at,
        resolution_reason=decision.reason.value,
        policy_version=policy_version,
    )
    event = _event(case, dismissed, context, CaseAction.DISMISSED, decision.reason.value, policy_version)
    return Changes(cases=(dismissed,), case_events=(event,))


def _event(
    before: ConflictCase,
    after: ConflictCase,
    context: PlanContext,
    action: CaseAction,
    reason: str,
    policy_version: str,
    time_basis: TimeBasis | None = None,
) -> CaseEvent:
    return CaseEvent(
        event_id=EventId(context.ids.nth(1)),
        conflict_id=after.conflict_id,
        prior_status=before.status,
        resulting_status=after.status,
        version=after.version,
        actor=SYSTEM_REVIEWER,
        action=action,
        reason=reason,
        policy_version=policy_version,
        time_basis=time_basis,
        relationship_versions=decide_member_versions(after),
    )
