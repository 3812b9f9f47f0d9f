"""Builds the recall service: the only place that makes its objects."""

from __future__ import annotations

from contextlib import suppress

from corrigenda.recall.v1 import recall_service_pb2, recall_service_pb2_grpc
from corrigenda_core.ports.providers import Embedder, ProviderFailed
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


def bindings(foundation: Foundation, settings: RecallSettings, embedder: Embedder) -> list[ServiceBinding]:
    """What the process serves."""
    tokens = page_tokens(settings)
    handlers = RecallHandlers(
        recall=Recall(
            reader=foundation.reader,
            embedder=embedder,
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
    embedder = make_embedder(settings)
    try:
        async with open_foundation(settings, "recall") as foundation:
            # The first query does not wait for the model to load; without a model the service still answers.
            with suppress(ProviderFailed):
                await embedder.embed(["ready"])
            await serve(foundation, settings, bindings(foundation, settings, embedder))
    finally:
        await embedder.close()
