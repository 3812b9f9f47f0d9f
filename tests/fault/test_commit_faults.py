"""Commits that are interrupted: lost connections, killed backends, deadlocks, killed and frozen processes."""

import asyncio
import os
import signal
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Callable
from contextlib import suppress

import psycopg
import pytest
from corrigenda_core.domain.errors import Reason, Refusal
from corrigenda_core.domain.ids import IdempotencyKey
from corrigenda_core.persistence.attempts import RetryPolicy
from corrigenda_core.persistence.database import Database, PoolSettings, Row
from corrigenda_core.persistence.idempotency import IdempotencyRequest, request_hash_of
from corrigenda_core.persistence.ledger_verification import verify_ledger
from corrigenda_core.persistence.named_sql import Query
from corrigenda_core.persistence.read_transaction import ReadRunner
from corrigenda_core.persistence.transaction import Transaction, TransactionRunner
from corrigenda_core.ports.deadline import Deadline
from corrigenda_core.testing.failpoints import VARIABLE
from corrigenda_core.testing.postgres import Team, ThrowawayDatabase
from corrigenda_core.testing.revisions import write_evidence
from corrigenda_core.testing.tcp_proxy import Cut, TcpProxy

pytestmark = pytest.mark.database

ONE_CONNECTION = PoolSettings(max_connections=1, acquire_timeout_seconds=20)


@pytest.fixture
async def proxy(shared_database: ThrowawayDatabase) -> AsyncIterator[TcpProxy]:
    async with TcpProxy(shared_database.superuser_url) as proxy:
        yield proxy


@pytest.fixture
async def through_proxy(shared_database: ThrowawayDatabase, proxy: TcpProxy) -> AsyncIterator[Database]:
    url = proxy.url(shared_database.url("corrigenda_ingest"))
    async with Database(url, settings=ONE_CONNECTION) as database:
        yield database


def request(team: Team) -> IdempotencyRequest[int]:
    return IdempotencyRequest(
        profile_id=team.profiles[0],
        key=IdempotencyKey("k"),
        rpc="Remember",
        request_hash=request_hash_of("Remember", b"a"),
        encode=lambda revision: str(revision).encode(),
        decode=lambda stored: int(stored),
    )


def counting_plan(team: Team, runs: list[int]) -> Callable[[Transaction], int]:
    def plan(transaction: Transaction) -> int:
        runs.append(transaction.reading.revision)
        return write_evidence(transaction, team.profiles[0], "x").revision

    return plan


def revisions(database: ThrowawayDatabase, team: Team) -> int:
    """How many the ledger has; it must be verified, whatever happened."""
    with database.connect() as connection:
        report = verify_ledger(connection, team.team_id)
    assert report.problems == ()
    return report.revisions


async def test_a_connection_lost_before_the_commit_is_replaced_and_the_plan_run_again(
    shared_database: ThrowawayDatabase, through_proxy: Database, proxy: TcpProxy, team: Team
) -> None:
    runs: list[int] = []
    proxy.cut_on(b"FOR UPDATE", Cut.AFTER)
    answer = await TransactionRunner(through_proxy).run(team.team_id, counting_plan(team, runs))
    assert (answer.value, runs, proxy.cuts) == (1, [0], 1)
    assert revisions(shared_database, team) == 1


async def test_a_broken_idle_connection_costs_an_attempt_and_no_error(
    shared_database: ThrowawayDatabase, through_proxy: Database, proxy: TcpProxy, team: Team
) -> None:
    runner, reader = TransactionRunner(through_proxy), ReadRunner(through_proxy)
    for expected in (1, 2):
        proxy.sever()
        assert (await runner.run(team.team_id, counting_plan(team, []))).revision == expected
        proxy.sever()
        assert await reader.run(team.team_id, lambda view: view.reading.revision) == expected
    assert revisions(shared_database, team) == 2


@pytest.mark.parametrize(("cut", "written"), [(Cut.BEFORE, 0), (Cut.AFTER, 1)])
async def test_an_unknown_outcome_is_told_and_not_tried_again(
    shared_database: ThrowawayDatabase, through_proxy: Database, proxy: TcpProxy, team: Team, cut: Cut, written: int
) -> None:
    runs: list[int] = []
    proxy.cut_on(b"COMMIT\0", cut)
    with pytest.raises(Refusal) as refused:
        await TransactionRunner(through_proxy).run(team.team_id, counting_plan(team, runs))
    assert (refused.value.reason, refused.value.metadata) == (Reason.STORE_UNAVAILABLE, {"outcome": "unknown"})
    assert runs == [0]
    assert revisions(shared_database, team) == written


@pytest.mark.rule("R5.1")
@pytest.mark.parametrize(("cut", "expected_runs"), [(Cut.BEFORE, [0, 0]), (Cut.AFTER, [0])])
async def test_with_a_record_an_unknown_outcome_is_found_out(
    shared_database: ThrowawayDatabase,
    through_proxy: Database,
    proxy: TcpProxy,
    team: Team,
    cut: Cut,
    expected_runs: list[int],
) -> None:
    runs: list[int] = []
    proxy.cut_on(b"COMMIT\0", cut)
    answer = await TransactionRunner(through_proxy).run(
        team.team_id, counting_plan(team, runs), idempotency=request(team)
    )
    assert (answer.value, runs) == (1, expected_runs)
    assert answer.replayed == (cut is Cut.AFTER)
    assert revisions(shared_database, team) == 1


async def test_attempts_end_and_delays_grow(
    shared_database: ThrowawayDatabase, through_proxy: Database, proxy: TcpProxy, team: Team
) -> None:
    delays: list[float] = []

    async def sleep(seconds: float) -> None:
        delays.append(seconds)

    policy = RetryPolicy(attempts=4, first_delay_seconds=0.01, sleep=sleep, draw=lambda: 0.5)
    proxy.cut_on(b"FOR UPDATE", Cut.AFTER, times=100)
    with pytest.raises(Refusal) as refused:
        await TransactionRunner(through_proxy, retries=policy).run(team.team_id, counting_plan(team, []))
    assert refused.value.reason is Reason.STORE_UNAVAILABLE
    assert "outcome" not in refused.value.metadata
    assert delays == [0.01, 0.02, 0.04]
    assert proxy.cuts == 4
    assert revisions(shared_database, team) == 0


async def test_a_killed_backend_is_replaced(shared_database: ThrowawayDatabase, team: Team) -> None:
    backend = Query(name="backend", sql="SELECT pg_backend_pid() AS pid")
    runs: list[int] = []

    def plan(transaction: Transaction) -> int:
        if not runs:
            with shared_database.connect() as connection:
                connection.execute("SELECT pg_terminate_backend(%s)", [transaction.prefetched["backend"][0]["pid"]])
        runs.append(0)
        return write_evidence(transaction, team.profiles[0], "x").revision

    async with Database(shared_database.url("corrigenda_ingest"), settings=ONE_CONNECTION) as database:
        answer = await TransactionRunner(database).run(
            team.team_id, plan, prefetch=[backend], idempotency=request(team)
        )
    assert (answer.value, len(runs)) == (1, 2)
    assert revisions(shared_database, team) == 1


async def test_a_deadlock_is_repeated(shared_database: ThrowawayDatabase, team: Team) -> None:
    """The planner asks for a row that a stranger holds, who asks for the clock row."""
    lock = "SELECT 1 FROM {} WHERE team_id = %s FOR UPDATE"
    runs: list[int] = []
    crossing: list[asyncio.Task[None]] = []
    async with (
        Database(shared_database.url("corrigenda_ingest")) as database,
        await psycopg.AsyncConnection.connect(shared_database.superuser_url) as stranger,
    ):
        # Whoever notices the deadlock first is its victim; that is to be the commit.
        await stranger.execute("SET LOCAL deadlock_timeout = '60s'")
        await stranger.execute(lock.format("teams").encode(), [team.team_id])

        async def cross() -> None:
            await stranger.execute(lock.format("team_clock").encode(), [team.team_id])
            await stranger.rollback()

        async def plan(transaction: Transaction) -> int:
            runs.append(0)
            if not crossing:
                crossing.append(asyncio.create_task(cross()))
            await transaction.fetch(Query(name="wait", sql=lock.format("teams"), parameters=[team.team_id]))
            return write_evidence(transaction, team.profiles[0], "x").revision

        answer = await TransactionRunner(database).run(team.team_id, plan)
        await asyncio.gather(*crossing)
    assert (answer.value, len(runs)) == (1, 2)
    assert revisions(shared_database, team) == 1


async def times_of_refusals(proxy: TcpProxy, database: Database, team: Team) -> list[float]:
    """How long a write and a read take to be refused while the database is frozen, each with 0.3 s to its deadline."""
    runner, reader = TransactionRunner(database), ReadRunner(database)
    before = (await runner.run(team.team_id, counting_plan(team, []))).revision
    proxy.freeze()
    took = []
    for call in (
        lambda: runner.run(team.team_id, counting_plan(team, []), deadline=Deadline.after(0.3)),
        lambda: reader.run(team.team_id, lambda view: None, deadline=Deadline.after(0.3)),
    ):
        began = time.monotonic()
        with pytest.raises(Refusal) as refused:
            await call()
        took.append(time.monotonic() - began)
        assert refused.value.reason is Reason.STORE_UNAVAILABLE
    proxy.thaw()
    after = await runner.run(team.team_id, counting_plan(team, []), deadline=Deadline.after(60))
    assert after.revision == before + 1
    return took


@pytest.mark.promise("answer.deadline", "Q20")
async def test_a_frozen_database_does_not_hold_the_answer_back(
    shared_database: ThrowawayDatabase, proxy: TcpProxy, team: Team
) -> None:
    url = proxy.url(shared_database.url("corrigenda_ingest"))
    took: list[list[float]] = []
    # A busy machine may be late by itself, now and then; who waits for the database is late every time.
    while not took or (max(took[-1]) >= 0.5 and len(took) < 10):
        async with Database(url, settings=PoolSettings(max_connections=2)) as database:
            took.append(await times_of_refusals(proxy, database, team))
    assert max(took[-1]) < 0.5, f"no answer later than the deadline + 200 ms: {took}"


async def test_what_is_asked_outside_a_transaction_is_not_waited_for_either(
    shared_database: ThrowawayDatabase, proxy: TcpProxy
) -> None:
    settings = PoolSettings(max_connections=2, ask_seconds=0.3)
    query = Query(name="one", sql="SELECT 1 AS one")
    async with Database(proxy.url(shared_database.url("corrigenda_ingest")), settings=settings) as database:
        proxy.freeze()
        with pytest.raises(Refusal) as refused:
            await database.ask(query)
        assert refused.value.reason is Reason.STORE_UNAVAILABLE
        # Nor does a caller who gives up wait for a server that cannot be told.
        given_up = asyncio.create_task(database.ask(query))
        await asyncio.sleep(0)
        given_up.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asyncio.wait_for(given_up, 5.0)
        proxy.thaw()
        rows: list[Row] = []
        while not rows:
            with suppress(Refusal):
                rows = await database.ask(query)
    assert rows == [{"one": 1}]


COMMITTER = """
import asyncio, sys
from corrigenda_core.persistence.database import Database
from corrigenda_core.persistence.idempotency import IdempotencyRequest, request_hash_of
from corrigenda_core.persistence.transaction import TransactionRunner
from corrigenda_core.testing.failpoints import failpoints_from_environment
from corrigenda_core.testing.revisions import write_evidence

url, team_id, profile_id = sys.argv[1:]

async def main():
    async with Database(url) as database:
        runner = TransactionRunner(
            database, failpoints=failpoints_from_environment(), idle_timeout_milliseconds=500
        )
        request = IdempotencyRequest(
            profile_id=profile_id, key="k", rpc="Remember", request_hash=request_hash_of("Remember", b"a"),
            encode=lambda revision: str(revision).encode(), decode=int,
        )
        plan = lambda transaction: write_evidence(transaction, profile_id, "x").revision
        answer = await runner.run(team_id, plan, idempotency=request)
        print(answer.value, answer.replayed, flush=True)

asyncio.run(main())
"""


def commit_in_a_process(database: ThrowawayDatabase, team: Team, failpoints: str = "") -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", COMMITTER, database.url("corrigenda_ingest"), team.team_id, team.profiles[0]],
        env={**os.environ, VARIABLE: failpoints},
        stdout=subprocess.PIPE,
        text=True,
    )


@pytest.mark.rule("R5.1")
@pytest.mark.parametrize(
    ("failpoint", "written"),
    [("after_begin", 0), ("between_round_trips", 0), ("before_commit", 0), ("after_commit_before_reply", 1)],
)
def test_a_process_killed_at_any_point_leaves_all_or_nothing(
    shared_database: ThrowawayDatabase, team: Team, failpoint: str, written: int
) -> None:
    killed = commit_in_a_process(shared_database, team, f"{failpoint}=kill")
    killed.communicate()
    assert killed.returncode == -signal.SIGKILL
    assert revisions(shared_database, team) == written
    out, _ = commit_in_a_process(shared_database, team).communicate()
    assert out.split() == ["1", str(bool(written))], "the repeated request has one effect and one answer"
    assert revisions(shared_database, team) == 1


@pytest.mark.skipif(not hasattr(os, "waitid"), reason="needs os.waitid to wait for a stopped child")
def test_a_frozen_process_loses_the_teams_lock_and_writes_nothing_when_it_wakes_up(
    shared_database: ThrowawayDatabase, team: Team
) -> None:
    frozen = commit_in_a_process(shared_database, team, "between_round_trips=stop")
    assert os.waitid(os.P_PID, frozen.pid, os.WSTOPPED) is not None
    out, _ = commit_in_a_process(shared_database, team).communicate()
    assert out.split() == ["1", "False"], "the server took the lock from the frozen process"
    frozen.send_signal(signal.SIGCONT)
    out, _ = frozen.communicate()
    assert out.split() == ["1", "True"], "it finds the other's record"
    assert revisions(shared_database, team) == 1
