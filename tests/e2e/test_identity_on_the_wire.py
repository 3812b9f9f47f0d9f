"""What the mentions of a submission turn out to mean, and what is asked about them, over the wire."""

import uuid
from collections.abc import Awaitable, Callable
from typing import Any

import grpc
import pytest
from corrigenda.conflict.v1 import conflict_service_pb2
from corrigenda.ingest.v1 import ingest_service_pb2, placement_pb2
from corrigenda.type.v1 import object_pb2
from corrigenda_core.domain.errors import Reason
from corrigenda_core.rpc.status import refusal_of

pytestmark = pytest.mark.database

NewTeam = Callable[..., Awaitable[Any]]
Request = Callable[..., ingest_service_pb2.RememberRequest]

TEXT = "production deploys from main"


def of_repository(request: ingest_service_pb2.RememberRequest, name: str) -> ingest_service_pb2.RememberRequest:
    request.proposal.entities[1].identity_context["repository"] = name
    request.idempotency_key = uuid.uuid4().hex
    return request


@pytest.mark.rule("R3.7")
async def test_a_contradicting_context_is_asked_about_with_the_submission_that_raised_it(
    new_team: NewTeam, deploys_from: Request
) -> None:
    team = await new_team()
    first = await team["A"].ingest.Remember(of_repository(deploys_from(TEXT, "main"), "one"))
    made = first.placement.entities[1]
    assert made.resolution == placement_pb2.ENTITY_RESOLUTION_CREATED
    second = await team["A"].ingest.Remember(of_repository(deploys_from(TEXT, "main"), "two"))
    asked = second.placement.entities[1]
    assert asked.resolution == placement_pb2.ENTITY_RESOLUTION_ASKED
    assert [one.entity_id for one in asked.item.candidates] == [made.entity.entity_id]
    (answer,) = second.placement.relationships
    assert answer.outcome == placement_pb2.OUTCOME_NEEDS_REVIEW
    assert not answer.HasField("relationship")
    listed = await team["A"].conflict.ListConflicts(conflict_service_pb2.ListConflictsRequest())
    (entry,) = listed.entries
    assert entry.review_item.item_id == asked.item.item_id
    assert entry.review_item.ingest_id == second.placement.ingest_id
    assert [one.entity_id for one in entry.review_item.candidates] == [made.entity.entity_id]


@pytest.mark.rule("R3.7")
async def test_an_entity_that_the_caller_names_is_known_and_one_that_is_found_is_reused(
    new_team: NewTeam, deploys_from: Request
) -> None:
    team = await new_team()
    first = await team["A"].ingest.Remember(deploys_from(TEXT, "main"))
    request = deploys_from("our checklist confirms: production deploys from main", "main")
    request.proposal.entities[1].known_entity_id = first.placement.entities[1].entity.entity_id
    second = await team["A"].ingest.Remember(request)
    assert [one.resolution for one in second.placement.entities] == [
        placement_pb2.ENTITY_RESOLUTION_REUSED,
        placement_pb2.ENTITY_RESOLUTION_KNOWN,
    ]
    assert [one.entity for one in second.placement.entities] == [one.entity for one in first.placement.entities]


@pytest.mark.rule("R3.6")
async def test_a_predicate_without_types_of_value_takes_an_entity(new_team: NewTeam, deploys_from: Request) -> None:
    team = await new_team()
    request = deploys_from(TEXT, "main")
    request.proposal.relationships[0].object_value.CopyFrom(
        object_pb2.Value(type=object_pb2.VALUE_TYPE_TEXT, text="main")
    )
    with pytest.raises(grpc.aio.AioRpcError) as refused:
        await team["A"].ingest.Remember(request)
    refusal = refusal_of(refused.value)
    assert refusal is not None
    assert (refusal.reason, refusal.field) == (
        Reason.INVALID_FIELD,
        "proposal.relationships[0].object_value",
    )
