"""ListConflicts: team cases and the caller's own questions, by age."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from datetime import datetime

from corrigenda.conflict.v1 import conflict_service_pb2 as messages
from corrigenda_core.domain.actors import Caller
from corrigenda_core.domain.cases import CaseKind, CaseStatus
from corrigenda_core.domain.ids import ConflictId, EntityId, ItemId
from corrigenda_core.domain.items import ItemKind, ItemStatus
from corrigenda_core.domain.time import EARLIEST, LATEST
from corrigenda_core.domain.views import KnownAtRevision, TemporalSelector
from corrigenda_core.persistence.conflict_store import ConflictReading, EntryFilter, read_conflicts
from corrigenda_core.persistence.database import Row
from corrigenda_core.persistence.named_sql import load_sql
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
        after, after_id = page.after or (EARLIEST.isoformat(), NO_ID)
        asked = _filter(caller, request)

        async def read(transaction: ReadTransaction, view: ReadView) -> messages.ListConflictsResponse:
            rows = await transaction.fetch(
                load_sql("conflicts.sql").query(
                    "conflict_entries",
                    team_id=caller.team_id,
                    at=view.recorded_by,
                    after=datetime.fromisoformat(after),
                    after_id=after_id,
                    limit=page.size + 1,
                    **entry_parameters(asked),
                )
            )
            shown = rows[: page.size]
            reading = await read_conflicts(
                transaction,
                view.recorded_by,
                conflict_ids=[ConflictId(row["entry_id"]) for row in shown if row["kind"] == "case"],
                item_ids=[ItemId(row["entry_id"]) for row in shown if row["kind"] == "item"],
            )
            token = ""
            if len(rows) > page.size:
                last = shown[-1]
                token = self.page_tokens.next_token(
                    request,
                    caller,
                    after=(last["opened_at"].isoformat(), last["entry_id"]),
                    revision=view.revision,
                )
            return messages.ListConflictsResponse(
                entries=_entries(caller, shown, reading),
                next_page_token=token,
                total=rows[0]["total"] if rows else 0,
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


def _entries(caller: Caller, rows: list[Row], reading: ConflictReading) -> list[messages.ConflictEntry]:
    made = ConflictMessages(caller.team_id, reading)
    return [
        messages.ConflictEntry(team_case=made.case(reading.cases[row["entry_id"]]))
        if row["kind"] == "case"
        else messages.ConflictEntry(review_item=made.item(reading.items[row["entry_id"]]))
        for row in rows
    ]


def entry_parameters(asked: EntryFilter) -> dict[str, object]:
    """A filter as the parameters of `conflict_entries`."""
    return {name: list(value) if isinstance(value, tuple) else value for name, value in asdict(asked).items()}


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
