"""What the reviewer process does with cases whose members change beside it, over the wire."""

import asyncio
import uuid
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from typing import Any

import psycopg
import pytest
from corrigenda.admin.v1 import admin_service_pb2
from corrigenda.conflict.v1 import conflict_case_pb2, conflict_change_pb2, conflict_service_pb2, review_item_pb2
from corrigenda.ingest.v1 import ingest_service_pb2, submission_pb2
from corrigenda.recall.v1 import recall_service_pb2
from corrigenda.type.v1 import relationship_pb2
from corrigenda_cli.stack import Stack
from corrigenda_core.rpc.convert import timestamp_of
from corrigenda_core.testing.wire_decisions import ending, placed_row, retracting

pytestmark = pytest.mark.database

NewTeam = Callable[..., Awaitable[Any]]
Request = Callable[..., ingest_service_pb2.RememberRequest]
Verifies = Callable[[str], Awaitable[bool]]

BEGIN = datetime(2026, 1, 1, tzinfo=UTC)
AFTER_THE_DEADLINE = datetime(2026, 1, 9, tzinfo=UTC)
WAIT_SECONDS = 60.0
OPEN, OVERDUE, RESOLVED, DISMISSED = (
    conflict_case_pb2.CASE_STATUS_OPEN,
    conflict_case_pb2.CASE_STATUS_OVERDUE,
    conflict_case_pb2.CASE_STATUS_RESOLVED,
    conflict_case_pb2.CASE_STATUS_DISMISSED,
)


async def drive(team: Any, time: datetime) -> None:
    await team.admin.admin.DriveClock(
        admin_service_pb2.DriveClockRequest(idempotency_key=uuid.uuid4().hex, time=timestamp_of(time))
    )


async def cases(team: Any) -> dict[int, conflict_case_pb2.ConflictCase]:
    """All cases of the team by kind; every test here has one of each kind at most."""
    asked = conflict_service_pb2.ListConflictsRequest(case_statuses=[OPEN, OVERDUE, RESOLVED, DISMISSED])
    listed = await team["A"].conflict.ListConflicts(asked)
    return {entry.team_case.kind: entry.team_case for entry in listed.entries if entry.HasField("team_case")}


async def until_none_is(status: int, team: Any) -> dict[int, conflict_case_pb2.ConflictCase]:
    async with asyncio.timeout(WAIT_SECONDS):
        while True:
            found = await cases(team)
            if all(case.status != status for case in found.values()):
                return found
            await asyncio.sleep(0.05)


def members(case: conflict_case_pb2.ConflictCase) -> dict[str, int]:
    return {position.label: len(position.members) for position in case.positions}


def alerts(stack: Stack, team_id: str) -> int:
    with psycopg.connect(stack.url("corrigenda_auditor"), autocommit=True) as connection:
        (found,) = connection.execute("SELECT count(*) FROM alerts WHERE team_id = %s", [team_id]).fetchone() or (0,)
    return int(found)


@pytest.mark.rule("R7.8", "R7.10", "R7.16")
async def test_what_one_case_ends_is_no_member_of_another(
    stack: Stack, new_team: NewTeam, deploys_from: Request, ledger_verifies: Verifies
) -> None:
    """A's value loses the case about the slot; the case about its denial has nothing left to decide."""
    team = await new_team(driven_from=BEGIN, profiles=("A", "B", "C", "D", "E"))
    denied = {"polarity": relationship_pb2.POLARITY_NEGATIVE}
    for name, text, branch, more in (
        ("A", "production deploys from main", "main", {}),
        ("B", "the log of the build: production deploys from release", "release", {}),
        ("C", "our checklist confirms it: production deploys from release", "release", {}),
        ("D", "production does not deploy from main", "main", denied),
        ("E", "the admin confirms it: production does not deploy from main", "main", denied),
    ):
        request = deploys_from(text, branch)
        request.proposal.relationships[0].MergeFrom(type(request.proposal.relationships[0])(**more))
        await team[name].ingest.Remember(request)
    opened = await cases(team)
    assert {case.status for case in opened.values()} == {OPEN}
    await drive(team, AFTER_THE_DEADLINE)
    reviewed = await until_none_is(OPEN, team)
    state = reviewed[conflict_case_pb2.CASE_KIND_CURRENT_STATE]
    denial = reviewed[conflict_case_pb2.CASE_KIND_POLARITY]
    # Whichever is looked at first ends A's value, and with it the other one's dispute.
    assert sorted([state.status, denial.status]) == [RESOLVED, DISMISSED]
    dismissed = denial if state.status == RESOLVED else state
    assert members(dismissed) == ({"+": 0, "-": 2} if dismissed is denial else {"main": 0, "release": 2})
    assert alerts(stack, team.team_id) == 0
    assert await ledger_verifies(team.team_id)


@pytest.mark.rule("R7.8", "R7.10")
async def test_a_member_that_has_ended_by_itself_keeps_its_end(
    new_team: NewTeam, deploys_from: Request, ledger_verifies: Verifies
) -> None:
    team = await new_team(driven_from=BEGIN)
    await team["A"].ingest.Remember(deploys_from("until 4 January 2026 production deploys from main", "main"))
    await team["B"].ingest.Remember(deploys_from("production deploys from release", "release"))
    await team["C"].ingest.Remember(
        deploys_from("our checklist confirms it: production deploys from release", "release")
    )
    await drive(team, AFTER_THE_DEADLINE)
    (case,) = (await until_none_is(OPEN, team)).values()
    assert case.status == DISMISSED
    assert members(case) == {"main": 0, "release": 2}
    assert await ledger_verifies(team.team_id)


async def watched_items(client: Any) -> list[conflict_change_pb2.ItemChange]:
    request = conflict_service_pb2.WatchConflictsRequest(until_now=True)
    messages = [message async for message in client.conflict.WatchConflicts(request)]
    changes = [one.item_change for message in messages for one in message.changes if one.HasField("item_change")]
    return [one for one in changes if one.kind == review_item_pb2.ITEM_KIND_WINNER_WITHDRAWN]


@pytest.mark.promise("case.withdrawn")
@pytest.mark.rule("R4.15", "R7.16")
async def test_who_lost_is_asked_when_the_winner_is_withdrawn(
    new_team: NewTeam, deploys_from: Request, ledger_verifies: Verifies
) -> None:
    """The question comes with the last winning statement, and nothing of the loser revives."""
    team = await new_team(driven_from=BEGIN)
    placed = {}
    for name, text, branch in (
        ("A", "production deploys from main", "main"),
        ("B", "the log of the build: production deploys from release", "release"),
        ("C", "our checklist confirms it: production deploys from release", "release"),
    ):
        answer = await team[name].ingest.Remember(deploys_from(text, branch))
        placed[name] = answer.placement.relationships[0].relationship.relationship_id
    await drive(team, AFTER_THE_DEADLINE)
    (case,) = (await until_none_is(OPEN, team)).values()
    assert case.status == RESOLVED

    withdrawn = conflict_service_pb2.ListConflictsRequest(
        item_kinds=[review_item_pb2.ITEM_KIND_WINNER_WITHDRAWN], mine=True
    )
    asked = []
    for name, branch in (("B", "beta"), ("C", "gamma")):
        target = submission_pb2.CorrectionTarget(relationship_id=placed[name])
        corrected = deploys_from(f"production deploys from {branch}", branch, correction_target=target)
        await team[name].ingest.Remember(corrected)
        listed = await team["A"].conflict.ListConflicts(withdrawn)
        asked.append([entry.review_item for entry in listed.entries if entry.HasField("review_item")])
    assert asked[0] == []
    (item,) = asked[1]
    assert item.status == review_item_pb2.ITEM_STATUS_PENDING
    assert [row.relationship_id for row in item.incoming] == [placed["A"]]
    assert {row.relationship_id for row in item.opposing} == {placed["B"], placed["C"]}
    # Who lost is told by the stream, too, and nobody else is.
    assert [change.item_id for change in await watched_items(team["A"])] == [item.item_id]
    assert await watched_items(team["B"]) == []
    traced = await team["A"].recall.Trace(recall_service_pb2.TraceRequest(relationship_id=placed["A"]))
    assert traced.relationship.status == relationship_pb2.RELATIONSHIP_STATUS_SUPERSEDED
    assert await ledger_verifies(team.team_id)


@pytest.mark.rule("R7.4")
async def test_a_closed_case_keeps_its_members_at_the_versions_with_which_they_took_part(
    new_team: NewTeam, deploys_from: Request
) -> None:
    team = await new_team(driven_from=BEGIN)
    main = await placed_row(team["A"], deploys_from("production deploys from main", "main"))
    release = await placed_row(team["B"], deploys_from("the log: production deploys from release", "release"))
    await team["B"].ingest.Forget(retracting(release))
    await until_none_is(OPEN, team)
    await team["A"].ingest.Forget(ending(main))
    (case,) = (await cases(team)).values()
    assert case.status == DISMISSED
    (member,) = [member for position in case.positions for member in position.members]
    # The relationship has gone on since: what it is now stands beside the version that the case was about.
    assert (member.relationship_id, member.version) == (main.relationship_id, 1)
    assert member.status == relationship_pb2.RELATIONSHIP_STATUS_SUPERSEDED
