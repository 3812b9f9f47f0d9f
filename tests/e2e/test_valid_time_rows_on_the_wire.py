"""Rows of the valid-time table that no story of recalled values tells, by their numbers, on the running services.

V1 to V6, V9 to V11 and V13 are such stories; V12, V14, V17, V19, V23 and V25 stand with undoing, forgetting, events,
witnesses and look-ups.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from typing import Any

import httpx2
import pytest
from corrigenda.admin.v1 import admin_service_pb2
from corrigenda.conflict.v1 import conflict_case_pb2, conflict_service_pb2, review_item_pb2
from corrigenda.ingest.v1 import ingest_service_pb2, placement_pb2
from corrigenda.recall.v1 import recall_service_pb2
from corrigenda.type.v1 import object_pb2, predicate_pb2, relationship_pb2, time_pb2
from corrigenda_cli.stack import Stack
from corrigenda_core.domain.errors import Reason
from corrigenda_core.rpc.convert import timestamp_of
from corrigenda_core.testing.wire_decisions import (
    items_of,
    placed_row,
    placement,
    recalled,
    refused,
    set_same_moment,
    status_of,
    traced,
    value_of,
)
from corrigenda_core.testing.wire_submissions import ids_in, random_submission, shown_placements
from google.protobuf.timestamp_pb2 import Timestamp
from mcp.client.client import Client as McpClient
from mcp.client.streamable_http import streamable_http_client

pytestmark = pytest.mark.database

NewTeam = Callable[..., Awaitable[Any]]
Request = Callable[..., ingest_service_pb2.RememberRequest]

MAIN, RELEASE = "production deploys from main", "the log: production deploys from release"
STATED = predicate_pb2.SUPERSESSION_BASIS_STATED_TIME
HOLD, COMPETE = predicate_pb2.SAME_MOMENT_POLICY_HOLD, predicate_pb2.SAME_MOMENT_POLICY_COMPETE


def day(of_month: int, month: int = 1) -> datetime:
    return datetime(2026, month, of_month, tzinfo=UTC)


def between(start: datetime | None, end: datetime | None = None) -> time_pb2.Interval:
    interval = time_pb2.Interval()
    if start is not None:
        interval.valid_from.CopyFrom(timestamp_of(start))
    if end is not None:
        interval.valid_to.CopyFrom(timestamp_of(end))
    return interval


async def register(team: Any, key: str, **more: Any) -> None:
    definition = predicate_pb2.PredicateDefinition(
        key=key,
        **{
            "relationship_kind": predicate_pb2.RELATIONSHIP_KIND_STATE,
            "current_cardinality": predicate_pb2.CARDINALITY_ONE,
            "supersession_basis": STATED,
            **more,
        },
    )
    await team.admin.admin.RegisterPredicate(
        admin_service_pb2.RegisterPredicateRequest(idempotency_key=key, definition=definition)
    )


@pytest.mark.rule("R4.9")
async def test_v7_a_known_start_is_later_than_what_was_seen_before_it(new_team: NewTeam, deploys_from: Request) -> None:
    a = (await new_team(profiles=("A",)))["A"]
    seen = deploys_from(MAIN, "main")
    seen.evidence[0].occurred_at.FromDatetime(day(1))
    main = await placed_row(a, seen)
    later = await placement(a, deploys_from("since 1 March 2026 production deploys from release", "release"))
    assert later.outcome == placement_pb2.OUTCOME_SUPERSEDED
    ended = (await traced(a, main)).relationship
    assert (status_of(ended), ended.validity.interval) == (
        "superseded",
        time_pb2.Interval(valid_to=timestamp_of(day(1, 3))),
    )


@pytest.mark.rule("R4.10", "R10.1")
@pytest.mark.parametrize(
    ("policy", "outcome", "statuses", "shown"),
    [
        (HOLD, placement_pb2.OUTCOME_HELD, ["active", "needs_review"], {"main"}),
        (COMPETE, placement_pb2.OUTCOME_COMPETING, ["competing", "competing"], {"main", "release"}),
    ],
)
async def test_v8_two_without_any_time_are_held_or_compete_and_preflight_says_so(
    new_team: NewTeam, deploys_from: Request, policy: Any, outcome: Any, statuses: list[str], shown: set[str]
) -> None:
    team = await new_team(profiles=("A",))
    if policy == COMPETE:
        await set_same_moment(team, policy)
    a = team["A"]
    main, request = await placed_row(a, deploys_from(MAIN, "main")), deploys_from(RELEASE, "release")
    foreseen = await a.ingest.PreflightRemember(preflight_of(request))
    done = await placement(a, request)
    assert (foreseen.placement.relationships[0].outcome, done.outcome) == (outcome, outcome)
    rows = [(await traced(a, row)).relationship for row in (main, done.relationship)]
    assert [status_of(row) for row in rows] == statuses
    assert await recalled(a) == shown


@pytest.mark.rule("R4.10", "R6.4")
async def test_v15_the_same_source_again_corroborates_and_counts_no_more(
    new_team: NewTeam, deploys_from: Request
) -> None:
    """What a position counts is shown by the case that another owner opens against it."""
    team = await new_team()
    rows = []
    for text in (MAIN, "our checklist confirms: production deploys from main"):
        request = deploys_from(text, "main")
        request.evidence[0].source_group = "build log"
        rows.append(await placement(team["A"], request))
    assert rows[1].outcome == placement_pb2.OUTCOME_CORROBORATED
    assert rows[1].relationship.relationship_id == rows[0].relationship.relationship_id
    other = await placement(team["B"], deploys_from(RELEASE, "release"))
    asked = conflict_service_pb2.GetConflictRequest(conflict_id=other.conflict.conflict_id)
    case = (await team["B"].conflict.GetConflict(team["B"].own_writes(asked))).conflict
    assert {one.label: one.counted_groups for one in case.positions} == {"main": 1, "release": 1}


@pytest.mark.rule("R3.10")
@pytest.mark.parametrize(
    ("first", "second"),
    [
        (object_pb2.Value(type=1, text="Release "), object_pb2.Value(type=1, text="release")),
        (object_pb2.Value(type=2, text="10", unit="ms"), object_pb2.Value(type=2, text="0.01", unit="s")),
        (object_pb2.Value(type=4, text="1 March 2026"), object_pb2.Value(type=4, text="2026-03-01")),
    ],
    ids=lambda value: value.text,
)
async def test_v16_values_written_differently_are_one_value(
    new_team: NewTeam, deploys_from: Request, first: object_pb2.Value, second: object_pb2.Value
) -> None:
    team = await new_team(profiles=("A",))
    await register(team, "has_standing", value_types=[first.type])
    placed = []
    for number, value in enumerate((first, second)):
        words = f"{value.text.strip()} {value.unit}".strip()
        text = f"production has standing {words}. Seen in note {number}."
        request = deploys_from(text, "main", predicate="has_standing", validity=between(day(1)))
        del request.proposal.entities[1]
        request.proposal.relationships[0].object_value.CopyFrom(value)
        placed.append(await placement(team["A"], request))
    assert placed[1].outcome == placement_pb2.OUTCOME_CORROBORATED
    assert placed[1].relationship.relationship_id == placed[0].relationship.relationship_id


@pytest.mark.rule("R4.11", "R7.1")
async def test_v18_a_denial_is_ones_own_question_or_the_teams_case(new_team: NewTeam, deploys_from: Request) -> None:
    team = await new_team()
    await register(team, "uses", current_cardinality=predicate_pb2.CARDINALITY_MANY)
    denial = "production does not use main"
    await placed_row(team["A"], deploys_from("production uses main", "main", predicate="uses"))
    placed = {}
    for name in ("A", "B"):
        request = deploys_from(f"{denial}. Says {name}.", "main", predicate="uses")
        request.proposal.relationships[0].polarity = relationship_pb2.POLARITY_NEGATIVE
        placed[name] = await placement(team[name], request)
    assert placed["A"].outcome == placement_pb2.OUTCOME_HELD
    (item,) = await items_of(team["A"])
    assert item.kind == review_item_pb2.ITEM_KIND_RELATIONSHIP
    assert placed["B"].conflict.effect == placement_pb2.CONFLICT_EFFECT_OPENS_CASE
    listed = await team["B"].conflict.ListConflicts(
        team["B"].own_writes(conflict_service_pb2.ListConflictsRequest(entry_kinds=[1]))
    )
    assert [one.team_case.kind for one in listed.entries] == [conflict_case_pb2.CASE_KIND_POLARITY]


ALLEN = {
    "before": (1, 2), "meets": (1, 5), "overlaps": (1, 6), "finished by": (1, 8), "contains": (1, 9),
    "starts": (5, 6), "equals": (5, 8), "started by": (5, 9), "during": (6, 7), "finishes": (6, 8),
    "overlapped by": (6, 9), "met by": (8, 9), "after": (9, 10),
}  # fmt: skip
"""An interval in each relation to the one from the 5th to the 8th."""


@pytest.mark.rule("R4.5", "R7.1")
async def test_v20_two_owners_disagree_exactly_where_their_intervals_overlap(
    new_team: NewTeam, deploys_from: Request
) -> None:
    team = await new_team(driven_from=datetime(2025, 12, 1, tzinfo=UTC))
    await register(team, "has_standing")
    opened = {}
    for name, value in (("A", "main"), ("B", "release")):
        together = ingest_service_pb2.RememberRequest(idempotency_key=name)
        for number, (relation, (start, end)) in enumerate(ALLEN.items()):
            begin, until = (day(5), day(8)) if name == "A" else (day(start), day(end))
            one = deploys_from(
                f"service {relation} has standing {value}",
                value,
                predicate="has_standing",
                validity=between(begin, until),
            )
            one.proposal.entities[0].ref = one.proposal.entities[0].name = f"service {relation}"
            one.proposal.entities[1].ref = f"value {number}"
            said = one.proposal.relationships[0]
            said.proposal_id, said.subject_ref, said.object_ref = relation, f"service {relation}", f"value {number}"
            said.evidence[0].evidence_index = number
            together.MergeFrom(one)
        together.idempotency_key = name
        answered = (await team[name].ingest.Remember(together)).placement.relationships
        opened = {one.proposal_id: one.conflict.effect for one in answered}
    apart = {relation for relation, effect in opened.items() if effect == placement_pb2.CONFLICT_EFFECT_UNSPECIFIED}
    assert apart == {"before", "meets", "met by", "after"}


@pytest.mark.rule("R4.5")
@pytest.mark.parametrize(
    ("interval", "field"),
    [
        pytest.param(between(day(2), day(2)), "valid_to", id="empty"),
        pytest.param(between(day(2), day(1)), "valid_to", id="inverted"),
        pytest.param(time_pb2.Interval(valid_from=Timestamp(seconds=-62_135_596_801)), "valid_from", id="year 0"),
        pytest.param(time_pb2.Interval(valid_to=Timestamp(seconds=253_402_300_800)), "valid_to", id="year 10000"),
    ],
)
async def test_v21_impossible_times_are_refused_by_field_and_nothing_is_stored(
    new_team: NewTeam, deploys_from: Request, interval: time_pb2.Interval, field: str
) -> None:
    a = (await new_team(profiles=("A",)))["A"]
    first = await a.ingest.Remember(deploys_from("staging deploys from main", "main"))
    refusal = await refused(a.ingest.Remember(deploys_from(MAIN, "main", validity=interval)))
    assert refusal.reason is Reason.INVALID_FIELD
    assert refusal.field == f"proposal.relationships[0].validity.{field}"
    found = await a.recall.ListPredicates(recall_service_pb2.ListPredicatesRequest())
    assert found.revision == first.revision


@pytest.mark.rule("R4.5")
@pytest.mark.parametrize("written", ["2026-03-01T00:00:00", "2026-02-30T00:00:00Z"])
async def test_v21_a_naive_time_and_a_day_that_is_not_are_refused_from_an_agent(
    stack: Stack, new_team: NewTeam, written: str
) -> None:
    """A message has no room for them; an agent writes JSON, which has."""
    team = await new_team(profiles=("A",))
    said = {
        "idempotency_key": "the key",
        "evidence": [{"content": MAIN, "source_type": "conversation"}],
        "proposal": {
            "entities": [
                {"ref": "env", "name": "production", "entity_kind": "environment"},
                {"ref": "branch", "name": "main", "entity_kind": "git_branch"},
            ],
            "relationships": [
                {
                    "proposal_id": "p1",
                    "subject_ref": "env",
                    "predicate": "deploys_from",
                    "object_ref": "branch",
                    "polarity": "+",
                    "modality": "statement",
                    "validity": {"valid_from": written},
                    "evidence": [{"quote": MAIN}],
                }
            ],
        },
    }
    async with (
        httpx2.AsyncClient(headers={"authorization": f"Bearer {team.keys['A']}"}, timeout=30) as http,
        McpClient(streamable_http_client(f"http://{stack.address('gateway')}/mcp", http_client=http)) as agent,
    ):
        error = (await agent.call_tool("remember", said)).structured_content["error"]
    assert (error["reason"], error["field"]) == ("INVALID_FIELD", "proposal.relationships[0].validity.valid_from")


@pytest.mark.rule("R4.8", "R8.1")
async def test_v22_writers_at_once_leave_what_any_order_would(new_team: NewTeam, deploys_from: Request) -> None:
    team = await new_team(profiles=("A", "B"))
    await register(team, "has_standing")
    values = [f"value {number}" for number in range(8)]

    def said(number: int) -> ingest_service_pb2.RememberRequest:
        return deploys_from(
            f"production has standing {values[number]}",
            values[number],
            predicate="has_standing",
            validity=between(day(1, number + 1)),
        )

    at_once = await asyncio.gather(*(placed_row(team["A"], said(number)) for number in range(8)))
    in_turn = [await placed_row(team["B"], said(number)) for number in random.Random(22).sample(range(8), 8)]
    asked = recall_service_pb2.TimelineRequest(entity_id=at_once[0].subject.entity_id)
    told = await team["B"].recall.Timeline(team["B"].own_writes(asked))
    rows = [entry.relationship.relationship for entry in told.entries]
    expected = [
        (value, "active" if number == 7 else "superseded", between(day(1, number + 1), day(1, number + 2)))
        for number, value in enumerate(values)
    ]
    expected[-1][2].ClearField("valid_to")
    for owner in (at_once[0].owner, in_turn[0].owner):
        own = [(value_of(row), status_of(row), row.validity.interval) for row in rows if row.owner == owner]
        assert sorted(own, key=lambda one: one[0]) == expected, owner.name


def preflight_of(request: ingest_service_pb2.RememberRequest) -> ingest_service_pb2.PreflightRememberRequest:
    return ingest_service_pb2.PreflightRememberRequest(evidence=request.evidence, proposal=request.proposal)


@pytest.mark.rule("R10.2")
async def test_v24_remember_does_what_preflight_said_of_random_statements(new_team: NewTeam) -> None:
    """Of one owner in a team whose clock stands still: also every moment is the foreseen one."""
    team = await new_team(driven_from=day(1, 6), profiles=("A",))
    await register(team, "uses", current_cardinality=predicate_pb2.CARDINALITY_MANY)
    await register(team, "owned_by", same_moment_policy=COMPETE)
    a, chance, existing = team["A"].ingest, random.Random(24), set[str]()
    for _ in range(12):
        request = random_submission(chance)
        foreseen = (await a.PreflightRemember(preflight_of(request))).placement
        done = (await a.Remember(request)).placement
        assert shown_placements([foreseen], existing) == shown_placements([done], existing), request
        existing |= ids_in(done)
