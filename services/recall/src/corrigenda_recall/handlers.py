"""The handlers of the recall service: convert, call one use case, convert."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any

from corrigenda.recall.v1 import recall_service_pb2 as messages
from corrigenda.recall.v1 import recall_service_pb2_grpc
from corrigenda_core.ports.deadline import Deadline
from corrigenda_core.rpc.calls import current_call
from corrigenda_core.rpc.read_masks import ReadMask

from corrigenda_recall.recall_responses import RecallMessages
from corrigenda_recall.requests import recall_question_of
from corrigenda_recall.use_cases.get_relationship import GetRelationship
from corrigenda_recall.use_cases.get_source_history import GetSourceHistory
from corrigenda_recall.use_cases.list_changes import ListChanges
from corrigenda_recall.use_cases.list_predicates import ListPredicates
from corrigenda_recall.use_cases.recall import Recall
from corrigenda_recall.use_cases.search_entities import SearchEntities
from corrigenda_recall.use_cases.timeline import Timeline
from corrigenda_recall.use_cases.trace import Trace


def _deadline() -> Deadline:
    return Deadline.after(current_call().remaining_seconds)


@dataclass(frozen=True, slots=True, kw_only=True)
class RecallHandlers(recall_service_pb2_grpc.RecallServiceServicer):
    """`corrigenda.recall.v1.RecallService`."""

    recall: Recall
    trace: Trace
    timeline: Timeline
    get_relationship: GetRelationship
    search_entities: SearchEntities
    list_predicates: ListPredicates
    get_source_history: GetSourceHistory
    list_changes: ListChanges

    async def Recall(self, request: messages.RecallRequest, context: Any) -> messages.RecallResponse:
        """Searches the evidence of the team."""
        wanted = ReadMask.of(request.read_mask, messages.RecallResponse.DESCRIPTOR, field="read_mask")
        answer = await self.recall(current_call().caller, recall_question_of(request), _deadline())
        return wanted.kept(RecallMessages(answer, explain=request.explain).response())

    async def Trace(self, request: messages.TraceRequest, context: Any) -> messages.TraceResponse:
        """Everything that is recorded about one relationship."""
        return await self.trace(current_call().caller, request, _deadline())

    async def Timeline(self, request: messages.TimelineRequest, context: Any) -> messages.TimelineResponse:
        """Every value that an entity or a slot ever had."""
        return await self.timeline(current_call().caller, request, _deadline())

    async def GetRelationship(
        self, request: messages.GetRelationshipRequest, context: Any
    ) -> messages.GetRelationshipResponse:
        """One relationship in a view."""
        return await self.get_relationship(current_call().caller, request, _deadline())

    async def SearchEntities(
        self, request: messages.SearchEntitiesRequest, context: Any
    ) -> messages.SearchEntitiesResponse:
        """Entities by name."""
        return await self.search_entities(current_call().caller, request, _deadline())

    async def ListPredicates(
        self, request: messages.ListPredicatesRequest, context: Any
    ) -> messages.ListPredicatesResponse:
        """The predicates of the team."""
        return await self.list_predicates(current_call().caller, request, _deadline())

    async def GetSourceHistory(
        self, request: messages.GetSourceHistoryRequest, context: Any
    ) -> messages.GetSourceHistoryResponse:
        """How what a source said has fared."""
        return await self.get_source_history(current_call().caller, request, _deadline())

    async def ListChanges(
        self, request: messages.ListChangesRequest, context: Any
    ) -> AsyncIterator[messages.ListChangesResponse]:
        """Committed revisions, and those to come."""
        call = current_call()
        async for answer in self.list_changes(call.caller, request, _deadline(), call.stopping):
            yield answer
