"""Load that does not wait for answers: calls go out at their times, however slow the server has become."""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

import grpc

from corrigenda_core.domain.errors import Reason
from corrigenda_core.rpc.status import refusal_of

Call = Callable[[int], Awaitable[object]]
"""Makes the call of a number; raises `grpc.aio.AioRpcError` if it fails."""


@dataclass(slots=True, kw_only=True)
class Outcome:
    """What became of the calls of one load.

    Attributes:
        seconds: how long calls went out.
        offered: how many.
        answered: the times to the answers, in seconds.
        answered_meanwhile: how many answers came while calls still went out.
        refused: how many were refused for their number (OVERLOADED or RATE_LIMITED).
        unadvised: how many of those were not told when to come back.
        late: how many were given up at their deadline, or by the server after it had begun to work for them.
        failed: how many ended otherwise, by code.
    """

    seconds: float
    offered: int = 0
    answered: list[float] = field(default_factory=list)
    answered_meanwhile: int = 0
    refused: int = 0
    unadvised: int = 0
    late: int = 0
    failed: dict[str, int] = field(default_factory=dict)

    @property
    def answered_per_second(self) -> float:
        """The goodput, without what was answered once nobody asked any more."""
        return self.answered_meanwhile / self.seconds

    def percentile_seconds(self, share: float) -> float:
        """A percentile of the times to the answers."""
        return sorted(self.answered)[min(len(self.answered) - 1, int(len(self.answered) * share))]

    def figures(self) -> dict[str, float]:
        """The outcome in numbers."""
        return {
            "offered_per_second": round(self.offered / self.seconds, 1),
            "answered_per_second": round(self.answered_per_second, 1),
            "refused": self.refused,
            "unadvised": self.unadvised,
            "late": self.late,
            "failed": sum(self.failed.values()),
            "p50_milliseconds": round(self.percentile_seconds(0.5) * 1000, 1) if self.answered else math.nan,
            "p99_milliseconds": round(self.percentile_seconds(0.99) * 1000, 1) if self.answered else math.nan,
        }


async def closed_loop(call: Call, *, callers: int, seconds: float, first: int = 0) -> Outcome:
    """Callers who each wait for an answer before the next call, numbered from ``first``: what the server can do."""
    outcome = Outcome(seconds=seconds)
    until = time.monotonic() + seconds

    async def calls(first: int) -> None:
        number = first
        while time.monotonic() < until:
            await _counted(call, number, outcome, until)
            number += callers

    await asyncio.gather(*(calls(first + caller) for caller in range(callers)))
    return outcome


async def open_loop(call: Call, *, per_second: float, seconds: float, first: int = 0) -> Outcome:
    """So many calls a second, each at its time; returns once the last one has ended.

    Args:
        call: makes one.
        per_second: how many.
        seconds: for how long.
        first: the number of the first call.
    """
    outcome = Outcome(seconds=seconds)
    began = time.monotonic()
    running: set[asyncio.Task[None]] = set()
    for number in range(int(per_second * seconds)):
        await asyncio.sleep(max(0.0, began + number / per_second - time.monotonic()))
        task = asyncio.create_task(_counted(call, first + number, outcome, began + seconds))
        running.add(task)
        task.add_done_callback(running.discard)
    await asyncio.gather(*running)
    return outcome


async def _counted(call: Call, number: int, outcome: Outcome, until: float) -> None:
    outcome.offered += 1
    began = time.monotonic()
    try:
        await call(number)
    except grpc.aio.AioRpcError as error:
        refusal = refusal_of(error)
        cause = refusal.metadata.get("cause") if refusal is not None else None
        if refusal is not None and refusal.reason in {Reason.OVERLOADED, Reason.RATE_LIMITED}:
            outcome.refused += 1
            outcome.unadvised += refusal.retry_after_seconds is None
        elif error.code() is grpc.StatusCode.DEADLINE_EXCEEDED or cause == "deadline":
            outcome.late += 1
        else:
            outcome.failed[error.code().name] = outcome.failed.get(error.code().name, 0) + 1
    else:
        ended = time.monotonic()
        outcome.answered.append(ended - began)
        outcome.answered_meanwhile += ended <= until
