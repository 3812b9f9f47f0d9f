"""Builds the notifier process: the only place that makes its objects."""

from __future__ import annotations

import random
import time
from collections.abc import Sequence

from corrigenda_core.persistence.notice_store import NoticeStore
from corrigenda_core.process import announce_ready, stop_event
from corrigenda_core.serving import Foundation, open_foundation

from corrigenda_conflict.notifier.config import LEASE_MARGIN_SECONDS, NotifierSettings
from corrigenda_conflict.notifier.endpoints import Endpoint
from corrigenda_conflict.notifier.metrics import NotifierMetrics
from corrigenda_conflict.notifier.retrying import Retrying
from corrigenda_conflict.notifier.sender import Sender
from corrigenda_conflict.notifier.worker import Notifier, Pace

# Longer than a poll and the retries of a database that comes back; shorter than what an operator would wait.
SILENT_SECONDS_MAX = 120.0


def notifier(
    foundation: Foundation, settings: NotifierSettings, endpoints: Sequence[Endpoint], sender: Sender
) -> Notifier:
    """The worker."""
    return Notifier(
        store=NoticeStore(foundation.database, lease_seconds=settings.webhook_lease_seconds),
        sender=sender,
        endpoints=endpoints,
        retrying=Retrying(
            attempts_max=settings.webhook_attempts,
            rest_seconds=settings.webhook_rest_seconds,
            rest_seconds_max=settings.webhook_rest_seconds_max,
        ),
        pace=Pace(
            poll_seconds=settings.webhook_poll_seconds,
            deliveries_at_once=settings.webhook_deliveries_at_once,
            lease_seconds=settings.webhook_lease_seconds,
            attempt_seconds=settings.webhook_timeout_seconds + LEASE_MARGIN_SECONDS,
        ),
        metrics=NotifierMetrics(foundation.registry),
        new_ids=foundation.new_ids,
        draw=random.random,
        monotonic_seconds=time.monotonic,
        polled=foundation.health.beat,
    )


async def run_worker(settings: NotifierSettings, endpoints: Sequence[Endpoint]) -> None:
    """Tells the endpoints until the process is told to stop."""
    async with open_foundation(settings, "notifier") as foundation:
        sender = Sender(
            timeout_seconds=settings.webhook_timeout_seconds,
            at_once=settings.webhook_deliveries_at_once,
            now_seconds=time.time,
        )
        try:
            stop = stop_event()
            worker = notifier(foundation, settings, endpoints, sender)
            foundation.health.expect_beats(silent_seconds_max=SILENT_SECONDS_MAX)
            announce_ready(name="notifier", **foundation.ready_facts)
            await worker.run_until(stop)
        finally:
            await sender.close()
