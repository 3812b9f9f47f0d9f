"""Computes from text without holding up the other calls of the process."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")

# Reading this much takes milliseconds; the largest submission, or a slot full of large texts, takes seconds.
INLINE_CODE_POINTS_MAX = 65_536
# Planning what a change of a source does to one slot takes about as long as reading so much.
SLOT_AS_CODE_POINTS = 4_096


async def computed(code_points: int, compute: Callable[[], T]) -> T:
    """What is computed from so much text: on the spot if it is little, else beside the event loop."""
    return compute() if code_points <= INLINE_CODE_POINTS_MAX else await asyncio.to_thread(compute)
