"""Streams that go on with what comes later, and end by themselves shortly before their caller stops waiting."""

from __future__ import annotations

import asyncio

from corrigenda_core.ports.deadline import Deadline
from corrigenda_core.process import wait_for_stop

POLL_SECONDS = 0.25
RESERVE_SECONDS = 0.5
"""How long before its deadline a stream that follows ends."""


async def is_going_on(deadline: Deadline, stopping: asyncio.Event) -> bool:
    """Waits a little before the next look; false once the stream has to end.

    Args:
        deadline: when the caller stops waiting.
        stopping: set when the server drains.
    """
    left = deadline.remaining_seconds() - RESERVE_SECONDS
    if left <= 0:
        return False
    await wait_for_stop(stopping, min(POLL_SECONDS, left))
    return not stopping.is_set()
