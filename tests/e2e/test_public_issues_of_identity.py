"""Rows of the public-issues table about corrections and identity, and what depends on an open question: nothing."""

import asyncio
import unicodedata
import uuid
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from typing import Any

import psycopg
import pytest
from corrigenda.admin.v1 import admin_service_pb2
from corrigenda.ingest.v1 import ingest_service_pb2, placement_decision_pb2, placement_pb2, submission_pb2
from corrigenda.recall.v1 import recall_service_pb2
from corrigenda.type.v1 import predicate_pb2
from corrigenda_cli.stack import Stack
from corrigenda_core.domain.errors import Reason
from corrigenda_core.rpc.convert import timestamp_of
from corrigenda_core.testing.wire_decisions import refused_for

pytestmark = pytest.mark.database

NewTeam = Callable[..., Awaitable[Any]]
Request = Callable[..., ingest_service_pb2.RememberRequest]

CORRECT = placement_pb2.PLACEMENT_ACTION_CORRECT
ACCEPT = placement_pb2.PLACEMENT_ACTION_ACCEPT
SELECT_PREDICATE = placement_pb2.PLACEMENT_ACTION_SELECT_PREDICATE
WAIT_SECONDS = 30.0
MISSING = "01900000-0000-7000-8000-000000000000"
DEPENDENT = ("statements", "relationships", "supports", "carriages", "transitions", "cross_references", "case_members")


def text(content: str) -> submission_pb2.EvidenceItem:
    return submission_pb2.EvidenceItem(content=content, source_type=4)


def dependent_rows(stack: Stack, team_id: str) -> dict[str, int]:
    with psycopg.connect(stack.url("corrigenda_auditor"), autocommit=True) as connection:
        return {
            table: (
                connection.execute(f"SELECT count(*) FROM {table} WHERE team_id = %s", [team_id]).fetchone() or (0,)
            )[0]
            for table in DEPENDENT
        }


def correcting(placed: Any, content: str, branch: str, deploys_from: Request, **more: Any) -> Any:
    return ingest_service_pb2.ResolvePlacementRequest(
        idempotency_key=uuid.uuid4().hex,
        ingest_id=placed.ingest_id,
        action=CORRECT,
        evidence=[text(content)],
        proposal=deploys_from(content, branch, **more).proposal,
    )


@pytest.mark.promise("asked.nothing-depends")
@pytest.mark.rule("R3.5", "R3.7")
async def test_invariant_02_nothing_depends_on_what_is_not_resolved(
    stack: Stack, new_team: NewTeam, deploys_from: Request
) -> None:
    team = await new_team()
    first = deploys_from("production deploys from main", "main")
    first.proposal.entities[1].identity_context["repository"] = "one"
    await team["A"].ingest.Remember(first)
    before = dependent_rows(stack, team.team_id)
    unknown_entity = deploys_from("our checklist confirms: production deploys from main", "main")
    unknown_entity.proposal.entities[1].identity_context["repository"] = "two"
    unknown_predicate = deploys_from("production ships from main", "main", predicate="ships from")
    unknown_predicate.proposal.entities[1].identity_context["repository"] = "one"
    for request in (unknown_entity, unknown_predicate):
        answer = await team["A"].ingest.Remember(request)
        (asked,) = answer.placement.relationships
        assert asked.outcome == placement_pb2.OUTCOME_NEEDS_REVIEW
        assert not asked.HasField("relationship")
        assert dependent_rows(stack, team.team_id) == before


@pytest.mark.rule("R5.2", "R4.16b")
async def test_p49_a_correction_is_one_act_on_what_is_named_and_leaves_one_value(
    stack: Stack, new_team: NewTeam, deploys_from: Request
) -> None:
    team = await new_team()
    wrong = (await team["A"].ingest.Remember(deploys_from("production deploys from main", "main"))).placement
    before = dependent_rows(stack, team.team_id)
    nowhere = correcting(wrong, "production deploys from release", "release", deploys_from)
    nowhere.placement_item_id = MISSING
    assert await refused_for(team["A"].ingest.ResolvePlacement(nowhere)) == (
        Reason.RESOURCE_NOT_FOUND,
        "placement_item_id",
    )
    assert dependent_rows(stack, team.team_id) == before
    said = "our checklist confirms: production deploys from release"
    await team["A"].ingest.ResolvePlacement(correcting(wrong, said, "release", deploys_from))
    with psycopg.connect(stack.url("corrigenda_auditor"), autocommit=True) as connection:
        in_force = connection.execute(
            "SELECT count(*) FROM relationships WHERE team_id = %s AND status = 'active' AND valid_to = 'infinity'",
            [team.team_id],
        ).fetchone()
    assert in_force == (1,)


@pytest.mark.rule("R5.2", "R9.1")
async def test_p50_what_was_corrected_is_never_found_beside_its_correction(
    new_team: NewTeam, deploys_from: Request
) -> None:
    team = await new_team()
    wrong = (await team["A"].ingest.Remember(deploys_from("production deploys from main", "main"))).placement
    said = "our checklist confirms: production deploys from release"
    corrected = await team["A"].ingest.ResolvePlacement(correcting(wrong, said, "release", deploys_from))
    found: list[str] = []
    deadline = asyncio.get_running_loop().time() + WAIT_SECONDS
    while not found:
        assert asyncio.get_running_loop().time() < deadline, "the indexer does not come to rest"
        answer = await team["A"].recall.Recall(
            recall_service_pb2.RecallRequest(
                query="production deploys from main or release", min_revision=corrected.revision
            )
        )
        found = [one.evidence.content for one in answer.results]
    assert found == [said]


def named(name: str, kind: str, content: str) -> ingest_service_pb2.RememberRequest:
    return ingest_service_pb2.RememberRequest(
        idempotency_key=uuid.uuid4().hex,
        evidence=[text(content)],
        proposal=submission_pb2.Proposal(
            entities=[
                submission_pb2.ProposedEntity(ref="s", name=name, entity_kind=kind),
                submission_pb2.ProposedEntity(ref="o", name="main", entity_kind="git_branch"),
            ],
            relationships=[
                submission_pb2.ProposedRelationship(
                    proposal_id="p1",
                    subject_ref="s",
                    predicate="deploys_from",
                    object_ref="o",
                    polarity=1,
                    modality=1,
                    evidence=[submission_pb2.Citation(start=0, end=len(content))],
                )
            ],
        ),
    )


@pytest.mark.rule("R3.7")
async def test_p51_p57_one_name_in_every_writing_is_one_entity(new_team: NewTeam) -> None:
    team = await new_team()
    writings = ["Café", unicodedata.normalize("NFD", "Café"), "CAFÉ", "  Cafe\u0301 ", "Ｃａｆé"]
    ids = set()
    for name in writings:
        answer = await team["A"].ingest.Remember(named(name, "service", f"{name} deploys from main"))
        ids.add(answer.placement.entities[0].entity.entity_id)
    assert len(ids) == 1


@pytest.mark.rule("R3.7")
async def test_p52_the_kind_is_part_of_identity_and_nothing_is_merged_silently(new_team: NewTeam) -> None:
    team = await new_team()
    placed = [
        (await team["A"].ingest.Remember(named("Apple", kind, "Apple deploys from main"))).placement.entities[0]
        for kind in ("person", "company")
    ]
    assert [one.resolution for one in placed] == [placement_pb2.ENTITY_RESOLUTION_CREATED] * 2
    assert placed[0].entity.entity_id != placed[1].entity.entity_id


@pytest.mark.error("TOO_MANY_ITEMS", "PREDICATE_RETIRED")
@pytest.mark.rule("R5.1", "R5.2")
async def test_what_a_decision_cannot_do_is_refused_by_its_reason(new_team: NewTeam, deploys_from: Request) -> None:
    team = await new_team()
    resolve = team["A"].ingest.ResolvePlacement
    placed = (await team["A"].ingest.Remember(deploys_from("production deploys from main", "main"))).placement
    said = "production deploys from release"
    unquoted = correcting(placed, said, "release", deploys_from, cited=submission_pb2.Citation(quote="staging"))
    assert (await refused_for(resolve(unquoted)))[0] is Reason.QUOTE_NOT_FOUND
    twice = correcting(placed, said, "release", deploys_from, cited=submission_pb2.Citation(quote="e"))
    assert (await refused_for(resolve(twice)))[0] is Reason.QUOTE_AMBIGUOUS
    answering = correcting(
        placed,
        said,
        "release",
        deploys_from,
        conflict_context=submission_pb2.ConflictContext(conflict_id=MISSING),
    )
    assert (await refused_for(resolve(answering)))[0] is Reason.RESOURCE_NOT_FOUND
    many = correcting(placed, said, "release", deploys_from)
    many.evidence.extend([text(said)] * 20)
    assert (await refused_for(resolve(many)))[0] is Reason.TOO_MANY_ITEMS
    waiting = await team["A"].ingest.Remember(deploys_from("production ships from main", "main", predicate="ships"))
    await team.admin.admin.RegisterPredicate(
        admin_service_pb2.RegisterPredicateRequest(
            idempotency_key="retired",
            retire=True,
            definition=predicate_pb2.PredicateDefinition(
                key="deploys_from",
                relationship_kind=predicate_pb2.RELATIONSHIP_KIND_STATE,
                current_cardinality=predicate_pb2.CARDINALITY_ONE,
            ),
        )
    )
    selecting = ingest_service_pb2.ResolvePlacementRequest(
        idempotency_key="selecting",
        ingest_id=waiting.placement.ingest_id,
        placement_item_id=waiting.placement.relationships[0].item.item_id,
        action=SELECT_PREDICATE,
        decision=placement_decision_pb2.PlacementDecision(predicate="deploys_from"),
    )
    assert await refused_for(resolve(selecting)) == (Reason.PREDICATE_RETIRED, "decision.predicate")


@pytest.mark.rule("R5.2", "R4.10")
async def test_what_is_accepted_needs_a_start_where_its_own_end_has_passed(
    new_team: NewTeam, deploys_from: Request
) -> None:
    team = await new_team()
    await team["A"].ingest.Remember(deploys_from("since 1 January 2025 production deploys from main", "main"))
    request = deploys_from("production deploys from release until 1 January 2026", "release")
    request.evidence[0].occurred_at.CopyFrom(timestamp_of(datetime(2025, 3, 1, tzinfo=UTC)))
    held = (await team["A"].ingest.Remember(request)).placement
    accepting = ingest_service_pb2.ResolvePlacementRequest(
        idempotency_key="accepting",
        ingest_id=held.ingest_id,
        placement_item_id=held.relationships[0].item.item_id,
        action=ACCEPT,
        evidence=[text("our checklist confirms: production deploys from release")],
    )
    assert (await refused_for(team["A"].ingest.ResolvePlacement(accepting)))[0] is Reason.START_NEEDED
    accepting.decision.valid_from.CopyFrom(timestamp_of(datetime(2025, 3, 1, tzinfo=UTC)))
    accepted = await team["A"].ingest.ResolvePlacement(accepting)
    (placed,) = accepted.placement.relationships
    assert placed.relationship.validity.interval.valid_from == accepting.decision.valid_from
