"""What waits for a decision, and what becomes of it: every action on a placement, over the wire."""

import asyncio
import uuid
from collections.abc import Awaitable, Callable
from typing import Any

import grpc
import pytest
from corrigenda.admin.v1 import admin_service_pb2
from corrigenda.conflict.v1 import conflict_service_pb2, review_item_pb2
from corrigenda.ingest.v1 import ingest_service_pb2, placement_decision_pb2, placement_pb2, submission_pb2
from corrigenda.recall.v1 import recall_service_pb2
from corrigenda.type.v1 import evidence_pb2, predicate_pb2, relationship_pb2
from corrigenda_core.domain.errors import Reason
from corrigenda_core.rpc.status import refusal_of
from corrigenda_core.testing.wire_decisions import refused_for

pytestmark = pytest.mark.database

NewTeam = Callable[..., Awaitable[Any]]
Request = Callable[..., ingest_service_pb2.RememberRequest]

TEXT = "production deploys from main"
SELECT_ENTITY = placement_pb2.PLACEMENT_ACTION_SELECT_ENTITY
CONFIRM_NEW_ENTITY = placement_pb2.PLACEMENT_ACTION_CONFIRM_NEW_ENTITY
SELECT_PREDICATE = placement_pb2.PLACEMENT_ACTION_SELECT_PREDICATE
REJECT = placement_pb2.PLACEMENT_ACTION_REJECT
ACKNOWLEDGE = placement_pb2.PLACEMENT_ACTION_ACKNOWLEDGE


def of_repository(request: ingest_service_pb2.RememberRequest, name: str) -> ingest_service_pb2.RememberRequest:
    request.proposal.entities[1].identity_context["repository"] = name
    request.idempotency_key = uuid.uuid4().hex
    return request


def text(content: str) -> submission_pb2.EvidenceItem:
    return submission_pb2.EvidenceItem(content=content, source_type=evidence_pb2.SOURCE_TYPE_MANUAL)


def decided(
    placed: ingest_service_pb2.RememberResponse,
    item: placement_pb2.PlacementItem | None,
    action: placement_pb2.PlacementAction,
    *,
    key: str | None = None,
    evidence: list[submission_pb2.EvidenceItem] | None = None,
    proposal: submission_pb2.Proposal | None = None,
    expected_version: int | None = None,
    **decision: Any,
) -> ingest_service_pb2.ResolvePlacementRequest:
    return ingest_service_pb2.ResolvePlacementRequest(
        ingest_id=placed.placement.ingest_id,
        placement_item_id=item.item_id if item is not None else "",
        action=action,
        decision=placement_decision_pb2.PlacementDecision(**decision),
        evidence=evidence or [],
        proposal=proposal,
        expected_version=expected_version,
        idempotency_key=key or uuid.uuid4().hex,
    )


async def asked_about_main(team: Any, deploys_from: Request, other: str = "two") -> tuple[Any, Any]:
    """A submission whose branch could be an entity that its context contradicts, and that entity's id."""
    first = await team["A"].ingest.Remember(of_repository(deploys_from(TEXT, "main"), "one"))
    said = "our checklist confirms: production deploys from main"
    second = await team["A"].ingest.Remember(of_repository(deploys_from(said, "main"), other))
    return second, first.placement.entities[1].entity.entity_id


@pytest.mark.rule("R3.8", "R5.1", "R5.2", "R5.3")
async def test_a_selected_entity_places_what_waited_for_it(new_team: NewTeam, deploys_from: Request) -> None:
    team = await new_team()
    waiting, entity_id = await asked_about_main(team, deploys_from)
    item = waiting.placement.entities[1].item
    request = decided(waiting, item, SELECT_ENTITY, entity_id=entity_id, mention_ref="branch", expected_version=1)
    answered = await team["A"].ingest.ResolvePlacement(request)
    assert answered.item.status == review_item_pb2.ITEM_STATUS_RESOLVED
    assert (answered.item.item_id, answered.item.version, answered.item.reason) == (item.item_id, 2, "select_entity")
    assert answered.decision_id
    (named,) = answered.placement.entities
    assert (named.ref, named.entity.entity_id) == ("branch", entity_id)
    (placed,) = answered.placement.relationships
    (before,) = waiting.placement.relationships
    assert (placed.proposal_id, placed.observation_id) == ("p1", before.observation_id)
    assert placed.outcome == placement_pb2.OUTCOME_CORROBORATED
    assert placed.relationship.object.entity.entity_id == entity_id
    again = await team["A"].ingest.ResolvePlacement(request)
    assert again == answered
    request.decision.reason = "another request under the same key"
    assert await refused_for(team["A"].ingest.ResolvePlacement(request)) == (
        Reason.IDEMPOTENCY_CONFLICT,
        "idempotency_key",
    )
    stored = await team["A"].ingest.GetPlacement(
        ingest_service_pb2.GetPlacementRequest(ingest_id=answered.placement.ingest_id)
    )
    assert stored.placement == answered.placement


@pytest.mark.rule("R3.8", "R5.1", "R5.2")
async def test_only_an_offered_entity_is_selected_by_its_owner_at_the_current_version(
    new_team: NewTeam, deploys_from: Request
) -> None:
    team = await new_team()
    waiting, entity_id = await asked_about_main(team, deploys_from)
    item = waiting.placement.entities[1].item
    other = waiting.placement.entities[0].entity.entity_id
    resolve = team["A"].ingest.ResolvePlacement
    assert await refused_for(resolve(decided(waiting, item, SELECT_ENTITY, entity_id=other))) == (
        Reason.INVALID_FIELD,
        "decision.entity_id",
    )
    assert await refused_for(resolve(decided(waiting, item, SELECT_ENTITY))) == (
        Reason.INVALID_FIELD,
        "decision.entity_id",
    )
    of_nobody = decided(waiting, item, SELECT_ENTITY, entity_id=entity_id, mention_ref="env")
    assert await refused_for(resolve(of_nobody)) == (Reason.INVALID_FIELD, "decision.mention_ref")
    stale = decided(waiting, item, SELECT_ENTITY, entity_id=entity_id, expected_version=7)
    assert await refused_for(resolve(stale)) == (Reason.STALE_VERSION, "expected_version")
    wrong = decided(waiting, item, SELECT_PREDICATE, predicate="deploys_from")
    assert await refused_for(resolve(wrong)) == (Reason.INVALID_FIELD, "action")
    proposing = decided(waiting, item, SELECT_ENTITY, entity_id=entity_id, proposal=deploys_from(TEXT, "main").proposal)
    proposing.evidence.append(text(TEXT))
    assert await refused_for(resolve(proposing)) == (Reason.INVALID_FIELD, "proposal")
    theirs = decided(waiting, item, SELECT_ENTITY, entity_id=entity_id)
    assert (await refused_for(team["B"].ingest.ResolvePlacement(theirs)))[0] is Reason.NOT_OWNER
    elsewhere = await team["A"].ingest.Remember(deploys_from("production deploys from main", "main"))
    assert await refused_for(resolve(decided(elsewhere, item, SELECT_ENTITY, entity_id=entity_id))) == (
        Reason.INVALID_FIELD,
        "placement_item_id",
    )
    await resolve(decided(waiting, item, SELECT_ENTITY, entity_id=entity_id))
    assert (await refused_for(resolve(theirs)))[0] is Reason.ITEM_NOT_PENDING


@pytest.mark.rule("R3.7", "R3.8")
async def test_a_mention_that_fits_two_entities_of_its_request_is_offered_both(
    new_team: NewTeam, deploys_from: Request
) -> None:
    team = await new_team()
    request = of_repository(deploys_from(TEXT, "main"), "one")
    for ref, context in (("second", {"repository": "two"}), ("either", {})):
        request.proposal.entities.add(ref=ref, name="main", entity_kind="git_branch", identity_context=context)
    request.proposal.relationships[0].object_ref = "either"
    waiting = await team["A"].ingest.Remember(request)
    one, two, either = waiting.placement.entities[1:]
    assert either.item.reason == "ambiguous_in_request"
    offered = {candidate.entity_id for candidate in either.item.candidates}
    assert offered == {one.entity.entity_id, two.entity.entity_id}
    chosen = decided(waiting, either.item, SELECT_ENTITY, entity_id=two.entity.entity_id)
    answered = await team["A"].ingest.ResolvePlacement(chosen)
    (placed,) = answered.placement.relationships
    assert placed.relationship.object.entity.entity_id == two.entity.entity_id


@pytest.mark.rule("R3.8")
async def test_a_new_entity_needs_evidence_and_gets_an_id_of_the_server(
    new_team: NewTeam, deploys_from: Request
) -> None:
    team = await new_team()
    waiting, entity_id = await asked_about_main(team, deploys_from)
    item = waiting.placement.entities[1].item
    resolve = team["A"].ingest.ResolvePlacement
    assert await refused_for(resolve(decided(waiting, item, CONFIRM_NEW_ENTITY))) == (Reason.INVALID_FIELD, "evidence")
    evidence = [text("the main of repository two is another branch")]
    chosen = decided(waiting, item, CONFIRM_NEW_ENTITY, evidence=evidence, entity_id=entity_id)
    assert await refused_for(resolve(chosen)) == (Reason.INVALID_FIELD, "decision.entity_id")
    answered = await resolve(decided(waiting, item, CONFIRM_NEW_ENTITY, evidence=evidence))
    (named,) = answered.placement.entities
    assert named.resolution == placement_pb2.ENTITY_RESOLUTION_CREATED
    assert named.entity.entity_id not in {"", entity_id}
    (stored,) = answered.placement.fragments
    assert stored.disposition == placement_pb2.DISPOSITION_STORED
    (placed,) = answered.placement.relationships
    assert placed.relationship.object.entity.entity_id == named.entity.entity_id
    # The next mention with that context is the new entity, without a question.
    again = await team["A"].ingest.Remember(
        of_repository(deploys_from("prod: production deploys from main", "main"), "two")
    )
    assert again.placement.entities[1].entity.entity_id == named.entity.entity_id


async def asked_about_phrase(team: Any, deploys_from: Request, said: str = "production ships from main") -> Any:
    return await team["A"].ingest.Remember(deploys_from(said, "main", predicate="ships from"))


async def with_ships_from(team: Any) -> None:
    """The predicate that the phrase means, registered after the phrase was used."""
    await team.admin.admin.RegisterPredicate(
        admin_service_pb2.RegisterPredicateRequest(
            idempotency_key="ships_from_branch",
            definition=predicate_pb2.PredicateDefinition(
                key="ships_from_branch",
                aliases=["ships from"],
                relationship_kind=predicate_pb2.RELATIONSHIP_KIND_STATE,
                current_cardinality=predicate_pb2.CARDINALITY_ONE,
            ),
        )
    )


@pytest.mark.rule("R3.5", "R5.2")
async def test_a_selected_predicate_verifies_and_places_everything_that_waits_for_the_phrase(
    new_team: NewTeam, deploys_from: Request
) -> None:
    team = await new_team()
    first = await asked_about_phrase(team, deploys_from)
    second = await asked_about_phrase(team, deploys_from, "we know: production ships from main")
    item, joined = first.placement.relationships[0].item, second.placement.relationships[0].item
    assert (joined.item_id, joined.version) == (item.item_id, item.version + 1)
    listed = await team["A"].conflict.ListConflicts(conflict_service_pb2.ListConflictsRequest())
    assert [entry.review_item.item_id for entry in listed.entries] == [item.item_id]
    resolve = team["A"].ingest.ResolvePlacement
    unknown = decided(second, item, SELECT_PREDICATE, predicate="nothing like it")
    assert await refused_for(resolve(unknown)) == (Reason.RESOURCE_NOT_FOUND, "decision.predicate")
    seen = decided(first, item, SELECT_PREDICATE, predicate="deploys_from", expected_version=item.version)
    assert (await refused_for(resolve(seen)))[0] is Reason.STALE_VERSION
    await with_ships_from(team)
    answered = await resolve(decided(second, item, SELECT_PREDICATE, predicate="ships from"))
    outcomes = [one.outcome for one in answered.placement.relationships]
    assert outcomes == [placement_pb2.OUTCOME_INSERTED, placement_pb2.OUTCOME_CORROBORATED]
    assert {one.relationship.predicate for one in answered.placement.relationships} == {"ships_from_branch"}


@pytest.mark.rule("R3.5")
async def test_the_phrase_means_the_selected_predicate_here_and_is_asked_about_elsewhere(
    new_team: NewTeam, deploys_from: Request
) -> None:
    team = await new_team()
    waiting = await asked_about_phrase(team, deploys_from)
    item = waiting.placement.relationships[0].item
    answered = await team["A"].ingest.ResolvePlacement(
        decided(waiting, item, SELECT_PREDICATE, predicate="deploys_from")
    )
    (placed,) = answered.placement.relationships
    assert placed.outcome == placement_pb2.OUTCOME_INSERTED
    assert placed.relationship.predicate == "deploys_from"
    again = await asked_about_phrase(team, deploys_from, "our checklist confirms: production ships from main")
    assert again.placement.relationships[0].outcome == placement_pb2.OUTCOME_NEEDS_REVIEW
    assert again.placement.relationships[0].item.item_id != item.item_id


@pytest.mark.rule("R3.5")
async def test_the_same_phrase_in_the_same_passage_is_asked_about_once(
    new_team: NewTeam, deploys_from: Request
) -> None:
    team = await new_team()
    first = await asked_about_phrase(team, deploys_from)
    again = await asked_about_phrase(team, deploys_from)
    (before,), (repeated,) = first.placement.relationships, again.placement.relationships
    assert repeated.item == before.item
    assert repeated.observation_id == before.observation_id
    assert again.placement.fragments[0].disposition == placement_pb2.DISPOSITION_DUPLICATE


@pytest.mark.rule("R3.5")
async def test_two_relationships_of_one_submission_with_one_phrase_are_one_question(
    new_team: NewTeam, deploys_from: Request
) -> None:
    team = await new_team()
    request = deploys_from("production ships from main", "main", predicate="ships from")
    other = request.proposal.relationships.add()
    other.CopyFrom(request.proposal.relationships[0])
    other.proposal_id = "p2"
    other.polarity = relationship_pb2.POLARITY_NEGATIVE
    placed = await team["A"].ingest.Remember(request)
    items = {one.item.item_id for one in placed.placement.relationships}
    assert len(items) == 1
    assert [one.item.version for one in placed.placement.relationships] == [1, 2]


@pytest.mark.rule("R5.2")
async def test_what_is_rejected_is_never_placed(new_team: NewTeam, deploys_from: Request) -> None:
    team = await new_team()
    waiting = await asked_about_phrase(team, deploys_from)
    item = waiting.placement.relationships[0].item
    answered = await team["A"].ingest.ResolvePlacement(decided(waiting, item, REJECT, reason="no such thing"))
    (given_up,) = answered.placement.relationships
    assert given_up.outcome == placement_pb2.OUTCOME_REJECTED
    assert not given_up.HasField("relationship")
    retry = decided(waiting, None, placement_pb2.PLACEMENT_ACTION_RETRY_VERIFICATION)
    assert (await refused_for(team["A"].ingest.ResolvePlacement(retry)))[0] is Reason.ITEM_NOT_PENDING


@pytest.mark.rule("R5.2")
async def test_an_acknowledged_placement_is_noted_and_stays_as_it_is(new_team: NewTeam, deploys_from: Request) -> None:
    team = await new_team()
    placed = await team["A"].ingest.Remember(deploys_from(TEXT, "main"))
    answered = await team["A"].ingest.ResolvePlacement(decided(placed, None, ACKNOWLEDGE))
    assert answered.decision_id
    assert not answered.HasField("item")
    traced = await team["A"].recall.Trace(
        recall_service_pb2.TraceRequest(
            relationship_id=placed.placement.relationships[0].relationship.relationship_id,
            min_revision=answered.revision,
        )
    )
    assert traced.relationship.version == 1
    theirs = decided(placed, None, ACKNOWLEDGE)
    assert (await refused_for(team["B"].ingest.ResolvePlacement(theirs)))[0] is Reason.NOT_OWNER


@pytest.mark.rule("R5.1", "R5.3")
async def test_of_two_decisions_on_one_item_exactly_one_is_taken(new_team: NewTeam, deploys_from: Request) -> None:
    team = await new_team()
    for number in range(3):
        waiting, entity_id = await asked_about_main(team, deploys_from, f"other {number}")
        item = waiting.placement.entities[1].item
        calls = [
            team["A"].ingest.ResolvePlacement(decided(waiting, item, SELECT_ENTITY, entity_id=entity_id)),
            team["A"].ingest.ResolvePlacement(decided(waiting, item, REJECT)),
        ]
        answers = await asyncio.gather(*calls, return_exceptions=True)
        taken = [one for one in answers if not isinstance(one, BaseException)]
        lost = [refusal_of(one) for one in answers if isinstance(one, grpc.aio.AioRpcError)]
        assert len(taken) == 1
        assert [one.reason for one in lost if one is not None] == [Reason.ITEM_NOT_PENDING]
