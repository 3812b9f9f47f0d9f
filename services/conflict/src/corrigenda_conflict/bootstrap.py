"""Builds the conflict service: the only place that makes its objects."""

from __future__ import annotations

from corrigenda.conflict.v1 import conflict_service_pb2, conflict_service_pb2_grpc
from corrigenda_core.deciding import OwnerDecisions
from corrigenda_core.providers.judge_validation import ValidatedJudge
from corrigenda_core.providers.metrics import ProviderMetrics
from corrigenda_core.providers.selection import make_judge
from corrigenda_core.rpc.server import ServiceBinding
from corrigenda_core.serving import Foundation, open_foundation, page_tokens, serve

from corrigenda_conflict.config import ConflictSettings
from corrigenda_conflict.handlers import ConflictHandlers
from corrigenda_conflict.ingest_calls import IngestCalls
from corrigenda_conflict.judging import Judging
from corrigenda_conflict.use_cases.auto_resolve import AutoResolve
from corrigenda_conflict.use_cases.explain_conflict import ExplainConflict
from corrigenda_conflict.use_cases.get_competing_facts import GetCompetingFacts
from corrigenda_conflict.use_cases.get_conflict import GetConflict
from corrigenda_conflict.use_cases.list_conflicts import ListConflicts
from corrigenda_conflict.use_cases.list_review_items import ListReviewItems
from corrigenda_conflict.use_cases.merge_sides import MergeSides
from corrigenda_conflict.use_cases.resolve_conflict import ResolveConflict
from corrigenda_conflict.use_cases.revert_resolution import RevertResolution
from corrigenda_conflict.use_cases.review_runs import ListReviewRuns, ReviewNow
from corrigenda_conflict.use_cases.watch_conflicts import WatchConflicts


def bindings(
    foundation: Foundation, settings: ConflictSettings, ingest: IngestCalls, judge: ValidatedJudge
) -> list[ServiceBinding]:
    """What the process serves."""
    tokens = page_tokens(settings)
    reader, new_ids = foundation.reader, foundation.new_ids
    decisions = OwnerDecisions(reader=reader, runner=foundation.runner, new_ids=new_ids)
    handlers = ConflictHandlers(
        list_conflicts=ListConflicts(reader=reader, page_tokens=tokens),
        get_conflict=GetConflict(reader=reader, page_tokens=tokens),
        explain_conflict=ExplainConflict(reader=reader),
        get_competing_facts=GetCompetingFacts(reader=reader, page_tokens=tokens),
        resolve_conflict=ResolveConflict(decisions=decisions),
        merge_sides=MergeSides(reader=reader, ingest=ingest),
        auto_resolve=AutoResolve(
            reader=reader,
            runner=foundation.runner,
            judging=Judging(reader=reader, decisions=decisions, judge=judge, new_ids=new_ids),
        ),
        revert_resolution=RevertResolution(decisions=decisions),
        watch_conflicts=WatchConflicts(reader=foundation.reader),
        review_now=ReviewNow(runner=foundation.runner, reader=reader, new_ids=new_ids),
        list_review_runs=ListReviewRuns(reader=reader, page_tokens=tokens),
        list_review_items=ListReviewItems(reader=reader, page_tokens=tokens, new_ids=new_ids),
    )
    return [
        ServiceBinding(
            descriptor=conflict_service_pb2.DESCRIPTOR.services_by_name["ConflictService"],
            register=lambda server: conflict_service_pb2_grpc.add_ConflictServiceServicer_to_server(handlers, server),
        )
    ]


async def run_service(settings: ConflictSettings) -> None:
    """Serves until the process is told to stop."""
    async with open_foundation(settings, "conflict") as foundation:
        ingest = IngestCalls(settings.ingest_address, settings.client_tls(settings.ingest_address))
        judge = make_judge(settings, ProviderMetrics(foundation.registry).of("judge"))
        try:
            await serve(foundation, settings, bindings(foundation, settings, ingest, judge))
        finally:
            await judge.close()
            await ingest.close()
