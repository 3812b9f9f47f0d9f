"""Questions to one owner about statements that cannot be ordered: one item for each dispute, whatever its size."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import count

from corrigenda_core.domain.ids import ItemId, ProfileId, RelationshipId, StatementId
from corrigenda_core.domain.items import ItemKind, ItemStatus, ReviewItem
from corrigenda_core.domain.relationships import Status
from corrigenda_core.domain.slots import PlanContext, SlotView
from corrigenda_core.policy.row_diff import Cause, RowChanges
from corrigenda_core.policy.same_moment import HoldReason
from corrigenda_core.policy.timeline import Timeline

OVERTAKEN = "overtaken"
FEWER_THAN_TWO_SIDES = "fewer_than_two_sides"


@dataclass(frozen=True, slots=True, kw_only=True)
class Dispute:
    """Rows of one owner that exclude each other without a known order.

    ``incoming`` is the one that is asked about: of the held ones, or where none is held of all, the one recorded last.
    """

    incoming: tuple[RelationshipId, ...]
    opposing: tuple[RelationshipId, ...]
    reason: str

    @property
    def sides(self) -> frozenset[RelationshipId]:
        """All rows of it."""
        return frozenset((*self.incoming, *self.opposing))


def plan_own_items(
    view: SlotView, owner_id: ProfileId, timeline: Timeline, changes: RowChanges, context: PlanContext, cause: Cause
) -> tuple[ReviewItem, ...]:
    """The items that a change of rows opens, follows or closes (R4.14).

    A third value joins the item of its dispute. An item follows its sides: it takes their successors, and each change
    is a new version, so that nobody decides about what they have not seen. It closes when a later statement has
    overtaken the dispute, and is pending again if that statement goes; it closes as well when fewer than two sides
    are left.

    Args:
        view: the slot of before, with the pending items, those closed as overtaken, and in a revert those that the
            decision had answered or closed.
        owner_id: whose questions these are.
        timeline: the fold that the rows say now.
        changes: the change of rows.
        context: the commit; the ids of part 3 name items.
        cause: why.
    """
    known = [i for i in view.items if i.kind is ItemKind.RELATIONSHIP and i.owner_id == owner_id]
    numbers = count()
    planned: list[ReviewItem] = []
    for dispute in decide_disputes(view, timeline, changes):
        item = _item_of(dispute, known)
        if item is None:
            item_id = ItemId(context.ids.part(3).nth(next(numbers)))
            planned.append(_opened(item_id, view, owner_id, dispute, context))
            continue
        known.remove(item)
        followed = replace(
            item,
            status=ItemStatus.PENDING,
            incoming=dispute.incoming,
            opposing=dispute.opposing,
            reason=dispute.reason,
            decision_id=None,
        )
        if followed != item:
            planned.append(replace(followed, version=item.version + 1))
    overtaken = {
        changes.carriers[episode.statement_ids[0]]
        for episode in timeline.episodes
        if episode.status is Status.COMPETING and episode.successors
    }
    planned += [_closed(item, overtaken, cause) for item in known if item.status is ItemStatus.PENDING]
    return tuple(planned)


def decide_disputes(view: SlotView, timeline: Timeline, changes: RowChanges) -> list[Dispute]:
    """The disputes of a timeline that wait for their owner, in the order of recording.

    One that a later statement has overtaken waits for nobody, nor does one whose sides decisions have all ended.
    """
    sequence = {statement.statement_id: statement.sequence for statement in view.statements}
    recorded: dict[RelationshipId, int] = {}
    groups: list[tuple[set[RelationshipId], set[str]]] = []
    for statement_ids, reason in _excluding_each_other(timeline):
        rows: set[RelationshipId] = set()
        for statement_id in statement_ids:
            row = changes.carriers[statement_id]
            rows.add(row)
            recorded[row] = max(recorded.get(row, -1), sequence[statement_id])
        touching = [group for group in groups if group[0] & rows]
        groups = [group for group in groups if not group[0] & rows]
        groups.append((rows.union(*(g[0] for g in touching)), {reason}.union(*(g[1] for g in touching))))
    held_rows = {changes.carriers[held.statement_id] for held in timeline.held}
    disputes = []
    for rows, reasons in groups:
        ordered = sorted(rows, key=lambda row: recorded[row])
        incoming = [row for row in ordered if row in held_rows or not held_rows & rows][-1]
        opposing = tuple(row for row in ordered if row != incoming)
        disputes.append(Dispute(incoming=(incoming,), opposing=opposing, reason=max(reasons)))
    return sorted(disputes, key=lambda dispute: recorded[dispute.incoming[0]])


def _excluding_each_other(timeline: Timeline) -> Iterator[tuple[tuple[StatementId, ...], str]]:
    """For each held statement and each open side of a dispute: it and what stands against it, and why it is asked."""
    for held in timeline.held:
        yield (held.statement_id, *held.against), held.reason.value
    for episode in timeline.episodes:
        if episode.status is Status.COMPETING and not episode.successors and episode.closing is None:
            yield (episode.statement_ids[-1], *episode.against), HoldReason.SAME_MOMENT.value


def _item_of(dispute: Dispute, items: Iterable[ReviewItem]) -> ReviewItem | None:
    """The item that shares most sides with a dispute, pending or answered, else a closed one about two of them."""
    best: tuple[bool, int] = (False, 1)
    found = None
    for item in items:
        shared = len(dispute.sides.intersection((*item.incoming, *item.opposing)))
        rank = (item.status is not ItemStatus.CLOSED and shared > 0, shared)
        if rank > best:
            best, found = rank, item
    return found


def _opened(item_id: ItemId, view: SlotView, owner_id: ProfileId, dispute: Dispute, context: PlanContext) -> ReviewItem:
    return ReviewItem(
        item_id=item_id,
        version=1,
        kind=ItemKind.RELATIONSHIP,
        status=ItemStatus.PENDING,
        owner_id=owner_id,
        reason=dispute.reason,
        slot=view.slot,
        incoming=dispute.incoming,
        opposing=dispute.opposing,
        opened_at=context.moment.at,
    )


def _closed(item: ReviewItem, overtaken: set[RelationshipId], cause: Cause) -> ReviewItem:
    reason = OVERTAKEN if overtaken.intersection((*item.incoming, *item.opposing)) else FEWER_THAN_TWO_SIDES
    return replace(
        item, version=item.version + 1, status=ItemStatus.CLOSED, reason=reason, decision_id=cause.decision_id
    )
