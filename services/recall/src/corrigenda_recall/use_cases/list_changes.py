"""ListChanges: the committed revisions of a team with their hashes, as a stream that can be taken up again."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass

from corrigenda.recall.v1 import change_pb2
from corrigenda.recall.v1 import recall_service_pb2 as messages
from corrigenda_core.domain.actors import Caller
from corrigenda_core.domain.errors import Reason, Refusal
from corrigenda_core.domain.views import Known, KnownAtRevision, KnownNow, TemporalSelector
from corrigenda_core.persistence.database import Row
from corrigenda_core.persistence.named_sql import load_sql
from corrigenda_core.persistence.read_transaction import ReadRunner, ReadTransaction
from corrigenda_core.persistence.view_store import ReadView, run_in_view
from corrigenda_core.ports.deadline import Deadline
from corrigenda_core.rpc.actor_messages import actor_message
from corrigenda_core.rpc.convert import known_of, timestamp_of
from corrigenda_core.rpc.streams import is_going_on

BATCH_CHANGES = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class ListChanges:
    """The use case; see `__call__`."""

    reader: ReadRunner

    async def __call__(
        self, caller: Caller, request: messages.ListChangesRequest, deadline: Deadline, stopping: asyncio.Event
    ) -> AsyncIterator[messages.ListChangesResponse]:
        """The revisions that the view knows, each batch read in a snapshot of its own; then, if asked for, later ones.

        Args:
            caller: who asks.
            request: what is asked.
            deadline: when the caller stops waiting; one who follows is answered until shortly before.
            stopping: set when the server drains.

        Raises:
            Refusal: INVALID_FIELD for a revision that was not committed, and for following a view of the past;
                REVISION_NOT_REPLICATED.
        """
        known = known_of(request.known)
        if request.follow and not isinstance(known, KnownNow):
            raise Refusal(Reason.INVALID_FIELD, "a view of the past has no future to follow", field="follow")
        batch = await self._batch(caller, request, request.after_revision, known, deadline)
        upper = batch.view_revision
        yield batch.message
        while batch.message.revision < upper:
            after = batch.message.revision
            batch = await self._batch(caller, request, after, KnownAtRevision(revision=upper), deadline)
            yield batch.message
        while request.follow and await is_going_on(deadline, stopping):
            batch = await self._batch(caller, request, batch.message.revision, KnownNow(), deadline)
            if batch.message.changes:
                yield batch.message

    async def _batch(
        self, caller: Caller, request: messages.ListChangesRequest, after: int, known: Known, deadline: Deadline
    ) -> _Batch:
        async def read(transaction: ReadTransaction, view: ReadView) -> _Batch:
            if after > view.revision:
                raise Refusal(
                    Reason.INVALID_FIELD,
                    "what the team will know is not known",
                    field="after_revision",
                    metadata={"offered": str(after), "allowed": str(view.revision)},
                )
            query = load_sql("changes.sql").query(
                "changes_after", team_id=caller.team_id, after=after, revision=view.revision, limit=BATCH_CHANGES
            )
            rows = await transaction.fetch(query)
            message = messages.ListChangesResponse(
                changes=[_change(row) for row in rows], revision=rows[-1]["revision"] if rows else after
            )
            return _Batch(message=message, view_revision=view.revision)

        return await run_in_view(
            self.reader,
            caller.team_id,
            TemporalSelector(known=known),
            read,
            field="known",
            min_revision=request.min_revision,
            deadline=deadline,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Batch:
    """One message of the stream, and the revision of the view that it was read in."""

    message: messages.ListChangesResponse
    view_revision: int


def _change(row: Row) -> change_pb2.Change:
    return change_pb2.Change(
        revision=row["revision"],
        recorded_at=timestamp_of(row["recorded_at"]),
        actor=actor_message(row),
        kind=row["change_kind"],
        prior_hash=bytes(row["prior_hash"]).hex(),
        change_hash=bytes(row["change_hash"]).hex(),
        hash=bytes(row["hash"]).hex(),
    )
