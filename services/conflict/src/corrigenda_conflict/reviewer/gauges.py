"""Reads the gauges of all teams now and then, beside the worker, so that operators see what waits for a review."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence

import structlog
from corrigenda_core.persistence.review_store import ReviewGauge
from corrigenda_core.process import wait_for_stop

from corrigenda_conflict.reviewer.metrics import ReviewMetrics

_log = structlog.get_logger("corrigenda.reviewer")


async def show_gauges_until(
    stop: asyncio.Event,
    read: Callable[[], Awaitable[Sequence[ReviewGauge]]],
    metrics: ReviewMetrics,
    *,
    every_seconds: float,
) -> None:
    """Reads and shows until told to stop; what cannot be read is logged, and read the next time.

    Args:
        stop: ends it.
        read: the numbers of now; reads every live case, so it is not asked at every scrape.
        metrics: where they are shown.
        every_seconds: how often.
    """
    while not stop.is_set():
        try:
            metrics.show(await read())
        except Exception as error:  # noqa: BLE001 - a gauge that cannot be read must not end the process
            _log.warning("gauges_not_read", exc_info=error)
        await wait_for_stop(stop, every_seconds)
