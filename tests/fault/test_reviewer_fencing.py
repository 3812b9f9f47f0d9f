"""Two reviewers and one case (Q9): never do both write under one fencing token, and who wakes late writes nothing."""

from __future__ import annotations

import asyncio
import json
import os
import signal
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import psycopg
import pytest
from corrigenda_cli.child import Child, start_child
from corrigenda_cli.stack import Stack
from corrigenda_conflict.reviewer.look import Look, Looked
from corrigenda_core.domain.errors import Reason, Refusal
from corrigenda_core.domain.ids import TeamId
from corrigenda_core.domain.snapshots import Outcome
from corrigenda_core.persistence.database import Database
from corrigenda_core.persistence.review_cases import CaseLeases, CaseRows
from corrigenda_core.persistence.review_store import Claim, ReviewStore, TeamNow
from corrigenda_core.persistence.transaction import TransactionRunner
from corrigenda_core.serving import new_ids
from corrigenda_core.testing.anomalies import UnfencedLeases
from corrigenda_core.testing.effort import examples
from corrigenda_core.testing.tcp_proxy import TcpProxy

pytestmark = pytest.mark.database

Rows = Mapping[str, Mapping[str, Mapping[str, object]]]
BEGINNING = datetime(2026, 1, 10, tzinfo=UTC)
NIGHT = date(2026, 1, 10)
ROUNDS = examples(fast=4, full=50)
PAUSES = examples(fast=1, full=50)
WAIT_SECONDS = 60.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Holder:
    """A reviewer that holds a claim of a case."""

    look: Look
    team: TeamNow
    claim: Claim
    rows: CaseRows

    async def looks(self) -> Looked | Reason:
        try:
            return await self.look.at(self.team, self.claim, self.rows)
        except Refusal as refusal:
            return refusal.reason


@pytest.fixture(scope="module")
async def database(without_workers: Stack) -> AsyncIterator[Database]:
    async with Database(without_workers.url("corrigenda_reviewer")) as opened:
        yield opened


async def holder(database: Database, team_id: str, *, leases: CaseLeases | None = None) -> Holder:
    """Claims the one due case of a team, with a lease that ends at once: the next reviewer may claim it, too."""
    store = ReviewStore(database, lease_seconds=0.0)
    team = await store.team_now(TeamId(team_id))
    claimed = await store.claim_cases(team, night=NIGHT, batch=10)
    (claim,) = claimed.claims
    look = Look(runner=TransactionRunner(database), new_ids=new_ids, leases=leases or CaseLeases())
    return Holder(look=look, team=team, claim=claim, rows=claimed.rows[claim.conflict_id])


@pytest.mark.promise("case.one-reviewer", "Q9")
@pytest.mark.error("LEASE_LOST")
@pytest.mark.rule("R7.18")
@pytest.mark.parametrize("votes", ["AB", "ABC"], ids=["nothing to decide yet", "decided"])
async def test_q9_a_holder_that_wakes_late_writes_nothing(
    disputing: Any, database: Database, rows_of: Callable[[str], Rows], votes: str
) -> None:
    for number in range(ROUNDS):
        await disputing.dispute(f"service-{number}", votes=votes)
        if votes == "ABC":
            await disputing.drive(BEGINNING + timedelta(days=8 * (number + 1)))
        late = await holder(database, disputing.team_id)
        other = await holder(database, disputing.team_id)
        assert other.claim.token == late.claim.token + 1
        looked = await other.looks()
        assert isinstance(looked, Looked)
        assert looked.outcome is (Outcome.RESOLVE if votes == "ABC" else Outcome.KEEP_OPEN)
        before = rows_of(disputing.team_id)
        assert await late.looks() is Reason.LEASE_LOST
        assert rows_of(disputing.team_id) == before


@pytest.mark.promise("case.one-reviewer", "Q9")
@pytest.mark.rule("R7.18")
async def test_q9_of_two_that_look_at_once_one_writes(disputing: Any, database: Database) -> None:
    for number in range(ROUNDS):
        await disputing.dispute(f"service-{number}", votes="AB")
        holders = [await holder(database, disputing.team_id) for _ in range(2)]
        found = await asyncio.gather(*(one.looks() for one in holders))
        assert found[0] is Reason.LEASE_LOST
        assert isinstance(found[1], Looked)


@pytest.mark.promise("Q9")
async def test_q9_without_the_fence_the_late_holder_would_write(
    disputing: Any, database: Database, rows_of: Callable[[str], Rows]
) -> None:
    """The anomaly switch: the checks above notice a reviewer that does not prove its token."""
    await disputing.dispute("service", votes="AB")
    late = await holder(database, disputing.team_id, leases=UnfencedLeases())
    other = await holder(database, disputing.team_id)
    assert isinstance(await other.looks(), Looked)
    before = rows_of(disputing.team_id)
    assert isinstance(await late.looks(), Looked)
    assert len(rows_of(disputing.team_id)["case_evaluations"]) == len(before["case_evaluations"]) + 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Running:
    """A reviewer process whose leases last a second, and the proxy through which alone it reaches its database."""

    child: Child
    proxy: TcpProxy

    def stop(self) -> None:
        """Holds it where it is; its connections stay."""
        os.kill(self.child.pid, signal.SIGSTOP)

    def go_on(self) -> None:
        os.kill(self.child.pid, signal.SIGCONT)

    def told(self, team_id: str) -> list[Mapping[str, Any]]:
        """What it has told of its rounds inside a team."""
        # Other tests' teams on the same database may have due cases of their own.
        lines = [json.loads(line) for line in self.child.log_tail(100_000).splitlines() if '"team_id"' in line]
        return [line for line in lines if line["team_id"] == team_id]

    async def until_looked(self, team_id: str, known: int) -> list[Mapping[str, Any]]:
        """Waits for the end of its next look at a team's case; what it has told since it had told so many lines."""
        deadline = asyncio.get_running_loop().time() + WAIT_SECONDS
        while True:
            told = self.told(team_id)[known:]
            # A round without a case is the end of a run that the other one has left nothing to do.
            if any(line["event"] == "team_reviewed" and line["examined"] > 0 for line in told):
                return told
            assert asyncio.get_running_loop().time() < deadline, f"team not reviewed in time: {team_id}"
            await asyncio.sleep(0.02)


@asynccontextmanager
async def reviewing(stack: Stack, name: str, directory: Path) -> AsyncIterator[Running]:
    """A reviewer process; it is let go before it is ended."""
    async with TcpProxy(stack.admin_url) as proxy:
        child = await start_child(
            name=name,
            module="corrigenda_conflict.reviewer",
            environment={
                **{key: value for key, value in os.environ.items() if not key.startswith("CORRIGENDA_")},
                "CORRIGENDA_DATABASE_URL": proxy.url(stack.url("corrigenda_reviewer")),
                "CORRIGENDA_REVIEW_LEASE_SECONDS": "1",
                "CORRIGENDA_REVIEW_POLL_SECONDS": "0.05",
            },
            log_file=directory / f"{name}.log",
        )
        running = Running(child=child, proxy=proxy)
        try:
            yield running
        finally:
            running.go_on()
            await child.stop()


async def until_found(eye: psycopg.Connection[Any], sql: str, *parameters: object) -> tuple[Any, ...]:
    """Waits, for a bounded time, until a query finds a row, and returns it."""
    deadline = asyncio.get_running_loop().time() + WAIT_SECONDS
    while (row := eye.execute(sql, parameters).fetchone()) is None:
        assert asyncio.get_running_loop().time() < deadline, f"not in time: {sql}"
        await asyncio.sleep(0.02)
    return tuple(row)


WAITING = "SELECT pid, client_port FROM pg_stat_activity WHERE %s = ANY (pg_blocking_pids(pid))"
NOT_LEASED = """
SELECT 1 WHERE NOT EXISTS (
    SELECT 1 FROM case_lease WHERE team_id = %s AND lease_expires_at > clock_timestamp()
) AND NOT EXISTS (
    SELECT 1 FROM review_runs WHERE team_id = %s AND status = 'running' AND lease_expires_at > clock_timestamp()
)
"""
NO_RUN_WAITS = """
SELECT 1 WHERE NOT EXISTS (SELECT 1 FROM review_runs WHERE team_id = %s AND status IN ('queued', 'running'))
"""


@pytest.mark.promise("Q9")
@pytest.mark.rule("R7.18")
async def test_q9_a_process_that_is_stopped_while_it_holds_a_case_writes_nothing_when_it_goes_on(
    without_workers: Stack, disputing: Any, rows_of: Callable[[str], Rows], tmp_path: Path
) -> None:
    """Whoever of two takes the case is stopped while it waits for the team's lock, and loses its connection and its
    lease; the other one decides."""
    team_id, stack = disputing.team_id, without_workers
    resolved = "SELECT 1 FROM conflict_cases WHERE conflict_id = %s AND status = 'resolved'"
    async with reviewing(stack, "one", tmp_path) as one, reviewing(stack, "other", tmp_path) as other:
        with psycopg.connect(stack.admin_url, autocommit=True) as eye, psycopg.connect(stack.admin_url) as lock:
            for number in range(PAUSES):
                for reviewer in (one, other):
                    reviewer.stop()
                conflict_id = await disputing.dispute(f"service-{number}")
                await disputing.drive(BEGINNING + timedelta(days=8 * (number + 1)))
                lock.execute("SELECT 1 FROM team_clock WHERE team_id = %s FOR UPDATE", [team_id])
                for reviewer in (one, other):
                    reviewer.go_on()
                backend, port = await until_found(eye, WAITING, lock.info.backend_pid)
                for reviewer in (one, other):
                    reviewer.stop()
                (paused,) = [reviewer for reviewer in (one, other) if port in reviewer.proxy.server_side_ports]
                (awake,) = {one, other} - {paused}
                known = {reviewer: len(reviewer.told(team_id)) for reviewer in (one, other)}
                # The server ends the connection: what the stopped process had begun is rolled back.
                eye.execute("SELECT pg_terminate_backend(%s)", [backend])
                lock.rollback()
                await until_found(eye, NOT_LEASED, team_id, team_id)
                awake.go_on()
                await until_found(eye, resolved, conflict_id)
                looked = await awake.until_looked(team_id, known[awake])
                # A round that finds nothing left may have come after it.
                assert any(line.get("resolved") == 1 for line in looked)
                await until_found(eye, NO_RUN_WAITS, team_id)
                before = rows_of(team_id)
                paused.go_on()
                told = await paused.until_looked(team_id, known[paused])
                # It has lost the case; or it was stopped for so long that the look's own deadline has passed as well.
                assert any(line.get("left") == 1 or line.get("reason") == "STORE_UNAVAILABLE" for line in told)
                after = rows_of(team_id)
                assert {**after, "review_runs": {}} == {**before, "review_runs": {}}
                # The run, too, belongs to the other one by now. A look without a run is noted: it came to nothing.
                noted = [row for key, row in after["review_runs"].items() if row != before["review_runs"].get(key)]
                assert [(row["kind"], row["examined_cases"], row["resolved_cases"]) for row in noted] in (
                    [],
                    [("due", 1, 0)],
                )
                assert before["review_runs"].keys() <= after["review_runs"].keys()
                assert len(before["case_evaluations"]) == number + 1
