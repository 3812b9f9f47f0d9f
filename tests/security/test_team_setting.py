"""Q17: the team of a transaction never leaks into the next one on a pooled connection, also after cancellation."""

import asyncio
import random
from collections.abc import AsyncIterator
from contextlib import ExitStack
from dataclasses import replace

import pytest
from corrigenda_core.domain.errors import Refusal
from corrigenda_core.persistence.database import PREPARES_MAX, Database, PoolSettings
from corrigenda_core.persistence.named_sql import Query
from corrigenda_core.persistence.read_transaction import ReadRunner, ReadTransaction
from corrigenda_core.persistence.transaction import Transaction, TransactionRunner
from corrigenda_core.persistence.work_transaction import WorkRunner, WorkTransaction
from corrigenda_core.ports.deadline import Deadline
from corrigenda_core.testing.effort import examples
from corrigenda_core.testing.pooler import pooler_program, transaction_pooler
from corrigenda_core.testing.postgres import Team, ThrowawayDatabase, add_team
from corrigenda_core.testing.revisions import write_evidence

pytestmark = [pytest.mark.database, pytest.mark.rule("R11.2")]

TRANSACTIONS = examples(fast=300, full=5_000)
AT_ONCE = 12

WHOSE = Query(
    name="whose",
    sql="SELECT current_setting('app.team_id', true) AS setting, array_agg(DISTINCT team_id::text) AS seen"
    " FROM profiles",
)
# The cancelled statements would sleep until long after this.
WAIT_SECONDS = 20.0
NAP = Query(name="nap", sql="SELECT pg_sleep(0.005)")


@pytest.fixture(params=["prepared", "not prepared", "through a pooler"])
async def database(request: pytest.FixtureRequest, shared_database: ThrowawayDatabase) -> AsyncIterator[Database]:
    """Few connections, so that every one of them serves many teams; behind a pooler they are fewer on its far side."""
    url = shared_database.url("corrigenda_ingest")
    prepares_max = PREPARES_MAX if request.param == "prepared" else 0
    settings = PoolSettings(max_connections=6, acquire_timeout_seconds=60, prepares_max=prepares_max)
    with ExitStack() as opened:
        if request.param == "through a pooler":
            program = pooler_program()
            if program is None:
                pytest.skip("pgbouncer is not installed")
            url = opened.enter_context(transaction_pooler(program, url))
        else:
            settings = replace(settings, max_connections=3)
        async with Database(url, settings=settings) as database:
            yield database


@pytest.mark.promise("apart.connections", "Q17")
async def test_no_transaction_ever_sees_another_team(database: Database, shared_database: ThrowawayDatabase) -> None:
    teams = [add_team(shared_database) for _ in range(6)]
    runner, reader, worker = TransactionRunner(database), ReadRunner(database), WorkRunner(database)
    chance = random.Random(1)
    wrong: list[object] = []
    cancelled = 0

    def check(team: Team, rows: list[dict[str, object]]) -> None:
        if rows != [{"setting": team.team_id, "seen": [team.team_id]}]:
            wrong.append(rows)

    async def commit(team: Team) -> None:
        async def plan(transaction: Transaction) -> None:
            check(team, await transaction.fetch(WHOSE))
            write_evidence(transaction, team.profiles[0], "x")

        await runner.run(team.team_id, plan, prefetch=[NAP])

    async def refuse(team: Team) -> None:
        def plan(transaction: Transaction) -> None:
            check(team, transaction.prefetched["whose"])
            raise ValueError

        with pytest.raises(ValueError, match=r"^$"):
            await runner.run(team.team_id, plan, prefetch=[WHOSE])

    async def read(team: Team) -> None:
        async def look(view: ReadTransaction) -> None:
            check(team, await view.fetch(WHOSE))

        await reader.run(team.team_id, look, prefetch=[NAP])

    async def work(team: Team) -> None:
        async def do(transaction: WorkTransaction) -> None:
            _, rows = await transaction.execute(NAP, WHOSE)
            check(team, rows)

        await worker.run(team.team_id, do)

    async def some_transactions(count: int) -> None:
        nonlocal cancelled
        for _ in range(count):
            task = asyncio.create_task(chance.choice([commit, refuse, read, work])(chance.choice(teams)))
            # A third is cancelled at some point of its life.
            patience = chance.uniform(0, 0.02) if chance.random() < 1 / 3 else None
            done, _ = await asyncio.wait({task}, timeout=patience)
            if done:
                task.result()
            else:
                cancelled += 1
                task.cancel()
                await asyncio.wait({task})

    await asyncio.gather(*(some_transactions(TRANSACTIONS // AT_ONCE) for _ in range(AT_ONCE)))
    assert wrong == []
    assert cancelled > TRANSACTIONS / 20
    async with database.connection() as connection:
        cursor = await connection.execute(WHOSE.sql.encode())
        assert await cursor.fetchall() in (
            [{"setting": None, "seen": None}],
            [{"setting": "", "seen": None}],
        ), "outside a transaction there is no team and no row"


@pytest.mark.promise("apart.connections", "Q17")
async def test_without_row_level_security_every_transaction_would_see_other_teams(
    fresh_database: ThrowawayDatabase,
) -> None:
    """The anomaly switch: the look that the transactions above take of themselves notices."""
    mine, other = add_team(fresh_database), add_team(fresh_database)
    async with Database(fresh_database.url("corrigenda_ingest")) as database:
        reader = ReadRunner(database)

        async def seen() -> object:
            (row,) = await reader.run(mine.team_id, lambda view: view.prefetched["whose"], prefetch=[WHOSE])
            return row["seen"]

        assert await seen() == [mine.team_id]
        with fresh_database.connect() as connection:
            connection.execute("ALTER TABLE profiles DISABLE ROW LEVEL SECURITY")
        assert await seen() == sorted([mine.team_id, other.team_id])


def busy_connections(database: ThrowawayDatabase) -> int:
    with database.connect() as connection:
        (busy,) = connection.execute(
            "SELECT count(*) FROM pg_stat_activity WHERE datname = %s AND state <> 'idle' AND pid <> pg_backend_pid()"
            " AND application_name = 'corrigenda'",
            [database.name],
        ).fetchone() or (0,)
    assert isinstance(busy, int)
    return busy


@pytest.mark.promise("Q17", "Q20")
async def test_the_pool_is_whole_after_a_storm_of_cancellations(
    database: Database, shared_database: ThrowawayDatabase
) -> None:
    team = add_team(shared_database)
    runner = TransactionRunner(database)

    async def holding(transaction: Transaction) -> None:
        write_evidence(transaction, team.profiles[0], "x")
        await transaction.fetch(Query(name="long", sql="SELECT pg_sleep(600)"))

    for _ in range(examples(fast=20, full=400)):
        storm = [
            asyncio.create_task(runner.run(team.team_id, holding, deadline=Deadline.after(0.02))) for _ in range(5)
        ]
        for outcome in await asyncio.gather(*storm, return_exceptions=True):
            assert isinstance(outcome, Refusal)
    answer = await runner.run(
        team.team_id, lambda tx: write_evidence(tx, team.profiles[0], "x"), deadline=Deadline.after(20)
    )
    assert answer.revision == 1, "nothing of what was cancelled was committed"
    async with asyncio.timeout(WAIT_SECONDS):
        while True:
            if not busy_connections(shared_database):
                break
            await asyncio.sleep(0.01)
