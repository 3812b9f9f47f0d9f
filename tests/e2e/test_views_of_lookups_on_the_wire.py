"""Every look-up as one view of a correction between owners: the grid of both axes, and answers that never change."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import pytest
from corrigenda.admin.v1 import admin_service_pb2
from corrigenda.conflict.v1 import conflict_case_pb2, conflict_service_pb2
from corrigenda.ingest.v1 import forgetting_pb2, ingest_service_pb2, placement_pb2, submission_pb2
from corrigenda.recall.v1 import recall_service_pb2, result_pb2, source_history_pb2
from corrigenda.type.v1 import time_pb2
from corrigenda_core.rpc.convert import instant_of, timestamp_of
from google.protobuf.message import Message

pytestmark = pytest.mark.database

NewTeam = Callable[..., Awaitable[Any]]
Request = Callable[..., ingest_service_pb2.RememberRequest]

WAIT_SECONDS = 60.0


def day(month: int, of_month: int) -> datetime:
    return datetime(2026, month, of_month, 12, tzinfo=UTC)


RECORDED_A, RECORDED_B, RECORDED_C, NOW = day(1, 10), day(6, 1), day(6, 7), day(6, 20)
CUTOFF = datetime(2026, 3, 1, tzinfo=UTC)

GRID = [
    # valid_at, known_at (None: now), the values in force, whether they are disputed then
    (day(2, 15), day(5, 15), {"main"}, False),
    (day(4, 15), day(5, 15), {"main"}, False),
    (NOW, day(5, 15), {"main"}, False),
    (day(2, 15), day(6, 5), {"main"}, False),
    (day(4, 15), day(6, 5), {"main", "release"}, True),
    (NOW, day(6, 5), {"main", "release"}, True),
    (day(2, 15), None, {"main"}, False),
    (day(4, 15), None, {"release"}, False),
    (NOW, None, {"release"}, False),
]


@dataclass(frozen=True, kw_only=True)
class Story:
    """A said main, B corrected it, C bore B out, and the reviewer decided."""

    team: Any
    entity: str
    rows: dict[str, str]
    conflict: str
    first_revision: int


@pytest.fixture
async def story(new_team: NewTeam, deploys_from: Request) -> Story:
    team = await new_team(driven_from=day(1, 1))

    async def drive(time: datetime) -> None:
        request = admin_service_pb2.DriveClockRequest(idempotency_key=f"to {time}", time=timestamp_of(time))
        await team.admin.admin.DriveClock(request)

    async def say(name: str, text: str, branch: str, **more: Any) -> placement_pb2.RelationshipPlacement:
        request = deploys_from(text, branch, key=name, **more)
        request.evidence[0].source_group = f"group of {name}"
        (answer,) = (await team[name].ingest.Remember(request)).placement.relationships
        assert isinstance(answer, placement_pb2.RelationshipPlacement)
        return answer

    await drive(RECORDED_A)
    a = await say("A", "since 1 January 2026 production deploys from main", "main")
    await drive(RECORDED_B)
    b = await say("B", "since 1 March 2026 production deploys from release", "release")
    conflict_id = b.conflict.conflict_id
    await drive(RECORDED_C)
    context = submission_pb2.ConflictContext(conflict_id=conflict_id)
    text = "our release checklist confirms it: production deploys from release"
    c = await say("C", text, "release", conflict_context=context)
    await drive(NOW)
    asked = conflict_service_pb2.GetConflictRequest(conflict_id=conflict_id)
    async with asyncio.timeout(WAIT_SECONDS):
        while True:
            answer = await team["A"].conflict.GetConflict(asked)
            if answer.conflict.status == conflict_case_pb2.CASE_STATUS_RESOLVED:
                break
            await asyncio.sleep(0.05)
    rows = {name: one.relationship.relationship_id for name, one in (("A", a), ("B", b), ("C", c))}
    return Story(
        team=team,
        entity=a.relationship.subject.entity_id,
        rows=rows,
        conflict=conflict_id,
        first_revision=a.relationship.revision,
    )


def at(valid_at: datetime, known_at: datetime | None) -> time_pb2.TemporalSelector:
    selector = time_pb2.TemporalSelector(valid_at=timestamp_of(valid_at))
    if known_at is not None:
        selector.known_at.CopyFrom(timestamp_of(known_at))
    return selector


def disputed(valid_at: datetime, known_at: datetime | None, entity: str) -> Message:
    request = conflict_service_pb2.GetCompetingFactsRequest(entity_id=entity, valid_at=timestamp_of(valid_at))
    if known_at is not None:
        request.as_of.CopyFrom(timestamp_of(known_at))
    return request


@pytest.mark.promise("time.both-axes", "I16")
@pytest.mark.rule("R8.1", "R8.2", "R8.3", "R9.4", "R9.5")
async def test_invariant_16_v23_every_look_up_shows_the_same_grid(story: Story) -> None:
    """V23, also for a witness who names no date: it counts from the cutoff on."""
    client = story.team["A"]
    for valid_at, known_at, held, is_disputed in GRID:
        where = f"valid {valid_at}, known {known_at}"
        temporal = at(valid_at, known_at)
        told = await client.recall.Timeline(
            recall_service_pb2.TimelineRequest(entity_id=story.entity, temporal=temporal)
        )
        in_force = {
            one.relationship.relationship.relationship_id: one.relationship.relationship.object.entity.name
            for one in told.entries
            if one.relationship.in_force
        }
        assert set(in_force.values()) == held, where
        assert told.valid_at == timestamp_of(valid_at), where
        for entry in told.entries:
            row = entry.relationship.relationship.relationship_id
            alone = await client.recall.GetRelationship(
                recall_service_pb2.GetRelationshipRequest(relationship_id=row, temporal=temporal)
            )
            assert alone.relationship == entry.relationship, where
            is_marked = result_pb2.PATH_MARK_DISPUTED in entry.relationship.marks
            assert is_marked == (is_disputed and entry.relationship.in_force), where
        competing = await client.conflict.GetCompetingFacts(disputed(valid_at, known_at, story.entity))
        facts = [facts for slot in competing.slots for facts in slot.facts]
        assert [one.conflict_id for one in facts] == ([story.conflict] if is_disputed else []), where
        assert {side.label for one in facts for side in one.sides} == (held if is_disputed else set()), where


@pytest.mark.rule("R8.3")
async def test_a_winner_without_a_date_counts_from_the_cutoff(story: Story) -> None:
    request = recall_service_pb2.GetRelationshipRequest(relationship_id=story.rows["C"])
    shown = (await story.team["B"].recall.GetRelationship(request)).relationship
    assert not shown.relationship.validity.interval.HasField("valid_from")
    assert instant_of(shown.counted_validity.interval.valid_from) == CUTOFF
    assert shown.counted_validity.valid_from_basis == time_pb2.TIME_BASIS_EVIDENCE_TIME
    assert list(shown.marks) == [result_pb2.PATH_MARK_PREFERRED]
    assert list(shown.resolved_conflict_ids) == [story.conflict]
    # The record itself says what was recorded, when and why: the end of A's value is the reviewer's.
    told = await story.team["B"].recall.Timeline(recall_service_pb2.TimelineRequest(entity_id=story.entity))
    (main,) = [one for one in told.entries if one.relationship.relationship.relationship_id == story.rows["A"]]
    closing = main.versions[-1]
    assert (closing.conflict_id, closing.reason) == (story.conflict, "due_majority")
    assert instant_of(closing.validity.interval.valid_to) == CUTOFF
    assert instant_of(main.versions[0].recorded_from) == RECORDED_A


@pytest.mark.rule("R9.5")
async def test_who_won_and_who_lost_is_told_and_weighed_by_nothing(story: Story) -> None:
    async def history(name: str, **more: Any) -> source_history_pb2.SourceHistory:
        request = recall_service_pb2.GetSourceHistoryRequest(source_group=f"group of {name}", **more)
        answer = (await story.team["A"].recall.GetSourceHistory(request)).history
        assert isinstance(answer, source_history_pb2.SourceHistory)
        return answer

    for name, fate, won, lost in (
        ("A", source_history_pb2.FATE_OVERRULED, 0, 1),
        ("B", source_history_pb2.FATE_STANDS, 1, 0),
        ("C", source_history_pb2.FATE_STANDS, 1, 0),
    ):
        told = await history(name)
        assert [(one.fate, one.count) for one in told.fates] == [(fate, 1)]
        assert (told.won, told.lost, told.disputed) == (won, lost, 0)
    before = await history("A", known=time_pb2.KnownSelector(known_at=timestamp_of(day(6, 5))))
    assert [(one.fate, one.count) for one in before.fates] == [(source_history_pb2.FATE_STANDS, 1)]
    assert (before.won, before.lost, before.disputed) == (0, 0, 1)


@pytest.mark.promise("time.past-view", "Q2")
@pytest.mark.rule("R8.1")
async def test_v25_recorded_answers_never_change(story: Story, deploys_from: Request) -> None:
    """V25: an answer of any look-up, asked for again by its revision after more writes, is the same to the byte."""
    client = story.team["A"]
    valid_at = timestamp_of(day(4, 15))
    revision = (await client.recall.GetRelationship(of_row(story, valid_at))).revision
    asked: list[tuple[Callable[[Message], Awaitable[Message]], Message]] = []
    for known in range(revision + 1):
        temporal = time_pb2.TemporalSelector(valid_at=valid_at, revision=known)
        selector = time_pb2.KnownSelector(revision=known)
        asked += [
            (client.recall.SearchEntities, recall_service_pb2.SearchEntitiesRequest(name="rel", known=selector)),
            (
                client.recall.GetSourceHistory,
                recall_service_pb2.GetSourceHistoryRequest(source_group="group of A", known=selector),
            ),
        ]
        if known >= story.first_revision:
            asked += [
                (
                    client.recall.Timeline,
                    recall_service_pb2.TimelineRequest(entity_id=story.entity, temporal=temporal),
                ),
                (
                    client.conflict.GetCompetingFacts,
                    conflict_service_pb2.GetCompetingFactsRequest(
                        entity_id=story.entity, valid_at=valid_at, revision=known
                    ),
                ),
            ]
    before = [(await ask(request)).SerializeToString(deterministic=True) for ask, request in asked]
    # The winner's second witness goes over to a third value, A answers again, release gets a namesake, and B
    # takes back what had won.
    for name, text, branch in (
        ("C", "since 1 April 2026 production deploys from hotfix", "hotfix"),
        ("A", "since 1 February 2026 production deploys from trunk", "trunk"),
        ("B", "since 1 May 2026 production deploys from release two", "release two"),
    ):
        await story.team[name].ingest.Remember(deploys_from(text, branch))
    await story.team["B"].ingest.Forget(
        ingest_service_pb2.ForgetRequest(
            idempotency_key="never true", retract=forgetting_pb2.Retract(relationship_id=story.rows["B"])
        )
    )
    now = await client.recall.Timeline(recall_service_pb2.TimelineRequest(entity_id=story.entity))
    assert now.total > 3
    after = [(await ask(request)).SerializeToString(deterministic=True) for ask, request in asked]
    assert after == before


def of_row(story: Story, valid_at: Any) -> recall_service_pb2.GetRelationshipRequest:
    temporal = time_pb2.TemporalSelector(valid_at=valid_at)
    return recall_service_pb2.GetRelationshipRequest(relationship_id=story.rows["A"], temporal=temporal)
