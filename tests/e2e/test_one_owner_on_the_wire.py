"""One owner's slot over the wire: supersession, correction and settlement survive what comes after them."""

from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from corrigenda.admin.v1 import admin_service_pb2
from corrigenda.conflict.v1 import conflict_service_pb2
from corrigenda.ingest.v1 import ingest_service_pb2, placement_pb2, submission_pb2
from corrigenda.recall.v1 import recall_service_pb2
from corrigenda.type.v1 import predicate_pb2, relationship_pb2

pytestmark = pytest.mark.database

NewTeam = Callable[..., Awaitable[Any]]
Request = Callable[..., ingest_service_pb2.RememberRequest]
Verifies = Callable[[str], Awaitable[bool]]


async def remembered(client: Any, request: ingest_service_pb2.RememberRequest) -> placement_pb2.RelationshipPlacement:
    response = await client.ingest.Remember(request)
    (answer,) = response.placement.relationships
    assert isinstance(answer, placement_pb2.RelationshipPlacement)
    return answer


async def state_of(client: Any, relationship_id: str) -> relationship_pb2.Relationship:
    traced = await client.recall.Trace(recall_service_pb2.TraceRequest(relationship_id=relationship_id))
    assert isinstance(traced.relationship, relationship_pb2.Relationship)
    return traced.relationship


@pytest.mark.rule("R4.7", "R4.10")
async def test_later_and_earlier_statements_find_their_place(
    new_team: NewTeam, deploys_from: Request, ledger_verifies: Verifies
) -> None:
    team = await new_team()
    a = team["A"]
    first = await remembered(a, deploys_from("since 1 January 2026 production deploys from main", "main"))
    later = await remembered(a, deploys_from("since 1 May 2026 production deploys from trunk", "trunk"))
    between = await remembered(a, deploys_from("since 1 March 2026 production deploys from release", "release"))
    assert first.outcome == placement_pb2.OUTCOME_INSERTED
    assert later.outcome == placement_pb2.OUTCOME_SUPERSEDED
    assert between.outcome == placement_pb2.OUTCOME_INSERTED_HISTORICAL
    main = await state_of(a, first.relationship.relationship_id)
    release = await state_of(a, between.relationship.relationship_id)
    assert main.status == relationship_pb2.RELATIONSHIP_STATUS_SUPERSEDED
    assert main.validity.interval.valid_to == release.validity.interval.valid_from
    assert release.validity.interval.valid_to == later.relationship.validity.interval.valid_from
    assert await ledger_verifies(team.team_id)


@pytest.mark.rule("R4.16b")
async def test_what_was_corrected_stays_corrected(
    new_team: NewTeam, deploys_from: Request, ledger_verifies: Verifies
) -> None:
    team = await new_team()
    a = team["A"]
    wrong = await remembered(a, deploys_from("production deploys from main", "main"))
    target = submission_pb2.CorrectionTarget(relationship_id=wrong.relationship.relationship_id, expected_version=1)
    right = await remembered(a, deploys_from("production deploys from release", "release", correction_target=target))
    assert right.outcome == placement_pb2.OUTCOME_CORRECTED
    again = await remembered(a, deploys_from("our checklist confirms: production deploys from release", "release"))
    assert again.outcome == placement_pb2.OUTCOME_CORROBORATED
    assert again.relationship.relationship_id == right.relationship.relationship_id
    corrected = await state_of(a, wrong.relationship.relationship_id)
    assert corrected.status not in {
        relationship_pb2.RELATIONSHIP_STATUS_ACTIVE,
        relationship_pb2.RELATIONSHIP_STATUS_COMPETING,
    }
    assert await ledger_verifies(team.team_id)


@pytest.mark.rule("R4.10")
@pytest.mark.parametrize(
    ("policy", "outcome"),
    [
        (predicate_pb2.SAME_MOMENT_POLICY_HOLD, placement_pb2.OUTCOME_HELD),
        (predicate_pb2.SAME_MOMENT_POLICY_COMPETE, placement_pb2.OUTCOME_COMPETING),
        (predicate_pb2.SAME_MOMENT_POLICY_CLOSE, placement_pb2.OUTCOME_CLOSED),
    ],
)
async def test_what_cannot_be_ordered_follows_the_predicates_policy(
    new_team: NewTeam,
    deploys_from: Request,
    ledger_verifies: Verifies,
    policy: predicate_pb2.SameMomentPolicy,
    outcome: placement_pb2.Outcome,
) -> None:
    team = await new_team()
    a = team["A"]
    await team.admin.admin.RegisterPredicate(
        admin_service_pb2.RegisterPredicateRequest(
            idempotency_key="policy",
            definition=predicate_pb2.PredicateDefinition(
                key="deploys_from",
                aliases=["deploys from"],
                relationship_kind=predicate_pb2.RELATIONSHIP_KIND_STATE,
                current_cardinality=predicate_pb2.CARDINALITY_ONE,
                same_moment_policy=policy,
            ),
        )
    )
    first = await remembered(a, deploys_from("production deploys from main", "main"))
    second = await remembered(a, deploys_from("production deploys from release", "release"))
    assert second.outcome == outcome
    third = await remembered(a, deploys_from("our checklist confirms: production deploys from main", "main"))
    if outcome == placement_pb2.OUTCOME_CLOSED:
        # The second began when it was recorded and ended the first: the third is a return, not the first again.
        assert third.relationship.relationship_id != first.relationship.relationship_id
    else:
        assert third.relationship.relationship_id == first.relationship.relationship_id
    listed = await a.conflict.ListConflicts(conflict_service_pb2.ListConflictsRequest())
    asked = [entry.review_item for entry in listed.entries]
    if outcome == placement_pb2.OUTCOME_CLOSED:
        assert not asked
    else:
        assert len(asked) == 1
        assert {one.relationship_id for one in (*asked[0].incoming, *asked[0].opposing)} >= {
            first.relationship.relationship_id,
            second.relationship.relationship_id,
        }
    assert await ledger_verifies(team.team_id)
