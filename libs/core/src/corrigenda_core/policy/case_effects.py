"""Case effects: what the state that any change leaves behind does to the team's conflict cases."""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta

from corrigenda_core.domain.cases import (
    CaseAction,
    CaseEvent,
    CaseMember,
    CasePosition,
    CaseStatus,
    ConflictCase,
    SetKey,
)
from corrigenda_core.domain.errors import Reason, Refusal
from corrigenda_core.domain.evidence import Support
from corrigenda_core.domain.ids import ConflictId, EventId, PositionId, RelationshipId
from corrigenda_core.domain.relationships import Relationship
from corrigenda_core.domain.slots import PlanContext, SlotView
from corrigenda_core.domain.snapshots import Component, SnapshotMember, SnapshotPosition
from corrigenda_core.domain.submissions import ConflictContext
from corrigenda_core.domain.time import Interval, Moment
from corrigenda_core.policy.case_members import Disagreement, decide_disagreements
from corrigenda_core.policy.independence import decide_witnesses

_DIGEST_LENGTH = 32


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseEffects:
    """New versions of cases, and one event for each."""

    cases: tuple[ConflictCase, ...] = ()
    events: tuple[CaseEvent, ...] = ()


def plan_case_effects(view: SlotView, context: PlanContext) -> CaseEffects:
    """Opens, joins and refreshes the cases of a slot (R7.1).

    A case opens when supported relationships of two owners exclude each other at a common instant not before now, or
    one disputes another by reference; likeness alone opens none. A live case follows its members (R7.8) and is closed
    by the reviewer alone, also when nothing is left to disagree about.

    Args:
        view: the slot as the change leaves it, with its live cases as they stand.
        context: the commit of the change.
    """
    live = {case.set_key: case for case in view.cases if case.live}
    cases: list[ConflictCase] = []
    events: list[CaseEvent] = []
    for number, disagreement in enumerate(decide_disagreements(view, context.moment.at)):
        ids = replace(context, ids=context.ids.part(number))
        before = live.get(disagreement.set_key)
        if before is None and not disagreement.across_owners:
            continue
        if before is None and disagreement.set_key.slot != view.slot:
            # It opens where it lies: only there it is known which case is live, and which was the last.
            continue
        if before is None:
            after: ConflictCase | None = _opened(view, disagreement, ids)
        else:
            after = plan_case_refresh(before, disagreement.members, _supports(view), ids)
        if after is not None:
            cases.append(after)
            events.append(plan_case_event(before, after, ids))
    return CaseEffects(cases=tuple(cases), events=tuple(events))


def may_answer_case(case: ConflictCase, set_keys: Iterable[SetKey], answer: ConflictContext) -> None:
    """Checks that a statement may answer a case (R7.7): the case is live, seen at its version, and its own.

    Args:
        case: the named case.
        set_keys: the set keys that the statement can belong to, on whatever day an event happened.
        answer: what the proposal names; no expected version means the current one.

    Raises:
        Refusal: CONFLICT_VERSION_STALE if the case has moved on or is closed, NOT_IN_CONFLICT if the statement is
            about something else.
    """
    expected = case.version if answer.expected_version is None else answer.expected_version
    if not case.live or expected != case.version:
        raise Refusal(
            Reason.CONFLICT_VERSION_STALE,
            f"the case is {case.status.value} at version {case.version}, the answer was made for version {expected}",
            metadata={
                "conflict_id": case.conflict_id,
                "expected_version": str(expected),
                "current_version": str(case.version),
                "status": case.status.value,
            },
        )
    if case.set_key.of_any_day not in set(set_keys):
        raise Refusal(
            Reason.NOT_IN_CONFLICT,
            "the statement is not about what the case is about",
            metadata={"conflict_id": case.conflict_id},
        )


def decide_snapshot_member(row: Relationship, supports: Iterable[Support]) -> SnapshotMember:
    """A row as the policy reads it, with the supports that are its own."""
    interval = row.validity if isinstance(row.validity, Interval) else None
    start = row.validity.start if isinstance(row.validity, Interval) else row.validity.at
    return SnapshotMember(
        relationship_id=row.relationship_id,
        version=row.version,
        owner_id=row.owner_id,
        valid_from=start,
        valid_from_basis=row.start_basis,
        valid_to=interval.end if interval is not None else start,
        record=row.record,
        supports=tuple(
            sorted(
                (support for support in supports if support.relationship_id == row.relationship_id),
                key=lambda support: support.support_id,
            )
        ),
    )


def _supports(view: SlotView) -> tuple[Support, ...]:
    """Those of the slot's rows, and of the rows beside it."""
    return (*view.supports, *view.supports_beside)


def _opened(view: SlotView, disagreement: Disagreement, context: PlanContext) -> ConflictCase:
    moment = context.moment
    previous = dict(view.closed_cases).get(disagreement.set_key)
    return ConflictCase(
        conflict_id=ConflictId(context.ids.nth(0)),
        set_key=disagreement.set_key,
        status=CaseStatus.OPEN,
        version=1,
        opened_at=moment.at,
        review_due_at=moment.at + timedelta(days=context.policy.review_period_days),
        first_contradiction_at=moment.at,
        positions=_positions((), disagreement.members, _supports(view), context),
        previous_conflict_id=previous,
    )


def plan_case_refresh(
    before: ConflictCase,
    members: Iterable[tuple[str, Relationship]],
    supports: Sequence[Support],
    context: PlanContext,
) -> ConflictCase | None:
    """The next version of a live case, or ``None`` if nothing that its version follows has changed (R7.5).

    Args:
        before: the case as it stands.
        members: the rows that are members now, each with the key of its position, ordered by id.
        supports: the supports of at least these rows.
        context: the commit; the ids from 2 on name new positions.
    """
    positions = _positions(before.positions, members, supports, context)
    if _followed(positions) == _followed(before.positions):
        return None
    return replace(before, version=before.version + 1, positions=positions)


def _followed(positions: Iterable[CasePosition]) -> list[tuple[str, tuple[CaseMember, ...], str]]:
    """What a case's version follows: positions, members, their versions and their effective supports."""
    return sorted((position.key, position.members, position.support_digest) for position in positions)


def _positions(
    before: Sequence[CasePosition],
    members: Iterable[tuple[str, Relationship]],
    supports: Sequence[Support],
    context: PlanContext,
) -> tuple[CasePosition, ...]:
    """The positions now, ordered by key; one that was there keeps its id, and stays when its last member has left."""
    known = {position.key: position for position in before}
    by_key: dict[str, list[Relationship]] = defaultdict(list)
    for key, row in members:
        by_key[key].append(row)
    sides = {
        key: SnapshotPosition(
            position_id=known[key].position_id if key in known else PositionId(context.ids.nth(2 + number)),
            members=tuple(decide_snapshot_member(row, supports) for row in by_key[key]),
        )
        for number, key in enumerate(sorted(by_key.keys() | known.keys()))
    }
    components = decide_witnesses(_live(sides.values())).components
    return tuple(
        _position(key, side, known.get(key), _of(side, components), context.moment) for key, side in sides.items()
    )


def _live(sides: Iterable[SnapshotPosition]) -> list[SnapshotPosition]:
    return [SnapshotPosition(position_id=s.position_id, members=s.live_members) for s in sides if s.live_members]


def _of(side: SnapshotPosition, components: Iterable[Component]) -> list[Component]:
    return [component for component in components if component.position_id == side.position_id]


def _position(
    key: str, side: SnapshotPosition, before: CasePosition | None, components: Sequence[Component], moment: Moment
) -> CasePosition:
    return CasePosition(
        position_id=side.position_id,
        key=key,
        members=tuple(
            CaseMember(relationship_id=m.relationship_id, version=m.version, owner_id=m.owner_id) for m in side.members
        ),
        counted_groups=len(components),
        authoritative_groups=sum(component.authoritative for component in components),
        support_digest=_support_digest(side),
        first_seen_at=moment.at if before is None else before.first_seen_at,
        last_seen_at=moment.at,
    )


def _support_digest(side: SnapshotPosition) -> str:
    """Text that is equal exactly when the effective supports, and what each was granted, are the same."""
    effective = sorted(
        f"{support.support_id}:{support.authority.value}"
        for member in side.members
        for support in member.supports
        if support.effective
    )
    return hashlib.sha256("\n".join(effective).encode()).hexdigest()[:_DIGEST_LENGTH]


def plan_case_event(before: ConflictCase | None, after: ConflictCase, context: PlanContext) -> CaseEvent:
    """The event of a case that opened or follows its members; id 1 of the commit names it."""
    action = CaseAction.REFRESHED
    if before is None:
        action = CaseAction.OPENED
    elif set(_member_ids(after)) - set(_member_ids(before)):
        action = CaseAction.JOINED
    return CaseEvent(
        event_id=EventId(context.ids.nth(1)),
        conflict_id=after.conflict_id,
        prior_status=None if before is None else before.status,
        resulting_status=after.status,
        version=after.version,
        actor=context.actor,
        action=action,
        reason=after.set_key.kind.value,
        relationship_versions=decide_member_versions(after),
    )


def decide_member_versions(case: ConflictCase) -> tuple[tuple[RelationshipId, int], ...]:
    """The members of a case at their versions, ordered by id: what an event of the case refers to."""
    return tuple(
        sorted((member.relationship_id, member.version) for position in case.positions for member in position.members)
    )


def _member_ids(case: ConflictCase) -> Iterator[RelationshipId]:
    return (member.relationship_id for position in case.positions for member in position.members)
