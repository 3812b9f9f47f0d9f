"""Explanations of cases over the wire, now and in the past, and the pages of a case with many positions."""

import uuid
from collections.abc import Awaitable, Callable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

import grpc
import pytest
from corrigenda.admin.v1 import admin_service_pb2
from corrigenda.conflict.v1 import case_explanation_pb2, conflict_case_pb2, conflict_service_pb2
from corrigenda.ingest.v1 import ingest_service_pb2
from corrigenda.type.v1 import time_pb2
from corrigenda_core.domain.errors import Reason
from corrigenda_core.policy.limits import decide_limit
from corrigenda_core.rpc.convert import instant_of, timestamp_of
from corrigenda_core.rpc.status import refusal_of

pytestmark = pytest.mark.database

NewTeam = Callable[..., Awaitable[Any]]
Request = Callable[..., ingest_service_pb2.RememberRequest]

BEGIN = datetime(2026, 1, 1, tzinfo=UTC)
MISSING = "01900000-0000-7000-8000-000000000000"
KEEP_OPEN, OVERDUE, RESOLVE = (
    case_explanation_pb2.CASE_OUTCOME_KEEP_OPEN,
    case_explanation_pb2.CASE_OUTCOME_OVERDUE,
    case_explanation_pb2.CASE_OUTCOME_RESOLVE,
)


async def drive(team: Any, time: datetime) -> None:
    await team.admin.admin.DriveClock(
        admin_service_pb2.DriveClockRequest(idempotency_key=uuid.uuid4().hex, time=timestamp_of(time))
    )


async def explained(team: Any, conflict_id: str, **known: Any) -> conflict_service_pb2.ExplainConflictResponse:
    asked = conflict_service_pb2.ExplainConflictRequest(
        conflict_id=conflict_id, known=time_pb2.KnownSelector(**known) if known else None
    )
    answer: conflict_service_pb2.ExplainConflictResponse = await team["A"].conflict.ExplainConflict(asked)
    return answer


def witnesses(explanation: case_explanation_pb2.CaseExplanation) -> Mapping[str, int]:
    return {standing.label: standing.witnesses for standing in explanation.standings}


def missing(explanation: case_explanation_pb2.CaseExplanation, rule: str, label: str) -> set[str]:
    (position_id,) = (one.position_id for one in explanation.standings if one.label == label)
    (reading,) = (one for one in explanation.rules if (one.rule, one.position_id) == (rule, position_id))
    lacking = [condition.quantity for condition in reading.conditions if not condition.met]
    assert reading.missing_total == len(lacking)
    assert reading.met == (not lacking)
    return set(lacking)


def one_more(explanation: case_explanation_pb2.CaseExplanation, label: str) -> case_explanation_pb2.OneMoreWitness:
    (position_id,) = (one.position_id for one in explanation.standings if one.label == label)
    (found,) = (one for one in explanation.one_more_witness if one.position_id == position_id)
    return found


@pytest.mark.promise("case.explained")
@pytest.mark.rule("R7.20")
async def test_an_explanation_says_what_is_missing_and_what_would_change_it(
    new_team: NewTeam, deploys_from: Request
) -> None:
    team = await new_team(driven_from=BEGIN)
    await team["A"].ingest.Remember(deploys_from("production deploys from main", "main"))
    opened = await team["B"].ingest.Remember(deploys_from("production deploys from release", "release"))
    conflict_id = opened.placement.relationships[0].conflict.conflict_id

    first = await explained(team, conflict_id)
    assert first.conflict.conflict_id == conflict_id
    explanation = first.explanation
    assert explanation.basis == case_explanation_pb2.EXPLANATION_BASIS_AS_KNOWN
    assert (explanation.decision.outcome, explanation.decision.reason) == (KEEP_OPEN, "before_deadline")
    assert (explanation.at_deadline.outcome, explanation.at_deadline.reason) == (OVERDUE, "no_qualifying_position")
    assert witnesses(explanation) == {"main": 1, "release": 1}
    assert [condition.met for condition in explanation.disagreement] == [True, True]
    assert missing(explanation, "due_majority", "main") == {"now", "witnesses", "twice_witnesses"}
    more = one_more(explanation, "main")
    assert (more.changes_now, more.changes_at_deadline) == (False, True)
    assert (more.at_deadline.outcome, more.at_deadline.winner_label) == (RESOLVE, "main")
    assert more.at_deadline.losers_total == 1

    await team["C"].ingest.Remember(
        deploys_from("our checklist confirms it: production deploys from release", "release")
    )
    second = await explained(team, conflict_id)
    assert witnesses(second.explanation) == {"main": 1, "release": 2}
    assert second.explanation.at_deadline.winner_label == "release"
    again = await explained(team, conflict_id, revision=first.revision)
    assert again.explanation.decision == explanation.decision
    assert again.explanation.rules == explanation.rules
    assert again.conflict.version == first.conflict.version
    assert again.revision == first.revision

    # The view just before the deadline sees the same evidence as the one at it, and decides otherwise.
    deadline = instant_of(second.conflict.review_due_at)
    await drive(team, deadline)
    closed = await closed_case(team, conflict_id)
    past = await explained(team, conflict_id, known_at=timestamp_of(deadline - timedelta(microseconds=1)))
    assert past.explanation.decision.outcome == KEEP_OPEN
    assert past.explanation.evaluated_at == timestamp_of(deadline - timedelta(microseconds=1))
    assert witnesses(past.explanation) == {"main": 1, "release": 2}
    assert closed.explanation.basis == case_explanation_pb2.EXPLANATION_BASIS_CLOSING_LOOK
    decision = closed.explanation.decision
    assert (decision.reason, decision.winner_label) == ("due_majority", "release")
    assert decision.winner_position_id == closed.conflict.preferred_position_id
    assert decision.effective_at == closed.conflict.effective_at
    assert decision.effective_time_basis == closed.conflict.effective_time_basis
    assert missing(closed.explanation, "due_majority", "release") == set()


async def closed_case(team: Any, conflict_id: str) -> conflict_service_pb2.ExplainConflictResponse:
    """Lets the reviewer look, and explains what it did."""
    await team.admin.conflict.ReviewNow(
        conflict_service_pb2.ReviewNowRequest(idempotency_key=uuid.uuid4().hex, wait_seconds=60)
    )
    answer = await explained(team, conflict_id)
    assert answer.conflict.status == conflict_case_pb2.CASE_STATUS_RESOLVED
    return answer


async def test_pages_of_a_case_hold_what_it_leaves_out(new_team: NewTeam, deploys_from: Request) -> None:
    """More positions than a case shows come on pages, and every event after them, each once."""
    names = [f"P{number:02}" for number in range(13)]
    team = await new_team(driven_from=BEGIN, profiles=names)
    greatest = decide_limit("positions_shown").greatest
    for number, name in enumerate(names, start=1):
        placed = await team[name].ingest.Remember(deploys_from(f"production deploys from {name.lower()}", name.lower()))
        conflict_id = placed.placement.relationships[0].conflict.conflict_id
        if number in (greatest, greatest + 1):
            request = conflict_service_pb2.GetConflictRequest(conflict_id=conflict_id)
            shown = (await team[name].conflict.GetConflict(request)).conflict
            assert (len(shown.positions), shown.positions_truncated) == (greatest, number > greatest)
    seen: list[str] = []
    events: list[conflict_case_pb2.CaseAction.ValueType] = []
    token, pages = "", 0
    while pages == 0 or token:
        answer = await team["P00"].conflict.GetConflict(
            conflict_service_pb2.GetConflictRequest(conflict_id=conflict_id, page_size=2, page_token=token)
        )
        assert (answer.conflict.positions_total, answer.conflict.positions_truncated) == (len(names), True)
        assert len(answer.further_positions) + len(answer.further_members) + len(answer.events) <= 2
        if pages == 0:
            seen += [position.label for position in answer.conflict.positions]
        seen += [position.label for position in answer.further_positions]
        events += [event.action for event in answer.events]
        token, pages = answer.next_page_token, pages + 1
    assert seen == [name.lower() for name in names]
    assert len(events) == answer.events_total == len(names) - 1
    asked = conflict_service_pb2.ExplainConflictRequest(conflict_id=conflict_id)
    explanation = (await team["P00"].conflict.ExplainConflict(asked)).explanation
    assert [one.label for one in explanation.standings] == seen[:10]
    assert (explanation.standings_total, explanation.standings_truncated) == (len(names), True)
    assert {one.position_id for one in explanation.rules} == {one.position_id for one in explanation.standings}
    assert explanation.witnesses_total == len(names)


async def test_what_is_not_there_or_lies_in_the_future_is_refused(new_team: NewTeam) -> None:
    team = await new_team()
    with pytest.raises(grpc.aio.AioRpcError) as unknown:
        await explained(team, MISSING)
    refusal = refusal_of(unknown.value)
    assert refusal is not None
    assert (refusal.reason, refusal.field) == (Reason.RESOURCE_NOT_FOUND, "conflict_id")
    with pytest.raises(grpc.aio.AioRpcError) as future:
        await explained(team, MISSING, revision=1_000_000)
    refusal = refusal_of(future.value)
    assert refusal is not None
    assert (refusal.reason, refusal.field) == (Reason.INVALID_FIELD, "known.revision")
