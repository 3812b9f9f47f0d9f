"""The read path: one snapshot per answer, the team first, the clock second, nothing ever changes behind it.

An answer for an instant is repeatable only if no later commit can be recorded at or before it. What the clock has
closed is; an instant after that is settled first, which waits for a commit that is under way.
"""

from __future__ import annotations

import asyncio
import inspect
import random
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import TypeVar

import psycopg

from corrigenda_core.domain.errors import Reason, Refusal
from corrigenda_core.domain.ids import TeamId
from corrigenda_core.domain.time import Instant
from corrigenda_core.persistence.database import Connection, Database, Row, run_pipelined, send
from corrigenda_core.persistence.failures import is_connection_loss, is_worth_repeating, refusal_of
from corrigenda_core.persistence.named_sql import Query
from corrigenda_core.persistence.team_clock import ClockReading, TeamClock
from corrigenda_core.persistence.transaction import RetryPolicy, Sleeper, roll_back
from corrigenda_core.ports.deadline import NO_DEADLINE, Deadline

T = TypeVar("T")

_BEGIN = Query(name="begin", sql="BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
_BEGIN_SETTLING = Query(name="begin", sql="BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE")
_COMMIT = Query(name="commit", sql="COMMIT")


class ReadTransaction:
    """One snapshot of a team.

    Attributes:
        team_id: the team.
        reading: its clock in this snapshot; `reading.revision` is what an answer states.
        prefetched: rows of the prefetched queries by name.
    """

    def __init__(
        self, connection: Connection, team_id: TeamId, reading: ClockReading, prefetched: Mapping[str, list[Row]]
    ) -> None:
        self._connection = connection
        self.team_id = team_id
        self.reading = reading
        self.prefetched = prefetched

    async def fetch(self, query: Query) -> list[Row]:
        """The rows of one query; one round trip."""
        cursor = await send(self._connection, query)
        return await cursor.fetchall() if cursor.description else []

    async def fetch_all(self, *queries: Query) -> list[list[Row]]:
        """The rows of several queries in one round trip."""
        return await run_pipelined(self._connection, queries)


Read = Callable[[ReadTransaction], T | Awaitable[T]]


class ReadRunner:
    """Runs reads in snapshots.

    Args:
        database: the pool of the process's role.
        team_clock: replaced only by tests that shift the clock.
        retries: how a read is repeated whose connection was lost.
        sleep: waits between attempts.
        draw: uniform in [0, 1), for the delays.
    """

    def __init__(
        self,
        database: Database,
        *,
        team_clock: TeamClock | None = None,
        retries: RetryPolicy | None = None,
        sleep: Sleeper = asyncio.sleep,
        draw: Callable[[], float] = random.random,
    ) -> None:
        self._database = database
        self._clock = team_clock or TeamClock()
        self._retries = retries or RetryPolicy()
        self._sleep = sleep
        self._draw = draw

    async def run(
        self,
        team_id: TeamId,
        read: Read[T],
        *,
        prefetch: Sequence[Query] = (),
        min_revision: int = 0,
        settle: Instant | None = None,
        deadline: Deadline = NO_DEADLINE,
    ) -> T:
        """Runs ``read`` on one snapshot; it may run more than once.

        Args:
            team_id: the team.
            read: what is asked of the snapshot.
            prefetch: queries that go along with the first round trip, each with a name of its own.
            min_revision: what the caller has seen; the snapshot must know it.
            settle: an instant that the answer is about (``known_at``); closed first if the clock has not passed it.
            deadline: when the caller stops waiting.

        Raises:
            Refusal: of ``read``; RESOURCE_NOT_FOUND, REVISION_NOT_REPLICATED, INVALID_FIELD (an instant in the future
                of the team's clock), OVERLOADED, STORE_UNAVAILABLE.
        """
        if len({query.name for query in prefetch}) != len(prefetch):
            raise ValueError("prefetched queries need names of their own")
        first = [_BEGIN, self._clock.set_team(team_id), *self._clock.look(team_id), *prefetch]
        return await self._database.within(deadline, self._run(team_id, read, first, min_revision, settle, deadline))

    async def _run(
        self,
        team_id: TeamId,
        read: Read[T],
        first: Sequence[Query],
        min_revision: int,
        settle: Instant | None,
        deadline: Deadline,
    ) -> T:
        attempt = 0
        while True:
            attempt += 1
            try:
                async with self._database.connection(deadline) as connection:
                    return await self._attempt(connection, team_id, read, first, min_revision, settle)
            except psycopg.Error as error:
                lost = is_connection_loss(error, None)
                delay = self._retries.delay_seconds(attempt, self._draw())
                hopeless = attempt >= self._retries.attempts or deadline.remaining_seconds() <= delay
                if hopeless or not (lost or is_worth_repeating(error)):
                    raise refusal_of(error, connection_lost=lost) from error
                await self._sleep(delay)
                if lost:
                    await self._database.replace_broken()

    async def _attempt(
        self,
        connection: Connection,
        team_id: TeamId,
        read: Read[T],
        first: Sequence[Query],
        min_revision: int,
        settle: Instant | None,
    ) -> T:
        try:
            answers = await run_pipelined(connection, first)
            reading = self._clock.reading(answers[2], answers[3])
            if settle is not None and not _is_closed(reading, settle):
                await run_pipelined(connection, [_COMMIT])
                await self._settle(connection, team_id, settle)
                answers = await run_pipelined(connection, first)
                reading = self._clock.reading(answers[2], answers[3])
            _require_revision(reading, min_revision)
            prefetched = {query.name: rows for query, rows in zip(first[4:], answers[4:], strict=True)}
            result = read(ReadTransaction(connection, team_id, reading, prefetched))
            value: T = await result if inspect.isawaitable(result) else result
            # COMMIT, because after a ROLLBACK the driver forgets what it has prepared.
            await run_pipelined(connection, [_COMMIT])
        except BaseException:
            await roll_back(connection)
            raise
        return value

    async def _settle(self, connection: Connection, team_id: TeamId, instant: Instant) -> None:
        steps = [_BEGIN_SETTLING, self._clock.set_team(team_id), self._clock.settle(instant), _COMMIT]
        await run_pipelined(connection, steps)


def _is_closed(reading: ClockReading, instant: Instant) -> bool:
    return reading.closed_at is not None and instant <= reading.closed_at


def _require_revision(reading: ClockReading, min_revision: int) -> None:
    if reading.revision < min_revision:
        raise Refusal(
            Reason.REVISION_NOT_REPLICATED,
            f"this database knows revision {reading.revision}, not yet {min_revision}",
            metadata={"revision": str(reading.revision), "min_revision": str(min_revision)},
            retry_after_seconds=0.2,
        )
