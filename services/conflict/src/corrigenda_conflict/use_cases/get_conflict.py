"""GetConflict: one case with its positions, members and events, page by page."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Self

from corrigenda.conflict.v1 import conflict_service_pb2 as messages
from corrigenda_core.domain.actors import Caller
from corrigenda_core.domain.cases import CasePosition
from corrigenda_core.domain.errors import missing
from corrigenda_core.domain.ids import ConflictId
from corrigenda_core.domain.views import KnownAtRevision, TemporalSelector
from corrigenda_core.persistence.conflict_store import read_conflicts
from corrigenda_core.persistence.database import Row
from corrigenda_core.persistence.named_sql import load_sql
from corrigenda_core.persistence.read_transaction import ReadRunner, ReadTransaction
from corrigenda_core.persistence.view_store import ReadView, run_in_view
from corrigenda_core.ports.deadline import Deadline
from corrigenda_core.rpc.convert import known_of
from corrigenda_core.rpc.page_tokens import PageTokens

from corrigenda_conflict.responses import ConflictMessages, FurtherMember, event_message, further_records
from corrigenda_conflict.use_cases.list_conflicts import NO_ID


@dataclass(frozen=True, slots=True, kw_only=True)
class CasePlace:
    """Where a page begins: so many further records are shown, and the events up to a revision and id."""

    further: int = 0
    revision: int = 0
    event_id: str = NO_ID

    @property
    def cursor(self) -> tuple[str, ...]:
        """The place as a page token keeps it."""
        return (str(self.further), str(self.revision), self.event_id)

    @classmethod
    def of(cls, cursor: tuple[str, ...]) -> Self:
        """The place that a page token has kept; an empty cursor is the beginning."""
        return cls(further=int(cursor[0]), revision=int(cursor[1]), event_id=cursor[2]) if cursor else cls()


@dataclass(frozen=True, slots=True, kw_only=True)
class GetConflict:
    """The use case; see `__call__`."""

    reader: ReadRunner
    page_tokens: PageTokens

    async def __call__(
        self, caller: Caller, request: messages.GetConflictRequest, deadline: Deadline
    ) -> messages.GetConflictResponse:
        """The case as it was known, and a page of its records; every page shows the same revision.

        Raises:
            Refusal: RESOURCE_NOT_FOUND, also for a case that was not known then; PAGE_TOKEN_MISMATCH; INVALID_FIELD.
        """
        page = self.page_tokens.page_of(request, caller)
        known = known_of(request.known) if page.revision is None else KnownAtRevision(revision=page.revision)
        conflict_id, start = ConflictId(request.conflict_id), CasePlace.of(page.after)

        async def read(transaction: ReadTransaction, view: ReadView) -> messages.GetConflictResponse:
            reading = await read_conflicts(transaction, view.recorded_by, conflict_ids=[conflict_id])
            shown = reading.cases.get(conflict_id)
            if shown is None:
                raise missing("conflict", conflict_id, field="conflict_id")
            further = further_records(shown)
            listed = further[start.further : start.further + page.size]
            room = page.size - len(listed)
            events, events_total = await _events(transaction, view, conflict_id, start, limit=room + 1)
            made = ConflictMessages(caller.team_id, reading)
            response = messages.GetConflictResponse(
                conflict=made.case(shown),
                further_positions=[made.position(shown, one) for one in listed if isinstance(one, CasePosition)],
                further_members=[made.further_member(one) for one in listed if isinstance(one, FurtherMember)],
                events=[event_message(row) for row in events[:room]],
                events_total=events_total,
                revision=view.revision,
            )
            seen = replace(start, further=start.further + len(listed))
            if room > 0 and events:
                last = events[:room][-1]
                seen = replace(seen, revision=last["revision"], event_id=last["event_id"])
            if seen.further < len(further) or len(events) > room:
                response.next_page_token = self.page_tokens.next_token(
                    request, caller, after=seen.cursor, revision=view.revision
                )
            return response

        return await run_in_view(
            self.reader,
            caller.team_id,
            TemporalSelector(known=known),
            read,
            field="known",
            min_revision=request.min_revision,
            deadline=deadline,
        )


async def _events(
    transaction: ReadTransaction, view: ReadView, conflict_id: ConflictId, start: CasePlace, *, limit: int
) -> tuple[list[Row], int]:
    """The events after a place, and the number of all."""
    sql = load_sql("conflicts.sql")
    of_case = {"team_id": transaction.team_id, "conflict_id": conflict_id, "revision": view.revision}
    events, counted = await transaction.fetch_all(
        sql.query("events_of_case", **of_case, after=start.revision, after_id=start.event_id, limit=limit),
        sql.query("event_count", **of_case),
    )
    return events, counted[0]["total"]
