"""Who may begin to work: a bounded number of calls at once, a bounded queue behind them, and a refusal in time.

A server that takes more calls than it can finish answers all of them too late. Whoever would wait longer than is of use
is refused before anything is done for them, their key not even looked at, and told when to come back.

How many calls may work at once depends on the machine and on what they do, so it is found out: as long as calls take
little of their time it grows by one with every round, and when one takes too much of it it shrinks by a quarter.
"""

from __future__ import annotations

import asyncio
import math
import random
import time
from collections import deque
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass

from corrigenda_core.domain.errors import Reason, Refusal

_FIRST_GUESS_SECONDS = 0.01
_AVERAGED_OVER_CALLS = 20
_SHORTEST_RETRY_SECONDS = 0.1
_LONGEST_RETRY_SECONDS = 2.0
# Of what is left until its deadline, a call may spend so much in the queue, and so much together with the work that
# others take by now: a little stays for what nobody foresees.
_WAITING_SHARE = 0.5
_PLANNED_SHARE = 0.8
# Of what is left when it begins, the work may take so much: more means that too many work beside it.
_WORKING_SHARE = 0.6
_SHRINKING = 0.75
_FIRST_PLACES = 16
# However slow calls have become, so many of them go on: what one caller calls late must not stop the others.
_LEAST_PLACES = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class AdmissionBounds:
    """At most ``calls_at_once`` work and ``calls_waiting`` wait behind them; streams, which may last, count apart."""

    calls_at_once: int = 64
    calls_waiting: int = 256
    streams_at_once: int = 256

    def __post_init__(self) -> None:
        if self.calls_at_once < 1 or self.calls_waiting < 0 or self.streams_at_once < 1:
            raise ValueError(f"a server that admits nobody serves nobody: {self}")


class Admission:
    """The places of one process, given in the order of arrival.

    Args:
        bounds: how many there are.
        monotonic_seconds: the clock by which work is measured; replaced only by tests.
    """

    def __init__(self, bounds: AdmissionBounds, *, monotonic_seconds: Callable[[], float] = time.monotonic) -> None:
        self._bounds = bounds
        self._monotonic_seconds = monotonic_seconds
        self._working = 0
        self._streaming = 0
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._work_seconds = _FIRST_GUESS_SECONDS
        self._kinds: dict[str, float] = {}
        self._places = float(min(_FIRST_PLACES, bounds.calls_at_once))
        self._shrunk_at = -math.inf

    @property
    def places(self) -> int:
        """How many calls may work at once, as far as is known."""
        return int(self._places)

    @property
    def waiting(self) -> int:
        """How many calls wait for a place."""
        return len(self._waiting)

    @asynccontextmanager
    async def stream(self) -> AsyncIterator[None]:
        """A place among the streams; there is no queue for them.

        Raises:
            Refusal: OVERLOADED.
        """
        if self._streaming >= self._bounds.streams_at_once:
            raise self._overloaded(_LONGEST_RETRY_SECONDS)
        self._streaming += 1
        try:
            yield
        finally:
            self._streaming -= 1

    @asynccontextmanager
    async def call(self, remaining_seconds: float, *, kind: str = "") -> AsyncIterator[None]:
        """A place to work, at once or after a wait that leaves time for the work.

        Args:
            remaining_seconds: how long the caller will wait for the answer.
            kind: what is called: calls of one kind take about as long as each other.

        Raises:
            Refusal: OVERLOADED, with the time after which a place is likely.
        """
        left_seconds = remaining_seconds
        expected_seconds = self._kinds.get(kind, 0.0)
        if self._is_crowded and _PLANNED_SHARE * remaining_seconds < expected_seconds:
            # It came too late to be of use: what it would take belongs to those who can still be in time.
            raise self._overloaded(expected_seconds)
        if self._working >= self.places:
            arrived = self._monotonic_seconds()
            await self._queue(
                min(_WAITING_SHARE * remaining_seconds, _PLANNED_SHARE * remaining_seconds - expected_seconds)
            )
            left_seconds -= self._monotonic_seconds() - arrived
        else:
            self._working += 1
        began, is_crowded = self._monotonic_seconds(), self._is_crowded
        is_given_up = False
        try:
            yield
        except asyncio.CancelledError:
            is_given_up = True
            raise
        finally:
            took_seconds = self._monotonic_seconds() - began
            if not is_given_up or took_seconds > self._kinds.get(kind, 0.0):
                # How long the work takes, a call that was given up earlier does not know.
                self._work_seconds = _averaged(self._work_seconds, took_seconds)
                self._kinds[kind] = _averaged(self._kinds.get(kind, took_seconds), took_seconds)
            if is_crowded or self._is_crowded:
                self._learn(took_seconds, left_seconds)
            self._pass_on()

    @property
    def _is_crowded(self) -> bool:
        """Whether at least half of the places are taken: else how long a call takes says nothing about their number."""
        return 2 * self._working >= self._places

    def _learn(self, took_seconds: float, left_seconds: float) -> None:
        """Finds out how many places there should be, by how long a call has worked of the time that it had."""
        now = self._monotonic_seconds()
        if took_seconds <= _WORKING_SHARE * left_seconds:
            self._places = min(self._bounds.calls_at_once, self._places + 1 / self._places)
        elif now - self._shrunk_at > self._work_seconds:
            # Once for all calls that were under way together: they tell the same.
            self._places = max(min(_LEAST_PLACES, self._bounds.calls_at_once), self._places * _SHRINKING)
            self._shrunk_at = now

    async def _queue(self, patience_seconds: float) -> None:
        """Waits for the place of somebody who has finished."""
        expected_seconds = (len(self._waiting) + 1) * self._work_seconds / self._places
        if len(self._waiting) >= self._bounds.calls_waiting or expected_seconds > patience_seconds:
            raise self._overloaded(expected_seconds)
        place: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append(place)
        try:
            async with asyncio.timeout(patience_seconds):
                await place
        except BaseException as error:
            if place.done() and not place.cancelled():
                # The place was given in the moment in which its caller gave up.
                self._pass_on()
            elif place in self._waiting:
                self._waiting.remove(place)
            if isinstance(error, TimeoutError):
                raise self._overloaded(expected_seconds) from None
            raise

    def _pass_on(self) -> None:
        """Gives a place that was left to the one who waits for the longest time, if there are not too many by now."""
        while self._waiting and self._working <= self.places:
            place = self._waiting.popleft()
            if not place.done():
                place.set_result(None)
                return
        self._working -= 1

    def _overloaded(self, expected_seconds: float) -> Refusal:
        seconds = min(max(expected_seconds, _SHORTEST_RETRY_SECONDS), _LONGEST_RETRY_SECONDS)
        return Refusal(
            Reason.OVERLOADED,
            "the server has more work than it can finish in time",
            metadata={"waiting": str(len(self._waiting)), "bound": str(self._bounds.calls_waiting)},
            # Those who are refused together shall not come back together.
            retry_after_seconds=seconds * random.uniform(1.0, 1.5),
        )


def _averaged(average_seconds: float, seconds: float) -> float:
    """A moving average with one more value."""
    return average_seconds + (seconds - average_seconds) / _AVERAGED_OVER_CALLS
