"""Timelines over the wire: what an entity's slots ever held, in the world and in the record, page by page."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from typing import Any

import pytest
from corrigenda.admin.v1 import admin_service_pb2
from corrigenda.ingest.v1 import ingest_service_pb2, placement_pb2, submission_pb2
from corrigenda.recall.v1 import recall_service_pb2, result_pb2, timeline_pb2
from corrigenda.type.v1 import predicate_pb2, relationship_pb2, time_pb2
from corrigenda_core.domain.errors import Reason
from corrigenda_core.rpc.convert import instant_of, timestamp_of
from corrigenda_core.testing.wire_decisions import refused_for

pytestmark = pytest.mark.database

NewTeam = Callable[..., Awaitable[Any]]
Request = Callable[..., ingest_service_pb2.RememberRequest]

MISSING = "01900000-0000-7000-8000-000000000000"


def day(month: int, of_month: int = 1, year: int = 2026) -> datetime:
    return datetime(year, month, of_month, tzinfo=UTC)


def at(valid_at: datetime | None = None, *, revision: int | None = None) -> time_pb2.TemporalSelector:
    selector = time_pb2.TemporalSelector()
    if valid_at is not None:
        selector.valid_at.CopyFrom(timestamp_of(valid_at))
    if revision is not None:
        selector.revision = revision
    return selector


async def said(client: Any, request: ingest_service_pb2.RememberRequest) -> placement_pb2.Placement:
    placement = (await client.ingest.Remember(request)).placement
    assert isinstance(placement, placement_pb2.Placement)
    (answer,) = placement.relationships
    assert answer.verdict == relationship_pb2.VERDICT_ENTAILED, answer.verdict_reason
    return placement


def subject_of(placement: placement_pb2.Placement) -> str:
    return placement.relationships[0].relationship.subject.entity_id


async def timeline(client: Any, entity_id: str, **more: Any) -> recall_service_pb2.TimelineResponse:
    answer = await client.recall.Timeline(recall_service_pb2.TimelineRequest(entity_id=entity_id, **more))
    assert isinstance(answer, recall_service_pb2.TimelineResponse)
    return answer


def told(answer: recall_service_pb2.TimelineResponse) -> list[str]:
    """The entries as ``value start..end status``, with a star where one is in force."""
    return [
        f"{one.relationship.relationship.object.entity.name} {ends(one.relationship.relationship.validity)} "
        f"{word(one.relationship.relationship.status)}{'*' if one.relationship.in_force else ''}"
        for one in answer.entries
    ]


def word(status: relationship_pb2.RelationshipStatus) -> str:
    return relationship_pb2.RelationshipStatus.Name(status).removeprefix("RELATIONSHIP_STATUS_").lower()


def ends(validity: time_pb2.Validity) -> str:
    if validity.WhichOneof("extent") == "closed_to_nothing":
        return "nothing"
    interval = validity.interval
    return "..".join(
        f"{instant_of(getattr(interval, name)):%-d %b}" if interval.HasField(name) else ""
        for name in ("valid_from", "valid_to")
    )


@pytest.mark.rule("R9.4", "R4.7")
async def test_v3_every_value_is_listed_and_one_is_in_force_at_each_instant(
    new_team: NewTeam, deploys_from: Request
) -> None:
    """V3, and V2 for what begins in the future: three touching intervals, no gap and no double."""
    team = await new_team()
    a = team["A"]
    for text, branch in (
        ("since 1 March 2026 production deploys from release", "release"),
        ("since 1 January 2026 production deploys from main", "main"),
        ("since 1 December 2090 production deploys from next", "next"),
    ):
        placed = await said(a, deploys_from(text, branch))
    entity = subject_of(placed)
    answer = await timeline(a, entity)
    assert (answer.entity.name, answer.total) == ("production", 3)
    assert told(answer) == [
        "main 1 Jan..1 Mar superseded",
        "release 1 Mar..1 Dec superseded*",
        "next 1 Dec.. active",
    ]
    for instant, held in (
        (day(12, 31, 2025), None),
        (day(2), "main"),
        (day(3), "release"),
        (day(12, 1, 2090), "next"),
    ):
        seen = await timeline(a, entity, temporal=at(instant))
        assert [
            one.relationship.relationship.object.entity.name for one in seen.entries if one.relationship.in_force
        ] == ([held] if held else []), instant


@pytest.mark.rule("R9.4", "R8.2")
async def test_every_entry_tells_what_was_known_of_it_and_when(new_team: NewTeam, deploys_from: Request) -> None:
    team = await new_team()
    a = team["A"]
    main = await said(a, deploys_from("since 1 January 2026 production deploys from main", "main"))
    entity, known = subject_of(main), main.revision
    await said(a, deploys_from("since 1 March 2026 production deploys from release", "release"))
    wrong = await said(a, deploys_from("since 1 May 2026 production deploys from trunk", "trunk"))
    target = submission_pb2.CorrectionTarget(relationship_id=wrong.relationships[0].relationship.relationship_id)
    text = "since 1 May 2026 production deploys from beta"
    right = await said(a, deploys_from(text, "beta", correction_target=target))
    answer = await timeline(a, entity)
    assert told(answer) == [
        "main 1 Jan..1 Mar superseded",
        "release 1 Mar..1 May superseded",
        "trunk nothing superseded",
        "beta 1 May.. active*",
    ]
    first = answer.entries[0]
    assert [(one.version, ends(one.validity), word(one.status)) for one in first.versions] == [
        (1, "1 Jan..", "active"),
        (2, "1 Jan..1 Mar", "superseded"),
    ]
    assert first.versions[0].recorded_to == first.versions[1].recorded_from
    assert not first.versions[1].HasField("recorded_to")
    assert [one.actor.profile.name for one in first.versions] == ["A", "A"]
    corrected = answer.entries[2].versions[-1]
    assert (corrected.revision, bool(corrected.decision_id)) == (right.revision, True)
    # What was known before has one version, and knows nothing of its end.
    past = await timeline(a, entity, temporal=at(revision=known))
    assert told(past) == ["main 1 Jan.. active*"]
    (version,) = past.entries[0].versions
    assert (version.version, version.HasField("recorded_to"), past.revision) == (1, False, known)


@pytest.mark.promise("time.pages")
@pytest.mark.rule("R9.4", "R8.1")
async def test_pages_of_a_timeline_show_one_view(new_team: NewTeam, deploys_from: Request) -> None:
    team = await new_team()
    a = team["A"]
    for month in ("January", "March", "May"):
        text = f"since 1 {month} 2026 production deploys from {month.lower()}"
        placed = await said(a, deploys_from(text, month.lower()))
    request = recall_service_pb2.TimelineRequest(entity_id=subject_of(placed), page_size=2)
    whole = await timeline(a, subject_of(placed))
    first = await a.recall.Timeline(request)
    assert (len(first.entries), first.total) == (2, 3)
    await said(a, deploys_from("since 1 February 2026 production deploys from february", "february"))
    request.page_token = first.next_page_token
    second = await a.recall.Timeline(request)
    assert (second.next_page_token, second.revision, second.valid_at) == ("", first.revision, first.valid_at)
    assert [*first.entries, *second.entries] == list(whole.entries)
    assert (await timeline(a, subject_of(placed))).total == 4
    request.predicate = "deploys_from"
    assert await refused_for(a.recall.Timeline(request)) == (Reason.PAGE_TOKEN_MISMATCH, "page_token")


async def test_a_timeline_can_be_narrowed_to_a_slot_and_widened_to_what_points_at_it(
    new_team: NewTeam, deploys_from: Request
) -> None:
    team = await new_team()
    await team.admin.admin.RegisterPredicate(
        admin_service_pb2.RegisterPredicateRequest(
            idempotency_key="uses",
            definition=predicate_pb2.PredicateDefinition(
                key="uses",
                relationship_kind=predicate_pb2.RELATIONSHIP_KIND_EVENT,
                current_cardinality=predicate_pb2.CARDINALITY_MANY,
            ),
        )
    )
    a = team["A"]
    placed = await said(a, deploys_from("production deploys from main", "main"))
    await said(a, deploys_from("production deploys from release in the EU", "release", scope="EU"))
    await said(a, deploys_from("production uses main", "main", predicate="uses"))
    entity = subject_of(placed)
    everything = await timeline(a, entity)
    assert everything.total == 3
    assert [one.relationship.event for one in everything.entries] == [False, False, True]
    assert told(await timeline(a, entity, predicate="Deploys From")) == ["main .. active*", "release .. active*"]
    assert told(await timeline(a, entity, predicate="deploys_from", scope="eu ")) == ["release .. active*"]
    assert told(await timeline(a, entity, predicate="deploys_from", scope="")) == ["main .. active*"]
    branch = everything.entries[0].relationship.relationship.object.entity.entity_id
    assert (await timeline(a, branch)).total == 0
    assert (await timeline(a, branch, as_object=True)).total == 2


@pytest.mark.rule("R9.2")
async def test_values_of_other_owners_stand_beside_each_other_and_are_marked(
    new_team: NewTeam, deploys_from: Request
) -> None:
    team = await new_team()
    placed = await said(team["A"], deploys_from("production deploys from main", "main"))
    await said(team["B"], deploys_from("since 1 March 2026 production deploys from release", "release"))
    answer = await timeline(team["C"], subject_of(placed))
    assert told(answer) == ["main .. active*", "release 1 Mar.. active*"]
    assert [list(one.relationship.marks) for one in answer.entries] == [[result_pb2.PATH_MARK_DISPUTED]] * 2
    before = await timeline(team["C"], subject_of(placed), temporal=at(day(2)))
    assert [list(one.relationship.marks) for one in before.entries] == [[], []]


async def test_a_timeline_that_cannot_be_told_is_refused(new_team: NewTeam, deploys_from: Request) -> None:
    team = await new_team()
    a = team["A"]
    placed = await said(a, deploys_from("production deploys from main", "main"))
    entity = subject_of(placed)
    assert await refused_for(timeline(a, MISSING)) == (Reason.RESOURCE_NOT_FOUND, "entity_id")
    before = at(revision=placed.revision - 1)
    assert await refused_for(timeline(a, entity, temporal=before)) == (Reason.RESOURCE_NOT_FOUND, "entity_id")
    future = time_pb2.TemporalSelector(known_at=timestamp_of(day(1, year=2100)))
    assert await refused_for(timeline(a, entity, temporal=future)) == (Reason.INVALID_FIELD, "temporal.known_at")
    assert (await refused_for(timeline(a, entity, min_revision=10_000)))[0] is Reason.REVISION_NOT_REPLICATED
    assert await refused_for(timeline(a, entity, predicate="x" * 65)) == (Reason.TOO_LARGE, "predicate")


async def test_a_row_with_many_versions_shows_the_latest(new_team: NewTeam, deploys_from: Request) -> None:
    team = await new_team()
    a = team["A"]
    placed = await said(a, deploys_from("since 1 January 2026 production deploys from main", "main"))
    for of_month in range(28, 6, -1):
        branch = f"b{of_month}"
        await said(a, deploys_from(f"since {of_month} June 2026 production deploys from {branch}", branch))
    (entry,) = [
        one
        for one in (await timeline(a, subject_of(placed), page_size=1)).entries
        if isinstance(one, timeline_pb2.TimelineEntry)
    ]
    assert (entry.versions_total, entry.versions_truncated) == (23, True)
    assert [one.version for one in entry.versions] == list(range(4, 24))
