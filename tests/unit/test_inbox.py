"""The inbox of a stream: how far a sender is read ahead, what is taken together, and how a stream ends."""

from __future__ import annotations

import asyncio

import pytest
from corrigenda_core.domain.errors import Reason, Refusal
from corrigenda_ingest.inbox import Inbox


async def filled(*sizes: int, items_max: int = 3, bytes_max: int = 100) -> tuple[Inbox[int], list[asyncio.Task[None]]]:
    """An inbox and what puts items of these sizes into it; those that have no room are held back."""
    inbox: Inbox[int] = Inbox(items_max=items_max, bytes_max=bytes_max)
    puts = [asyncio.create_task(inbox.put(number, size)) for number, size in enumerate(sizes)]
    for _ in range(10):
        await asyncio.sleep(0)
    return inbox, puts


@pytest.mark.parametrize(
    ("sizes", "read"),
    [
        pytest.param((1, 1, 1, 1, 1), 3, id="as many items as may wait"),
        pytest.param((60, 40, 1), 2, id="as many bytes as may wait"),
        pytest.param((500, 1), 1, id="one that is larger than all that may wait is taken alone"),
    ],
)
async def test_a_sender_is_held_back_until_there_is_room(sizes: tuple[int, ...], read: int) -> None:
    inbox, puts = await filled(*sizes)
    assert sum(put.done() for put in puts) == read
    while not all(put.done() for put in puts):
        await inbox.drop(len(await inbox.first(1, 1)))
        await asyncio.sleep(0)


async def test_what_is_taken_stays_until_it_is_answered() -> None:
    inbox, _ = await filled(10, 10, 10)
    assert await inbox.first(2, 1_000) == [0, 1]
    assert await inbox.first(9, 25) == [0, 1]
    assert await inbox.first(9, 5) == [0]
    await inbox.drop(1)
    assert await inbox.first(9, 1_000) == [1, 2]


async def test_an_end_is_told_after_everything_before_it() -> None:
    inbox, _ = await filled(1, 1)
    await inbox.end(Refusal(Reason.CREDENTIAL_EXPIRED, "the key has expired"))
    assert await inbox.first(9, 9) == [0, 1]
    await inbox.drop(2)
    with pytest.raises(Refusal, match="expired"):
        await inbox.first(9, 9)


async def test_an_end_wakes_who_waits() -> None:
    inbox: Inbox[int] = Inbox(items_max=1, bytes_max=1)
    waiting = asyncio.create_task(inbox.first(1, 1))
    await asyncio.sleep(0)
    await inbox.end()
    assert await waiting == []
