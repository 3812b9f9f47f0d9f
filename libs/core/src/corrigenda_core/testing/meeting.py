"""Meetings at a team's lock: calls that are seen to wait for it together, so that a test need not hope for a race."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import psycopg

_WAIT_SECONDS = 20.0


@dataclass(frozen=True, slots=True, kw_only=True)
class TeamLock:
    """The lock of one team, as a commit under way holds it.

    Attributes:
        holder_url: the database URL of a role that may lock the team's clock.
        watcher_url: that of a role that sees who waits.
        team_id: the team.
    """

    holder_url: str
    watcher_url: str
    team_id: str

    async def meet(
        self, waiters: int, calls: Sequence[Awaitable[Any]], *, meanwhile: Sequence[Awaitable[Any]] = ()
    ) -> list[Any]:
        """What each call comes to, answers and errors, after so many were seen to wait for the lock together.

        Args:
            waiters: how many wait in the database; of the calls to one service only one does.
            calls: what waits for the lock.
            meanwhile: what does not: each of these is answered while the others wait. Their results come last.

        Raises:
            AssertionError: if so many do not come, one is through without the lock, or one waits that should not.
        """
        with self._held() as wait_for:
            tasks = [asyncio.ensure_future(call) for call in calls]
            await wait_for(waiters)
            async with asyncio.timeout(_WAIT_SECONDS):
                passed = await asyncio.gather(*meanwhile, return_exceptions=True)
            if any(task.done() for task in tasks):
                raise AssertionError("a call did not wait for the lock")
        return [*await asyncio.gather(*tasks, return_exceptions=True), *passed]

    @contextmanager
    def _held(self) -> Iterator[Callable[[int], Awaitable[None]]]:
        """Holds the team's clock row; gives what waits until so many others wait for it."""
        with (
            psycopg.connect(self.holder_url) as holder,
            psycopg.connect(self.watcher_url, autocommit=True) as watcher,
        ):
            holder.execute(f"SET LOCAL app.team_id = '{self.team_id}'".encode())
            held = holder.execute("SELECT 1 FROM team_clock WHERE team_id = %s FOR UPDATE", [self.team_id]).fetchall()
            if held != [(1,)]:
                raise AssertionError("there is no such team")

            async def wait_for(waiters: int) -> None:
                deadline = asyncio.get_running_loop().time() + _WAIT_SECONDS
                while True:
                    (count,) = watcher.execute(
                        "SELECT count(DISTINCT l.pid) FROM pg_locks AS l WHERE NOT l.granted"
                        " AND cardinality(pg_blocking_pids(l.pid)) > 0"
                    ).fetchone() or (0,)
                    if count >= waiters:
                        return
                    if asyncio.get_running_loop().time() >= deadline:
                        raise AssertionError(f"only {count} wait for the lock")
                    await asyncio.sleep(0.01)

            yield wait_for
