"""Builds the reviewer process: the only place that makes its objects."""

from __future__ import annotations

import asyncio

from corrigenda_core.persistence.review_store import ReviewStore
from corrigenda_core.process import announce_ready, stop_event
from corrigenda_core.serving import Foundation, open_foundation

from corrigenda_conflict.reviewer.config import ReviewerSettings
from corrigenda_conflict.reviewer.gauges import show_gauges_until
from corrigenda_conflict.reviewer.look import Look
from corrigenda_conflict.reviewer.metrics import ReviewMetrics
from corrigenda_conflict.reviewer.worker import Pace, Reviewer

# Longer than a poll and the retries of a database that comes back; shorter than what an operator would wait.
SILENT_SECONDS_MAX = 60.0


def reviewer(
    foundation: Foundation, settings: ReviewerSettings, store: ReviewStore, metrics: ReviewMetrics
) -> Reviewer:
    """The worker."""
    return Reviewer(
        store=store,
        look=Look(runner=foundation.runner, new_ids=foundation.new_ids),
        pace=Pace(
            batch_cases=settings.review_batch_cases,
            attempts_per_night=settings.review_attempts_per_night,
            poll_seconds=settings.review_poll_seconds,
            teams_at_once=settings.review_teams_at_once,
        ),
        metrics=metrics,
        new_ids=foundation.new_ids,
        polled=foundation.health.beat,
    )


async def run_worker(settings: ReviewerSettings) -> None:
    """Reviews until the process is told to stop."""
    async with open_foundation(settings, "reviewer") as foundation:
        stop = stop_event()
        store = ReviewStore(foundation.database, lease_seconds=settings.review_lease_seconds)
        metrics = ReviewMetrics(foundation.registry)
        worker = reviewer(foundation, settings, store, metrics)
        foundation.health.expect_beats(silent_seconds_max=SILENT_SECONDS_MAX)
        announce_ready(name="reviewer", **foundation.ready_facts)
        async with asyncio.TaskGroup() as group:
            group.create_task(worker.run_until(stop))
            if settings.metrics_listen is not None:
                group.create_task(
                    show_gauges_until(stop, store.gauges, metrics, every_seconds=settings.review_gauge_seconds)
                )
