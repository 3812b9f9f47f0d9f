"""Q19 on a clock of its own: one processor, three times the calls that it can do, and what the queue makes of them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from contextlib import AbstractAsyncContextManager, nullcontext
from dataclasses import dataclass, field

import pytest
from corrigenda_core.domain.errors import Refusal
from corrigenda_core.rpc.admission import Admission, AdmissionBounds
from corrigenda_core.testing.effort import examples, is_full_tier
from corrigenda_core.testing.jumping_loop import JumpingLoop

WORK_SECONDS, PARTS = 0.01, 5
CAPACITY_PER_SECOND = 1 / WORK_SECONDS
SECONDS = float(examples(fast=12, full=60))
DEADLINES_SECONDS = [0.5, 2.0, 30.0] if is_full_tier() else [0.5, 2.0]
TIMES_CAPACITY = [1.2, 3.0, 10.0] if is_full_tier() else [3.0]

Place = Callable[[float], AbstractAsyncContextManager[None]]


@dataclass(slots=True)
class Tally:
    """What became of calls."""

    answered: int = 0
    late: int = 0
    retry_after: list[float | None] = field(default_factory=list)

    @property
    def goodput(self) -> float:
        """The share of what the processor can do."""
        return self.answered / SECONDS / CAPACITY_PER_SECOND


class Processor:
    """Works at one call at a time, a part of each in turn, as an event loop does."""

    def __init__(self) -> None:
        self._turn = asyncio.Lock()

    async def work(self, call_seconds: float) -> None:
        for _ in range(PARTS):
            async with self._turn:
                await asyncio.sleep(call_seconds / PARTS)


def run(loaded: Callable[[], Coroutine[None, None, Tally]]) -> Tally:
    with asyncio.Runner(loop_factory=JumpingLoop) as runner:
        return runner.run(loaded())


async def load(place: Place, *, times_capacity: float, deadline_seconds: float, waits: float = 0.0) -> Tally:
    """Calls at their times, whatever becomes of them; each also waits for something outside for a while."""
    processor, tally = Processor(), Tally()

    async def call() -> None:
        try:
            async with asyncio.timeout(deadline_seconds), place(deadline_seconds):
                await asyncio.sleep(waits)
                await processor.work(WORK_SECONDS)
        except Refusal as refusal:
            tally.retry_after.append(refusal.retry_after_seconds)
        except TimeoutError:
            tally.late += 1
        else:
            tally.answered += 1

    async with asyncio.TaskGroup() as calls:
        for _ in range(int(SECONDS * times_capacity * CAPACITY_PER_SECOND)):
            calls.create_task(call())
            await asyncio.sleep(1 / (times_capacity * CAPACITY_PER_SECOND))
    return tally


def admission(bounds: AdmissionBounds | None = None) -> Place:
    return Admission(bounds or AdmissionBounds(), monotonic_seconds=asyncio.get_running_loop().time).call


def everybody(_: float) -> AbstractAsyncContextManager[None]:
    """The place of a service that admits whoever calls."""
    return nullcontext()


@pytest.mark.promise("Q19")
@pytest.mark.parametrize("deadline_seconds", DEADLINES_SECONDS)
@pytest.mark.parametrize("waits", [0.0, 0.1], ids=["computes", "waits for the database as well"])
@pytest.mark.parametrize("times_capacity", TIMES_CAPACITY)
def test_beyond_its_capacity_a_service_does_what_it_can_and_in_time(
    times_capacity: float, deadline_seconds: float, waits: float
) -> None:
    async def loaded() -> Tally:
        return await load(admission(), times_capacity=times_capacity, deadline_seconds=deadline_seconds, waits=waits)

    tally = run(loaded)
    offered = tally.answered + tally.late + len(tally.retry_after)
    assert tally.goodput >= 0.8
    # Next to nobody is admitted in vain.
    assert tally.late <= 0.02 * offered
    assert None not in tally.retry_after


@pytest.mark.parametrize("deadline_seconds", [0.5, 1.0])
def test_without_admission_nearly_every_answer_would_come_too_late(deadline_seconds: float) -> None:
    async def loaded() -> Tally:
        return await load(everybody, times_capacity=3.0, deadline_seconds=deadline_seconds)

    assert run(loaded).goodput < 0.5


def test_below_its_capacity_nobody_is_refused() -> None:
    async def loaded() -> Tally:
        return await load(admission(), times_capacity=0.7, deadline_seconds=2.0, waits=0.05)

    tally = run(loaded)
    assert (tally.late, tally.retry_after) == (0, [])


def test_after_the_load_is_over_everybody_is_served_again() -> None:
    async def loaded() -> Tally:
        place = admission()
        await load(place, times_capacity=5.0, deadline_seconds=1.0)
        return await load(place, times_capacity=0.7, deadline_seconds=1.0)

    tally = run(loaded)
    assert tally.late == 0
    assert len(tally.retry_after) <= 0.01 * tally.answered
