"""RememberStream: works through a stream of submissions, as many to a commit as have arrived and may share one."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import suppress
from dataclasses import dataclass
from itertools import takewhile
from typing import Any

from corrigenda_core.domain.actors import Caller
from corrigenda_core.domain.errors import Refusal
from corrigenda_core.policy.limits import decide_limit
from corrigenda_core.ports.deadline import Deadline

from corrigenda_ingest.inbox import Inbox
from corrigenda_ingest.use_cases.remember_many import Looked, RememberMany, Result, Submitted

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


@dataclass(frozen=True, slots=True, kw_only=True)
class _Step:
    """What is next: submissions that may share a commit, or one that is refused as it is (``looked`` is ``None``)."""

    arrived: list[Arrived]
    looked: Looked | None = None


class RememberStream:
    """The use case; see `__call__`.

    While one commit is under way, what fills the next one is looked at: the server and this process work side by side.

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
        work: list[asyncio.Task[Any]] = []
        index = 0
        try:
            step = await self._looked(caller, await _first(inbox, self._idle_seconds), deadline)
            while step.arrived:
                committing = asyncio.create_task(self._results(caller, step, deadline), name="stream commit")
                work = [committing]
                following = await _following(inbox, step, committing)
                looking = asyncio.create_task(self._looked(caller, following, deadline, behind=step.looked))
                work.append(looking)
                results = await committing
                await inbox.drop(len(results))
                for arrived, result in zip(step.arrived, results, strict=True):
                    yield Answered(index=index, key=arrived.key, result=result)
                    index += 1
                step = await looking
                if not step.arrived:
                    step = await self._looked(caller, await _first(inbox, self._idle_seconds), deadline)
        finally:
            # Of two that fail, the first one is told.
            for task in work:
                task.cancel()
            await asyncio.gather(*work, return_exceptions=True)
            for task in (reader, drain):
                task.cancel()
                with suppress(asyncio.CancelledError):
                    await task

    async def _looked(
        self, caller: Caller, waiting: list[Arrived], deadline: Deadline, *, behind: Looked | None = None
    ) -> _Step:
        """The first of those that wait, looked at; none if none waits, or the first depends on those ``behind``."""
        if not waiting or isinstance(waiting[0].submitted, Refusal):
            return _Step(arrived=waiting[:1])
        submissions = takewhile(lambda one: isinstance(one, Submitted), (one.submitted for one in waiting))
        looked = await self._remember_many.look(
            caller, [one for one in submissions if isinstance(one, Submitted)], _soon(deadline), behind=behind
        )
        return _Step(arrived=waiting[: len(looked.submitted)], looked=looked)

    async def _results(self, caller: Caller, step: _Step, deadline: Deadline) -> list[Result]:
        if step.looked is None:
            return [one.submitted for one in step.arrived if isinstance(one.submitted, Refusal)]
        return await self._remember_many.commit(caller, step.looked, _soon(deadline))


def _soon(deadline: Deadline) -> Deadline:
    """A stream may last; what is done with its submissions may not."""
    return Deadline.after(min(COMMIT_SECONDS, deadline.remaining_seconds()))


async def _following(inbox: Inbox[Arrived], step: _Step, committing: asyncio.Task[list[Result]]) -> list[Arrived]:
    """What would fill the next commit, if it is there before this one is done, and may not depend on it.

    Less is not worth a look of its own: more will have come by then, and share it.
    """
    if step.looked is None or step.looked.is_cut:
        return []
    arriving = asyncio.create_task(inbox.following(len(step.arrived), ITEMS_PER_COMMIT, BYTES_PER_COMMIT))
    try:
        await asyncio.wait({committing, arriving}, return_when=asyncio.FIRST_COMPLETED)
        return arriving.result() if arriving.done() else []
    finally:
        arriving.cancel()
        await asyncio.wait({arriving})


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
