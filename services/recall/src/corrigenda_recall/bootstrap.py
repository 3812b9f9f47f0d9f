"""Builds the recall service: the only place that makes its objects."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass

from corrigenda.recall.v1 import recall_service_pb2, recall_service_pb2_grpc
from corrigenda_core.persistence.space_store import SpaceStore
from corrigenda_core.persistence.team_clock import PLANNED_ONCE
from corrigenda_core.ports.providers import Embedder, ProviderFailed
from corrigenda_core.providers.embedder_counted import CountedEmbedder
from corrigenda_core.providers.metrics import ProviderMetrics
from corrigenda_core.providers.selection import make_embedder
from corrigenda_core.rpc.server import ServiceBinding
from corrigenda_core.serving import Foundation, open_foundation, page_tokens, serve

from corrigenda_recall.config import RecallSettings
from corrigenda_recall.handlers import RecallHandlers
from corrigenda_recall.use_cases.get_relationship import GetRelationship
from corrigenda_recall.use_cases.get_source_history import GetSourceHistory
from corrigenda_recall.use_cases.list_changes import ListChanges
from corrigenda_recall.use_cases.list_predicates import ListPredicates
from corrigenda_recall.use_cases.recall import Recall
from corrigenda_recall.use_cases.search_entities import SearchEntities
from corrigenda_recall.use_cases.timeline import Timeline
from corrigenda_recall.use_cases.trace import Trace


@dataclass(frozen=True, slots=True, kw_only=True)
class Embedders:
    """What turns queries into vectors: the embedder, and the one before it while its documents are not made anew."""

    current: Embedder
    previous: Embedder | None

    async def prepare(self) -> None:
        """Loads them: the first query does not wait for that. Without a model the service still answers."""
        for embedder in self._all():
            with suppress(ProviderFailed):
                await embedder.embed(["ready"])

    async def close(self) -> None:
        """Releases them."""
        for embedder in self._all():
            await embedder.close()

    def _all(self) -> Iterator[Embedder]:
        yield self.current
        if self.previous is not None:
            yield self.previous


def embedders(foundation: Foundation, settings: RecallSettings) -> Embedders:
    """What the settings name."""
    sample = SpaceStore(database=foundation.database, reader=foundation.reader).sample
    previous = settings.previous_embedder_spec
    observe = ProviderMetrics(foundation.registry).of("embedder")
    return Embedders(
        current=CountedEmbedder(make_embedder(settings, sample=sample), observe),
        previous=None if previous is None else CountedEmbedder(make_embedder(settings, previous, sample), observe),
    )


def bindings(foundation: Foundation, settings: RecallSettings, models: Embedders) -> list[ServiceBinding]:
    """What the process serves."""
    tokens = page_tokens(settings)
    handlers = RecallHandlers(
        recall=Recall(
            reader=foundation.reader,
            embedder=models.current,
            previous_embedder=models.previous,
            embedding_timeout_seconds=settings.query_embedding_timeout_seconds,
        ),
        trace=Trace(reader=foundation.reader, page_tokens=tokens),
        timeline=Timeline(reader=foundation.reader, page_tokens=tokens),
        get_relationship=GetRelationship(reader=foundation.reader),
        search_entities=SearchEntities(reader=foundation.reader, page_tokens=tokens),
        list_predicates=ListPredicates(reader=foundation.reader, page_tokens=tokens),
        get_source_history=GetSourceHistory(reader=foundation.reader),
        list_changes=ListChanges(reader=foundation.reader),
    )
    return [
        ServiceBinding(
            descriptor=recall_service_pb2.DESCRIPTOR.services_by_name["RecallService"],
            register=lambda server: recall_service_pb2_grpc.add_RecallServiceServicer_to_server(handlers, server),
        ),
    ]


async def run_service(settings: RecallSettings) -> None:
    """Serves until the process is told to stop."""
    async with open_foundation(settings, "recall", reading=PLANNED_ONCE) as foundation:
        models = embedders(foundation, settings)
        try:
            await models.prepare()
            await serve(foundation, settings, bindings(foundation, settings, models))
        finally:
            await models.close()
