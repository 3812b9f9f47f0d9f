"""Transactions on what is no revision: leases, runs, queues, search documents. They neither lock nor move the clock."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import TypeVar

from corrigenda_core.domain.ids import TeamId
from corrigenda_core.persistence.attempts import RetryPolicy, attempt_on, repeat
from corrigenda_core.persistence.database import Database, Row
from corrigenda_core.persistence.ledger import require_outside_the_ledger
from corrigenda_core.persistence.named_sql import Query
from corrigenda_core.persistence.round_trips import RoundTrips
from corrigenda_core.persistence.team_clock import TeamClock
from corrigenda_core.ports.deadline import NO_DEADLINE, Deadline

T = TypeVar("T")

_BEGIN = Query(name="begin", sql="BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE")
_COMMIT = Query(name="commit", sql="COMMIT")


class WorkTransaction:
    """One transaction of a team outside the ledger.

    Attributes:
        team_id: the team.
        prefetched: rows of the prefetched queries by name.
    """

    def __init__(self, trips: RoundTrips, team_id: TeamId, prefetched: Mapping[str, list[Row]]) -> None:
        self._trips = trips
        self.team_id = team_id
        self.prefetched = prefetched

    async def execute(self, *queries: Query) -> list[list[Row]]:
        """Runs statements in one round trip and returns their rows.

        Raises:
            ValueError: if one would write a ledgered table.
        """
        for query in queries:
            require_outside_the_ledger(query)
        return await self._trips.run(*queries)


Work = Callable[[WorkTransaction], T | Awaitable[T]]


class WorkRunner:
    """Runs work on what is no revision.

    Args:
        database: the pool of the process's role.
        retries: how work is repeated that the server gave up before its commit.
    """

    def __init__(self, database: Database, *, retries: RetryPolicy | None = None) -> None:
        self._database = database
        self._clock = TeamClock()
        self._retries = retries or RetryPolicy()

    async def run(
        self, team_id: TeamId, work: Work[T], *, prefetch: Sequence[Query] = (), deadline: Deadline = NO_DEADLINE
    ) -> T:
        """Runs ``work`` and commits; it may run more than once, but not after a commit.

        ``prefetch`` goes along with BEGIN, each query with a name of its own.

        Raises:
            Refusal: of ``work``; OVERLOADED, CONTENTION, STORE_UNAVAILABLE (``outcome`` ``unknown`` in its metadata if
                the commit may have happened), INTERNAL_ERROR.
        """
        for query in prefetch:
            require_outside_the_ledger(query)
        first = [_BEGIN, self._clock.set_team(team_id), *prefetch]

        async def attempt() -> T:
            async with (
                self._database.connection(deadline) as connection,
                attempt_on(connection) as progress,
                connection.round_trips() as trips,
            ):
                answers = await trips.run(*first)
                prefetched = {query.name: rows for query, rows in zip(first[2:], answers[2:], strict=True)}
                result = work(WorkTransaction(trips, team_id, prefetched))
                value: T = await result if inspect.isawaitable(result) else result
                progress.commit_sent = True
                await trips.run(_COMMIT)
                return value

        return await self._database.within(deadline, repeat(attempt, self._database, self._retries, deadline))
