"""RememberStream: works through a stream of submissions, as many to a commit as have arrived and may share one."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import suppress
from dataclasses import dataclass
from itertools import takewhile

from corrigenda_core.domain.actors import Caller
from corrigenda_core.domain.errors import Refusal
from corrigenda_core.policy.limits import decide_limit
from corrigenda_core.ports.deadline import Deadline

from corrigenda_ingest.inbox import Inbox
from corrigenda_ingest.use_cases.remember_many import RememberMany, Result, Submitted

ITEMS_PER_COMMIT = decide_limit("stream_items_per_transaction").greatest
BYTES_PER_COMMIT = decide_limit("message").greatest
ITEMS_WAITING = decide_limit("stream_items_waiting").greatest
BYTES_WAITING = decide_limit("stream_bytes_waiting").greatest
IDLE_SECONDS = float(decide_limit("stream_idle").greatest)
COMMIT_SECONDS = float(decide_limit("deadline").default)


@dataclass(frozen=True, slots=True, kw_only=True)
class Arrived:
    """A submission that has arrived, or why it cannot be one; ``key`` names it to its sender."""

    key: str
    submitted: Submitted | Refusal
    size_bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Answered:
    """The result of the submission at one place of the stream, counted from 0."""

    index: int
    key: str
    result: Result


class RememberStream:
    """The use case; see `__call__`.

    Args:
        remember_many: remembers as many of those that wait as may share a commit.
        idle_seconds: after how long without a submission the stream ends.
    """

    def __init__(self, remember_many: RememberMany, *, idle_seconds: float = IDLE_SECONDS) -> None:
        self._remember_many = remember_many
        self._idle_seconds = idle_seconds

    async def __call__(
        self, caller: Caller, arriving: AsyncIterator[Arrived], *, stopping: asyncio.Event, deadline: Deadline
    ) -> AsyncGenerator[Answered, None]:
        """One result for each submission, in order.

        It ends when everything that arrived is answered and nothing more comes: the sender has ended the stream, sends
        nothing for long, or the server drains.

        Args:
            caller: the author.
            arriving: the submissions; read ahead as far as the inbox has room.
            stopping: set when the server drains.
            deadline: of the whole stream.

        Raises:
            Refusal: with which the stream ends; the results before it are given.
        """
        inbox: Inbox[Arrived] = Inbox(items_max=ITEMS_WAITING, bytes_max=BYTES_WAITING)
        reader = asyncio.create_task(_read(arriving, inbox), name="stream reader")
        drain = asyncio.create_task(_end_when(stopping, inbox, reader), name="stream drain")
        index = 0
        try:
            while waiting := await _first(inbox, self._idle_seconds):
                results = await self._results(caller, waiting, deadline)
                await inbox.drop(len(results))
                for arrived, result in zip(waiting, results, strict=False):
                    yield Answered(index=index, key=arrived.key, result=result)
                    index += 1
        finally:
            for task in (reader, drain):
                task.cancel()
                with suppress(asyncio.CancelledError):
                    await task

    async def _results(self, caller: Caller, waiting: list[Arrived], deadline: Deadline) -> list[Result]:
        """The results of the first of those that wait, at least one."""
        if isinstance(waiting[0].submitted, Refusal):
            return [waiting[0].submitted]
        submissions = takewhile(lambda one: isinstance(one, Submitted), (one.submitted for one in waiting))
        seconds = min(COMMIT_SECONDS, deadline.remaining_seconds())
        return await self._remember_many(
            caller, [one for one in submissions if isinstance(one, Submitted)], Deadline.after(seconds)
        )


async def _first(inbox: Inbox[Arrived], idle_seconds: float) -> list[Arrived]:
    """What is next, or nothing if nothing has come for so long."""
    try:
        async with asyncio.timeout(idle_seconds):
            return await inbox.first(ITEMS_PER_COMMIT, BYTES_PER_COMMIT)
    except TimeoutError:
        return []


async def _read(arriving: AsyncIterator[Arrived], inbox: Inbox[Arrived]) -> None:
    """Reads the stream into the inbox, and tells it how the stream ends."""
    try:
        async for one in arriving:
            await inbox.put(one, one.size_bytes)
    except Refusal as refusal:
        await inbox.end(refusal)
    else:
        await inbox.end()


async def _end_when(stopping: asyncio.Event, inbox: Inbox[Arrived], reader: asyncio.Task[None]) -> None:
    """Reads no further when the server drains: what has arrived is still answered."""
    await stopping.wait()
    reader.cancel()
    await inbox.end()
