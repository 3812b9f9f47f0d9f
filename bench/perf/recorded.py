"""The floor of a write: the very statements that a commit sends, recorded once and sent again by psycopg alone.

A recording database stands between the write path and the server and notes every statement of every transaction with
the waits between them. The replay sends them for another team, pipelined with the same waits, prepared, as the same
role. Ids are unique within a team, so only the ids of team and profiles are exchanged.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any

import psycopg
from corrigenda_core.persistence.database import Database, Row, register_types
from corrigenda_core.persistence.named_sql import Query
from corrigenda_core.persistence.round_trips import Connection, RoundTrips
from corrigenda_core.ports.deadline import NO_DEADLINE, Deadline

Statement = tuple[bytes, Any]
Batches = list[list[Statement]]


class _RecordingTrips:
    """Notes what is asked, a batch for each wait, and asks it."""

    def __init__(self, trips: RoundTrips, batches: Batches) -> None:
        self._trips = trips
        self._batches = batches

    async def run(self, *queries: Query) -> list[list[Row]]:
        self._batches.append([(query.sql.encode(), query.parameters or None) for query in queries])
        return await self._trips.run(*queries)


class _RecordingConnection:
    """A connection that notes what is executed; everything else goes to the real one."""

    def __init__(self, connection: Connection, batches: Batches) -> None:
        self._connection = connection
        self._batches = batches

    def __getattr__(self, name: str) -> Any:
        return getattr(self._connection, name)

    @asynccontextmanager
    async def round_trips(self) -> AsyncIterator[_RecordingTrips]:
        async with self._connection.round_trips() as trips:
            yield _RecordingTrips(trips, self._batches)


class RecordingDatabase(Database):
    """A pool whose transactions are noted in ``transactions``, each as the batches between two waits."""

    transactions: list[Batches]

    def __init__(self, url: str) -> None:
        super().__init__(url, name="benchmark recording")
        self.transactions = []

    @asynccontextmanager
    async def connection(self, deadline: Deadline = NO_DEADLINE) -> AsyncIterator[Any]:
        """A connection that is noted."""
        async with super().connection(deadline) as connection:
            batches: Batches = []
            self.transactions.append(batches)
            yield _RecordingConnection(connection, batches)


def exchanged(value: Any, ids: Mapping[str, str]) -> Any:
    """A parameter, or the text of a statement, with other ids in it."""
    if isinstance(value, str):
        for old, new in ids.items():
            value = value.replace(old, new)
        return value
    if isinstance(value, bytes):
        return exchanged(value.decode("utf-8"), ids).encode() if _is_text(value) else value
    if isinstance(value, Mapping):
        return {name: exchanged(one, ids) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [exchanged(one, ids) for one in value]
    return value


async def replay(url: str, transactions: Sequence[Batches], ids: Mapping[str, str]) -> list[float]:
    """Sends the transactions one after the other; how long each took, in seconds."""
    prepared = [_prepared(batches, ids) for batches in transactions]
    took = []
    async with _connection(url) as connection:
        for batches in prepared:
            started = time.perf_counter()
            await _send(connection, batches)
            took.append(time.perf_counter() - started)
    return took


async def replay_at_once(url: str, transactions: Sequence[Batches], connections: int) -> float:
    """Sends the transactions over so many connections, each of which waits for its own answers; how many a second."""
    prepared = [_prepared(batches, {}) for batches in transactions]

    async def caller(waiting: Iterator[list[list[Statement]]], ready: asyncio.Barrier) -> None:
        async with _connection(url) as connection:
            # What a pool of connections has done long before the first call: connect, and prepare what is sent.
            await _send(connection, prepared[0])
            await ready.wait()
            for batches in waiting:
                await _send(connection, batches)

    waiting, ready = iter(prepared), asyncio.Barrier(connections + 1)
    async with asyncio.TaskGroup() as callers:
        for _ in range(connections):
            callers.create_task(caller(waiting, ready))
        await ready.wait()
        started = time.perf_counter()
    return len(prepared) / (time.perf_counter() - started)


def _prepared(batches: Batches, ids: Mapping[str, str]) -> list[list[Statement]]:
    """A transaction with other ids in it."""
    return [[(bytes(exchanged(sql, ids)), exchanged(values, ids)) for sql, values in batch] for batch in batches]


@asynccontextmanager
async def _connection(url: str) -> AsyncIterator[psycopg.AsyncConnection[Any]]:
    connection: psycopg.AsyncConnection[Any]
    async with await psycopg.AsyncConnection.connect(url, autocommit=True, prepare_threshold=0) as connection:
        register_types(connection)
        connection.prepared_max = 500
        yield connection


async def _send(connection: psycopg.AsyncConnection[Any], batches: Sequence[Sequence[Statement]]) -> None:
    """Sends one transaction, pipelined with its waits."""
    async with connection.pipeline() as pipeline:
        for number, batch in enumerate(batches):
            cursors = [
                await connection.execute(sql, parameters, prepare=None if parameters else False)
                for sql, parameters in batch
            ]
            if number + 1 < len(batches):
                await pipeline.sync()
                for cursor in cursors:
                    if cursor.description:
                        await cursor.fetchall()


def _is_text(value: bytes) -> bool:
    try:
        value.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True
