"""The read path: one snapshot per answer, the team first, the clock second, nothing ever changes behind it.

An answer for an instant is repeatable only if no later commit can be recorded at or before it. What the clock has
closed is; an instant after that is settled first, which waits for a commit that is under way.
"""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import TypeVar

from corrigenda_core.domain.errors import Reason, Refusal
from corrigenda_core.domain.ids import TeamId
from corrigenda_core.domain.time import Instant
from corrigenda_core.persistence.attempts import RetryPolicy, attempt_on, repeat
from corrigenda_core.persistence.database import Database, Row
from corrigenda_core.persistence.named_sql import Query
from corrigenda_core.persistence.round_trips import RoundTrips
from corrigenda_core.persistence.team_clock import ClockReading, TeamClock
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
        self, trips: RoundTrips, team_id: TeamId, reading: ClockReading, prefetched: Mapping[str, list[Row]]
    ) -> None:
        self._trips = trips
        self._has_ended = False
        self.team_id = team_id
        self.reading = reading
        self.prefetched = prefetched

    @property
    def has_ended(self) -> bool:
        """Whether the snapshot is over."""
        return self._has_ended

    async def fetch(self, query: Query) -> list[Row]:
        """The rows of one query; one round trip."""
        (rows,) = await self.fetch_all(query)
        return rows

    async def fetch_all(self, *queries: Query) -> list[list[Row]]:
        """The rows of several queries in one round trip."""
        if self._has_ended:
            raise RuntimeError("the snapshot has ended")
        return await self._trips.run(*queries)

    async def fetch_last(self, *queries: Query) -> list[list[Row]]:
        """The rows of the last queries; the snapshot ends in the same round trip."""
        *rows, _ = await self.fetch_all(*queries, _COMMIT)
        self._has_ended = True
        return rows


Read = Callable[[ReadTransaction], T | Awaitable[T]]


class ReadRunner:
    """Runs reads in snapshots.

    Args:
        database: the pool of the process's role.
        team_clock: replaced only by tests that shift the clock.
        retries: how a read is repeated whose connection was lost.
    """

    def __init__(
        self,
        database: Database,
        *,
        team_clock: TeamClock | None = None,
        retries: RetryPolicy | None = None,
    ) -> None:
        self._database = database
        self._clock = team_clock or TeamClock()
        self._retries = retries or RetryPolicy()

    async def run(
        self,
        team_id: TeamId,
        read: Read[T],
        *,
        prefetch: Sequence[Query] = (),
        min_revision: int = 0,
        settle: Instant | None = None,
        one_trip: bool = False,
        deadline: Deadline = NO_DEADLINE,
    ) -> T:
        """Runs ``read`` on one snapshot; it may run more than once.

        Args:
            team_id: the team.
            read: what is asked of the snapshot.
            prefetch: queries that go along with the first round trip, each with a name of its own.
            min_revision: what the caller has seen; the snapshot must know it.
            settle: an instant that the answer is about (``known_at``); closed first if the clock has not passed it.
            one_trip: whether ``read`` fetches nothing but what was prefetched: then the snapshot ends with that.
            deadline: when the caller stops waiting.

        Raises:
            Refusal: of ``read``; RESOURCE_NOT_FOUND, REVISION_NOT_REPLICATED, INVALID_FIELD (an instant in the future
                of the team's clock), OVERLOADED, STORE_UNAVAILABLE.
        """
        if len({query.name for query in prefetch}) != len(prefetch):
            raise ValueError("prefetched queries need names of their own")
        first = [_BEGIN, self._clock.set_team(team_id), *self._clock.look(team_id), *prefetch]
        if one_trip and settle is not None:
            raise ValueError("an instant is settled before the snapshot that is about it")
        return await self._database.within(
            deadline, self._run(team_id, read, first, min_revision, settle, one_trip, deadline)
        )

    async def _run(
        self,
        team_id: TeamId,
        read: Read[T],
        first: Sequence[Query],
        min_revision: int,
        settle: Instant | None,
        one_trip: bool,
        deadline: Deadline,
    ) -> T:
        async def attempt() -> T:
            async with (
                self._database.connection(deadline) as connection,
                attempt_on(connection),
                connection.round_trips() as trips,
            ):
                return await self._attempt(trips, team_id, read, first, min_revision, settle, one_trip)

        return await repeat(attempt, self._database, self._retries, deadline)

    async def _attempt(
        self,
        trips: RoundTrips,
        team_id: TeamId,
        read: Read[T],
        first: Sequence[Query],
        min_revision: int,
        settle: Instant | None,
        one_trip: bool,
    ) -> T:
        # COMMIT, because a snapshot that is rolled back is a failed one in the server's statistics.
        answers = await trips.run(*first, *((_COMMIT,) if one_trip else ()))
        reading = self._clock.reading(answers[2], answers[3])
        if settle is not None and not _is_closed(reading, settle):
            await trips.run(_COMMIT)
            await trips.run(_BEGIN_SETTLING, self._clock.set_team(team_id), self._clock.settle(settle), _COMMIT)
            answers = await trips.run(*first)
            reading = self._clock.reading(answers[2], answers[3])
        _require_revision(reading, min_revision)
        prefetched = {query.name: rows for query, rows in zip(first[4:], answers[4 : len(first)], strict=True)}
        transaction = ReadTransaction(trips, team_id, reading, prefetched)
        result = read(transaction)
        value: T = await result if inspect.isawaitable(result) else result
        if not one_trip and not transaction.has_ended:
            await trips.run(_COMMIT)
        return value


def _is_closed(reading: ClockReading, instant: Instant) -> bool:
    return reading.closed_at is not None and instant <= reading.closed_at


def _require_revision(reading: ClockReading, min_revision: int) -> None:
    if reading.revision < min_revision:
        raise Refusal(
            Reason.REVISION_NOT_REPLICATED,
            f"this database knows revision {reading.revision}, not yet {min_revision}",
            metadata={"asked_revision": str(min_revision), "current_revision": str(reading.revision)},
            retry_after_seconds=0.2,
        )
