"""One writer per team at a time, in the order of arrival, with a bound."""

import asyncio

import pytest
from corrigenda_core.domain.errors import Reason, Refusal
from corrigenda_core.domain.ids import TeamId
from corrigenda_core.persistence.team_queue import TeamQueue
from corrigenda_core.ports.deadline import NO_DEADLINE, Deadline

A, B = TeamId("a"), TeamId("b")


async def test_turns_of_one_team_follow_each_other_and_teams_do_not_wait_for_each_other() -> None:
    queue, order, running = TeamQueue(), [], 0

    async def write(team: TeamId, name: str) -> None:
        nonlocal running
        async with queue.turn(team, NO_DEADLINE):
            running += team == A
            assert running <= 1
            order.append(name)
            await asyncio.sleep(0)
            running -= team == A

    async with queue.turn(B, NO_DEADLINE):
        await asyncio.gather(*(write(A, str(number)) for number in range(5)))
    assert order == ["0", "1", "2", "3", "4"]


async def test_too_many_waiting_are_refused_with_a_time_to_come_back() -> None:
    queue = TeamQueue(max_waiting=2)
    served = asyncio.Event()

    async def write() -> None:
        async with queue.turn(A, NO_DEADLINE):
            await served.wait()

    waiting = [asyncio.create_task(write()) for _ in range(3)]
    await asyncio.sleep(0)
    with pytest.raises(Refusal) as refused:
        await write()
    assert (refused.value.reason, refused.value.metadata) == (Reason.OVERLOADED, {"waiting": "2", "bound": "2"})
    assert refused.value.retry_after_seconds is not None
    async with queue.turn(B, NO_DEADLINE):
        pass
    served.set()
    await asyncio.gather(*waiting)
    async with queue.turn(A, NO_DEADLINE):
        pass


async def test_who_is_cancelled_or_out_of_time_leaves_the_queue() -> None:
    queue = TeamQueue(max_waiting=1)
    async with queue.turn(A, NO_DEADLINE):
        for _ in range(3):
            with pytest.raises(Refusal) as refused:
                async with queue.turn(A, Deadline.after(0)):
                    pass
            assert refused.value.reason is Reason.OVERLOADED
            cancelled = asyncio.create_task(queue.turn(A, NO_DEADLINE).__aenter__())
            await asyncio.sleep(0)
            cancelled.cancel()
            with pytest.raises(asyncio.CancelledError):
                await cancelled
    async with queue.turn(A, NO_DEADLINE):
        pass
    assert queue._lines == {}
