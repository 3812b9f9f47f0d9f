"""WatchConflicts: what happens to cases and to the caller's items, as a stream that can be taken up again."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from dataclasses import dataclass

from corrigenda.conflict.v1 import conflict_change_pb2
from corrigenda.conflict.v1 import conflict_service_pb2 as messages
from corrigenda_core.domain.actors import Caller
from corrigenda_core.domain.cases import CaseKind
from corrigenda_core.domain.errors import Reason, Refusal
from corrigenda_core.domain.items import ItemKind, ItemStatus
from corrigenda_core.domain.views import Known, KnownAtRevision, KnownNow, TemporalSelector
from corrigenda_core.persistence.database import Row
from corrigenda_core.persistence.named_sql import load_sql
from corrigenda_core.persistence.read_transaction import ReadRunner, ReadTransaction
from corrigenda_core.persistence.view_store import ReadView, run_in_view
from corrigenda_core.ports.deadline import Deadline
from corrigenda_core.rpc.convert import timestamp_of
from corrigenda_core.rpc.enums import CASE_KIND, ITEM_KIND, ITEM_STATUS
from corrigenda_core.rpc.streams import is_going_on

from corrigenda_conflict.responses import event_message

BATCH_CHANGES = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class WatchConflicts:
    """The use case; see `__call__`."""

    reader: ReadRunner

    async def __call__(
        self, caller: Caller, request: messages.WatchConflictsRequest, deadline: Deadline, stopping: asyncio.Event
    ) -> AsyncGenerator[messages.WatchConflictsResponse, None]:
        """The changes of whole commits, each message read in a snapshot of its own; then those that come later.

        The stream is a function of the committed rows: it asks for them again and again, and is told of nothing.

        Args:
            caller: who watches; items are only theirs.
            request: what is watched.
            deadline: when the caller stops waiting; the stream ends shortly before.
            stopping: set when the server drains.

        Raises:
            Refusal: INVALID_FIELD for a revision that was not committed; REVISION_NOT_REPLICATED.
        """
        batch = await self._batch(caller, request, request.after_revision, KnownNow(), deadline)
        upper = batch.view_revision
        yield batch.message
        while batch.message.revision < upper:
            known = KnownAtRevision(revision=upper)
            batch = await self._batch(caller, request, batch.message.revision, known, deadline)
            if batch.message.changes:
                yield batch.message
        while not request.until_now and await is_going_on(deadline, stopping):
            batch = await self._batch(caller, request, batch.message.revision, KnownNow(), deadline)
            if batch.message.changes:
                yield batch.message

    async def _batch(
        self, caller: Caller, request: messages.WatchConflictsRequest, after: int, known: Known, deadline: Deadline
    ) -> _Batch:
        async def read(transaction: ReadTransaction, view: ReadView) -> _Batch:
            if after > view.revision:
                raise Refusal(
                    Reason.INVALID_FIELD,
                    "what the team will know is not known",
                    field="after_revision",
                    metadata={"offered": str(after), "allowed": str(view.revision)},
                )
            return await _read_batch(transaction, view, caller, request, after)

        return await run_in_view(
            self.reader,
            caller.team_id,
            TemporalSelector(known=known),
            read,
            field="after_revision",
            min_revision=request.min_revision,
            deadline=deadline,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Batch:
    """One message of the stream, and the revision of the view that it was read in."""

    message: messages.WatchConflictsResponse
    view_revision: int


async def _read_batch(
    transaction: ReadTransaction, view: ReadView, caller: Caller, request: messages.WatchConflictsRequest, after: int
) -> _Batch:
    """The changes after a revision, up to the end of the commit that fills a message."""
    sql, who = load_sql("conflict_changes.sql"), {"team_id": caller.team_id, "profile_id": caller.profile_id}
    (last,) = await transaction.fetch(
        sql.query("last_watched_revision", **who, after=after, revision=view.revision, limit=BATCH_CHANGES)
    )
    upto = last["revision"]
    if upto is None:
        # Nothing until the end of the view: the next look begins there.
        return _Batch(message=messages.WatchConflictsResponse(revision=view.revision), view_revision=view.revision)
    events, items = await transaction.fetch_all(
        sql.query("watched_events", **who, after=after, upto=upto, mine=request.mine),
        sql.query("watched_items", **who, after=after, upto=upto),
    )
    changes = [*map(_case_change, events), *map(_item_change, items)]
    changes.sort(key=lambda change: change.revision)
    return _Batch(message=messages.WatchConflictsResponse(changes=changes, revision=upto), view_revision=view.revision)


def _case_change(row: Row) -> conflict_change_pb2.ConflictChange:
    return conflict_change_pb2.ConflictChange(
        revision=row["revision"],
        recorded_at=timestamp_of(row["recorded_at"]),
        case_change=conflict_change_pb2.CaseChange(
            conflict_id=row["conflict_id"],
            kind=CASE_KIND.to_wire(CaseKind(row["kind"])),
            subject_id=row["subject_id"],
            predicate=row["predicate"],
            scope=row["scope"],
            event=event_message(row),
        ),
    )


def _item_change(row: Row) -> conflict_change_pb2.ConflictChange:
    return conflict_change_pb2.ConflictChange(
        revision=row["revision"],
        recorded_at=timestamp_of(row["recorded_at"]),
        item_change=conflict_change_pb2.ItemChange(
            item_id=row["item_id"],
            version=row["version"],
            kind=ITEM_KIND.to_wire(ItemKind(row["kind"])),
            status=ITEM_STATUS.to_wire(ItemStatus(row["status"])),
            reason=row["reason"],
        ),
    )
