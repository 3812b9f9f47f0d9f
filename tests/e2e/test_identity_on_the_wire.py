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


def with_alias(request: ingest_service_pb2.RememberRequest, alias: str) -> ingest_service_pb2.RememberRequest:
    request.proposal.entities[1].aliases.append(alias)
    return request


@pytest.mark.rule("R3.7")
async def test_an_alias_speaks_for_nobody_until_a_second_author_gives_it(
    new_team: NewTeam, deploys_from: Request
) -> None:
    team = await new_team()
    main = (await team["A"].ingest.Remember(deploys_from(TEXT, "main"))).placement.entities[1].entity.entity_id

    async def branch_of(author: str, request: ingest_service_pb2.RememberRequest) -> tuple[str, int]:
        placement = (await team[author].ingest.Remember(request)).placement
        return placement.entities[1].entity.entity_id, placement.relationships[0].outcome

    renaming = "production deploys from release, says the new plan"
    # B calls main "release" and shows a text about release: the text speaks for nobody's main.
    named, outcome = await branch_of("B", with_alias(deploys_from(renaming, "main"), "release"))
    assert (named, outcome) == (main, placement_pb2.OUTCOME_PENDING_EVIDENCE)
    # To everybody else release is what it always was.
    release, outcome = await branch_of("C", deploys_from("production deploys from release", "release"))
    assert release not in ("", main)
    assert outcome == placement_pb2.OUTCOME_INSERTED


@pytest.mark.rule("R3.7")
async def test_an_alias_that_two_authors_give_is_the_teams(new_team: NewTeam, deploys_from: Request) -> None:
    team = await new_team()
    made = await team["A"].ingest.Remember(with_alias(deploys_from(TEXT, "main"), "trunk"))
    main = made.placement.entities[1].entity.entity_id
    mine = await team["A"].ingest.Remember(deploys_from("our checklist: production deploys from main", "trunk"))
    assert mine.placement.entities[1].entity.entity_id == main
    # Given by its author alone, the alias finds nothing for B, whose own word it becomes with the known name beside it.
    second = await team["B"].ingest.Remember(with_alias(deploys_from("production deploys from main", "main"), "trunk"))
    assert second.placement.entities[1].entity.entity_id == main
    third = await team["C"].ingest.Remember(deploys_from("we agree that production deploys from trunk", "trunk"))
    assert third.placement.entities[1].entity.entity_id == main
    assert third.placement.relationships[0].outcome == placement_pb2.OUTCOME_INSERTED
