"""Anomaly switches: the write path with one mechanism taken out, so that a test can show that it would notice."""

from __future__ import annotations

import random
from collections.abc import Collection, Sequence
from datetime import datetime, timedelta
from typing import TypeVar

from corrigenda_core.domain.ids import ConflictId, TeamId
from corrigenda_core.domain.time import Instant
from corrigenda_core.persistence.commit_writes import written_tables
from corrigenda_core.persistence.database import Database, Unbounded
from corrigenda_core.persistence.idempotency import IdempotencyRequest
from corrigenda_core.persistence.named_sql import Query
from corrigenda_core.persistence.review_cases import CaseLeases
from corrigenda_core.persistence.round_trips import RoundTrips
from corrigenda_core.persistence.team_clock import TeamClock
from corrigenda_core.persistence.transaction import Committed, Plan, TransactionRunner
from corrigenda_core.ports.deadline import NO_DEADLINE, Deadline

T = TypeVar("T")


class UnlockedTeamClock(TeamClock):
    """Reads the clock row without locking it."""

    def lock(self, team_id: TeamId, *, idle_timeout_milliseconds: int) -> list[Query]:
        """The reader's statements in the place of the writer's."""
        del idle_timeout_milliseconds  # nobody sits on what is not locked
        return self.look(team_id)


class JumpingClock:
    """A database clock that jumps back and forth by up to ``span``, the same way for the same seed."""

    def __init__(self, seed: int, span: timedelta = timedelta(hours=1)) -> None:
        self._random = random.Random(seed)
        self._span_seconds = span.total_seconds()

    def read(self, database_time: datetime) -> datetime:
        """The database's time, off by a random amount."""
        return database_time + timedelta(seconds=self._random.uniform(-self._span_seconds, self._span_seconds))


class UnfencedLeases(CaseLeases):
    """Holds and gives back the lease of a case whoever has claimed it."""

    def hold(self, team_id: TeamId, conflict_id: ConflictId, claim_token: int) -> Query:
        """The case's version, without a look at the claim."""
        del claim_token  # nobody asks whose it is
        return Query(
            name="hold_lease",
            sql="SELECT k.version FROM conflict_cases AS k WHERE k.team_id = %(team_id)s AND k.conflict_id = %(case)s",
            parameters={"team_id": team_id, "case": conflict_id},
        )

    def finish(
        self,
        team_id: TeamId,
        conflict_id: ConflictId,
        claim_token: int,
        *,
        next_review_at: Instant | Unbounded,
        team_now: Instant,
    ) -> Query:
        """Gives back whatever lease there is."""
        del claim_token  # nobody asks whose it is
        return Query(
            name="finish_look",
            sql="UPDATE case_lease SET next_review_at = %(next)s, lease_expires_at = '-infinity', attempts = 0,"
            " last_evaluated_at = %(now)s WHERE team_id = %(team_id)s AND conflict_id = %(case)s",
            parameters={"team_id": team_id, "case": conflict_id, "next": next_review_at, "now": team_now},
        )


class UnrecordedRequests(TransactionRunner):
    """Keeps no record of requests, and looks for none."""

    async def run(
        self,
        team_id: TeamId,
        plan: Plan[T],
        *,
        prefetch: Sequence[Query] = (),
        idempotency: IdempotencyRequest[T] | None = None,
        keeps_records: bool = False,
        deadline: Deadline = NO_DEADLINE,
    ) -> Committed[T]:
        """Carries out whatever is asked, as if nobody ever asked twice."""
        del idempotency  # nobody remembers it
        return await super().run(team_id, plan, prefetch=prefetch, keeps_records=keeps_records, deadline=deadline)


class TornCommits(TransactionRunner):
    """Commits in two transactions of which the second one is lost: what is written into some tables is not there.

    Args:
        database: the pool of the process's role.
        lost: the tables whose rows would have been in the second transaction.
    """

    def __init__(self, database: Database, lost: Collection[str]) -> None:
        super().__init__(database)
        self._lost = frozenset(lost)

    async def _commit(self, trips: RoundTrips, writes: Sequence[Query]) -> None:
        await super()._commit(trips, [one for one in writes if not written_tables(one.sql) & self._lost])
