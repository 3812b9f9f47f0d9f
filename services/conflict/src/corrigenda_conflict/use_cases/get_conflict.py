"""GetConflict: one case with its positions and members, and its events, paged."""

from __future__ import annotations

from dataclasses import dataclass

from corrigenda.conflict.v1 import conflict_service_pb2 as messages
from corrigenda_core.domain.actors import Caller
from corrigenda_core.domain.errors import Reason, Refusal
from corrigenda_core.domain.ids import ConflictId
from corrigenda_core.domain.views import KnownAtRevision, TemporalSelector
from corrigenda_core.persistence.conflict_store import read_conflicts
from corrigenda_core.persistence.named_sql import load_sql
from corrigenda_core.persistence.read_transaction import ReadRunner, ReadTransaction
from corrigenda_core.persistence.view_store import ReadView, run_in_view
from corrigenda_core.ports.deadline import Deadline
from corrigenda_core.rpc.convert import known_of
from corrigenda_core.rpc.page_tokens import PageTokens

from corrigenda_conflict.responses import ConflictMessages, event_message
from corrigenda_conflict.use_cases.list_conflicts import NO_ID


@dataclass(frozen=True, slots=True, kw_only=True)
class GetConflict:
    """The use case; see `__call__`."""

    reader: ReadRunner
    page_tokens: PageTokens

    async def __call__(
        self, caller: Caller, request: messages.GetConflictRequest, deadline: Deadline
    ) -> messages.GetConflictResponse:
        """The case as it was known, and a page of its events; every page shows the same revision.

        Raises:
            Refusal: RESOURCE_NOT_FOUND, also for a case that was not known then; PAGE_TOKEN_MISMATCH; INVALID_FIELD.
        """
        page = self.page_tokens.page_of(request, caller)
        known = known_of(request.known) if page.revision is None else KnownAtRevision(revision=page.revision)
        conflict_id = ConflictId(request.conflict_id)
        after, after_id = page.after or ("0", NO_ID)
        sql = load_sql("conflicts.sql")

        async def read(transaction: ReadTransaction, view: ReadView) -> messages.GetConflictResponse:
            reading = await read_conflicts(transaction, view.recorded_by, conflict_ids=[conflict_id])
            shown = reading.cases.get(conflict_id)
            if shown is None:
                raise Refusal(
                    Reason.RESOURCE_NOT_FOUND,
                    "there is no such conflict",
                    field="conflict_id",
                    metadata={"resource_type": "conflict", "resource_id": conflict_id},
                )
            of_case = {"team_id": caller.team_id, "conflict_id": conflict_id, "revision": view.revision}
            events, counted = await transaction.fetch_all(
                sql.query("events_of_case", **of_case, after=int(after), after_id=after_id, limit=page.size + 1),
                sql.query("event_count", **of_case),
            )
            listed = events[: page.size]
            token = ""
            if len(events) > page.size:
                token = self.page_tokens.next_token(
                    request,
                    caller,
                    after=(str(listed[-1]["revision"]), listed[-1]["event_id"]),
                    revision=view.revision,
                )
            return messages.GetConflictResponse(
                conflict=ConflictMessages(caller.team_id, reading).case(shown),
                events=[event_message(row) for row in listed],
                next_page_token=token,
                events_total=counted[0]["total"],
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
