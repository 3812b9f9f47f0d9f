"""Look-ups over the wire: one relationship in a view, entities by name, and how a source has fared."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from typing import Any

import pytest
from corrigenda.admin.v1 import admin_service_pb2
from corrigenda.ingest.v1 import ingest_service_pb2, placement_pb2, submission_pb2
from corrigenda.recall.v1 import (
    recall_service_pb2,
    relationship_in_view_pb2,
    result_pb2,
    source_history_pb2,
)
from corrigenda.type.v1 import predicate_pb2, relationship_pb2, time_pb2
from corrigenda_core.domain.errors import Reason
from corrigenda_core.rpc.convert import instant_of, timestamp_of
from corrigenda_core.testing.wire_decisions import refused_for

pytestmark = pytest.mark.database

NewTeam = Callable[..., Awaitable[Any]]
Request = Callable[..., ingest_service_pb2.RememberRequest]

MISSING = "01900000-0000-7000-8000-000000000000"


def day(month: int, of_month: int = 1) -> datetime:
    return datetime(2026, month, of_month, tzinfo=UTC)


def at(valid_at: datetime | None = None, *, revision: int | None = None) -> time_pb2.TemporalSelector:
    selector = time_pb2.TemporalSelector()
    if valid_at is not None:
        selector.valid_at.CopyFrom(timestamp_of(valid_at))
    if revision is not None:
        selector.revision = revision
    return selector


async def said(client: Any, request: ingest_service_pb2.RememberRequest, *, group: str = "") -> placement_pb2.Placement:
    request.evidence[0].source_group = group
    placement = (await client.ingest.Remember(request)).placement
    assert isinstance(placement, placement_pb2.Placement)
    return placement


def row_id(placement: placement_pb2.Placement) -> str:
    return placement.relationships[0].relationship.relationship_id


async def in_view(
    client: Any, relationship_id: str, temporal: time_pb2.TemporalSelector | None = None
) -> relationship_in_view_pb2.RelationshipInView:
    request = recall_service_pb2.GetRelationshipRequest(relationship_id=relationship_id, temporal=temporal)
    shown = (await client.recall.GetRelationship(request)).relationship
    assert isinstance(shown, relationship_in_view_pb2.RelationshipInView)
    return shown


# --- one relationship


@pytest.mark.rule("R8.2")
async def test_a_relationship_is_shown_as_it_was_known_and_whether_it_held(
    new_team: NewTeam, deploys_from: Request
) -> None:
    team = await new_team()
    a = team["A"]
    main = await said(a, deploys_from("since 1 January 2026 production deploys from main", "main"))
    before = main.revision
    await said(a, deploys_from("since 1 March 2026 production deploys from release", "release"))
    for temporal, held, version in (
        (at(), False, 2),
        (at(day(2)), True, 2),
        (at(day(3)), False, 2),
        (at(revision=before), True, 1),
        (at(day(2), revision=before), True, 1),
        (at(datetime(2025, 12, 31, tzinfo=UTC), revision=before), False, 1),
    ):
        shown = await in_view(a, row_id(main), temporal)
        assert (shown.in_force, shown.relationship.version) == (held, version), temporal
        assert shown.counted_validity == shown.relationship.validity
    assert await refused_for(in_view(a, row_id(main), at(revision=before - 1))) == (
        Reason.RESOURCE_NOT_FOUND,
        "relationship_id",
    )
    assert await refused_for(in_view(a, MISSING)) == (Reason.RESOURCE_NOT_FOUND, "relationship_id")
    assert await refused_for(in_view(a, row_id(main), at(revision=10_000))) == (
        Reason.INVALID_FIELD,
        "temporal.revision",
    )


@pytest.mark.rule("R9.2")
async def test_a_reader_is_told_what_stands_against_a_relationship(new_team: NewTeam, deploys_from: Request) -> None:
    team = await new_team()
    main = await said(team["A"], deploys_from("production deploys from main", "main"))
    held = await said(team["A"], deploys_from("production deploys from trunk", "trunk"))
    other = await said(team["B"], deploys_from("production deploys from release", "release"))
    conflict = other.relationships[0].conflict.conflict_id
    shown = await in_view(team["C"], row_id(main))
    assert list(shown.marks) == [result_pb2.PATH_MARK_HELD_AGAINST, result_pb2.PATH_MARK_DISPUTED]
    assert (list(shown.conflict_ids), shown.conflicts_total, shown.resolved_total) == ([conflict], 1, 0)
    assert shown.relationship.owner.name == "A"
    waiting = await in_view(team["C"], row_id(held))
    assert (waiting.in_force, waiting.relationship.status) == (False, relationship_pb2.RELATIONSHIP_STATUS_NEEDS_REVIEW)


# --- entities


async def entities(client: Any, name: str = "", **more: Any) -> list[str]:
    request = recall_service_pb2.SearchEntitiesRequest(name=name, **more)
    return [one.entity.name for one in (await client.recall.SearchEntities(request)).entities]


def naming(name: str, *, aliases: tuple[str, ...] = (), **context: str) -> ingest_service_pb2.RememberRequest:
    """A submission that says where an environment of this name deploys from."""
    text = f"{name} deploys from main"
    return ingest_service_pb2.RememberRequest(
        idempotency_key=f"{name} {aliases} {context}",
        evidence=[submission_pb2.EvidenceItem(content=text, source_type=1)],
        proposal=submission_pb2.Proposal(
            entities=[
                submission_pb2.ProposedEntity(
                    ref="env", name=name, entity_kind="environment", aliases=aliases, identity_context=context
                ),
                submission_pb2.ProposedEntity(ref="branch", name="main", entity_kind="git_branch"),
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


async def test_entities_are_found_by_what_their_names_begin_with_and_hold(new_team: NewTeam) -> None:
    team = await new_team()
    a = team["A"]
    for name in ("Prod", "Production EU", "Café produce", "nonprod", "東京本番", "Cafe\u0301 west"):
        await said(a, naming(name))
    assert await entities(a, "prod") == ["Prod", "Production EU", "Café produce", "nonprod"]
    assert await entities(a, "ＰＲＯＤ", entity_kind="git_branch") == []
    assert await entities(a, entity_kind="git_branch") == ["main"]
    # Neither case nor the way in which an accent is written matters, and a script without word breaks has parts.
    assert await entities(a, "CAFE\u0301") == ["Café produce", "Cafe\u0301 west"]
    assert await entities(a, "本番") == ["東京本番"]
    assert await refused_for(entities(a, "\u200b")) == (Reason.INVALID_FIELD, "name")


@pytest.mark.promise("time.pages")
@pytest.mark.rule("R8.1")
async def test_pages_of_entities_show_one_revision(new_team: NewTeam) -> None:
    team = await new_team()
    a = team["A"]
    for name in ("prod 1", "prod 3", "prod 5"):
        placed = await said(a, naming(name))
    request = recall_service_pb2.SearchEntitiesRequest(name="prod", page_size=2)
    first = await a.recall.SearchEntities(request)
    assert ([one.entity.name for one in first.entities], first.total) == (["prod 1", "prod 3"], 3)
    await said(a, naming("prod 2"))
    request.page_token = first.next_page_token
    second = await a.recall.SearchEntities(request)
    assert [one.entity.name for one in second.entities] == ["prod 5"]
    assert (second.total, second.revision, second.next_page_token) == (3, first.revision, "")
    past = time_pb2.KnownSelector(revision=placed.revision - 1)
    assert await entities(a, "prod", known=past) == ["prod 1", "prod 3"]
    assert await entities(a, "prod") == ["prod 1", "prod 2", "prod 3", "prod 5"]
    request.name = "pro"
    assert await refused_for(a.recall.SearchEntities(request)) == (Reason.PAGE_TOKEN_MISMATCH, "page_token")


async def test_namesakes_are_told_apart_and_a_nickname_is_its_givers_own(new_team: NewTeam) -> None:
    team = await new_team()
    await said(team["A"], naming("prod", region="eu"))
    await said(team["A"], naming("prod", aliases=("the big one",), region="eu"))
    found = (
        await team["A"].recall.SearchEntities(recall_service_pb2.SearchEntitiesRequest(name="the big one"))
    ).entities
    assert [(pair.key, pair.value) for pair in found[0].identity_context] == [("region", "eu")]
    assert (found[0].entity.name, list(found[0].other_names), found[0].other_names_total) == (
        "prod",
        ["the big one"],
        1,
    )
    # What one author calls it is nobody else's name for it, until a second one says so too.
    assert await entities(team["B"], "the big one") == []
    assert (await team["B"].recall.SearchEntities(recall_service_pb2.SearchEntitiesRequest(name="prod"))).entities[
        0
    ].other_names_total == 0
    await said(team["B"], naming("prod", aliases=("The Big One",), region="eu"))
    assert await entities(team["C"], "the big one") == ["prod"]


# --- source histories


async def history(client: Any, **asked: Any) -> source_history_pb2.SourceHistory:
    answer = await client.recall.GetSourceHistory(recall_service_pb2.GetSourceHistoryRequest(**asked))
    assert isinstance(answer.history, source_history_pb2.SourceHistory)
    return answer.history


def fates(told: source_history_pb2.SourceHistory) -> dict[str, int]:
    assert sum(one.count for one in told.fates) == told.observations_total
    return {source_history_pb2.Fate.Name(one.fate).removeprefix("FATE_").lower(): one.count for one in told.fates}


@pytest.mark.rule("R9.5", "R8.1")
async def test_how_a_source_has_fared(new_team: NewTeam, deploys_from: Request) -> None:
    team = await new_team()
    a, b = team["A"], team["B"]
    main = await said(a, deploys_from("since 1 January 2026 production deploys from main", "main"), group="wiki")
    assert fates(await history(a, source_group="wiki")) == {"stands": 1}
    await said(a, deploys_from("since 1 March 2026 production deploys from release", "release"), group="wiki")
    await said(a, deploys_from("since 1 March 2026 production deploys from trunk", "trunk"), group="wiki")
    await said(a, deploys_from("production belongs to the platform", "platform", predicate="belongs to"), group="wiki")
    await said(a, deploys_from("staging is green", "beta"), group="wiki")
    await said(b, deploys_from("since 1 May 2026 production deploys from hotfix", "hotfix"), group="chat")
    told = await history(a, source_group="wiki")
    assert fates(told) == {"held": 1, "pending": 2, "stands": 1, "superseded": 1}
    assert (told.fragments_total, told.observations_total, told.disputed, told.won, told.lost) == (5, 5, 1, 0, 0)
    assert fates(await history(a, source_group="wiki", predicate="deploys_from")) == {
        "held": 1,
        "pending": 1,
        "stands": 1,
        "superseded": 1,
    }
    # The same counts by who submitted; whatever came later changes no view of the past.
    assert fates(await history(b, profile_id=main.author.profile_id)) == fates(told)
    past = time_pb2.KnownSelector(revision=main.revision)
    assert fates(await history(a, source_group="wiki", known=past)) == {"stands": 1}
    assert fates(await history(a, source_group="nobody")) == {}
    assert (await history(a, source_group="chat")).disputed == 1


@pytest.mark.rule("R9.5")
async def test_disputes_and_corrections_are_told_apart(new_team: NewTeam, deploys_from: Request) -> None:
    team = await new_team()
    a = team["A"]
    await team.admin.admin.RegisterPredicate(
        admin_service_pb2.RegisterPredicateRequest(
            idempotency_key="compete",
            definition=predicate_pb2.PredicateDefinition(
                key="deploys_from",
                aliases=["deploys from"],
                relationship_kind=predicate_pb2.RELATIONSHIP_KIND_STATE,
                current_cardinality=predicate_pb2.CARDINALITY_ONE,
                same_moment_policy=predicate_pb2.SAME_MOMENT_POLICY_COMPETE,
            ),
        )
    )
    for branch in ("main", "trunk"):
        text = f"since 1 March 2026 production deploys from {branch}"
        await said(a, deploys_from(text, branch), group="wiki")
    assert fates(await history(a, source_group="wiki")) == {"competing": 2}
    later = deploys_from("since 1 May 2026 production deploys from release", "release")
    overtaking = await said(a, later, group="wiki")
    assert fates(await history(a, source_group="wiki")) == {"overtaken": 2, "stands": 1}
    target = submission_pb2.CorrectionTarget(relationship_id=row_id(overtaking))
    text = "since 1 May 2026 production deploys from beta"
    await said(a, deploys_from(text, "beta", correction_target=target), group="chat")
    assert fates(await history(a, source_group="wiki")) == {"overtaken": 2, "corrected": 1}
    assert fates(await history(a, source_group="chat")) == {"stands": 1}


async def test_the_same_text_again_says_nothing_new_and_another_modality_is_only_observed(
    new_team: NewTeam, deploys_from: Request
) -> None:
    team = await new_team()
    a = team["A"]
    for key in ("1", "2"):
        await said(a, deploys_from("production deploys from main", "main", key=key), group="wiki")
    told = await history(a, source_group="wiki")
    assert told.fragments_total == 1
    asking = deploys_from("does production deploy from beta?", "beta")
    asking.proposal.relationships[0].modality = relationship_pb2.MODALITY_QUESTION
    await said(a, asking, group="wiki")
    assert fates(await history(a, source_group="wiki"))["observed"] == 1


@pytest.mark.parametrize(
    ("asked", "reason"),
    [
        ({}, Reason.INVALID_FIELD),
        ({"source_group": "wiki", "source_key": "page"}, Reason.INVALID_FIELD),
        ({"source_group": "x" * 257}, Reason.TOO_LARGE),
        ({"profile_id": MISSING}, Reason.RESOURCE_NOT_FOUND),
        ({"source_key": "page", "known": time_pb2.KnownSelector(revision=10_000)}, Reason.INVALID_FIELD),
        ({"source_key": "page", "min_revision": 10_000}, Reason.REVISION_NOT_REPLICATED),
    ],
)
async def test_a_history_that_cannot_be_told_is_refused(
    new_team: NewTeam, asked: dict[str, Any], reason: Reason
) -> None:
    team = await new_team()
    assert (await refused_for(history(team["A"], **asked)))[0] is reason


async def test_answers_say_which_view_they_show(new_team: NewTeam, deploys_from: Request) -> None:
    team = await new_team()
    main = await said(team["A"], deploys_from("production deploys from main", "main"))
    request = recall_service_pb2.GetRelationshipRequest(relationship_id=row_id(main), min_revision=main.revision)
    answer = await team["A"].recall.GetRelationship(request)
    assert answer.revision >= main.revision
    assert instant_of(answer.known_at) <= instant_of(answer.valid_at)
    request.temporal.revision = answer.revision
    request.temporal.valid_at.CopyFrom(answer.valid_at)
    assert await team["A"].recall.GetRelationship(request) == answer
