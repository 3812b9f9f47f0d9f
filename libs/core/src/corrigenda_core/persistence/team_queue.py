"""One writer per team and process at a time: a fair queue with a bound, in front of the connection pool.

Many writers that wait for one row lock halve the throughput and hold connections that other teams need; waiting here
costs nothing but the wait.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from corrigenda_core.domain.errors import Reason, Refusal
from corrigenda_core.domain.ids import TeamId
from corrigenda_core.ports.deadline import Deadline

_FIRST_GUESS_SECONDS = 0.005
_SHORTEST_RETRY_SECONDS = 0.05


@dataclass(slots=True)
class _Line:
    """The queue of one team; ``turn_seconds`` is a moving average of how long a turn takes."""

    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    present: int = 0
    turn_seconds: float = _FIRST_GUESS_SECONDS


class TeamQueue:
    """The queues of all teams that someone writes to.

    Args:
        max_waiting: how many may wait for one team before others are refused.
    """

    def __init__(self, *, max_waiting: int = 64) -> None:
        self._max_waiting = max_waiting
        self._lines: dict[TeamId, _Line] = {}

    @asynccontextmanager
    async def turn(self, team_id: TeamId, deadline: Deadline) -> AsyncIterator[None]:
        """Waits for the team's turn; the next one comes when the context ends.

        Raises:
            Refusal: OVERLOADED with the time after which a retry makes sense, if too many wait or the deadline comes
                first.
        """
        line = self._lines.setdefault(team_id, _Line())
        # One is served, the others wait.
        if line.present > self._max_waiting:
            raise self._overloaded(line)
        line.present += 1
        try:
            try:
                async with asyncio.timeout(deadline.timeout_seconds()):
                    await line.lock.acquire()
            except TimeoutError:
                raise self._overloaded(line) from None
            began = time.monotonic()
            try:
                yield
            finally:
                line.turn_seconds += 0.1 * (time.monotonic() - began - line.turn_seconds)
                line.lock.release()
        finally:
            line.present -= 1
            if line.present == 0:
                del self._lines[team_id]

    def _overloaded(self, line: _Line) -> Refusal:
        return Refusal(
            Reason.OVERLOADED,
            "too many writers wait for this team",
            metadata={"waiting": str(line.present - 1), "bound": str(self._max_waiting)},
            retry_after_seconds=max(_SHORTEST_RETRY_SECONDS, line.present * line.turn_seconds),
        )
