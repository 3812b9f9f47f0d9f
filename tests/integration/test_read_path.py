"""The read path on PostgreSQL: one snapshot, settled instants, revisions that are not there yet."""

import asyncio
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta

import pytest
from corrigenda_core.domain.errors import Reason, Refusal
from corrigenda_core.domain.ids import TeamId
from corrigenda_core.persistence.database import Database
from corrigenda_core.persistence.named_sql import Query
from corrigenda_core.persistence.read_transaction import ReadRunner, ReadTransaction
from corrigenda_core.persistence.team_clock import MICROSECOND
from corrigenda_core.persistence.transaction import Transaction, TransactionRunner
from corrigenda_core.persistence.work_transaction import WorkRunner
from corrigenda_core.testing.postgres import Team, ThrowawayDatabase, add_team
from corrigenda_core.testing.revisions import write_evidence
from psycopg.pq import TransactionStatus

pytestmark = pytest.mark.database

T0 = datetime(2026, 1, 1, tzinfo=UTC)


@pytest.fixture(scope="module")
async def ingest(shared_database: ThrowawayDatabase) -> AsyncIterator[Database]:
    async with Database(shared_database.url("corrigenda_ingest")) as database:
        yield database


@pytest.fixture(scope="module")
async def recall(shared_database: ThrowawayDatabase) -> AsyncIterator[Database]:
    async with Database(shared_database.url("corrigenda_recall")) as database:
        yield database


def fragments(team: Team) -> Query:
    return Query(
        name="fragments",
        sql="SELECT count(*) AS n FROM evidence_fragments WHERE team_id = %(team_id)s",
        parameters={"team_id": team.team_id},
    )


async def test_a_read_sees_one_snapshot(ingest: Database, recall: Database, team: Team) -> None:
    writer, reader = TransactionRunner(ingest), ReadRunner(recall)

    async def read(view: ReadTransaction) -> list[int]:
        counts = [view.reading.revision, view.prefetched["fragments"][0]["n"]]
        await writer.run(team.team_id, lambda tx: write_evidence(tx, team.profiles[0], "x"))
        for rows in await view.fetch_all(fragments(team), fragments(team)):
            counts.append(rows[0]["n"])
        return counts

    assert await reader.run(team.team_id, read, prefetch=[fragments(team)]) == [0, 0, 0, 0]
    assert await reader.run(team.team_id, read, prefetch=[fragments(team)]) == [1, 1, 1, 1]


async def test_a_snapshot_ends_with_its_last_queries(recall: Database, team: Team) -> None:
    """Nothing is asked of it then: the next round trip would have neither a snapshot nor a team."""

    async def read(view: ReadTransaction) -> int:
        ((row,),) = await view.fetch_last(fragments(team))
        with pytest.raises(RuntimeError):
            await view.fetch(fragments(team))
        with pytest.raises(RuntimeError):
            await view.fetch_last(fragments(team))
        count: int = row["n"]
        return count

    assert await ReadRunner(recall).run(team.team_id, read) == 0
    async with recall.connection() as connection:
        assert connection.info.transaction_status is TransactionStatus.IDLE


async def test_a_read_cannot_write(recall: Database, ingest: Database, team: Team) -> None:
    async def write(view: ReadTransaction) -> None:
        await view.fetch(Query(name="write", sql="UPDATE profiles SET name = 'x' WHERE team_id = %s", parameters=["x"]))

    with pytest.raises(Refusal) as refused:
        await ReadRunner(ingest).run(team.team_id, write)
    assert refused.value.reason in {Reason.STORE_UNAVAILABLE, Reason.INTERNAL_ERROR}


@pytest.mark.promise("time.own-writes")
async def test_a_revision_that_is_not_there_yet_is_told(recall: Database, ingest: Database, team: Team) -> None:
    reader = ReadRunner(recall)
    with pytest.raises(Refusal) as refused:
        await reader.run(team.team_id, lambda view: None, min_revision=1)
    assert refused.value.reason is Reason.REVISION_NOT_REPLICATED
    assert refused.value.metadata == {"asked_revision": "1", "current_revision": "0"}
    await TransactionRunner(ingest).run(team.team_id, lambda tx: write_evidence(tx, team.profiles[0], "x"))
    assert await reader.run(team.team_id, lambda view: view.reading.revision, min_revision=1) == 1


async def test_a_missing_team_is_not_found(recall: Database) -> None:
    with pytest.raises(Refusal) as refused:
        await ReadRunner(recall).run(TeamId("00000000-0000-7000-8000-000000000000"), lambda view: None)
    assert refused.value.reason is Reason.RESOURCE_NOT_FOUND


@pytest.mark.promise("time.settled")
@pytest.mark.rule("R8.1", "R8.4")
async def test_after_an_answer_for_an_instant_nothing_is_recorded_at_or_before_it(
    ingest: Database, recall: Database, shared_database: ThrowawayDatabase
) -> None:
    team = add_team(shared_database, driven_now=T0)
    reader, writer = ReadRunner(recall), TransactionRunner(ingest)
    settled = await reader.run(team.team_id, lambda view: view.reading, settle=T0)
    assert (settled.closed_at, settled.now, settled.is_driven) == (T0, T0, True)
    answer = await writer.run(team.team_id, lambda tx: write_evidence(tx, team.profiles[0], "x"))
    assert answer.value.at == T0 + MICROSECOND


@pytest.mark.promise("time.future")
@pytest.mark.rule("R8.1")
async def test_the_future_is_refused(recall: Database, shared_database: ThrowawayDatabase) -> None:
    team = add_team(shared_database, driven_now=T0)
    with pytest.raises(Refusal) as refused:
        await ReadRunner(recall).run(team.team_id, lambda view: None, settle=T0 + MICROSECOND)
    assert refused.value.reason is Reason.INVALID_FIELD


@pytest.mark.rule("R8.1")
async def test_a_commit_that_is_under_way_is_part_of_the_answer_or_later_than_it(
    ingest: Database, recall: Database, team: Team
) -> None:
    begun, go_on = asyncio.Event(), asyncio.Event()

    async def plan(transaction: Transaction) -> datetime:
        moment = write_evidence(transaction, team.profiles[0], "x")
        begun.set()
        await go_on.wait()
        return moment.at

    commit = asyncio.create_task(TransactionRunner(ingest).run(team.team_id, plan))
    await begun.wait()
    instant = datetime.now(UTC) - timedelta(milliseconds=1)
    reader = ReadRunner(recall)
    settling = asyncio.create_task(reader.run(team.team_id, lambda view: view.reading.revision, settle=instant))
    # Whether it waits for the commit (its instant may be the commit's) is the database's business; it must agree.
    asyncio.get_running_loop().call_later(0.05, go_on.set)
    recorded_at = (await commit).value
    seen = await settling
    assert (seen == 1) or recorded_at > instant


async def test_work_outside_the_ledger_moves_no_clock(shared_database: ThrowawayDatabase, team: Team) -> None:
    async with Database(shared_database.url("corrigenda_ingest")) as database:
        worker = WorkRunner(database)
        rename = Query(
            name="rename",
            sql="UPDATE teams SET name = 'by work' WHERE team_id = %s RETURNING name",
            parameters=[team.team_id],
        )
        assert await worker.run(team.team_id, lambda work: work.execute(rename)) == [[{"name": "by work"}]]
        assert await ReadRunner(database).run(team.team_id, lambda view: view.reading.revision) == 0
        trick = Query(name="trick", sql="INSERT INTO entities DEFAULT VALUES")
        with pytest.raises(ValueError, match="past the ledger"):
            await worker.run(team.team_id, lambda work: work.execute(trick))
        with pytest.raises(ValueError, match="past the ledger"):
            await worker.run(team.team_id, lambda work: None, prefetch=[trick])
