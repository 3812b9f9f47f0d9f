"""Builds the indexer process: the only place that makes its objects."""

from __future__ import annotations

import time

from corrigenda_core.persistence.document_store import DocumentStore
from corrigenda_core.ports.providers import Embedder
from corrigenda_core.process import announce_ready, stop_event
from corrigenda_core.providers.selection import make_embedder
from corrigenda_core.serving import Foundation, open_foundation

from corrigenda_recall.indexer.config import IndexerSettings
from corrigenda_recall.indexer.embedding import DocumentEmbedder
from corrigenda_recall.indexer.metrics import IndexMetrics
from corrigenda_recall.indexer.worker import Indexer, Pace

# Longer than a poll and a large batch; shorter than what an operator would wait.
SILENT_SECONDS_MAX = 120.0


def indexer(foundation: Foundation, settings: IndexerSettings, embedder: Embedder) -> Indexer:
    """The worker."""
    metrics = IndexMetrics(foundation.registry)
    return Indexer(
        store=DocumentStore(database=foundation.database, reader=foundation.reader, now=foundation.now),
        embedder=DocumentEmbedder(embedder, metrics),
        pace=Pace(
            batch_fragments=settings.index_batch_fragments,
            poll_seconds=settings.index_poll_milliseconds / 1000,
            retry_seconds=settings.index_retry_seconds,
        ),
        metrics=metrics,
        monotonic_seconds=time.monotonic,
        polled=foundation.health.beat,
    )


async def run_worker(settings: IndexerSettings) -> None:
    """Indexes until the process is told to stop."""
    embedder = make_embedder(settings)
    try:
        async with open_foundation(settings, "indexer") as foundation:
            stop = stop_event()
            worker = indexer(foundation, settings, embedder)
            foundation.health.expect_beats(silent_seconds_max=SILENT_SECONDS_MAX)
            announce_ready(name="indexer")
            await worker.run_until(stop)
    finally:
        await embedder.close()
