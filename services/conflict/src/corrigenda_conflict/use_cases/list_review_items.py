"""ListReviewItems: the caller's questions of every kind, by age, with what each answer would change."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from corrigenda.conflict.v1 import conflict_service_pb2 as messages
from corrigenda.conflict.v1 import review_item_pb2
from corrigenda_core.deciding import profile_actor, team_settings
from corrigenda_core.domain.actors import Caller
from corrigenda_core.domain.ids import IdRange, ItemId
from corrigenda_core.domain.items import ItemKind, ItemStatus, ReviewItem
from corrigenda_core.domain.slots import PlanContext
from corrigenda_core.domain.time import LATEST
from corrigenda_core.domain.views import KnownAtRevision, KnownNow, TemporalSelector
from corrigenda_core.persistence.conflict_entries import EntryFilter, EntryPlace, read_entries
from corrigenda_core.persistence.conflict_store import ItemInView, read_conflicts
from corrigenda_core.persistence.database import Row
from corrigenda_core.persistence.decision_store import SlotState, SlotStateQueries, slots_of
from corrigenda_core.persistence.ingest_store import team_policy_of
from corrigenda_core.persistence.read_transaction import ReadRunner, ReadTransaction
from corrigenda_core.persistence.view_store import ReadView, run_in_view
from corrigenda_core.policy.previews import plan_previews
from corrigenda_core.ports.deadline import Deadline
from corrigenda_core.rpc.enums import ITEM_KIND, ITEM_STATUS
from corrigenda_core.rpc.page_tokens import PageTokens

from corrigenda_conflict.decision_responses import add_previews
from corrigenda_conflict.responses import ConflictMessages


@dataclass(frozen=True, slots=True, kw_only=True)
class ListReviewItems:
    """The use case; see `__call__`. ``new_ids`` names what a preview would make."""

    reader: ReadRunner
    page_tokens: PageTokens
    new_ids: Callable[[], IdRange]

    async def __call__(
        self, caller: Caller, request: messages.ListReviewItemsRequest, deadline: Deadline
    ) -> messages.ListReviewItemsResponse:
        """A page of items, the oldest first; every page shows the same revision, and previews show the present.

        Raises:
            Refusal: PAGE_TOKEN_MISMATCH.
        """
        page = self.page_tokens.page_of(request, caller)
        known = KnownNow() if page.revision is None else KnownAtRevision(revision=page.revision)
        asked, start = _filter(caller, request), EntryPlace.of(page.after)

        async def read(transaction: ReadTransaction, view: ReadView) -> messages.ListReviewItemsResponse:
            listed = await read_entries(transaction, view.recorded_by, asked, start, page.size)
            token = ""
            if listed.following is not None:
                token = self.page_tokens.next_token(
                    request, caller, after=listed.following.cursor, revision=view.revision
                )
            return messages.ListReviewItemsResponse(
                items=await self._items(caller, transaction, view, [ItemId(row["entry_id"]) for row in listed.rows]),
                next_page_token=token,
                total=listed.total,
                revision=view.revision,
            )

        return await run_in_view(
            self.reader,
            caller.team_id,
            TemporalSelector(known=known),
            read,
            field="page_token",
            min_revision=request.min_revision,
            deadline=deadline,
        )

    async def _items(
        self, caller: Caller, transaction: ReadTransaction, view: ReadView, item_ids: Sequence[ItemId]
    ) -> list[review_item_pb2.ReviewItem]:
        reading = await read_conflicts(transaction, view.recorded_by, conflict_ids=[], item_ids=item_ids)
        made = ConflictMessages(caller.team_id, reading)
        shown = [reading.items[item_id] for item_id in item_ids]
        items = [made.item(one) for one in shown]
        asked = [(one, item) for one, item in zip(shown, items, strict=True) if _has_actions(one.row)]
        if not asked:
            return items
        context, states = await self._states(caller, transaction, [one for one, _ in asked])
        for one, message in asked:
            state = next(s for s in states if (s.view.slot,) == slots_of([one.row]))
            current = _as_shown(state, message)
            if current is not None:
                add_previews(message, plan_previews(state.view, context, current), state)
                # Each preview folds the slot some times: other calls go on in between.
                await asyncio.sleep(0)
        return items

    async def _states(
        self, caller: Caller, transaction: ReadTransaction, items: Sequence[ItemInView]
    ) -> tuple[PlanContext, list[SlotState]]:
        """The slots of the items as they are now, in one round trip, and the commit that a decision would be."""
        looks = [
            SlotStateQueries(team_id=caller.team_id, slot=slot, number=number)
            for number, slot in enumerate(slots_of(item.row for item in items))
        ]
        queries = [team_settings(caller.team_id, caller.profile_id), *(one for look in looks for one in look.queries())]
        rows = await transaction.fetch_all(*queries)
        answers = {query.name: found for query, found in zip(queries, rows, strict=True)}
        context = PlanContext(
            moment=transaction.reading.next_moment(),
            ids=self.new_ids(),
            actor=profile_actor(caller),
            policy=team_policy_of(*answers["team_settings"]),
        )
        return context, [look.state(answers) for look in looks]


def _has_actions(row: Row) -> bool:
    return (row["kind"], row["status"]) == (ItemKind.RELATIONSHIP, ItemStatus.PENDING)


def _as_shown(state: SlotState, message: review_item_pb2.ReviewItem) -> ReviewItem | None:
    """The item, if it is pending at the version that is shown."""
    for item in state.view.items:
        if (item.item_id, item.version, item.status) == (message.item_id, message.version, ItemStatus.PENDING):
            return item
    return None


def _filter(caller: Caller, request: messages.ListReviewItemsRequest) -> EntryFilter:
    return EntryFilter(
        profile_id=caller.profile_id,
        with_cases=False,
        with_items=True,
        case_kinds=(),
        case_statuses=(),
        item_kinds=tuple(ITEM_KIND.to_domain(one).value for one in request.kinds) or tuple(ItemKind),
        item_statuses=tuple(ITEM_STATUS.to_domain(one).value for one in request.statuses)
        or (ItemStatus.PENDING.value,),
        entity_id=None,
        predicate=None,
        opened_before=LATEST,
        mine=False,
    )
