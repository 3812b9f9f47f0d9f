"""One valid request for every RPC that mutates, in a team that was prepared for it; a new RPC needs one here.

Tests that hold for every mutation walk this table. Each maker gets a fresh team that drives its clock, with the
profiles A and B and the predicate ``deploys_from``, and leaves exactly one thing to do: what its request asks for.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from corrigenda.admin.v1 import admin_service_pb2 as admin
from corrigenda.admin.v1 import source_pb2
from corrigenda.conflict.v1 import conflict_service_pb2 as conflict
from corrigenda.conflict.v1 import resolution_pb2
from corrigenda.ingest.v1 import (
    forgetting_pb2,
    identity_correction_pb2,
    placement_decision_pb2,
    placement_pb2,
    submission_pb2,
)
from corrigenda.ingest.v1 import ingest_service_pb2 as ingest
from corrigenda.options.v1 import key_scope_pb2
from corrigenda.type.v1 import evidence_pb2, predicate_pb2
from google.protobuf.descriptor import MethodDescriptor
from google.protobuf.message import Message

from corrigenda_core.rpc.client import Client
from corrigenda_core.rpc.convert import timestamp_of
from corrigenda_core.rpc.methods import access_of
from corrigenda_core.testing.wire_decisions import Row, deciding, forgetting, items_of, keep_new, placed_row, reverting

BEGINNING = datetime(2026, 1, 10, tzinfo=UTC)
"""Where the team's clock stands."""

Submission = Callable[..., ingest.RememberRequest]

_KEY = "the request"
_MAIN, _RELEASE = "production deploys from main", "the log: production deploys from release"


@dataclass(frozen=True, slots=True, kw_only=True)
class Asking:
    """A team to ask in: who administers it, two who write, and what says where production deploys from."""

    team_id: str
    admin: Client
    a: Client
    b: Client
    deploys_from: Submission


_SERVICES = {
    "ingest": ingest.DESCRIPTOR.services_by_name["IngestService"],
    "conflict": conflict.DESCRIPTOR.services_by_name["ConflictService"],
    "admin": admin.DESCRIPTOR.services_by_name["AdminService"],
}
MUTATING: Mapping[str, tuple[str, MethodDescriptor]] = {
    method.name: (area, method)
    for area, service in _SERVICES.items()
    for method in service.methods
    if access_of(method).mutates
}
"""The RPCs that mutate, by name: the client's stub that has each, and its descriptor."""


def process_of(name: str) -> str:
    """The process that serves an RPC."""
    area, _ = MUTATING[name]
    return "conflict" if area == "conflict" else "ingest"


def is_asked_by_the_administrator(name: str) -> bool:
    """Whether the key of a profile that reads and writes may not ask for it."""
    _, method = MUTATING[name]
    return key_scope_pb2.KEY_SCOPE_WRITE not in {
        key_scope_pb2.KeyScope.Value(f"KEY_SCOPE_{scope.upper()}") for scope in access_of(method).any_of
    }


async def answers_of(client: Client, name: str, request: Message) -> list[Any]:
    """All messages that an RPC answers, the only one of most."""
    area, method = MUTATING[name]
    stub = getattr(getattr(client, area), name)
    if not method.server_streaming:
        return [await stub(request)]
    if method.client_streaming:

        async def sent() -> AsyncIterator[Message]:
            yield request

        return [answer async for answer in stub(sent())]
    return [answer async for answer in stub(request)]


async def _remember(team: Asking) -> ingest.RememberRequest:
    """Opens a case, since another owner says otherwise."""
    await team.b.ingest.Remember(team.deploys_from(_MAIN, "main"))
    return team.deploys_from(_RELEASE, "release", key=_KEY)


async def _remember_stream(team: Asking) -> Message:
    return ingest.RememberStreamRequest(submission=team.deploys_from(_MAIN, "main", key=_KEY))


async def _resolve_placement(team: Asking) -> Message:
    """Selects the branch that a submission may have meant."""

    def of_repository(text: str, name: str) -> ingest.RememberRequest:
        request = team.deploys_from(text, "main")
        request.proposal.entities[1].identity_context["repository"] = name
        return request

    first = await team.a.ingest.Remember(of_repository(_MAIN, "one"))
    second = await team.a.ingest.Remember(of_repository(f"our checklist confirms: {_MAIN}", "two"))
    return ingest.ResolvePlacementRequest(
        idempotency_key=_KEY,
        ingest_id=second.placement.ingest_id,
        placement_item_id=second.placement.entities[1].item.item_id,
        action=placement_pb2.PLACEMENT_ACTION_SELECT_ENTITY,
        decision=placement_decision_pb2.PlacementDecision(
            entity_id=first.placement.entities[1].entity.entity_id, mention_ref="branch"
        ),
    )


async def _correct_entity_resolution(team: Asking) -> Message:
    """Applies a split that was shown."""
    first = (await team.a.ingest.Remember(team.deploys_from(_MAIN, "main"))).placement
    second = (await team.a.ingest.Remember(team.deploys_from(f"our checklist confirms: {_MAIN}", "main"))).placement
    request = ingest.CorrectEntityResolutionRequest(
        idempotency_key=_KEY,
        split=identity_correction_pb2.EntitySplit(
            entity_id=first.entities[1].entity.entity_id,
            observation_ids=[second.relationships[0].observation_id],
        ),
    )
    shown = await team.a.ingest.CorrectEntityResolution(request)
    request.impact_token = shown.impact_token
    return request


async def _adopt_evidence(team: Asking) -> Message:
    theirs = (await team.b.ingest.Remember(team.deploys_from(f"the log of the build: {_MAIN}", "main"))).placement
    mine = await placed_row(team.a, team.deploys_from(f"the checklist of the team: {_MAIN}", "main"))
    return ingest.AdoptEvidenceRequest(
        idempotency_key=_KEY,
        fragment_id=theirs.fragments[0].fragment_id,
        relationship_id=mine.relationship_id,
        passages=[submission_pb2.Citation(quote=_MAIN)],
    )


async def _forget(team: Asking) -> Message:
    row = await placed_row(team.a, team.deploys_from(_MAIN, "main"))
    return forgetting(idempotency_key=_KEY, retract=forgetting_pb2.Retract(relationship_id=row.relationship_id))


def _of(subject: str, request: ingest.RememberRequest) -> ingest.RememberRequest:
    request.proposal.entities[0].name = subject
    return request


async def _own_question(team: Asking, subject: str = "production") -> Row:
    """A is asked about main, in force, and release, held, which a judge prefers: the row of the latter."""
    await placed_row(team.a, _of(subject, team.deploys_from(f"{subject} deploys from main", "main")))
    return await placed_row(team.a, _of(subject, team.deploys_from(f"{subject} now deploys from release", "release")))


async def _resolve_conflict(team: Asking) -> conflict.ResolveConflictRequest:
    release = await _own_question(team)
    (item,) = await items_of(team.a)
    return deciding(item, idempotency_key=_KEY, keep_new=keep_new(release))


async def merging(team: Asking) -> conflict.ResolveConflictRequest:
    """A decision that the conflict service passes on: ingest takes it with the sentence that it stores."""
    await _own_question(team)
    (item,) = await items_of(team.a)
    merge = resolution_pb2.Merge(
        content="the checklist: production deploys from trunk",
        source_type=evidence_pb2.SOURCE_TYPE_MANUAL,
        entity=resolution_pb2.MergedEntity(name="trunk", entity_kind="git_branch"),
    )
    return deciding(item, idempotency_key=_KEY, merge=merge)


async def _revert_resolution(team: Asking) -> Message:
    decided = await team.a.conflict.ResolveConflict(await _resolve_conflict(team))
    return reverting(decided.decision, idempotency_key="taken back")


async def _auto_resolve(team: Asking, subjects: Sequence[str] = ("production",)) -> Message:
    for subject in subjects:
        await _own_question(team, subject)
    return conflict.AutoResolveRequest(idempotency_key=_KEY, minimum_age_seconds=0)


async def _review_now(team: Asking) -> Message:
    await team.b.ingest.Remember(await _remember(team))
    return conflict.ReviewNowRequest(idempotency_key=_KEY)


async def _update_team_policy(_: Asking) -> Message:
    return admin.UpdateTeamPolicyRequest(idempotency_key=_KEY, review_period_days=3)


async def _create_profile(_: Asking) -> Message:
    return admin.CreateProfileRequest(idempotency_key=_KEY, name="C")


async def _create_key(team: Asking) -> Message:
    made = await team.admin.admin.CreateProfile(admin.CreateProfileRequest(idempotency_key="profile", name="C"))
    return admin.CreateKeyRequest(
        idempotency_key=_KEY, profile_id=made.profile.profile_id, scopes=[key_scope_pb2.KEY_SCOPE_READ]
    )


async def _key_of_another(team: Asking) -> str:
    request: Any = await _create_key(team)
    key_id: str = (await team.admin.admin.CreateKey(request)).key.key_id
    return key_id


async def _rotate_key(team: Asking) -> Message:
    return admin.RotateKeyRequest(idempotency_key="rotation", key_id=await _key_of_another(team))


async def _revoke_key(team: Asking) -> Message:
    return admin.RevokeKeyRequest(idempotency_key="revocation", key_id=await _key_of_another(team), reason="left")


async def _register_source(_: Asking) -> Message:
    return admin.RegisterSourceRequest(
        idempotency_key=_KEY, definition=source_pb2.SourceDefinition(source_group="crm", record=True)
    )


def _predicate(cardinality: predicate_pb2.Cardinality.ValueType, **more: Any) -> admin.RegisterPredicateRequest:
    return admin.RegisterPredicateRequest(
        definition=predicate_pb2.PredicateDefinition(
            key="ships_from",
            aliases=["ships from"],
            relationship_kind=predicate_pb2.RELATIONSHIP_KIND_STATE,
            current_cardinality=cardinality,
        ),
        **more,
    )


async def _register_predicate(_: Asking) -> Message:
    return _predicate(predicate_pb2.CARDINALITY_ONE, idempotency_key=_KEY)


async def _drive_clock(_: Asking) -> Message:
    return admin.DriveClockRequest(idempotency_key=_KEY, time=timestamp_of(BEGINNING + timedelta(days=1)))


async def _open_team(_: Asking) -> Message:
    return admin.OpenTeamRequest(idempotency_key=_KEY)


async def _scan_conflicts(team: Asking, subjects: Sequence[str] = ("production",)) -> Message:
    """Two owners' values of a cardinality that became one only now; a commit for each subject."""
    await team.admin.admin.RegisterPredicate(_predicate(predicate_pb2.CARDINALITY_MANY, idempotency_key="many"))
    for subject in subjects:
        for client, branch in ((team.a, "main"), (team.b, "release")):
            said = team.deploys_from(f"{subject} ships from {branch}", branch, predicate="ships_from")
            await placed_row(client, _of(subject, said))
    await team.admin.admin.RegisterPredicate(
        _predicate(predicate_pb2.CARDINALITY_ONE, idempotency_key="one", expected_version=1)
    )
    return admin.ScanConflictsRequest(idempotency_key=_KEY, slots_per_commit=1)


async def _erase_evidence(team: Asking) -> Message:
    placed = (await team.a.ingest.Remember(team.deploys_from(_MAIN, "main"))).placement
    return admin.EraseEvidenceRequest(
        idempotency_key=_KEY, fragment_id=placed.fragments[0].fragment_id, reason="they asked for it"
    )


Make = Callable[[Asking], Awaitable[Message]]

REQUESTS: Mapping[str, Make] = {
    "Remember": _remember,
    "RememberStream": _remember_stream,
    "ResolvePlacement": _resolve_placement,
    "CorrectEntityResolution": _correct_entity_resolution,
    "AdoptEvidence": _adopt_evidence,
    "Forget": _forget,
    "ResolveConflict": _resolve_conflict,
    "RevertResolution": _revert_resolution,
    "AutoResolve": _auto_resolve,
    "ReviewNow": _review_now,
    "UpdateTeamPolicy": _update_team_policy,
    "CreateProfile": _create_profile,
    "CreateKey": _create_key,
    "RotateKey": _rotate_key,
    "RevokeKey": _revoke_key,
    "RegisterSource": _register_source,
    "RegisterPredicate": _register_predicate,
    "DriveClock": _drive_clock,
    "OpenTeam": _open_team,
    "ScanConflicts": _scan_conflicts,
    "EraseEvidence": _erase_evidence,
}
"""Prepares the team and gives the request, by the RPC's name."""

SEVERAL_COMMITS: Mapping[str, Make] = {
    "AutoResolve": lambda team: _auto_resolve(team, ("production", "staging")),
    "ScanConflicts": lambda team: _scan_conflicts(team, ("production", "staging")),
}
"""Requests that are answered with a stream and commit part by part; two parts each."""
