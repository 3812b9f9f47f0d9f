"""The stream of what happens to conflicts and questions: whole commits, taken up anywhere, followed, never twice."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import grpc
import pytest
from corrigenda.admin.v1 import admin_service_pb2
from corrigenda.conflict.v1 import conflict_case_pb2, conflict_change_pb2, conflict_service_pb2, review_item_pb2
from corrigenda.ingest.v1 import ingest_service_pb2
from corrigenda_core.domain.errors import Reason
from corrigenda_core.rpc.convert import timestamp_of
from corrigenda_core.rpc.status import refusal_of
from corrigenda_core.testing.wire_decisions import placed_row, retracting

pytestmark = pytest.mark.database

NewTeam = Callable[..., Awaitable[Any]]
Request = Callable[..., ingest_service_pb2.RememberRequest]
BEGIN = datetime(2026, 1, 1, tzinfo=UTC)
WAIT_SECONDS = 60.0
OPENED, JOINED, REFRESHED, OVERDUE, RESOLVED, DISMISSED = (
    conflict_case_pb2.CASE_ACTION_OPENED,
    conflict_case_pb2.CASE_ACTION_JOINED,
    conflict_case_pb2.CASE_ACTION_REFRESHED,
    conflict_case_pb2.CASE_ACTION_MARKED_OVERDUE,
    conflict_case_pb2.CASE_ACTION_RESOLVED,
    conflict_case_pb2.CASE_ACTION_DISMISSED,
)


async def told(client: Any, **asked: Any) -> list[conflict_change_pb2.ConflictChange]:
    """Everything that has happened by now."""
    request = conflict_service_pb2.WatchConflictsRequest(until_now=True, **asked)
    return [change async for message in client.conflict.WatchConflicts(request) for change in message.changes]


def actions(changes: list[conflict_change_pb2.ConflictChange]) -> list[int]:
    return [one.case_change.event.action for one in changes if one.HasField("case_change")]


@pytest.fixture
async def watched(new_team: NewTeam, deploys_from: Request) -> tuple[Any, str]:
    """A team with a case that was opened, joined and resolved, and a question to C."""
    team = await new_team(driven_from=BEGIN)
    await team["A"].ingest.Remember(deploys_from("production deploys from main", "main"))
    await team["B"].ingest.Remember(deploys_from("production deploys from release", "release"))
    said = await team["C"].ingest.Remember(
        deploys_from("our checklist confirms it: production deploys from release", "release")
    )
    conflict_id = said.placement.relationships[0].conflict.conflict_id
    await team["C"].ingest.Remember(deploys_from("or is it so that production deploys from beta", "beta"))
    await reviewed(team, BEGIN + timedelta(days=8))
    return team, conflict_id


async def reviewed(team: Any, time: datetime) -> None:
    """Drives the team's clock and lets the reviewer look at every live case."""
    await team.admin.admin.DriveClock(
        admin_service_pb2.DriveClockRequest(idempotency_key=uuid.uuid4().hex, time=timestamp_of(time))
    )
    await team.admin.conflict.ReviewNow(
        conflict_service_pb2.ReviewNowRequest(idempotency_key=uuid.uuid4().hex, wait_seconds=60)
    )


async def test_the_stream_tells_every_event_and_the_callers_own_questions(watched: tuple[Any, str]) -> None:
    team, conflict_id = watched
    seen = await team["A"].conflict.GetConflict(
        conflict_service_pb2.GetConflictRequest(conflict_id=conflict_id, page_size=200)
    )
    changes = await told(team["A"])
    assert [one.case_change.event for one in changes] == list(seen.events)
    assert {one.case_change.conflict_id for one in changes} == {conflict_id}
    assert actions(changes)[:2] == [OPENED, JOINED]
    assert actions(changes)[-1] == RESOLVED
    assert all(one.revision == one.case_change.event.revision for one in changes)
    own = [one.item_change for one in await told(team["C"]) if one.HasField("item_change")]
    assert [(one.version, one.kind, one.status) for one in own] == [
        (1, review_item_pb2.ITEM_KIND_RELATIONSHIP, review_item_pb2.ITEM_STATUS_PENDING)
    ]
    assert actions(await told(team["C"], mine=True)) == actions(changes)
    assert actions(await told(team.admin, mine=True)) == []


@pytest.mark.rule("R7.10", "R7.13")
async def test_a_case_that_is_overdue_and_then_dismissed_is_told_of_as_both(
    new_team: NewTeam, deploys_from: Request
) -> None:
    team = await new_team(driven_from=BEGIN)
    await team["A"].ingest.Remember(deploys_from("production deploys from main", "main"))
    row = await placed_row(team["B"], deploys_from("production deploys from release", "release"))
    await reviewed(team, BEGIN + timedelta(days=8))
    assert actions(await told(team["C"])) == [OPENED, OVERDUE]
    await team["B"].ingest.Forget(retracting(row))
    await reviewed(team, BEGIN + timedelta(days=9))
    assert actions(await told(team["C"])) == [OPENED, OVERDUE, REFRESHED, DISMISSED]


@pytest.mark.promise("case.told")
async def test_taken_up_after_any_revision_nothing_is_missed_or_repeated(watched: tuple[Any, str]) -> None:
    team, _ = watched
    everything = await told(team["C"])
    assert [one.revision for one in everything] == sorted(one.revision for one in everything)
    for revision in range(everything[-1].revision + 1):
        rest = [one for one in everything if one.revision > revision]
        assert await told(team["C"], after_revision=revision) == rest


async def test_a_follower_is_told_of_what_comes(new_team: NewTeam, deploys_from: Request) -> None:
    team = await new_team(driven_from=BEGIN)
    call = team["A"].conflict.WatchConflicts(conflict_service_pb2.WatchConflictsRequest())
    first = await call.read()
    assert not first.changes
    await team["A"].ingest.Remember(deploys_from("production deploys from main", "main"))
    opened = await team["B"].ingest.Remember(deploys_from("production deploys from release", "release"))
    async with asyncio.timeout(WAIT_SECONDS):
        message = await call.read()
        assert actions(list(message.changes)) == [OPENED]
        assert message.revision == opened.revision
        await team["C"].ingest.Remember(deploys_from("we saw that production deploys from main", "main"))
        message = await call.read()
    assert actions(list(message.changes)) == [JOINED]
    call.cancel()


async def test_a_revision_of_the_future_is_refused(new_team: NewTeam) -> None:
    team = await new_team()
    with pytest.raises(grpc.aio.AioRpcError) as refused:
        await told(team["A"], after_revision=1_000_000)
    refusal = refusal_of(refused.value)
    assert refusal is not None
    assert (refusal.reason, refusal.field) == (Reason.INVALID_FIELD, "after_revision")
