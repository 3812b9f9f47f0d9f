"""Events over the wire: a day of the team's zone is one event, and a denial contradicts that day alone."""

from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from typing import Any

import pytest
from corrigenda.admin.v1 import admin_service_pb2
from corrigenda.conflict.v1 import conflict_case_pb2, conflict_service_pb2
from corrigenda.ingest.v1 import ingest_service_pb2, placement_pb2
from corrigenda.type.v1 import predicate_pb2, relationship_pb2, time_pb2
from corrigenda_core.rpc.convert import timestamp_of

pytestmark = pytest.mark.database

NewTeam = Callable[..., Awaitable[Any]]
Request = Callable[..., ingest_service_pb2.RememberRequest]
Verifies = Callable[[str], Awaitable[bool]]

MORNING, NOON, NEXT_DAY = (datetime(2026, 3, *of, tzinfo=UTC) for of in ((1, 15, 30), (2, 3), (2, 15, 30)))
"""In Tokyo the first two are both 2 March, the last one is 3 March."""


@pytest.fixture
async def visits(new_team: NewTeam, deploys_from: Request) -> tuple[Any, Callable[..., Awaitable[Any]]]:
    """A team in Tokyo with the event ``visits``, and a way to say when production visited main, or that it did not."""
    team = await new_team()
    await team.admin.admin.UpdateTeamPolicy(
        admin_service_pb2.UpdateTeamPolicyRequest(idempotency_key="zone", time_zone="Asia/Tokyo")
    )
    await team.admin.admin.RegisterPredicate(
        admin_service_pb2.RegisterPredicateRequest(
            idempotency_key="visits",
            definition=predicate_pb2.PredicateDefinition(
                key="visits",
                relationship_kind=predicate_pb2.RELATIONSHIP_KIND_EVENT,
                current_cardinality=predicate_pb2.CARDINALITY_MANY,
                supersession_basis=predicate_pb2.SUPERSESSION_BASIS_STATED_TIME,
            ),
        )
    )
    notes = iter(range(100))

    async def say(who: str, at: datetime | None, *, denied: bool = False) -> placement_pb2.RelationshipPlacement:
        said = "does not visit" if denied else "visits"
        interval = time_pb2.Interval()
        if at is not None:
            interval.valid_from.CopyFrom(timestamp_of(at))
        request = deploys_from(
            f"production {said} main. Seen in note {next(notes)}.", "main", predicate="visits", validity=interval
        )
        if denied:
            request.proposal.relationships[0].polarity = relationship_pb2.POLARITY_NEGATIVE
        (placed,) = (await team[who].ingest.Remember(request)).placement.relationships
        assert placed.verdict == relationship_pb2.VERDICT_ENTAILED, placed.verdict_reason
        return placed

    return team, say


@pytest.mark.rule("R4.11")
async def test_v17_the_same_day_of_the_zone_is_one_event(
    visits: tuple[Any, Callable[..., Awaitable[Any]]], ledger_verifies: Verifies
) -> None:
    team, say = visits
    first = await say("A", MORNING)
    same = await say("A", NOON)
    other = await say("A", NEXT_DAY)
    assert (first.outcome, same.outcome, other.outcome) == (
        placement_pb2.OUTCOME_INSERTED,
        placement_pb2.OUTCOME_CORROBORATED,
        placement_pb2.OUTCOME_COEXISTS,
    )
    assert same.relationship.relationship_id == first.relationship.relationship_id
    undated = await say("A", None)
    assert undated.outcome == placement_pb2.OUTCOME_COEXISTS
    assert (await say("A", None)).relationship.relationship_id == undated.relationship.relationship_id
    assert await ledger_verifies(team.team_id)


@pytest.mark.rule("R4.11", "R7.1", "R7.2")
async def test_what_is_denied_of_one_day_says_nothing_of_another(
    visits: tuple[Any, Callable[..., Awaitable[Any]]], ledger_verifies: Verifies
) -> None:
    team, say = visits
    event = await say("A", MORNING)
    own = await say("A", NEXT_DAY, denied=True)
    assert own.outcome == placement_pb2.OUTCOME_COEXISTS
    elsewhere = await say("B", None, denied=True)
    assert not elsewhere.references
    assert elsewhere.conflict.effect == placement_pb2.CONFLICT_EFFECT_UNSPECIFIED
    confirmed = await say("C", NOON)
    assert [(r.kind, r.relationship_id) for r in confirmed.references] == [
        (relationship_pb2.REFERENCE_KIND_CONFIRMS, event.relationship.relationship_id)
    ]
    denied = await say("B", NOON, denied=True)
    assert denied.conflict.effect == placement_pb2.CONFLICT_EFFECT_OPENS_CASE
    listed = await team["A"].conflict.ListConflicts(conflict_service_pb2.ListConflictsRequest())
    (case,) = [entry.team_case for entry in listed.entries]
    assert case.kind == conflict_case_pb2.CASE_KIND_POLARITY
    assert {position.label: len(position.members) for position in case.positions} == {"+": 2, "-": 1}
    held = await say("A", MORNING, denied=True)
    assert held.outcome == placement_pb2.OUTCOME_HELD
    assert await ledger_verifies(team.team_id)


@pytest.mark.rule("R7.3")
async def test_disputes_about_two_days_are_two_cases(
    visits: tuple[Any, Callable[..., Awaitable[Any]]], ledger_verifies: Verifies
) -> None:
    team, say = visits
    opened = []
    for at in (MORNING, NEXT_DAY):
        await say("A", at)
        opened.append((await say("B", at, denied=True)).conflict)
    assert {one.effect for one in opened} == {placement_pb2.CONFLICT_EFFECT_OPENS_CASE}
    joined = (await say("C", NOON, denied=True)).conflict
    assert (joined.effect, joined.conflict_id) == (placement_pb2.CONFLICT_EFFECT_JOINS_CASE, opened[0].conflict_id)
    listed = await team["A"].conflict.ListConflicts(conflict_service_pb2.ListConflictsRequest())
    cases = {entry.team_case.conflict_id: entry.team_case for entry in listed.entries}
    assert set(cases) == {one.conflict_id for one in opened}
    first, second = (cases[one.conflict_id] for one in opened)
    assert first.question == "production visits main on the day from 2026-03-01T15:00:00Z: is it so or not?"
    assert second.question == "production visits main on the day from 2026-03-02T15:00:00Z: is it so or not?"
    assert {position.label: len(position.members) for position in first.positions} == {"+": 1, "-": 2}
    assert await ledger_verifies(team.team_id)
