"""kill -9 of the reviewer, again and again (Q8): no case is left half done, decided twice, or forgotten."""

from __future__ import annotations

import asyncio
import random
import signal
from collections import Counter
from collections.abc import Callable, Mapping
from datetime import timedelta
from typing import Any

import psycopg
import pytest
from corrigenda_cli.child import ChildFailedError
from corrigenda_cli.stack import Stack
from corrigenda_conflict.reviewer.look import Look
from corrigenda_core.domain.ids import TeamId
from corrigenda_core.domain.snapshots import Outcome
from corrigenda_core.persistence.database import Database
from corrigenda_core.persistence.ledger_verification import verify_ledger
from corrigenda_core.persistence.review_store import ReviewStore
from corrigenda_core.ports.failpoints import Failpoint
from corrigenda_core.serving import new_ids
from corrigenda_core.testing.anomalies import TornCommits
from corrigenda_core.testing.effort import examples
from corrigenda_core.testing.failpoints import LAUNCHER, VARIABLE

pytestmark = pytest.mark.database

Rows = Mapping[str, Mapping[str, Mapping[str, Any]]]
KILLS = examples(fast=1, full=30)
# Nobody ever wins these, so that every night has as many looks as a failpoint waits for.
UNDECIDED = 3
WAIT_SECONDS = 120.0
SETTINGS = {"CORRIGENDA_REVIEW_LEASE_SECONDS": "1", "CORRIGENDA_REVIEW_POLL_SECONDS": "0.05"}


def check_whole(rows: Rows) -> int:
    """Checks that every case is either closed with all that belongs to it, or not at all; returns how many are."""
    resolved = {row["conflict_id"] for row in rows["conflict_cases"].values() if row["status"] == "resolved"}
    overdue = {row["conflict_id"] for row in rows["conflict_cases"].values() if row["status"] == "overdue"}
    told = Counter((row["action"], row["conflict_id"]) for row in rows["case_events"].values())
    assert Counter({key: number for key, number in told.items() if key[0] in {"resolved", "marked_overdue"}}) == (
        Counter(("resolved", one) for one in resolved) + Counter(("marked_overdue", one) for one in overdue)
    )
    decided = Counter(
        row["conflict_id"] for row in rows["case_evaluations"].values() if row["decision"]["outcome"] == "resolve"
    )
    assert decided == Counter(resolved)
    closings = {
        row["relationship_id"]: row["conflict_id"] for row in rows["transitions"].values() if row["conflict_id"]
    }
    assert Counter(closings.values()) == Counter(resolved)
    lost = {row["relationship_id"] for row in rows["relationships"].values() if row["status"] == "superseded"}
    assert lost == closings.keys()
    return len(resolved)


async def until_killed(stack: Stack, point: Failpoint, at_pass: int) -> None:
    """Starts a reviewer that kills itself at a pass of a point, and waits for its end."""
    try:
        child = await stack.start_process(
            "reviewer", {VARIABLE: f"{point}=kill@{at_pass}", **SETTINGS}, through=LAUNCHER
        )
        assert await asyncio.wait_for(child.wait(), WAIT_SECONDS) == -signal.SIGKILL
    except ChildFailedError:
        # It was killed before it had said that it was ready: that is a kill, too.
        pass
    finally:
        stack.children.pop("reviewer", None)


@pytest.mark.promise("case.one-reviewer", "Q8")
@pytest.mark.rule("R7.16", "R7.18")
async def test_q8_whatever_kills_leave_is_whole_and_the_next_reviewer_goes_on(
    without_workers: Stack, disputing: Any, rows_of: Callable[[str], Rows]
) -> None:
    stack, team_id = without_workers, disputing.team_id
    drawn, points = random.Random(8), list(Failpoint)
    for number in range(KILLS):
        await disputing.dispute(f"service-{number}")
    for number in range(UNDECIDED):
        await disputing.dispute(f"disputed-{number}", votes="AB")
    resolved = 0
    for number in range(KILLS):
        # The next night, on which every live case is due.
        await disputing.drive(disputing.after_deadlines + timedelta(days=number))
        await until_killed(stack, points[number % len(points)], drawn.randint(1, UNDECIDED))
        before, resolved = resolved, check_whole(rows_of(team_id))
        assert resolved >= before

    await disputing.drive(disputing.after_deadlines + timedelta(days=KILLS))
    child = await stack.start_process("reviewer", SETTINGS)
    with psycopg.connect(stack.url("corrigenda_auditor"), autocommit=True) as connection:
        try:
            left = "SELECT count(*) FROM conflict_cases WHERE team_id = %s AND status = 'open'"
            deadline = asyncio.get_running_loop().time() + WAIT_SECONDS
            while connection.execute(left, [team_id]).fetchone() != (0,):
                assert asyncio.get_running_loop().time() < deadline, "cases are left"
                await asyncio.sleep(0.05)
        finally:
            stack.children.pop("reviewer")
            assert await child.stop() == 0
        assert check_whole(rows_of(team_id)) == KILLS
        assert verify_ledger(connection, TeamId(team_id)).is_verified


@pytest.mark.promise("Q8")
@pytest.mark.parametrize(
    "lost",
    [
        ("case_events",),
        ("case_evaluations",),
        ("relationships", "transitions"),
        ("conflict_cases", "case_positions", "case_members"),
    ],
    ids=" ".join,
)
async def test_q8_a_look_that_was_two_transactions_would_be_noticed(
    without_workers: Stack, disputing: Any, rows_of: Callable[[str], Rows], lost: tuple[str, ...]
) -> None:
    """The anomaly switch: what a kill between the two leaves is committed, and the check above finds it."""
    await disputing.dispute("service")
    await disputing.drive(disputing.after_deadlines)
    async with Database(without_workers.url("corrigenda_reviewer")) as database:
        store = ReviewStore(database, lease_seconds=60.0)
        team = await store.team_now(TeamId(disputing.team_id))
        claimed = await store.claim_cases(team, night=team.now.date(), batch=1)
        (claim,) = claimed.claims
        look = Look(runner=TornCommits(database, set(lost)), new_ids=new_ids)
        assert (await look.at(team, claim, claimed.rows[claim.conflict_id])).outcome is Outcome.RESOLVE
    with pytest.raises(AssertionError):
        check_whole(rows_of(disputing.team_id))


@pytest.mark.promise("Q8")
def test_q8_a_case_that_is_half_done_would_be_noticed() -> None:
    """What a kill between two transactions would leave: the case is closed, its loser is not."""
    case = {"conflict_id": "k", "status": "resolved"}
    whole: dict[str, dict[str, dict[str, Any]]] = {
        "conflict_cases": {"k": case},
        "case_events": {"e": {"action": "resolved", "conflict_id": "k"}},
        "case_evaluations": {"v": {"conflict_id": "k", "decision": {"outcome": "resolve"}}},
        "transitions": {"t": {"relationship_id": "r", "conflict_id": "k"}},
        "relationships": {"r": {"relationship_id": "r", "status": "superseded"}},
    }
    assert check_whole(whole) == 1
    for table in whole:
        with pytest.raises(AssertionError):
            check_whole({**whole, table: {}})
    with pytest.raises(AssertionError):
        check_whole({**whole, "relationships": {"r": {"relationship_id": "r", "status": "active"}}})
