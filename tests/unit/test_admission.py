"""Places for calls: bounded, in the order of arrival, never lost, and refused while a refusal is still of use."""

from __future__ import annotations

import asyncio
import random
from contextlib import AsyncExitStack

import pytest
from corrigenda_core.domain.errors import Reason, Refusal
from corrigenda_core.rpc.admission import Admission, AdmissionBounds

PATIENT_SECONDS = 1000.0


async def turns() -> None:
    """Lets every task that can go on do so."""
    for _ in range(5):
        await asyncio.sleep(0)


async def test_calls_beyond_the_bound_wait_and_those_beyond_the_queue_are_refused() -> None:
    admission = Admission(AdmissionBounds(calls_at_once=2, calls_waiting=1))
    done: list[str] = []

    async def wait_and_work(name: str) -> None:
        async with admission.call(PATIENT_SECONDS):
            done.append(name)

    async with AsyncExitStack() as working:
        for _ in range(2):
            await working.enter_async_context(admission.call(PATIENT_SECONDS))
        waiting = asyncio.create_task(wait_and_work("waiting"))
        await turns()
        with pytest.raises(Refusal) as refused:
            await wait_and_work("refused")
        assert (refused.value.reason, admission.waiting, done) == (Reason.OVERLOADED, 1, [])
        assert refused.value.metadata == {"waiting": "1", "bound": "1"}
    await waiting
    assert done == ["waiting"]


async def test_places_are_given_in_the_order_of_arrival() -> None:
    admission = Admission(AdmissionBounds(calls_at_once=1, calls_waiting=10))
    order: list[int] = []

    async def work(number: int) -> None:
        async with admission.call(PATIENT_SECONDS):
            order.append(number)

    async with admission.call(PATIENT_SECONDS):
        tasks = []
        for number in range(10):
            tasks.append(asyncio.create_task(work(number)))
            await turns()
    await asyncio.gather(*tasks)
    assert order == list(range(10))


@pytest.mark.promise("Q19")
async def test_who_would_wait_too_long_is_refused_at_once_and_told_how_long() -> None:
    clock = [0.0]
    admission = Admission(AdmissionBounds(calls_at_once=1, calls_waiting=100), monotonic_seconds=lambda: clock[0])
    for _ in range(200):
        async with admission.call(PATIENT_SECONDS):
            clock[0] += 1.0
    async with admission.call(PATIENT_SECONDS):
        # A call takes a second by now, and so does the wait for it: 2 s and a reserve are too much for 2.4 s.
        with pytest.raises(Refusal) as refused:
            async with admission.call(2.4):
                pytest.fail("was admitted")
        assert refused.value.retry_after_seconds is not None
        assert 0.9 <= refused.value.retry_after_seconds <= 1.6
        waiting = asyncio.create_task(admission.call(2.6).__aenter__())
        await turns()
        assert admission.waiting == 1
        waiting.cancel()
        await turns()
        assert admission.waiting == 0


async def test_who_waits_in_vain_is_refused_and_leaves_the_queue() -> None:
    admission = Admission(AdmissionBounds(calls_at_once=1, calls_waiting=10))
    async with admission.call(PATIENT_SECONDS):
        with pytest.raises(Refusal) as refused:
            async with admission.call(0.05):
                pytest.fail("was admitted")
        assert (refused.value.reason, admission.waiting) == (Reason.OVERLOADED, 0)
    async with asyncio.timeout(1), admission.call(PATIENT_SECONDS):
        pass


async def rounds(admission: Admission, clock: list[float], number: int, *, took: float, of: float) -> None:
    """So many times all places are taken together, by calls that take so long of the time that they have."""
    for _ in range(number):
        async with AsyncExitStack() as working:
            for _ in range(admission.places):
                await working.enter_async_context(admission.call(of))
            clock[0] += took


async def test_as_many_work_at_once_as_are_in_time() -> None:
    clock = [0.0]
    admission = Admission(AdmissionBounds(calls_at_once=20, calls_waiting=100), monotonic_seconds=lambda: clock[0])
    first = admission.places
    await rounds(admission, clock, 3, took=0.1, of=10.0)
    assert first < admission.places < 20
    await rounds(admission, clock, 20, took=0.1, of=10.0)
    assert admission.places == 20
    # One round of calls that take most of their time costs a quarter, not a quarter for each of them.
    await rounds(admission, clock, 1, took=8.0, of=10.0)
    assert admission.places == 15
    await rounds(admission, clock, 50, took=8.0, of=10.0)
    assert admission.places == 4
    await rounds(admission, clock, 100, took=0.1, of=10.0)
    assert admission.places == 20


async def test_who_comes_too_late_to_be_answered_in_time_takes_no_place_from_others() -> None:
    clock = [0.0]
    admission = Admission(AdmissionBounds(), monotonic_seconds=lambda: clock[0])
    await rounds(admission, clock, 20, took=1.0, of=10.0)
    async with AsyncExitStack() as working:
        # As long as there is plenty of room, it may try.
        async with admission.call(0.5):
            pass
        for _ in range(admission.places - 1):
            await working.enter_async_context(admission.call(10.0))
        with pytest.raises(Refusal) as refused:
            async with admission.call(0.5):
                pytest.fail("was admitted")
        async with admission.call(10.0):
            pass
    assert refused.value.reason is Reason.OVERLOADED


async def test_a_call_that_was_given_up_early_says_nothing_about_how_long_the_work_takes() -> None:
    clock = [0.0]
    admission = Admission(AdmissionBounds(), monotonic_seconds=lambda: clock[0])
    await rounds(admission, clock, 20, took=1.0, of=10.0)
    for _ in range(100):
        with pytest.raises(asyncio.CancelledError):
            async with admission.call(10.0):
                raise asyncio.CancelledError
    async with AsyncExitStack() as working:
        for _ in range(admission.places - 1):
            await working.enter_async_context(admission.call(10.0))
        with pytest.raises(Refusal):
            async with admission.call(0.5):
                pytest.fail("was admitted")


async def test_a_quick_kind_of_call_is_not_refused_for_how_long_another_kind_takes() -> None:
    clock = [0.0]
    admission = Admission(AdmissionBounds(), monotonic_seconds=lambda: clock[0])
    await rounds(admission, clock, 20, took=8.0, of=30.0)
    async with AsyncExitStack() as working:
        for _ in range(admission.places - 1):
            await working.enter_async_context(admission.call(30.0))
        async with admission.call(0.5, kind="quick"):
            pass
        with pytest.raises(Refusal):
            async with admission.call(0.5):
                pytest.fail("was admitted")


async def test_a_slow_call_alone_says_nothing_about_how_many_there_may_be() -> None:
    clock = [0.0]
    admission = Admission(AdmissionBounds(), monotonic_seconds=lambda: clock[0])
    before = admission.places
    for _ in range(50):
        async with admission.call(1.0):
            clock[0] += 5.0
    assert admission.places == before


async def test_no_place_is_lost_whoever_gives_up_and_when() -> None:
    admission = Admission(AdmissionBounds(calls_at_once=3, calls_waiting=50))
    chance = random.Random(7)
    at_work = most = 0

    async def work() -> None:
        nonlocal at_work, most
        async with admission.call(PATIENT_SECONDS):
            at_work += 1
            most = max(most, at_work)
            try:
                for _ in range(chance.randrange(4)):
                    await asyncio.sleep(0)
            finally:
                at_work -= 1

    for _ in range(200):
        tasks = [asyncio.create_task(work()) for _ in range(chance.randrange(1, 12))]
        for _ in range(chance.randrange(6)):
            await asyncio.sleep(0)
        for task in tasks:
            if chance.random() < 0.4:
                task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        assert (at_work, admission.waiting) == (0, 0)
    assert most == 3
    async with AsyncExitStack() as all_places, asyncio.timeout(1):
        for _ in range(3):
            await all_places.enter_async_context(admission.call(PATIENT_SECONDS))


async def test_streams_have_places_of_their_own() -> None:
    admission = Admission(AdmissionBounds(calls_at_once=1, calls_waiting=0, streams_at_once=1))
    async with admission.stream():
        with pytest.raises(Refusal) as refused:
            async with admission.stream():
                pytest.fail("was admitted")
        async with admission.call(PATIENT_SECONDS):
            pass
    assert refused.value.reason is Reason.OVERLOADED
    async with admission.stream():
        pass


@pytest.mark.parametrize("bounds", [{"calls_at_once": 0}, {"calls_waiting": -1}, {"streams_at_once": 0}])
def test_bounds_that_admit_nobody_are_refused(bounds: dict[str, int]) -> None:
    with pytest.raises(ValueError, match="serves nobody"):
        AdmissionBounds(**bounds)
