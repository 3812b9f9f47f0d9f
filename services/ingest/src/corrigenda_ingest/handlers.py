"""The handlers of the ingest service and of administration: convert, call one use case, convert."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any

from corrigenda.admin.v1 import admin_service_pb2 as admin
from corrigenda.admin.v1 import admin_service_pb2_grpc
from corrigenda.ingest.v1 import ingest_service_pb2 as ingest
from corrigenda.ingest.v1 import ingest_service_pb2_grpc
from corrigenda_core.ports.deadline import Deadline
from corrigenda_core.rpc.calls import current_call
from corrigenda_core.rpc.idempotent import idempotency_of

from corrigenda_ingest.decision_responses import resolved_placement
from corrigenda_ingest.requests import (
    evidence_of,
    forgetting_of,
    identity_correction_of,
    placement_decision_of,
    submission_of,
)
from corrigenda_ingest.responses import PlacementMessages
from corrigenda_ingest.stream_messages import StreamResponses, arrivals
from corrigenda_ingest.use_cases.adopt_evidence import AdoptEvidence
from corrigenda_ingest.use_cases.correct_entity_resolution import CorrectEntityResolution
from corrigenda_ingest.use_cases.erase_evidence import EraseEvidence
from corrigenda_ingest.use_cases.forget import Forget
from corrigenda_ingest.use_cases.get_placement import GetPlacement
from corrigenda_ingest.use_cases.keys import Keys
from corrigenda_ingest.use_cases.list_alerts import ListAlerts
from corrigenda_ingest.use_cases.list_keys import ListKeys
from corrigenda_ingest.use_cases.list_sources import ListSources
from corrigenda_ingest.use_cases.preflight_remember import PreflightRemember
from corrigenda_ingest.use_cases.profiles import Profiles
from corrigenda_ingest.use_cases.register_predicate import RegisterPredicate
from corrigenda_ingest.use_cases.register_source import RegisterSource
from corrigenda_ingest.use_cases.remember import Remember
from corrigenda_ingest.use_cases.remember_stream import RememberStream
from corrigenda_ingest.use_cases.resolve_placement import ResolvePlacement
from corrigenda_ingest.use_cases.scan_conflicts import ScanConflicts
from corrigenda_ingest.use_cases.teams import Teams


def _deadline() -> Deadline:
    return Deadline.after(current_call().remaining_seconds)


@dataclass(frozen=True, slots=True, kw_only=True)
class IngestHandlers(ingest_service_pb2_grpc.IngestServiceServicer):
    """`corrigenda.ingest.v1.IngestService`."""

    remember: Remember
    remember_stream: RememberStream
    preflight_remember: PreflightRemember
    get_placement: GetPlacement
    resolve_placement: ResolvePlacement
    adopt_evidence: AdoptEvidence
    correct_entity_resolution: CorrectEntityResolution
    forget: Forget

    async def Remember(self, request: ingest.RememberRequest, context: Any) -> ingest.RememberResponse:
        """Stores evidence and places what it says."""
        caller = current_call().caller
        committed = await self.remember(
            caller,
            submission_of(request, key=request.idempotency_key),
            token=request.verification_token,
            idempotency=idempotency_of(request, caller.profile_id, ingest.RememberResponse),
            present=lambda planned, facts: PlacementMessages(caller, planned, facts).response(),
            deadline=_deadline(),
        )
        return committed.value

    async def RememberStream(
        self, requests: AsyncIterator[ingest.RememberStreamRequest], context: Any
    ) -> AsyncIterator[ingest.RememberStreamResponse]:
        """Remembers what arrives, and answers each submission in its order."""
        call, responses = current_call(), StreamResponses(current_call())
        answers = self.remember_stream(
            call.caller, arrivals(call.caller, requests), stopping=call.stopping, deadline=_deadline()
        )
        async with aclosing(answers) as answering:
            async for answered in answering:
                yield responses.response(answered)

    async def PreflightRemember(
        self, request: ingest.PreflightRememberRequest, context: Any
    ) -> ingest.PreflightRememberResponse:
        """What Remember would answer now."""
        caller = current_call().caller
        return await self.preflight_remember(
            caller,
            submission_of(request),
            present=lambda planned, facts, token, at: PlacementMessages(caller, planned, facts).preflight(token, at),
            min_revision=request.min_revision,
            deadline=_deadline(),
        )

    async def GetPlacement(self, request: ingest.GetPlacementRequest, context: Any) -> ingest.GetPlacementResponse:
        """What became of an earlier submission."""
        return await self.get_placement(current_call().caller, request, _deadline())

    async def AdoptEvidence(self, request: ingest.AdoptEvidenceRequest, context: Any) -> ingest.AdoptEvidenceResponse:
        """Lets a relationship stand on a text of another profile."""
        return (await self.adopt_evidence(current_call().caller, request, _deadline())).value

    async def ResolvePlacement(
        self, request: ingest.ResolvePlacementRequest, context: Any
    ) -> ingest.ResolvePlacementResponse:
        """Decides what a placement waits for."""
        caller = current_call().caller
        committed = await self.resolve_placement(
            caller,
            placement_decision_of(request),
            idempotency=idempotency_of(request, caller.profile_id, ingest.ResolvePlacementResponse),
            present=resolved_placement,
            deadline=_deadline(),
        )
        return committed.value

    async def CorrectEntityResolution(
        self, request: ingest.CorrectEntityResolutionRequest, context: Any
    ) -> ingest.CorrectEntityResolutionResponse:
        """Splits or merges entities."""
        caller = current_call().caller
        return await self.correct_entity_resolution(
            caller,
            identity_correction_of(request),
            reason=request.reason,
            token=request.impact_token,
            idempotency=idempotency_of(request, caller.profile_id, ingest.CorrectEntityResolutionResponse),
            deadline=_deadline(),
        )

    async def Forget(self, request: ingest.ForgetRequest, context: Any) -> ingest.ForgetResponse:
        """Forgets something of the caller's own."""
        return await self.forget(
            current_call().caller, request, forgetting_of(request), evidence_of(request), _deadline()
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class AdminHandlers(admin_service_pb2_grpc.AdminServiceServicer):
    """`corrigenda.admin.v1.AdminService`."""

    teams: Teams
    profiles: Profiles
    keys: Keys
    list_keys: ListKeys
    register_source: RegisterSource
    list_sources: ListSources
    register_predicate: RegisterPredicate
    scan_conflicts: ScanConflicts
    erase_evidence: EraseEvidence
    list_alerts: ListAlerts

    async def GetTeam(self, request: admin.GetTeamRequest, context: Any) -> admin.GetTeamResponse:
        """The caller's team."""
        return await self.teams.get(current_call().caller, request, _deadline())

    async def UpdateTeamPolicy(
        self, request: admin.UpdateTeamPolicyRequest, context: Any
    ) -> admin.UpdateTeamPolicyResponse:
        """Changes settings of the team."""
        return (await self.teams.update_policy(current_call().caller, request, _deadline())).value

    async def CreateProfile(self, request: admin.CreateProfileRequest, context: Any) -> admin.CreateProfileResponse:
        """Makes a profile."""
        return (await self.profiles.create(current_call().caller, request, _deadline())).value

    async def ListProfiles(self, request: admin.ListProfilesRequest, context: Any) -> admin.ListProfilesResponse:
        """A page of profiles."""
        return await self.profiles.list(current_call().caller, request, _deadline())

    async def CreateKey(self, request: admin.CreateKeyRequest, context: Any) -> admin.CreateKeyResponse:
        """Makes a key."""
        return (await self.keys.create(current_call().caller, request, _deadline())).value

    async def RotateKey(self, request: admin.RotateKeyRequest, context: Any) -> admin.RotateKeyResponse:
        """Makes the next key of a line."""
        return (await self.keys.rotate(current_call().caller, request, _deadline())).value

    async def RevokeKey(self, request: admin.RevokeKeyRequest, context: Any) -> admin.RevokeKeyResponse:
        """Ends a key."""
        return (await self.keys.revoke(current_call().caller, request, _deadline())).value

    async def ListKeys(self, request: admin.ListKeysRequest, context: Any) -> admin.ListKeysResponse:
        """A page of keys."""
        return await self.list_keys(current_call().caller, request, _deadline())

    async def RegisterSource(self, request: admin.RegisterSourceRequest, context: Any) -> admin.RegisterSourceResponse:
        """Registers a version of a source."""
        return (await self.register_source(current_call().caller, request, _deadline())).value

    async def ListSources(self, request: admin.ListSourcesRequest, context: Any) -> admin.ListSourcesResponse:
        """A page of the source registry."""
        return await self.list_sources(current_call().caller, request, _deadline())

    async def RegisterPredicate(
        self, request: admin.RegisterPredicateRequest, context: Any
    ) -> admin.RegisterPredicateResponse:
        """Registers a version of a predicate."""
        return (await self.register_predicate(current_call().caller, request, _deadline())).value

    async def DriveClock(self, request: admin.DriveClockRequest, context: Any) -> admin.DriveClockResponse:
        """Sets the time of a driven team."""
        return (await self.teams.drive_clock(current_call().caller, request, _deadline())).value

    async def OpenTeam(self, request: admin.OpenTeamRequest, context: Any) -> admin.OpenTeamResponse:
        """Opens the team for good."""
        return (await self.teams.open(current_call().caller, request, _deadline())).value

    async def ScanConflicts(
        self, request: admin.ScanConflictsRequest, context: Any
    ) -> AsyncIterator[admin.ScanConflictsResponse]:
        """Looks at slots again after a registry change."""
        async for answer in self.scan_conflicts(current_call().caller, request, _deadline()):
            yield answer

    async def EraseEvidence(self, request: admin.EraseEvidenceRequest, context: Any) -> admin.EraseEvidenceResponse:
        """Erases a text for good."""
        return (await self.erase_evidence(current_call().caller, request, _deadline())).value

    async def ListAlerts(self, request: admin.ListAlertsRequest, context: Any) -> admin.ListAlertsResponse:
        """A page of alerts."""
        return await self.list_alerts(current_call().caller, request, _deadline())
