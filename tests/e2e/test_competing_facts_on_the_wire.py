"""Competing facts over the wire: what is disputed about an entity, within owners and between them, at any view."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import psycopg
import pytest
from corrigenda.admin.v1 import admin_service_pb2
from corrigenda.conflict.v1 import competing_facts_pb2, conflict_case_pb2, conflict_service_pb2, resolution_pb2
from corrigenda.ingest.v1 import ingest_service_pb2, placement_pb2, submission_pb2
from corrigenda.recall.v1 import recall_service_pb2
from corrigenda.type.v1 import predicate_pb2, relationship_pb2
from corrigenda_cli.stack import Stack
from corrigenda_core.domain.errors import Reason
from corrigenda_core.domain.ids import EntityId, RelationshipId, TeamId
from corrigenda_core.domain.views import KnownAtRevision, TemporalSelector
from corrigenda_core.persistence.database import Database
from corrigenda_core.persistence.read_transaction import ReadRunner, ReadTransaction
from corrigenda_core.persistence.surroundings_store import read_known_rows
from corrigenda_core.persistence.view_store import ReadView, run_in_view
from corrigenda_core.policy.competing import decide_competing
from corrigenda_core.rpc.convert import instant_of, timestamp_of
from corrigenda_core.rpc.enums import CASE_KIND
from corrigenda_core.testing.wire_decisions import refused_for

pytestmark = pytest.mark.database

NewTeam = Callable[..., Awaitable[Any]]
Request = Callable[..., ingest_service_pb2.RememberRequest]

MISSING = "01900000-0000-7000-8000-000000000000"


def day(month: int, of_month: int = 1, year: int = 2026) -> datetime:
    return datetime(year, month, of_month, tzinfo=UTC)


async def said(client: Any, request: ingest_service_pb2.RememberRequest) -> placement_pb2.Placement:
    placement = (await client.ingest.Remember(request)).placement
    assert isinstance(placement, placement_pb2.Placement)
    (answer,) = placement.relationships
    assert answer.verdict == relationship_pb2.VERDICT_ENTAILED, answer.verdict_reason
    return placement


def subject_of(placement: placement_pb2.Placement) -> str:
    return placement.relationships[0].relationship.subject.entity_id


async def competing(client: Any, entity_id: str, **more: Any) -> conflict_service_pb2.GetCompetingFactsResponse:
    request = conflict_service_pb2.GetCompetingFactsRequest(entity_id=entity_id, **more)
    answer = await client.conflict.GetCompetingFacts(request)
    assert isinstance(answer, conflict_service_pb2.GetCompetingFactsResponse)
    return answer


def sides(facts: competing_facts_pb2.CompetingFacts) -> dict[str, list[str]]:
    """The owners of each side."""
    return {side.label: [owner.name for owner in side.owners] for side in facts.sides}


def only(answer: conflict_service_pb2.GetCompetingFactsResponse) -> competing_facts_pb2.CompetingFacts:
    (slot,) = answer.slots
    (facts,) = slot.facts
    assert isinstance(facts, competing_facts_pb2.CompetingFacts)
    return facts


@pytest.mark.rule("R9.5")
async def test_an_owners_dispute_and_a_teams_case_are_one_disagreement(
    new_team: NewTeam, deploys_from: Request
) -> None:
    team = await new_team()
    first = await said(team["A"], deploys_from("production deploys from main", "main"))
    entity = subject_of(first)
    assert list((await competing(team["A"], entity)).slots) == []
    await said(team["A"], deploys_from("production deploys from trunk", "trunk"))
    facts = only(await competing(team["A"], entity))
    assert (sides(facts), facts.size, facts.needs_person) == ({"main": ["A"], "trunk": ["A"]}, 2, False)
    assert (facts.conflict_id, len(facts.item_ids)) == ("", 1)
    assert facts.question == "production deploys from: main or trunk?"
    opened = await said(team["B"], deploys_from("production deploys from release", "release"))
    answer = await competing(team["A"], entity)
    facts = only(answer)
    assert (sides(facts), facts.size) == ({"main": ["A"], "trunk": ["A"], "release": ["B"]}, 3)
    assert (facts.needs_person, facts.kind) == (True, conflict_case_pb2.CASE_KIND_CURRENT_STATE)
    assert facts.conflict_id == opened.relationships[0].conflict.conflict_id
    # A question is told to the owner whom it asks.
    assert len(only(await competing(team["B"], entity)).item_ids) == 0
    waiting = [side.relationships[0].status for side in facts.sides]
    assert waiting.count(relationship_pb2.RELATIONSHIP_STATUS_NEEDS_REVIEW) == 1

    decided = await team["A"].conflict.ResolveConflict(
        conflict_service_pb2.ResolveConflictRequest(
            idempotency_key="keep main",
            item_id=facts.item_ids[0],
            expected_version=1,
            keep_existing=resolution_pb2.KeepExisting(
                relationship_id=first.relationships[0].relationship.relationship_id
            ),
        )
    )
    now = only(await competing(team["A"], entity, min_revision=decided.revision))
    assert (sides(now), now.needs_person, list(now.item_ids)) == ({"main": ["A"], "release": ["B"]}, False, [])
    # What was disputed then is what it was.
    assert only(await competing(team["A"], entity, revision=answer.revision)) == facts


@pytest.mark.rule("R9.5", "R8.1")
async def test_as_of_an_instant_is_about_that_instant(new_team: NewTeam, deploys_from: Request) -> None:
    team = await new_team(driven_from=day(1))

    async def drive(time: datetime) -> None:
        await team.admin.admin.DriveClock(
            admin_service_pb2.DriveClockRequest(idempotency_key=f"to {time}", time=timestamp_of(time))
        )

    await drive(day(2))
    first = await said(team["A"], deploys_from("since 1 January 2026 production deploys from main", "main"))
    entity = subject_of(first)
    await drive(day(4))
    await said(team["B"], deploys_from("since 1 March 2026 production deploys from release", "release"))
    await drive(day(5))
    assert only(await competing(team["C"], entity)).size == 2
    before = await competing(team["C"], entity, as_of=timestamp_of(day(3)))
    assert list(before.slots) == []
    assert instant_of(before.valid_at) == instant_of(before.known_at) == day(3)
    # Known since April, and about February: only one of the two held then.
    about_february = await competing(team["C"], entity, as_of=timestamp_of(day(4, 2)), valid_at=timestamp_of(day(2)))
    assert list(about_february.slots) == []
    about_april = await competing(team["C"], entity, as_of=timestamp_of(day(4, 2)))
    assert sides(only(about_april)) == {"main": ["A"], "release": ["B"]}
    await said(team["C"], deploys_from("since 1 March 2026 production deploys from trunk", "trunk"))
    assert only(await competing(team["C"], entity)).size == 3
    again = await competing(team["C"], entity, as_of=timestamp_of(day(4, 2)))
    assert again == about_april


@pytest.mark.rule("R9.5")
async def test_what_the_database_hands_over_is_all_that_the_policy_would_name(
    new_team: NewTeam, deploys_from: Request, stack: Stack
) -> None:
    """Against the policy on every row of the team, at every revision and around every start."""
    team = await new_team()
    await team.admin.admin.RegisterPredicate(
        admin_service_pb2.RegisterPredicateRequest(
            idempotency_key="owns",
            definition=predicate_pb2.PredicateDefinition(
                key="owns",
                relationship_kind=predicate_pb2.RELATIONSHIP_KIND_STATE,
                current_cardinality=predicate_pb2.CARDINALITY_MANY,
                same_moment_policy=predicate_pb2.SAME_MOMENT_POLICY_COMPETE,
            ),
        )
    )
    entity, revisions = "", []
    for profile, text, branch, more in (
        ("A", "since 1 January 2026 production deploys from main", "main", {}),
        ("A", "since 1 January 2026 production deploys from trunk", "trunk", {}),
        ("B", "since 1 March 2026 production deploys from release", "release", {}),
        ("C", "production does not deploy from release", "release", {"polarity": 2}),
        ("A", "production deploys from beta in the EU", "beta", {"scope": "EU"}),
        ("A", "since 1 March 2026 production deploys from release", "release", {}),
        ("C", "production owns main", "main", {"predicate": "owns"}),
        ("C", "production does not own main", "main", {"predicate": "owns", "polarity": 2}),
    ):
        request = deploys_from(text, branch, **{name: value for name, value in more.items() if name != "polarity"})
        if "polarity" in more:
            request.proposal.relationships[0].polarity = more["polarity"]
        placement = (await team[profile].ingest.Remember(request)).placement
        revisions.append(placement.revision)
        entity = subject_of(placement) or entity
    with psycopg.connect(stack.url("corrigenda_auditor"), autocommit=True) as connection:
        every = connection.execute(
            "SELECT relationship_id::text FROM relationships WHERE team_id = %s", [team.team_id]
        ).fetchall()
    ids = [RelationshipId(one) for (one,) in every]
    async with Database(stack.url("corrigenda_conflict")) as database:
        found = 0
        for revision in revisions:
            for instant in (day(2), day(4)):
                asked = TemporalSelector(valid_at=instant, known=KnownAtRevision(revision=revision))
                expected = await by_policy(database, team.team_id, entity, ids, asked)
                answer = await competing(team["A"], entity, revision=revision, valid_at=timestamp_of(instant))
                shown = {
                    (facts.kind, row.relationship_id)
                    for slot in answer.slots
                    for facts in slot.facts
                    for side in facts.sides
                    for row in side.relationships
                }
                assert shown == expected, (revision, instant)
                found += len(expected)
    assert found > len(revisions)


async def by_policy(
    database: Database, team_id: str, entity_id: str, ids: list[RelationshipId], asked: TemporalSelector
) -> set[tuple[int, str]]:
    """The kinds of disagreement and the rows on their sides, decided on all rows of the team."""

    async def read(transaction: ReadTransaction, view: ReadView) -> set[tuple[int, str]]:
        known = await read_known_rows(transaction, view, ids)
        return {
            (CASE_KIND.to_wire(facts.set_key.kind), row.relationship_id)
            for slot in decide_competing(EntityId(entity_id), view.valid_at, known.all_rows, known.cases)
            for facts in slot.facts
            for side in facts.sides
            for row in side.rows
        }

    return await run_in_view(ReadRunner(database), TeamId(team_id), asked, read, field="known")


@pytest.mark.rule("R8.1")
async def test_slots_of_an_object_come_in_pages_of_one_view(new_team: NewTeam) -> None:
    team = await new_team()
    a = team["A"]

    async def disputed(environment: str) -> placement_pb2.Placement:
        for branch in ("main", f"{environment} branch"):
            placed = await said(a, deploying(environment, branch))
        return placed

    for number in range(3):
        await disputed(f"env {number}")
    found = await a.recall.SearchEntities(search("main"))
    request = conflict_service_pb2.GetCompetingFactsRequest(entity_id=found.entities[0].entity.entity_id, page_size=2)
    first = await a.conflict.GetCompetingFacts(request)
    assert len(first.slots) == 2
    await disputed("env 9")
    request.page_token = first.next_page_token
    second = await a.conflict.GetCompetingFacts(request)
    assert (len(second.slots), second.next_page_token) == (1, "")
    assert (second.revision, second.valid_at) == (first.revision, first.valid_at)
    subjects = [slot.subject.name for slot in (*first.slots, *second.slots)]
    assert sorted(subjects) == ["env 0", "env 1", "env 2"]
    request.predicate = "deploys_from"
    assert await refused_for(a.conflict.GetCompetingFacts(request)) == (Reason.PAGE_TOKEN_MISMATCH, "page_token")


def search(name: str) -> recall_service_pb2.SearchEntitiesRequest:
    return recall_service_pb2.SearchEntitiesRequest(name=name, entity_kind="git_branch")


def deploying(environment: str, branch: str) -> ingest_service_pb2.RememberRequest:
    text = f"{environment} deploys from {branch}"
    return ingest_service_pb2.RememberRequest(
        idempotency_key=text,
        evidence=[submission_pb2.EvidenceItem(content=text, source_type=1)],
        proposal=submission_pb2.Proposal(
            entities=[
                submission_pb2.ProposedEntity(ref="env", name=environment, entity_kind="environment"),
                submission_pb2.ProposedEntity(ref="branch", name=branch, entity_kind="git_branch"),
            ],
            relationships=[
                submission_pb2.ProposedRelationship(
                    proposal_id="p1",
                    subject_ref="env",
                    predicate="deploys_from",
                    object_ref="branch",
                    polarity=relationship_pb2.POLARITY_POSITIVE,
                    modality=relationship_pb2.MODALITY_STATEMENT,
                    evidence=[submission_pb2.Citation(evidence_index=0, start=0, end=len(text))],
                )
            ],
        ),
    )


async def test_what_cannot_be_told_is_refused(new_team: NewTeam, deploys_from: Request) -> None:
    team = await new_team()
    a = team["A"]
    placed = await said(a, deploys_from("production deploys from main", "main"))
    entity = subject_of(placed)
    later = timestamp_of(datetime.now(UTC) + timedelta(days=1))
    assert await refused_for(competing(a, MISSING)) == (Reason.RESOURCE_NOT_FOUND, "entity_id")
    assert await refused_for(competing(a, entity, revision=placed.revision - 1)) == (
        Reason.RESOURCE_NOT_FOUND,
        "entity_id",
    )
    assert await refused_for(competing(a, entity, as_of=later)) == (Reason.INVALID_FIELD, "as_of")
    assert await refused_for(competing(a, entity, revision=10_000)) == (Reason.INVALID_FIELD, "revision")
    assert (await refused_for(competing(a, entity, min_revision=10_000)))[0] is Reason.REVISION_NOT_REPLICATED
    assert await refused_for(competing(a, entity, predicate="x" * 65)) == (Reason.TOO_LARGE, "predicate")
    assert list((await competing(a, entity, predicate="deploys_from")).slots) == []
