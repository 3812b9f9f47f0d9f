"""Anomaly switches: the write path with one mechanism taken out, so that a test can show that it would notice."""

from __future__ import annotations

import random
from datetime import datetime, timedelta

from corrigenda_core.domain.ids import TeamId
from corrigenda_core.persistence.named_sql import Query
from corrigenda_core.persistence.team_clock import TeamClock


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
