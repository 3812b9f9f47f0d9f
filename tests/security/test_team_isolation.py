"""No RPC reveals, counts or changes anything of another team: a foreign id answers exactly like a missing one."""

import asyncio
import json
from collections.abc import Awaitable, Callable, Collection
from dataclasses import dataclass
from typing import Any

import grpc
import psycopg
import pytest
from corrigenda.admin.v1 import admin_service_pb2, source_pb2
from corrigenda.conflict.v1 import conflict_service_pb2, resolution_pb2
from corrigenda.ingest.v1 import (
    forgetting_pb2,
    identity_correction_pb2,
    ingest_service_pb2,
    placement_pb2,
    submission_pb2,
)
from corrigenda.recall.v1 import recall_service_pb2
from corrigenda.type.v1 import predicate_pb2
from corrigenda_cli.stack import Stack
from corrigenda_core.domain.errors import Reason
from corrigenda_core.rpc.status import refusal_of
from corrigenda_core.serving import new_ids
from corrigenda_core.testing.effort import examples
from corrigenda_core.testing.wire_decisions import forgetting, retracting
from google.protobuf.json_format import MessageToJson
from google.protobuf.message import Message

pytestmark = pytest.mark.database

MISSING = "01900000-0000-7000-8000-000000000000"
CANARY = "zanzibar"
WAIT_SECONDS = 60.0

NewTeam = Callable[..., Awaitable[Any]]
Request = Callable[..., ingest_service_pb2.RememberRequest]


@dataclass(frozen=True, kw_only=True)
class ForeignIds:
    """Ids of a team that the caller does not belong to."""

    ingest: str
    fragment: str
    entity: str
    relationship: str
    conflict: str
    profile: str
    key: str
    item: str
    decision: str


@pytest.fixture
async def foreign(stack: Stack, new_team: NewTeam, deploys_from: Request) -> tuple[Any, ForeignIds]:
    """A team with a conflict, and its ids."""
    team = await new_team()
    placed = await team["A"].ingest.Remember(deploys_from(f"production deploys from {CANARY}", CANARY))
    opened = await team["B"].ingest.Remember(deploys_from("production deploys from release", "release"))
    await team["A"].ingest.Remember(deploys_from("the log: production deploys from trunk", "trunk"))
    elsewhere = deploys_from("the log: staging deploys from trunk", "trunk")
    elsewhere.proposal.entities[0].name = "staging"
    gone = (await team["A"].ingest.Remember(elsewhere)).placement.relationships[0].relationship
    forgotten = await team["A"].ingest.Forget(retracting(gone))
    (asked,) = (await team["A"].conflict.ListReviewItems(conflict_service_pb2.ListReviewItemsRequest())).items
    key = await team.admin.admin.CreateKey(
        admin_service_pb2.CreateKeyRequest(
            idempotency_key="another key", profile_id=placed.placement.author.profile_id, scopes=[1]
        )
    )
    ids = ForeignIds(
        ingest=placed.placement.ingest_id,
        fragment=placed.placement.fragments[0].fragment_id,
        entity=placed.placement.entities[1].entity.entity_id,
        relationship=placed.placement.relationships[0].relationship.relationship_id,
        conflict=opened.placement.relationships[0].conflict.conflict_id,
        profile=placed.placement.author.profile_id,
        key=key.key.key_id,
        item=asked.item_id,
        decision=forgotten.forgotten[0].decision.decision_id,
    )
    await workers_are_idle(stack, team.team_id)
    return team, ids


async def workers_are_idle(stack: Stack, team_id: str) -> None:
    """Waits until the reviewer and the indexer have nothing to do for a team: what changes afterwards, others did."""
    due = (
        "SELECT (SELECT count(*) FROM case_lease WHERE team_id = %(team)s AND next_review_at <= clock_timestamp())"
        " + (SELECT count(*) FROM review_runs WHERE team_id = %(team)s AND status IN ('queued', 'running'))"
        " + (SELECT count(*) FROM search_refresh_intents WHERE team_id = %(team)s AND consumed_at = 'infinity')"
    )
    deadline = asyncio.get_running_loop().time() + WAIT_SECONDS
    with psycopg.connect(stack.url("corrigenda_auditor"), autocommit=True) as connection:
        while connection.execute(due, {"team": team_id}).fetchone() != (0,):
            assert asyncio.get_running_loop().time() < deadline, "the workers do not come to rest"
            await asyncio.sleep(0.05)


def by_id(ids: ForeignIds, deploys_from: Request) -> dict[str, tuple[Message, Callable[[str], Message]]]:
    """For every RPC that takes an id: the request with a foreign id, and the same with any other id."""

    def remember(**more: Any) -> Message:
        return deploys_from("production deploys from main", "main", key="fixed", **more)

    def with_origin(fragment_id: str) -> Message:
        request = deploys_from("production deploys from main", "main", key="fixed")
        request.evidence[0].derived_from_fragment_ids.append(fragment_id)
        return request

    def with_superseded(fragment_id: str) -> Message:
        request = deploys_from("production deploys from main", "main", key="fixed")
        request.evidence[0].supersedes_fragment_ids.append(fragment_id)
        return request

    def with_entity(entity_id: str) -> Message:
        request = deploys_from("production deploys from main", "main", key="fixed")
        request.proposal.entities[1].known_entity_id = entity_id
        return request

    def merging(item_id: str) -> Any:
        request = deploys_from("production deploys from main", "main", key="fixed")
        request.resolution_context.item_id = item_id
        return request

    def foreseen(request: Any) -> Message:
        return ingest_service_pb2.PreflightRememberRequest(evidence=request.evidence, proposal=request.proposal)

    makers: dict[str, tuple[str, Callable[[str], Message]]] = {
        "Remember, derived from": (ids.fragment, with_origin),
        "Remember, superseding": (ids.fragment, with_superseded),
        "Remember, known entity": (ids.entity, with_entity),
        "Remember, correcting": (
            ids.relationship,
            lambda one: remember(correction_target=submission_pb2.CorrectionTarget(relationship_id=one)),
        ),
        "Remember, answering": (
            ids.conflict,
            lambda one: remember(conflict_context=submission_pb2.ConflictContext(conflict_id=one)),
        ),
        "Remember, merging": (ids.item, merging),
        "PreflightRemember, merging": (
            ids.item,
            lambda one: ingest_service_pb2.PreflightRememberRequest(
                evidence=merging(one).evidence,
                proposal=merging(one).proposal,
                resolution_context=merging(one).resolution_context,
            ),
        ),
        "PreflightRemember, derived from": (ids.fragment, lambda one: foreseen(with_origin(one))),
        "PreflightRemember, known entity": (ids.entity, lambda one: foreseen(with_entity(one))),
        "PreflightRemember, correcting": (
            ids.relationship,
            lambda one: foreseen(remember(correction_target=submission_pb2.CorrectionTarget(relationship_id=one))),
        ),
        "PreflightRemember, answering": (
            ids.conflict,
            lambda one: foreseen(remember(conflict_context=submission_pb2.ConflictContext(conflict_id=one))),
        ),
        "AdoptEvidence, standing on": (
            ids.fragment,
            lambda one: ingest_service_pb2.AdoptEvidenceRequest(
                idempotency_key="fixed",
                fragment_id=one,
                relationship_id=ids.relationship,
                passages=[submission_pb2.Citation(start=0, end=1)],
            ),
        ),
        "AdoptEvidence": (
            ids.relationship,
            lambda one: ingest_service_pb2.AdoptEvidenceRequest(
                idempotency_key="fixed",
                fragment_id=ids.fragment,
                relationship_id=one,
                passages=[submission_pb2.Citation(start=0, end=1)],
            ),
        ),
        "CorrectEntityResolution, split": (
            ids.entity,
            lambda one: ingest_service_pb2.CorrectEntityResolutionRequest(
                idempotency_key="fixed", split=identity_correction_pb2.EntitySplit(entity_id=one)
            ),
        ),
        "CorrectEntityResolution, merge": (
            ids.entity,
            lambda one: ingest_service_pb2.CorrectEntityResolutionRequest(
                idempotency_key="fixed",
                merge=identity_correction_pb2.EntityMerge(source_entity_id=one, target_entity_id=one),
            ),
        ),
        "ResolvePlacement": (
            ids.ingest,
            lambda one: ingest_service_pb2.ResolvePlacementRequest(
                idempotency_key="fixed", ingest_id=one, action=placement_pb2.PLACEMENT_ACTION_ACKNOWLEDGE
            ),
        ),
        "GetPlacement": (ids.ingest, lambda one: ingest_service_pb2.GetPlacementRequest(ingest_id=one)),
        "GetConflict": (ids.conflict, lambda one: conflict_service_pb2.GetConflictRequest(conflict_id=one)),
        "ExplainConflict": (ids.conflict, lambda one: conflict_service_pb2.ExplainConflictRequest(conflict_id=one)),
        "ResolveConflict": (
            ids.item,
            lambda one: conflict_service_pb2.ResolveConflictRequest(
                idempotency_key="fixed", item_id=one, expected_version=1, keep_both=resolution_pb2.KeepBoth()
            ),
        ),
        "RevertResolution": (
            ids.decision,
            lambda one: conflict_service_pb2.RevertResolutionRequest(idempotency_key="fixed", decision_id=one),
        ),
        "Forget, retract": (
            ids.relationship,
            lambda one: forgetting(idempotency_key="fixed", retract=forgetting_pb2.Retract(relationship_id=one)),
        ),
        "Forget, end": (
            ids.relationship,
            lambda one: forgetting(idempotency_key="fixed", end=forgetting_pb2.End(relationship_id=one)),
        ),
        "Forget, a text": (
            ids.fragment,
            lambda one: forgetting(idempotency_key="fixed", retract_text=forgetting_pb2.RetractText(fragment_id=one)),
        ),
        "Trace": (ids.relationship, lambda one: recall_service_pb2.TraceRequest(relationship_id=one)),
        "GetCompetingFacts": (
            ids.entity,
            lambda one: conflict_service_pb2.GetCompetingFactsRequest(entity_id=one),
        ),
        "Timeline": (ids.entity, lambda one: recall_service_pb2.TimelineRequest(entity_id=one, as_object=True)),
        "GetRelationship": (
            ids.relationship,
            lambda one: recall_service_pb2.GetRelationshipRequest(relationship_id=one),
        ),
        "GetSourceHistory, of a profile": (
            ids.profile,
            lambda one: recall_service_pb2.GetSourceHistoryRequest(profile_id=one),
        ),
        "CreateKey": (
            ids.profile,
            lambda one: admin_service_pb2.CreateKeyRequest(idempotency_key="fixed", profile_id=one, scopes=[1]),
        ),
        "EraseEvidence": (
            ids.fragment,
            lambda one: admin_service_pb2.EraseEvidenceRequest(
                idempotency_key="fixed", fragment_id=one, reason="asked"
            ),
        ),
        "RotateKey": (
            ids.key,
            lambda one: admin_service_pb2.RotateKeyRequest(idempotency_key="fixed", key_id=one),
        ),
        "RegisterSource": (
            ids.profile,
            lambda one: admin_service_pb2.RegisterSourceRequest(
                idempotency_key="fixed",
                definition=source_pb2.SourceDefinition(source_group="crm", speaker_profile_ids=[one]),
            ),
        ),
        "RevokeKey": (
            ids.key,
            lambda one: admin_service_pb2.RevokeKeyRequest(idempotency_key="fixed", key_id=one),
        ),
    }
    return {name: (make(foreign), make) for name, (foreign, make) in makers.items()}


WITHOUT_IDS: dict[str, Callable[[], Message]] = {
    "ListConflicts": lambda: conflict_service_pb2.ListConflictsRequest(case_statuses=[1, 2, 3, 4]),
    "WatchConflicts": lambda: conflict_service_pb2.WatchConflictsRequest(until_now=True),
    "ReviewNow": lambda: conflict_service_pb2.ReviewNowRequest(idempotency_key="mine 1"),
    "AutoResolve": lambda: conflict_service_pb2.AutoResolveRequest(idempotency_key="mine 9"),
    "ListReviewItems": lambda: conflict_service_pb2.ListReviewItemsRequest(statuses=[1, 2, 3]),
    "ListReviewRuns": lambda: conflict_service_pb2.ListReviewRunsRequest(),
    "Recall": lambda: recall_service_pb2.RecallRequest(query=f"production deploys from {CANARY}"),
    "ListPredicates": lambda: recall_service_pb2.ListPredicatesRequest(),
    "SearchEntities": lambda: recall_service_pb2.SearchEntitiesRequest(name=CANARY),
    "SearchEntities, of a kind": lambda: recall_service_pb2.SearchEntitiesRequest(entity_kind="git_branch"),
    "ListChanges": lambda: recall_service_pb2.ListChangesRequest(),
    "GetTeam": lambda: admin_service_pb2.GetTeamRequest(),
    "UpdateTeamPolicy": lambda: admin_service_pb2.UpdateTeamPolicyRequest(idempotency_key="2", review_period_days=3),
    "CreateProfile": lambda: admin_service_pb2.CreateProfileRequest(idempotency_key="mine 3", name="A2"),
    "ListSources": lambda: admin_service_pb2.ListSourcesRequest(),
    "ListProfiles": lambda: admin_service_pb2.ListProfilesRequest(),
    "ListKeys": lambda: admin_service_pb2.ListKeysRequest(include_ended=True),
    "ScanConflicts": lambda: admin_service_pb2.ScanConflictsRequest(idempotency_key="mine 7"),
    "ListAlerts": lambda: admin_service_pb2.ListAlertsRequest(),
    "RegisterPredicate": lambda: admin_service_pb2.RegisterPredicateRequest(
        idempotency_key="mine 4",
        definition=predicate_pb2.PredicateDefinition(
            key="owned_by",
            relationship_kind=predicate_pb2.RELATIONSHIP_KIND_STATE,
            current_cardinality=predicate_pb2.CARDINALITY_ONE,
        ),
    ),
    "DriveClock": lambda: admin_service_pb2.DriveClockRequest(idempotency_key="mine 5", time={"seconds": 1}),
    "OpenTeam": lambda: admin_service_pb2.OpenTeamRequest(idempotency_key="mine 6"),
}

ROUNDS = examples(fast=1, full=200)

SERVICES = {
    "ingest": ingest_service_pb2.DESCRIPTOR.services_by_name["IngestService"],
    "conflict": conflict_service_pb2.DESCRIPTOR.services_by_name["ConflictService"],
    "recall": recall_service_pb2.DESCRIPTOR.services_by_name["RecallService"],
    "admin": admin_service_pb2.DESCRIPTOR.services_by_name["AdminService"],
}


async def call(client: Any, name: str, request: Message) -> Message:
    """The answer; of a stream, which a caller who does not follow reads to its end, all messages as one."""
    method = name.partition(",")[0]
    ((area, service),) = [(area, service) for area, service in SERVICES.items() if method in service.methods_by_name]
    answered = getattr(getattr(client, area), method)(request)
    if not service.methods_by_name[method].server_streaming:
        answer: Message = await answered
        return answer
    first: Message = await answered.read()
    async for more in answered:
        first.MergeFrom(more)
    return first


def everything_of(stack: Stack, team_id: str) -> dict[str, list[str]]:
    """Every row of a team in every table that has teams, as text."""
    with psycopg.connect(stack.url("corrigenda_auditor"), autocommit=True) as connection:
        tables = connection.execute(
            "SELECT table_name FROM information_schema.columns"
            " WHERE table_schema = 'public' AND column_name = 'team_id' ORDER BY table_name"
        ).fetchall()
        return {
            table: [
                row
                for (row,) in connection.execute(
                    f"SELECT t::text FROM {table} AS t WHERE team_id = %s ORDER BY 1", [team_id]
                ).fetchall()
            ]
            for (table,) in tables
        }


def test_every_served_rpc_is_covered(deploys_from: Request) -> None:
    nothing = ForeignIds(
        ingest=MISSING,
        fragment=MISSING,
        entity=MISSING,
        relationship=MISSING,
        conflict=MISSING,
        profile=MISSING,
        key=MISSING,
        item=MISSING,
        decision=MISSING,
    )
    covered = {name.partition(",")[0] for name in (*by_id(nothing, deploys_from), *WITHOUT_IDS)}
    # A stream refuses each submission by itself: tests/e2e/test_remember_stream_on_the_wire.py sends it foreign ids.
    covered.add("RememberStream")
    assert covered == {method.name for service in SERVICES.values() for method in service.methods}


@pytest.mark.promise("apart.teams", "Q16")
@pytest.mark.rule("R11.2")
async def test_a_foreign_id_answers_like_a_missing_one_and_changes_nothing(
    stack: Stack, new_team: NewTeam, deploys_from: Request, foreign: tuple[Any, ForeignIds]
) -> None:
    other, ids = foreign
    mine = await new_team()
    # Ids of the right kind first, then of every kind in the place of every other, beside ever new ids of nothing.
    kinds = list(vars(ids).values())
    for name, (request, make) in by_id(ids, deploys_from).items():
        before, own_before = everything_of(stack, other.team_id), everything_of(stack, mine.team_id)
        for number in range(ROUNDS):
            missing = MISSING if number == 0 else new_ids().nth(0)
            asked = request if number == 0 else make(kinds[number % len(kinds)])
            answers = [await refused_by(mine.admin, name, one, {*kinds, missing}) for one in (asked, make(missing))]
            assert answers[0] == answers[1], name
            assert answers[0][0] is grpc.StatusCode.NOT_FOUND, name
        assert everything_of(stack, other.team_id) == before, name
        assert everything_of(stack, mine.team_id) == own_before, name


async def refused_by(client: Any, name: str, asked: Message, ids: Collection[str]) -> tuple[object, ...]:
    """How a call is refused, with one and the same id in the place of any of these."""
    while True:
        with pytest.raises(grpc.aio.AioRpcError) as refused:
            await call(client, name, asked)
        refusal = refusal_of(refused.value)
        assert refusal is not None, name
        if refusal.reason is not Reason.RATE_LIMITED:
            break
        # Whoever asks as fast as this is told when to come back.
        await asyncio.sleep(refusal.retry_after_seconds or 0)
    shown = json.dumps(refusal.metadata) + refusal.message
    for one in ids:
        shown = shown.replace(one, MISSING)
    return refused.value.code(), refusal.reason, refusal.field, shown


@pytest.mark.promise("apart.teams", "Q16")
@pytest.mark.rule("R11.2")
async def test_what_takes_no_id_shows_and_changes_only_the_callers_team(
    stack: Stack, new_team: NewTeam, foreign: tuple[Any, ForeignIds]
) -> None:
    other, ids = foreign
    mine = await new_team()
    before = everything_of(stack, other.team_id)
    for name, make in WITHOUT_IDS.items():
        if name in {"DriveClock", "OpenTeam"}:
            # The caller's own team is open: that is what it is told, whatever another team's clock does.
            with pytest.raises(grpc.aio.AioRpcError, match="the team is open"):
                await call(mine.admin, name, make())
            continue
        answer = await call(mine.admin, name, make())
        shown = MessageToJson(answer)
        assert CANARY not in shown, name
        for foreign_id in (*vars(ids).values(), other.team_id):
            assert foreign_id not in shown, name
    assert everything_of(stack, other.team_id) == before
