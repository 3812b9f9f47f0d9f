"""Builds the indexer process: the only place that makes its objects."""

from __future__ import annotations

import asyncio
import time

from corrigenda_core.persistence.document_store import DocumentStore
from corrigenda_core.persistence.space_store import SpaceStore
from corrigenda_core.process import announce_ready, stop_event
from corrigenda_core.providers.embedder_counted import CountedEmbedder
from corrigenda_core.providers.metrics import ProviderMetrics
from corrigenda_core.providers.selection import make_embedder
from corrigenda_core.serving import Foundation, open_foundation

from corrigenda_recall.indexer.config import IndexerSettings
from corrigenda_recall.indexer.embedding import DocumentEmbedder
from corrigenda_recall.indexer.metrics import IndexMetrics
from corrigenda_recall.indexer.respacing import Respacer
from corrigenda_recall.indexer.worker import Indexer, Pace

# Longer than a poll and a large batch; shorter than what an operator would wait.
SILENT_SECONDS_MAX = 120.0


def indexer(
    foundation: Foundation, settings: IndexerSettings, embedder: DocumentEmbedder, metrics: IndexMetrics
) -> Indexer:
    """The worker that makes the documents that are waited for."""
    return Indexer(
        store=DocumentStore(database=foundation.database, reader=foundation.reader, now=foundation.now),
        embedder=embedder,
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
    async with open_foundation(settings, "indexer") as foundation:
        spaces = SpaceStore(database=foundation.database, reader=foundation.reader)
        observe = ProviderMetrics(foundation.registry).of("embedder")
        embedder = CountedEmbedder(make_embedder(settings, sample=spaces.sample), observe)
        try:
            metrics = IndexMetrics(foundation.registry)
            documents = DocumentEmbedder(embedder, metrics)
            stop = stop_event()
            worker = indexer(foundation, settings, documents, metrics)
            respacer = Respacer(
                store=spaces, embedder=documents, metrics=metrics, check_seconds=settings.index_space_seconds
            )
            foundation.health.expect_beats(silent_seconds_max=SILENT_SECONDS_MAX)
            announce_ready(name="indexer", **foundation.ready_facts)
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(worker.run_until(stop))
                tasks.create_task(respacer.run_until(stop))
        finally:
            await embedder.close()
