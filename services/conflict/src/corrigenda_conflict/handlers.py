"""The handlers of the conflict service: convert, call one use case, convert."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any

from corrigenda.conflict.v1 import conflict_service_pb2 as messages
from corrigenda.conflict.v1 import conflict_service_pb2_grpc
from corrigenda_core.ports.deadline import Deadline
from corrigenda_core.rpc.calls import authorization_of, current_call

from corrigenda_conflict.requests import resolution_of
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


def _deadline() -> Deadline:
    return Deadline.after(current_call().remaining_seconds)


@dataclass(frozen=True, slots=True, kw_only=True)
class ConflictHandlers(conflict_service_pb2_grpc.ConflictServiceServicer):
    """`corrigenda.conflict.v1.ConflictService`."""

    list_conflicts: ListConflicts
    get_conflict: GetConflict
    explain_conflict: ExplainConflict
    get_competing_facts: GetCompetingFacts
    resolve_conflict: ResolveConflict
    merge_sides: MergeSides
    auto_resolve: AutoResolve
    revert_resolution: RevertResolution
    watch_conflicts: WatchConflicts
    review_now: ReviewNow
    list_review_runs: ListReviewRuns
    list_review_items: ListReviewItems

    async def ListConflicts(
        self, request: messages.ListConflictsRequest, context: Any
    ) -> messages.ListConflictsResponse:
        """Team cases and the caller's questions."""
        return await self.list_conflicts(current_call().caller, request, _deadline())

    async def GetConflict(self, request: messages.GetConflictRequest, context: Any) -> messages.GetConflictResponse:
        """One case with its events."""
        return await self.get_conflict(current_call().caller, request, _deadline())

    async def ExplainConflict(
        self, request: messages.ExplainConflictRequest, context: Any
    ) -> messages.ExplainConflictResponse:
        """Why a case is decided as it is."""
        return await self.explain_conflict(current_call().caller, request, _deadline())

    async def GetCompetingFacts(
        self, request: messages.GetCompetingFactsRequest, context: Any
    ) -> messages.GetCompetingFactsResponse:
        """What is disputed about an entity."""
        return await self.get_competing_facts(current_call().caller, request, _deadline())

    async def ResolveConflict(
        self, request: messages.ResolveConflictRequest, context: Any
    ) -> messages.ResolveConflictResponse:
        """Decides between the caller's own statements."""
        if request.HasField("merge"):
            return await self.merge_sides(current_call(), request, authorization_of(context))
        return await self.resolve_conflict(current_call().caller, request, resolution_of(request), _deadline())

    async def RevertResolution(
        self, request: messages.RevertResolutionRequest, context: Any
    ) -> messages.RevertResolutionResponse:
        """Takes a decision of the caller back."""
        return await self.revert_resolution(current_call().caller, request, _deadline())

    async def AutoResolve(
        self, request: messages.AutoResolveRequest, context: Any
    ) -> AsyncIterator[messages.AutoResolveResponse]:
        """Lets the judge go over the caller's questions."""
        call = current_call()
        async with aclosing(self.auto_resolve(call.caller, request, _deadline(), call.stopping)) as answers:
            async for message in answers:
                yield message

    async def WatchConflicts(
        self, request: messages.WatchConflictsRequest, context: Any
    ) -> AsyncIterator[messages.WatchConflictsResponse]:
        """What happens to cases and items, and what will."""
        call = current_call()
        async with aclosing(self.watch_conflicts(call.caller, request, _deadline(), call.stopping)) as answers:
            async for message in answers:
                yield message

    async def ReviewNow(self, request: messages.ReviewNowRequest, context: Any) -> messages.ReviewNowResponse:
        """Queues a run for the reviewer."""
        return await self.review_now(current_call().caller, request, _deadline())

    async def ListReviewRuns(
        self, request: messages.ListReviewRunsRequest, context: Any
    ) -> messages.ListReviewRunsResponse:
        """Runs and what they did."""
        return await self.list_review_runs(current_call().caller, request, _deadline())

    async def ListReviewItems(
        self, request: messages.ListReviewItemsRequest, context: Any
    ) -> messages.ListReviewItemsResponse:
        """The caller's questions."""
        return await self.list_review_items(current_call().caller, request, _deadline())
