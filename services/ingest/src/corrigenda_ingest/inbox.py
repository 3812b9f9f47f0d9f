"""What has arrived of a stream and waits for its turn: bounded in items and in bytes, so that a sender is held back."""

from __future__ import annotations

import asyncio
from collections import deque
from itertools import islice
from typing import Generic, TypeVar

Item = TypeVar("Item")


class Inbox(Generic[Item]):
    """A queue between the reader of a stream and whoever works through it.

    Args:
        items_max: how many items may wait.
        bytes_max: how large they may be together; a single item is always taken.
    """

    def __init__(self, *, items_max: int, bytes_max: int) -> None:
        self._items_max = items_max
        self._bytes_max = bytes_max
        self._waiting: deque[tuple[Item, int]] = deque()
        self._bytes = 0
        self._ended = False
        self._failure: BaseException | None = None
        self._changed = asyncio.Condition()

    async def put(self, item: Item, size_bytes: int) -> None:
        """Adds an item, once there is room for it."""
        async with self._changed:
            await self._changed.wait_for(lambda: not self._waiting or self._has_room(size_bytes))
            self._waiting.append((item, size_bytes))
            self._bytes += size_bytes
            self._changed.notify_all()

    async def end(self, failure: BaseException | None = None) -> None:
        """Says that nothing more comes; a failure is raised once everything before it was taken."""
        async with self._changed:
            self._ended = True
            self._failure = failure
            self._changed.notify_all()

    async def first(self, items_max: int, bytes_max: int) -> list[Item]:
        """The first items, at least one and not more than that; none if the stream has ended. They stay until `drop`.

        Raises:
            BaseException: with which the stream has ended.
        """
        async with self._changed:
            await self._changed.wait_for(lambda: self._waiting or self._ended)
            if not self._waiting and self._failure is not None:
                raise self._failure
            return self._taken(0, items_max, bytes_max)

    async def following(self, count: int, items_max: int, bytes_max: int) -> list[Item]:
        """The items behind the first ``count``, within the same bounds, once so many of them are there; they stay.

        If the stream has ended, those that are there.
        """
        async with self._changed:
            await self._changed.wait_for(lambda: self._ended or len(self._waiting) >= count + items_max)
            return self._taken(count, items_max, bytes_max)

    def _taken(self, start: int, items_max: int, bytes_max: int) -> list[Item]:
        """The items from the one at ``start``, as many as the bounds allow, at least one if there is one."""
        taken: list[Item] = []
        size = 0
        for item, size_bytes in islice(self._waiting, start, start + items_max):
            size += size_bytes
            if taken and size > bytes_max:
                break
            taken.append(item)
        return taken

    async def drop(self, count: int) -> None:
        """Forgets the first items: they are answered."""
        async with self._changed:
            for _ in range(count):
                _, size_bytes = self._waiting.popleft()
                self._bytes -= size_bytes
            self._changed.notify_all()

    def _has_room(self, size_bytes: int) -> bool:
        return len(self._waiting) < self._items_max and self._bytes + size_bytes <= self._bytes_max
