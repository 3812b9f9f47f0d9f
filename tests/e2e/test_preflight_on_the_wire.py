"""PreflightRemember over the wire: it foresees a contradiction, stores nothing, and its token is gone by."""

from collections.abc import Awaitable, Callable
from typing import Any

import grpc
import psycopg
import pytest
from corrigenda.conflict.v1 import review_item_pb2
from corrigenda.ingest.v1 import ingest_service_pb2, placement_pb2
from corrigenda.type.v1 import predicate_pb2
from corrigenda_cli.stack import Stack
from corrigenda_core.domain.errors import Reason
from corrigenda_core.rpc.status import refusal_of

pytestmark = pytest.mark.database

NewTeam = Callable[..., Awaitable[Any]]
Request = Callable[..., ingest_service_pb2.RememberRequest]


def preflight_of(request: ingest_service_pb2.RememberRequest, **more: Any) -> Any:
    return ingest_service_pb2.PreflightRememberRequest(evidence=request.evidence, proposal=request.proposal, **more)


def revision_of(stack: Stack, team_id: str) -> int:
    with psycopg.connect(stack.url("corrigenda_auditor"), autocommit=True) as connection:
        (revision,) = connection.execute(
            "SELECT revision FROM team_clock WHERE team_id = %s", [team_id]
        ).fetchone() or (0,)
    assert isinstance(revision, int)
    return revision


@pytest.mark.rule("R10.1", "R10.2")
async def test_a_contradiction_is_foreseen_and_then_happens(
    stack: Stack, new_team: NewTeam, deploys_from: Request
) -> None:
    team = await new_team()
    first = await team["A"].ingest.Remember(deploys_from("production deploys from main", "main"))
    request = deploys_from("production deploys from release", "release")
    before = revision_of(stack, team.team_id)
    foreseen = await team["B"].ingest.PreflightRemember(preflight_of(request, min_revision=first.revision))
    assert revision_of(stack, team.team_id) == before
    (said,) = foreseen.placement.relationships
    (own,) = first.placement.relationships
    assert said.outcome == placement_pb2.OUTCOME_INSERTED
    assert said.rule == "R4.10"
    assert said.conflict.effect == placement_pb2.CONFLICT_EFFECT_OPENS_CASE
    assert list(said.opposing_relationship_ids) == [own.relationship.relationship_id]
    assert said.predicate_policy.predicate == "deploys_from"
    assert said.predicate_policy.current_cardinality == predicate_pb2.CARDINALITY_ONE
    assert said.predicate_policy.same_moment_policy == predicate_pb2.SAME_MOMENT_POLICY_HOLD
    assert foreseen.HasField("verification_expires_at")
    request.verification_token = foreseen.verification_token
    (done,) = (await team["B"].ingest.Remember(request)).placement.relationships
    assert (done.outcome, done.rule, done.conflict.effect) == (said.outcome, said.rule, said.conflict.effect)
    assert done.opposing_relationship_ids == said.opposing_relationship_ids
    assert done.predicate_policy == said.predicate_policy


@pytest.mark.rule("R10.1")
async def test_the_review_that_would_be_due_is_foreseen(new_team: NewTeam, deploys_from: Request) -> None:
    team = await new_team()
    await team["A"].ingest.Remember(deploys_from("production deploys from main", "main"))
    held = await team["A"].ingest.PreflightRemember(
        preflight_of(deploys_from("production deploys from release", "release"))
    )
    unknown = await team["A"].ingest.PreflightRemember(
        preflight_of(deploys_from("production ships to europe", "europe", predicate="ships to"))
    )
    (said,), (asked,) = held.placement.relationships, unknown.placement.relationships
    assert (said.outcome, said.item.kind) == (placement_pb2.OUTCOME_HELD, review_item_pb2.ITEM_KIND_RELATIONSHIP)
    assert (asked.rule, asked.reason, asked.item.kind) == (
        "R3.5",
        "unknown_predicate",
        review_item_pb2.ITEM_KIND_PREDICATE,
    )
    # Nothing was verified, so there is no verdict to keep.
    assert not unknown.verification_token


async def test_a_preflight_is_refused_as_the_submission_would_be(new_team: NewTeam, deploys_from: Request) -> None:
    team = await new_team()
    request = deploys_from("production deploys from main", "main")
    request.proposal.relationships[0].evidence[0].end = 99
    reasons = []
    for call, asked in (
        (team["A"].ingest.Remember, request),
        (team["A"].ingest.PreflightRemember, preflight_of(request)),
    ):
        with pytest.raises(grpc.aio.AioRpcError) as refused:
            await call(asked)
        refusal = refusal_of(refused.value)
        assert refusal is not None
        reasons.append((refusal.reason, refusal.field))
    assert reasons[0] == reasons[1]
    with pytest.raises(grpc.aio.AioRpcError) as refused:
        await team["A"].ingest.PreflightRemember(
            preflight_of(deploys_from("production deploys from main", "main"), min_revision=10_000)
        )
    refusal = refusal_of(refused.value)
    assert refusal is not None
    assert refusal.reason is Reason.REVISION_NOT_REPLICATED
