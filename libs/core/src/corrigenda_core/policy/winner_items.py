"""What happens when the winner of a resolved case goes: those who lost are asked what holds, and nothing revives."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import count

from corrigenda_core.domain.cases import ConflictCase
from corrigenda_core.domain.ids import ItemId, ProfileId, RelationshipId
from corrigenda_core.domain.items import ItemKind, ItemStatus, ReviewItem
from corrigenda_core.domain.slots import PlanContext, SlotView
from corrigenda_core.policy.validity import is_living

WINNER_WITHDRAWN = "winner_withdrawn"
WINNER_RESTORED = "winner_restored"
_CASE = "conflict_id"


def plan_winner_items(before: SlotView, after: SlotView, context: PlanContext) -> tuple[ReviewItem, ...]:
    """Asks every owner who lost a case whose winner a change withdraws, and closes the question if it comes back.

    The rows of other owners are never revived: what their owners say now is up to them.

    Args:
        before: the slot before the change, with its resolved cases.
        after: the slot as the change leaves it.
        context: the commit; its ids name items.
    """
    numbers = count()
    planned: list[ReviewItem] = []
    for case in before.resolved_cases:
        winners = sorted(_members(case, preferred=True))
        was, is_ = _is_any_living(before, winners), _is_any_living(after, winners)
        if was and not is_:
            for owner_id, lost in _losing_rows(case):
                item_id = ItemId(context.ids.nth(next(numbers)))
                planned.append(_withdrawn(item_id, after, case, owner_id, lost, winners, context))
        elif is_ and not was:
            planned += [_restored(item) for item in after.items if _is_about(item, case)]
    return tuple(planned)


def _members(case: ConflictCase, *, preferred: bool) -> Iterator[RelationshipId]:
    for position in case.positions:
        if (position.position_id == case.preferred_position_id) is preferred:
            yield from (member.relationship_id for member in position.members)


def _losing_rows(case: ConflictCase) -> list[tuple[ProfileId, tuple[RelationshipId, ...]]]:
    rows: dict[ProfileId, list[RelationshipId]] = {}
    for position in case.positions:
        if position.position_id != case.preferred_position_id:
            for member in position.members:
                rows.setdefault(member.owner_id, []).append(member.relationship_id)
    return [(owner_id, tuple(sorted(rows[owner_id]))) for owner_id in sorted(rows)]


def _is_any_living(view: SlotView, row_ids: Iterable[RelationshipId]) -> bool:
    wanted = set(row_ids)
    return any(row.relationship_id in wanted and is_living(row.status, row.validity) for row in view.rows)


def _withdrawn(
    item_id: ItemId,
    view: SlotView,
    case: ConflictCase,
    owner_id: ProfileId,
    lost: tuple[RelationshipId, ...],
    winners: Iterable[RelationshipId],
    context: PlanContext,
) -> ReviewItem:
    return ReviewItem(
        item_id=item_id,
        version=1,
        kind=ItemKind.WINNER_WITHDRAWN,
        status=ItemStatus.PENDING,
        owner_id=owner_id,
        reason=WINNER_WITHDRAWN,
        slot=view.slot,
        incoming=lost,
        opposing=tuple(winners),
        details=((_CASE, case.conflict_id),),
        opened_at=context.moment.at,
    )


def _is_about(item: ReviewItem, case: ConflictCase) -> bool:
    return (
        item.kind is ItemKind.WINNER_WITHDRAWN
        and item.status is ItemStatus.PENDING
        and (_CASE, case.conflict_id) in item.details
    )


def _restored(item: ReviewItem) -> ReviewItem:
    return replace(item, version=item.version + 1, status=ItemStatus.CLOSED, reason=WINNER_RESTORED)
