"""Builds the reviewer process: the only place that makes its objects."""

from __future__ import annotations

from corrigenda_core.persistence.review_store import ReviewStore
from corrigenda_core.process import announce_ready, stop_event
from corrigenda_core.serving import Foundation, open_foundation

from corrigenda_conflict.reviewer.config import ReviewerSettings
from corrigenda_conflict.reviewer.look import Look
from corrigenda_conflict.reviewer.metrics import ReviewMetrics
from corrigenda_conflict.reviewer.worker import Pace, Reviewer


def reviewer(foundation: Foundation, settings: ReviewerSettings) -> Reviewer:
    """The worker."""
    return Reviewer(
        store=ReviewStore(foundation.database, lease_seconds=settings.review_lease_seconds),
        look=Look(runner=foundation.runner, new_ids=foundation.new_ids),
        pace=Pace(
            batch_cases=settings.review_batch_cases,
            attempts_per_night=settings.review_attempts_per_night,
            poll_seconds=settings.review_poll_seconds,
        ),
        metrics=ReviewMetrics(foundation.registry),
        new_ids=foundation.new_ids,
    )


async def run_worker(settings: ReviewerSettings) -> None:
    """Reviews until the process is told to stop."""
    async with open_foundation(settings, "reviewer") as foundation:
        stop = stop_event()
        worker = reviewer(foundation, settings)
        announce_ready(name="reviewer")
        await worker.run_until(stop)
