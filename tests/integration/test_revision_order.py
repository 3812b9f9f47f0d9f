"""Q1: revisions are gap-free, and commit order = revision order = time order, under writers in several processes."""

import asyncio
import json
import os
import subprocess
import sys
from itertools import pairwise

import psycopg
import pytest
from corrigenda_core.persistence.ledger_verification import verify_ledger
from corrigenda_core.testing.postgres import ThrowawayDatabase, add_team

pytestmark = pytest.mark.database

FULL = os.environ.get("CORRIGENDA_TEST_TIER") == "full"
PROCESSES = 4 if FULL else 2
WRITERS = 4
WRITES = 320 if FULL else 15
BATCHES = 4  # revisions of one commit

# One process: several writers on one runner, each committing batches under a clock that jumps. Prints what it saw.
WRITER = """
import asyncio, json, sys
from corrigenda_core.domain.errors import Refusal
from corrigenda_core.persistence.database import Database
from corrigenda_core.persistence.named_sql import Query
from corrigenda_core.persistence.team_clock import TeamClock
from corrigenda_core.persistence.transaction import RetryPolicy, TransactionRunner
from corrigenda_core.testing.anomalies import JumpingClock, UnlockedTeamClock
from corrigenda_core.testing.revisions import write_evidence

url, team_id, profile_id, seed, writers, writes, batches, clock = sys.argv[1:]
visible = Query(name="visible", sql="SELECT count(*) AS n FROM ingests WHERE team_id = %s", parameters=[team_id])

def plan(transaction):
    seen = transaction.prefetched["visible"][0]["n"]
    moments = [write_evidence(transaction, profile_id, "x") for _ in range(int(batches))]
    return [[moment.revision, moment.at.isoformat(), seen + number] for number, moment in enumerate(moments)]

async def writer(runner):
    seen, refused = [], []
    for _ in range(int(writes)):
        try:
            seen += (await runner.run(team_id, plan, prefetch=[visible])).value
        except Refusal as refusal:
            refused.append(refusal.reason)
    return seen, refused

async def main():
    team_clock = {"locked": TeamClock, "unlocked": UnlockedTeamClock}[clock](JumpingClock(int(seed)))
    async with Database(url) as database:
        print(flush=True)
        sys.stdin.readline()
        runner = TransactionRunner(database, team_clock=team_clock)
        print(json.dumps(await asyncio.gather(*(writer(runner) for _ in range(int(writers))))))

asyncio.run(main())
"""

Seen = list[tuple[int, str, int]]


async def run_writers(
    database: ThrowawayDatabase, team_id: str, profile_id: str, clock: str, writes: int
) -> tuple[list[Seen], list[str]]:
    """What each writer saw, in its order, and the refusals of all."""
    arguments = [database.url("corrigenda_ingest"), team_id, profile_id]
    processes = [
        await asyncio.create_subprocess_exec(
            sys.executable,
            "-c",
            WRITER,
            *arguments,
            str(seed),
            str(WRITERS),
            str(writes),
            str(BATCHES),
            clock,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            limit=1 << 26,
        )
        for seed in range(PROCESSES)
    ]
    for process in processes:
        assert process.stdout is not None
        assert await process.stdout.readline() == b"\n", "the process is ready"
    answers = await asyncio.gather(*(process.communicate(b"\n") for process in processes))
    results = [writer for out, _ in answers for writer in json.loads(out)]
    return [seen for seen, _ in results], [reason for _, refused in results for reason in refused]


async def count_lock_waits(database: ThrowawayDatabase, done: asyncio.Event) -> int:
    """The greatest number of sessions that were seen waiting for a lock at once."""
    most = 0
    async with await psycopg.AsyncConnection.connect(database.superuser_url, autocommit=True) as connection:
        while not done.is_set():
            cursor = await connection.execute(
                "SELECT count(*) FROM pg_stat_activity WHERE datname = %s AND wait_event_type = 'Lock'", [database.name]
            )
            ((waiting,),) = await cursor.fetchall()
            most = max(most, waiting)
    return most


@pytest.mark.promise("Q1")
@pytest.mark.rule("R8.1")
async def test_revisions_are_gap_free_and_in_the_order_of_commits_and_of_time(
    fresh_database: ThrowawayDatabase,
) -> None:
    team = add_team(fresh_database)
    done = asyncio.Event()
    watcher = asyncio.create_task(count_lock_waits(fresh_database, done))
    by_writer, refused = await run_writers(fresh_database, team.team_id, team.profiles[0], "locked", WRITES)
    done.set()
    assert await watcher > 0, "the writers of several processes never waited for each other"
    assert refused == []
    everything = sorted(entry for seen in by_writer for entry in seen)
    assert [revision for revision, _, _ in everything] == list(range(1, PROCESSES * WRITERS * WRITES * BATCHES + 1))
    assert all(earlier[1] < later[1] for earlier, later in pairwise(everything)), "time order is revision order"
    # Every revision saw all those before it committed, and none after it: commit order is revision order.
    assert all(seen == revision - 1 for revision, _, seen in everything)
    assert all(seen == sorted(seen) for seen in by_writer), "nobody's later write came before an earlier one"
    with fresh_database.connect() as connection:
        report = verify_ledger(connection, team.team_id)
    assert (report.problems, report.revisions) == ((), len(everything))


@pytest.mark.error("CONTENTION")
async def test_without_the_lock_writers_collide(fresh_database: ThrowawayDatabase) -> None:
    team = add_team(fresh_database)
    _, refused = await run_writers(fresh_database, team.team_id, team.profiles[0], "unlocked", 15)
    assert set(refused) & {"STALE_VERSION", "CONTENTION"}, "the test above would not notice a missing lock"
