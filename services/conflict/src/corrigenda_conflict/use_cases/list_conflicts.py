"""ListConflicts: team cases and the caller's own questions, by age."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from corrigenda.conflict.v1 import conflict_service_pb2 as messages
from corrigenda_core.domain.actors import Caller
from corrigenda_core.domain.cases import CaseKind, CaseStatus
from corrigenda_core.domain.ids import ConflictId, EntityId, ItemId
from corrigenda_core.domain.items import ItemKind, ItemStatus
from corrigenda_core.domain.time import LATEST
from corrigenda_core.domain.views import KnownAtRevision, TemporalSelector
from corrigenda_core.persistence.conflict_entries import EntryFilter, EntryPlace, read_entries
from corrigenda_core.persistence.conflict_store import ConflictReading, read_conflicts
from corrigenda_core.persistence.database import Row
from corrigenda_core.persistence.read_transaction import ReadRunner, ReadTransaction
from corrigenda_core.persistence.view_store import ReadView, run_in_view
from corrigenda_core.ports.deadline import Deadline
from corrigenda_core.rpc.convert import instant_of, known_of
from corrigenda_core.rpc.enums import CASE_KIND, CASE_STATUS, ITEM_KIND, ITEM_STATUS
from corrigenda_core.rpc.page_tokens import PageTokens

from corrigenda_conflict.responses import ConflictMessages

NO_ID = "00000000-0000-0000-0000-000000000000"


@dataclass(frozen=True, slots=True, kw_only=True)
class ListConflicts:
    """The use case; see `__call__`."""

    reader: ReadRunner
    page_tokens: PageTokens

    async def __call__(
        self, caller: Caller, request: messages.ListConflictsRequest, deadline: Deadline
    ) -> messages.ListConflictsResponse:
        """A page of entries, the oldest first; every page shows the same revision.

        Raises:
            Refusal: PAGE_TOKEN_MISMATCH; INVALID_FIELD for a view of the future.
        """
        page = self.page_tokens.page_of(request, caller)
        known = known_of(request.known) if page.revision is None else KnownAtRevision(revision=page.revision)
        asked, start = _filter(caller, request), EntryPlace.of(page.after)

        async def read(transaction: ReadTransaction, view: ReadView) -> messages.ListConflictsResponse:
            listed = await read_entries(transaction, view.recorded_by, asked, start, page.size)
            reading = await read_conflicts(
                transaction,
                view.recorded_by,
                conflict_ids=[ConflictId(row["entry_id"]) for row in listed.rows if row["kind"] == "case"],
                item_ids=[ItemId(row["entry_id"]) for row in listed.rows if row["kind"] == "item"],
            )
            token = ""
            if listed.following is not None:
                token = self.page_tokens.next_token(
                    request, caller, after=listed.following.cursor, revision=view.revision
                )
            return messages.ListConflictsResponse(
                entries=_entries(caller, listed.rows, reading),
                next_page_token=token,
                total=listed.total,
                revision=view.revision,
            )

        return await run_in_view(
            self.reader,
            caller.team_id,
            TemporalSelector(known=known),
            read,
            field="known",
            min_revision=request.min_revision,
            deadline=deadline,
        )


def _entries(caller: Caller, rows: Sequence[Row], reading: ConflictReading) -> list[messages.ConflictEntry]:
    made = ConflictMessages(caller.team_id, reading)
    return [
        messages.ConflictEntry(team_case=made.case(reading.cases[row["entry_id"]]))
        if row["kind"] == "case"
        else messages.ConflictEntry(review_item=made.item(reading.items[row["entry_id"]]))
        for row in rows
    ]


def _filter(caller: Caller, request: messages.ListConflictsRequest) -> EntryFilter:
    """The filter, with the defaults of the request's comments: what is still open."""
    kinds = set(request.entry_kinds)
    return EntryFilter(
        profile_id=caller.profile_id,
        with_cases=not kinds or messages.CONFLICT_ENTRY_KIND_TEAM_CASE in kinds,
        with_items=not kinds or messages.CONFLICT_ENTRY_KIND_REVIEW_ITEM in kinds,
        case_kinds=tuple(CASE_KIND.to_domain(one).value for one in request.case_kinds) or tuple(CaseKind),
        case_statuses=tuple(CASE_STATUS.to_domain(one).value for one in request.case_statuses)
        or (CaseStatus.OPEN.value, CaseStatus.OVERDUE.value),
        item_kinds=tuple(ITEM_KIND.to_domain(one).value for one in request.item_kinds) or tuple(ItemKind),
        item_statuses=tuple(ITEM_STATUS.to_domain(one).value for one in request.item_statuses)
        or (ItemStatus.PENDING.value,),
        entity_id=EntityId(request.entity_id) if request.entity_id else None,
        predicate=request.predicate or None,
        opened_before=instant_of(request.opened_before) if request.HasField("opened_before") else LATEST,
        mine=request.mine,
    )
