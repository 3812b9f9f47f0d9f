"""Splits and merges of entities: shown, then applied exactly as shown, and to nobody else's record."""

import uuid
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from corrigenda.ingest.v1 import (
    forgetting_pb2,
    identity_correction_pb2,
    ingest_service_pb2,
    placement_pb2,
    submission_pb2,
)
from corrigenda.recall.v1 import recall_service_pb2
from corrigenda.type.v1 import relationship_pb2
from corrigenda_core.domain.errors import Reason
from corrigenda_core.testing.wire_decisions import refused_for

pytestmark = pytest.mark.database

NewTeam = Callable[..., Awaitable[Any]]
Request = Callable[..., ingest_service_pb2.RememberRequest]
Verifies = Callable[[str], Awaitable[bool]]

ACTIVE = relationship_pb2.RELATIONSHIP_STATUS_ACTIVE
SUPERSEDED = relationship_pb2.RELATIONSHIP_STATUS_SUPERSEDED
FIRST = "production deploys from main"
SECOND = "our checklist confirms: production deploys from main"


async def said(client: Any, request: ingest_service_pb2.RememberRequest) -> Any:
    return (await client.ingest.Remember(request)).placement


async def traced(client: Any, relationship_id: str) -> Any:
    return await client.recall.Trace(recall_service_pb2.TraceRequest(relationship_id=relationship_id))


def split(entity_id: str, *observations: str, token: str = "") -> ingest_service_pb2.CorrectEntityResolutionRequest:
    return ingest_service_pb2.CorrectEntityResolutionRequest(
        idempotency_key=uuid.uuid4().hex,
        split=identity_correction_pb2.EntitySplit(entity_id=entity_id, observation_ids=observations),
        impact_token=token,
    )


def merge(source: str, target: str, token: str = "") -> ingest_service_pb2.CorrectEntityResolutionRequest:
    return ingest_service_pb2.CorrectEntityResolutionRequest(
        idempotency_key=uuid.uuid4().hex,
        merge=identity_correction_pb2.EntityMerge(source_entity_id=source, target_entity_id=target),
        impact_token=token,
        reason="they are the same",
    )


@pytest.mark.rule("R3.9", "R4.6")
async def test_invariant_06_a_split_moves_exactly_the_chosen_observations(
    new_team: NewTeam, deploys_from: Request, ledger_verifies: Verifies
) -> None:
    team = await new_team()
    a, b = team["A"], team["B"]
    first = await said(a, deploys_from(FIRST, "main"))
    second = await said(a, deploys_from(SECOND, "main"))
    theirs = await said(b, deploys_from(FIRST, "main"))
    row = first.relationships[0].relationship.relationship_id
    assert second.relationships[0].relationship.relationship_id == row
    main = first.entities[1].entity.entity_id
    stays, moves = first.relationships[0].observation_id, second.relationships[0].observation_id
    everything = await a.ingest.CorrectEntityResolution(split(main))
    assert {one.observation_id for one in everything.moves} == {stays, moves}
    shown = await a.ingest.CorrectEntityResolution(split(main, moves))
    assert (shown.decision_id, bool(shown.impact_token)) == ("", True)
    (move,) = shown.moves
    assert (move.observation_id, move.relationship_id) == (moves, row)
    assert move.object_before.entity.entity_id == main
    assert move.object_after.entity.entity_id == shown.entity.entity_id != main
    (divided,) = shown.divided
    assert (list(divided.moving_observation_ids), list(divided.staying_observation_ids)) == ([moves], [stays])
    before = await traced(a, row)
    applied = await a.ingest.CorrectEntityResolution(split(main, moves, token=shown.impact_token))
    assert applied.decision_id
    assert [one.observation_id for one in applied.moves] == [moves]
    assert applied.entity == shown.entity
    made = next(one.after for one in applied.effects.changes if not one.HasField("before"))
    assert made.object.entity.entity_id == shown.entity.entity_id
    after = await traced(a, row)
    assert {one.observation_id for one in before.observations} == {stays, moves}
    assert after.relationship.object.entity.entity_id == main
    assert after.relationship.status == ACTIVE
    now = await traced(a, made.relationship_id)
    assert [one.observation_id for one in now.observations] == [moves]
    assert any(one.kind == relationship_pb2.REFERENCE_KIND_SPLIT_FROM for one in now.references)
    untouched = await traced(b, theirs.relationships[0].relationship.relationship_id)
    assert untouched.relationship == theirs.relationships[0].relationship
    assert await ledger_verifies(team.team_id)


@pytest.mark.error("IMPACT_CHANGED")
@pytest.mark.rule("R3.9")
async def test_what_was_shown_is_applied_or_nothing_is(new_team: NewTeam, deploys_from: Request) -> None:
    team = await new_team()
    a = team["A"]
    first = await said(a, deploys_from(FIRST, "main"))
    main, observation = first.entities[1].entity.entity_id, first.relationships[0].observation_id
    shown = await a.ingest.CorrectEntityResolution(split(main, observation))
    resolve = a.ingest.CorrectEntityResolution
    damaged = split(main, observation, token="x" + shown.impact_token[1:])
    assert await refused_for(resolve(damaged)) == (Reason.INVALID_FIELD, "impact_token")
    stolen = split(main, observation, token=shown.impact_token)
    assert (await refused_for(team["B"].ingest.CorrectEntityResolution(stolen))) == (
        Reason.INVALID_FIELD,
        "impact_token",
    )
    await said(a, deploys_from(SECOND, "main"))
    assert await refused_for(resolve(split(main, observation, token=shown.impact_token))) == (
        Reason.IMPACT_CHANGED,
        "impact_token",
    )
    unchanged = await traced(a, first.relationships[0].relationship.relationship_id)
    assert len(unchanged.observations) == 2
    again = await resolve(split(main, observation))
    request = split(main, observation, token=again.impact_token)
    applied = await resolve(request)
    assert await resolve(request) == applied
    request.reason = "another request under the same key"
    assert (await refused_for(resolve(request)))[0] is Reason.IDEMPOTENCY_CONFLICT


@pytest.mark.rule("R3.9", "R4.6")
async def test_nobody_moves_what_is_not_theirs(new_team: NewTeam, deploys_from: Request) -> None:
    team = await new_team()
    a, b = team["A"], team["B"]
    first = await said(a, deploys_from(FIRST, "main"))
    main, observation = first.entities[1].entity.entity_id, first.relationships[0].observation_id
    assert await refused_for(b.ingest.CorrectEntityResolution(split(main, observation))) == (
        Reason.NOT_OWNER,
        "split.observation_ids",
    )
    assert await refused_for(b.ingest.CorrectEntityResolution(split(main))) == (Reason.INVALID_FIELD, "split.entity_id")
    environment = first.entities[0].entity.entity_id
    assert await refused_for(a.ingest.CorrectEntityResolution(merge(main, environment))) == (
        Reason.INVALID_FIELD,
        "merge.target_entity_id",
    )
    missing = "01900000-0000-7000-8000-000000000000"
    assert await refused_for(a.ingest.CorrectEntityResolution(split(missing))) == (
        Reason.RESOURCE_NOT_FOUND,
        "split.entity_id",
    )
    assert await refused_for(a.ingest.CorrectEntityResolution(split(main, missing))) == (
        Reason.RESOURCE_NOT_FOUND,
        "split.observation_ids",
    )


def of_repository(request: ingest_service_pb2.RememberRequest, name: str) -> ingest_service_pb2.RememberRequest:
    request.proposal.entities[1].identity_context["repository"] = name
    return request


async def two_mains(team: Any, deploys_from: Request) -> tuple[Any, str, Any]:
    """A says that production deploys from a main, and from another one; B speaks of the second as well."""
    first = await said(team["A"], of_repository(deploys_from(FIRST, "main"), "one"))
    waiting = await said(team["A"], of_repository(deploys_from(SECOND, "main", scope="mirror"), "two"))
    item = waiting.entities[1].item
    confirmed = await team["A"].ingest.ResolvePlacement(
        ingest_service_pb2.ResolvePlacementRequest(
            idempotency_key=uuid.uuid4().hex,
            ingest_id=waiting.ingest_id,
            placement_item_id=item.item_id,
            action=placement_pb2.PLACEMENT_ACTION_CONFIRM_NEW_ENTITY,
            evidence=[submission_pb2.EvidenceItem(content="another main", source_type=4)],
        )
    )
    other = confirmed.placement.entities[0].entity.entity_id
    request = deploys_from("we all know: production deploys from main", "main")
    request.proposal.entities[1].known_entity_id = other
    theirs = await said(team["B"], request)
    return first, other, theirs


@pytest.mark.rule("R3.9", "R3.7")
async def test_a_merge_moves_the_callers_rows_and_marks_those_of_others(
    new_team: NewTeam, deploys_from: Request, ledger_verifies: Verifies
) -> None:
    team = await new_team()
    a, b = team["A"], team["B"]
    first, other, theirs = await two_mains(team, deploys_from)
    main = first.entities[1].entity.entity_id
    their_row = theirs.relationships[0].relationship
    shown = await a.ingest.CorrectEntityResolution(merge(other, main))
    assert [one.object_after.entity.entity_id for one in shown.moves] == [main]
    assert list(shown.marked_relationship_ids) == [their_row.relationship_id]
    applied = await a.ingest.CorrectEntityResolution(merge(other, main, token=shown.impact_token))
    made = next(one.after for one in applied.effects.changes if not one.HasField("before"))
    left = next(one for one in applied.effects.changes if one.HasField("before"))
    assert made.object.entity.entity_id == main
    assert left.after.status == SUPERSEDED
    trace = await traced(a, left.after.relationship_id)
    assert [
        (one.kind, one.other.relationship_id)
        for one in trace.references
        if one.kind == relationship_pb2.REFERENCE_KIND_MERGED_INTO
    ] == [(relationship_pb2.REFERENCE_KIND_MERGED_INTO, made.relationship_id)]
    marked = await traced(b, their_row.relationship_id)
    assert marked.relationship == their_row
    (mark,) = marked.merged_by
    assert (mark.profile.name, mark.target.entity_id) == ("A", main)
    # For A the two are one from now on: the name means the one that is left. B is asked as before.
    again = await said(a, deploys_from("and once more: production deploys from main", "main", scope="again"))
    assert again.entities[1].entity.entity_id == main
    asked = await said(b, deploys_from("and once more: production deploys from main", "main", scope="again"))
    assert asked.entities[1].resolution == placement_pb2.ENTITY_RESOLUTION_ASKED
    assert await ledger_verifies(team.team_id)


@pytest.mark.rule("R3.9", "R7.8")
async def test_a_merge_joins_what_says_the_same_and_ends_the_case_that_it_explains(
    new_team: NewTeam, deploys_from: Request
) -> None:
    team = await new_team()
    a, b = team["A"], team["B"]
    first, other, theirs = await two_mains(team, deploys_from)
    main = first.entities[1].entity.entity_id
    conflict = theirs.relationships[0].conflict
    assert conflict.conflict_id
    shown = await b.ingest.CorrectEntityResolution(merge(other, main))
    applied = await b.ingest.CorrectEntityResolution(merge(other, main, token=shown.impact_token))
    assert list(applied.effects.conflict_ids) == [conflict.conflict_id]
    for effects in (shown.effects, applied.effects):
        assert (len(effects.conflict_ids), effects.conflict_ids_total, effects.conflict_ids_truncated) == (1, 1, False)
    corroborating = next(one.after for one in applied.effects.changes if not one.HasField("before"))
    assert corroborating.object.entity.entity_id == main
    own = await said(a, of_repository(deploys_from("A says again: production deploys from main", "main"), "one"))
    assert own.relationships[0].outcome in {
        placement_pb2.OUTCOME_CORROBORATED,
        placement_pb2.OUTCOME_PENDING_EVIDENCE,
    }


@pytest.mark.rule("R3.9", "R4.15")
async def test_what_had_ended_stays_ended_for_whatever_is_said_after_the_split(
    new_team: NewTeam, deploys_from: Request, ledger_verifies: Verifies
) -> None:
    team = await new_team(profiles=["A"])
    a = team["A"]
    first = await said(a, deploys_from(FIRST, "main"))
    second = await said(a, deploys_from(SECOND, "main"))
    row = first.relationships[0].relationship.relationship_id
    await a.ingest.Forget(
        ingest_service_pb2.ForgetRequest(idempotency_key="end", end=forgetting_pb2.End(relationship_id=row))
    )
    ended = (await traced(a, row)).relationship.validity
    asked = split(first.entities[0].entity.entity_id, second.relationships[0].observation_id)
    asked.impact_token = (await a.ingest.CorrectEntityResolution(asked)).impact_token
    applied = await a.ingest.CorrectEntityResolution(asked)
    made = next(one.after for one in applied.effects.changes if not one.HasField("before"))
    assert made.validity == ended
    request = deploys_from("production deploys from trunk", "trunk")
    request.proposal.entities[0].known_entity_id = made.subject.entity_id
    after = await said(a, request)
    assert after.relationships[0].outcome == placement_pb2.OUTCOME_INSERTED
    for relationship_id in (row, made.relationship_id):
        assert (await traced(a, relationship_id)).relationship.validity == ended
    assert await ledger_verifies(team.team_id)
