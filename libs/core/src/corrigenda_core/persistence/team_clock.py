"""The team clock: the row that every commit locks first, and the times that follow from it.

One lock order, so no deadlock inside a team; commit order, revision order and time order are one order because all
three are given out under this lock.
"""

from __future__ import annotations

import uuid
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any, Protocol

from corrigenda_core.domain.errors import Reason, Refusal
from corrigenda_core.domain.ids import TeamId
from corrigenda_core.domain.time import EARLIEST, Instant, Moment
from corrigenda_core.persistence.named_sql import Query, load_sql

MICROSECOND = timedelta(microseconds=1)


class DatabaseClock(Protocol):
    """The clock of an open team; other than the database's own in tests only."""

    def read(self, database_time: Instant) -> Instant:
        """The time to use, given what the database's clock says."""
        ...


class RealClock:
    """The database's clock as it is."""

    def read(self, database_time: Instant) -> Instant:
        """Returns what the database says."""
        return database_time


@dataclass(frozen=True, slots=True, kw_only=True)
class ClockReading:
    """A team's clock as one transaction sees it.

    Attributes:
        revision: the last committed one, 0 before the first.
        closed_at: no later commit is recorded at or before this instant; ``None`` before the first.
        now: the team's time: the driven one, or the database's.
        is_driven: whether an administrator sets the time.
        ledger_head: the hash of the last ledger entry.
    """

    revision: int
    closed_at: Instant | None
    now: Instant
    is_driven: bool
    ledger_head: bytes

    def next_moment(self) -> Moment:
        """The moment of the next revision: later than everything closed, whatever the clock says.

        Raises:
            OverflowError: at the end of the calendar.
        """
        if self.closed_at is None:
            return Moment(revision=self.revision + 1, at=max(EARLIEST, self.now))
        return Moment(revision=self.revision + 1, at=max(self.closed_at + MICROSECOND, self.now))

    def after(self, moment: Moment) -> ClockReading:
        """The reading once ``moment`` is taken, for the next revision of the same commit."""
        return replace(self, revision=moment.revision, closed_at=moment.at)


@dataclass(frozen=True, slots=True, kw_only=True)
class Planning:
    """How the server plans the prepared statements of a transaction, until it ends."""

    plan_cache_mode: str
    seqscan: str

    @property
    def parameters(self) -> dict[str, str]:
        """What the statements on the clock take."""
        return {"plan_cache_mode": self.plan_cache_mode, "seqscan": self.seqscan}


PLANNED_ONCE = Planning(plan_cache_mode="force_generic_plan", seqscan="off")
"""By the index that each statement claims. The server's own choice is to plan statements that take a list anew each
time, for fear of long lists: three milliseconds of a Remember. Scans are off because a plan that was made while a table
was small is kept while it grows."""

PLANNED_BY_VALUES = Planning(plan_cache_mode="auto", seqscan="on")
"""By what the server thinks best."""


class TeamClock:
    """The statements on the team's clock.

    Args:
        clock: replaced only by tests that shift it.
        reading: how the statements of readers are planned; those of commits are planned once.
    """

    def __init__(self, clock: DatabaseClock | None = None, *, reading: Planning = PLANNED_BY_VALUES) -> None:
        self._clock = clock or RealClock()
        self._reading = reading
        self._sql = load_sql("team_clock.sql")

    def set_team(self, team_id: TeamId) -> Query:
        """Sets the team for row-level security until the transaction ends (R11.2; statements name the team besides).

        SET LOCAL, because ``set_config`` does not reach the shards of a distributed table; it takes no parameters, so
        the id is checked to be nothing but an id.

        Raises:
            Refusal: RESOURCE_NOT_FOUND for what is no id at all, as for a missing team.
        """
        try:
            text = str(uuid.UUID(team_id))
        except ValueError:
            raise _team_not_found() from None
        return Query(name="set team", sql=f"SET LOCAL app.team_id = '{text}'")

    def lock(self, team_id: TeamId, *, idle_timeout_milliseconds: int) -> list[Query]:
        """Locks the clock row, then reads the time: in or before the locking statement it would be too old.

        ``idle_timeout_milliseconds`` bounds how long a frozen writer may sit on the lock.
        """
        return [
            self._sql.query(
                "lock_clock",
                team_id=team_id,
                idle_timeout=f"{idle_timeout_milliseconds}ms",
                **PLANNED_ONCE.parameters,
            ),
            self._sql.query("read_time", team_id=team_id),
        ]

    def look(self, team_id: TeamId) -> list[Query]:
        """The clock row and the time, without a lock, for a reader's snapshot."""
        return [
            self._sql.query("read_clock", team_id=team_id, **self._reading.parameters),
            self._sql.query("read_time", team_id=team_id),
        ]

    def reading(self, clock_rows: list[dict[str, Any]], time_rows: list[dict[str, Any]]) -> ClockReading:
        """What the two statements of `lock` or `look` answered.

        Raises:
            Refusal: RESOURCE_NOT_FOUND if there is no such team.
        """
        if not clock_rows or not time_rows:
            raise _team_not_found()
        row, time = clock_rows[0], time_rows[0]
        driven_now: Instant | None = time["driven_now"]
        return ClockReading(
            revision=row["revision"],
            closed_at=row["closed_at"],
            # A driven team's time is what its administrator set; the database's clock has no say in it.
            now=self._clock.read(time["database_time"]) if driven_now is None else driven_now,
            is_driven=driven_now is not None,
            ledger_head=bytes(row["ledger_head"]),
        )

    def advance(self, team_id: TeamId, reading: ClockReading, last: Moment, ledger_head: bytes) -> Query:
        """Moves the clock from where it was read to the last revision of a commit."""
        return self._sql.query(
            "advance_clock",
            team_id=team_id,
            prior_revision=reading.revision,
            revision=last.revision,
            closed_at=last.at,
            ledger_head=ledger_head,
        )

    def settle(self, instant: Instant) -> Query:
        """Closes an instant of the transaction's team, waiting for a commit that is under way."""
        return self._sql.query("settle_instant", instant=instant)


def _team_not_found() -> Refusal:
    return Refusal(Reason.RESOURCE_NOT_FOUND, "there is no such team")
