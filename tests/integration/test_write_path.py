"""The write path on PostgreSQL: moments, complete rows, versions, and what is refused with nothing written."""

import asyncio
import itertools
import uuid
from collections.abc import AsyncIterator, Callable
from datetime import UTC, datetime, timedelta

import pytest
from corrigenda_core.domain.errors import Reason, Refusal
from corrigenda_core.domain.ids import TeamId
from corrigenda_core.domain.time import Moment
from corrigenda_core.persistence import tables
from corrigenda_core.persistence.database import Database, PoolSettings
from corrigenda_core.persistence.ledger_verification import verify_ledger
from corrigenda_core.persistence.named_sql import Query
from corrigenda_core.persistence.team_clock import MICROSECOND, TeamClock
from corrigenda_core.persistence.transaction import Transaction, TransactionRunner
from corrigenda_core.ports.deadline import Deadline
from corrigenda_core.testing.postgres import Team, ThrowawayDatabase, add_team
from corrigenda_core.testing.revisions import actor_of, predicate_row, write_evidence, write_predicate
from corrigenda_core.testing.tcp_proxy import TcpProxy

pytestmark = pytest.mark.database

Look = Callable[[str], list[tuple[object, ...]]]


class ShiftedClock:
    """A database clock that a test sets off."""

    def __init__(self) -> None:
        self.offset = timedelta()

    def read(self, database_time: datetime) -> datetime:
        return database_time + self.offset


@pytest.fixture(scope="module")
async def ingest(shared_database: ThrowawayDatabase) -> AsyncIterator[Database]:
    async with Database(shared_database.url("corrigenda_ingest")) as database:
        yield database


@pytest.fixture
def runner(ingest: Database) -> TransactionRunner:
    return TransactionRunner(ingest)


@pytest.fixture
def look(shared_database: ThrowawayDatabase) -> Look:
    """Runs a query as superuser."""

    def run(sql: str) -> list[tuple[object, ...]]:
        with shared_database.connect() as connection:
            return connection.execute(sql.encode()).fetchall()

    return run


def ledger_of(look: Look, team: Team) -> list[tuple[object, ...]]:
    return look(f"SELECT revision, recorded_at FROM ledger WHERE team_id = '{team.team_id}' ORDER BY revision")


@pytest.mark.rule("R8.1", "R11.4")
async def test_each_revision_has_the_next_number_and_a_later_time(
    runner: TransactionRunner, team: Team, look: Look, shared_database: ThrowawayDatabase
) -> None:
    def plan(transaction: Transaction) -> list[Moment]:
        return [write_evidence(transaction, team.profiles[0], f"text {number}") for number in range(3)]

    first = (await runner.run(team.team_id, plan)).value
    second = (await runner.run(team.team_id, plan)).value
    moments = first + second
    assert [moment.revision for moment in moments] == [1, 2, 3, 4, 5, 6]
    assert [later.at - earlier.at for earlier, later in itertools.pairwise(first)] == [MICROSECOND] * 2
    assert second[0].at > first[-1].at
    assert ledger_of(look, team) == [(moment.revision, moment.at) for moment in moments]
    with shared_database.connect() as connection:
        report = verify_ledger(connection, team.team_id)
    assert (report.problems, report.revisions, report.rows) == ((), 6, 12)


@pytest.mark.rule("R2.1", "R11.4")
async def test_rows_that_are_written_together_are_what_they_are_alone(
    runner: TransactionRunner, team: Team, look: Look, shared_database: ThrowawayDatabase
) -> None:
    texts = [
        "NULL",
        "{a,b}",
        'say "so"',
        "back\\slash",
        "\\",
        '\\"',
        ",",
        "{}",
        "line\nbreak",
        " ",
        "ß∂ƒ 漢",
        "%(x)s %%",
    ]

    def plan(transaction: Transaction) -> None:
        for text in texts:
            write_evidence(transaction, team.profiles[0], text)

    await runner.run(team.team_id, plan)
    stored = f"SELECT content FROM evidence_fragments WHERE team_id = '{team.team_id}' ORDER BY revision"
    assert [content for (content,) in look(stored)] == texts
    with shared_database.connect() as connection:
        assert verify_ledger(connection, team.team_id).problems == ()


@pytest.mark.promise("Q1")
@pytest.mark.rule("R8.1")
async def test_a_clock_that_jumps_back_never_turns_the_order(ingest: Database, team: Team) -> None:
    clock = ShiftedClock()
    runner = TransactionRunner(ingest, team_clock=TeamClock(clock))
    moments: list[Moment] = []
    for offset_seconds in (0, 3600, -3600, 1800, -86400):
        clock.offset = timedelta(seconds=offset_seconds)
        moments.append((await runner.run(team.team_id, lambda tx: write_evidence(tx, team.profiles[0], "x"))).value)
    times = [moment.at for moment in moments]
    assert times == sorted(set(times))
    assert [later - earlier for earlier, later in itertools.pairwise(times[1:])] == [MICROSECOND] * 3


@pytest.mark.rule("R8.4")
async def test_a_driven_clock_is_the_time_that_is_recorded(
    runner: TransactionRunner, shared_database: ThrowawayDatabase
) -> None:
    driven_now = datetime(2020, 2, 29, 12, tzinfo=UTC)
    team = add_team(shared_database, driven_now=driven_now)
    answers = [await runner.run(team.team_id, lambda tx: write_evidence(tx, team.profiles[0], "x")) for _ in range(2)]
    assert [answer.value.at for answer in answers] == [driven_now, driven_now + MICROSECOND]
    with shared_database.connect() as connection:
        connection.execute(
            "UPDATE teams SET driven_now = driven_now + interval '1 day' WHERE team_id = %s", [team.team_id]
        )
    answer = await runner.run(team.team_id, lambda tx: write_evidence(tx, team.profiles[0], "x"))
    assert answer.value.at == driven_now + timedelta(days=1)


async def test_the_planner_sees_what_was_committed_before_it(runner: TransactionRunner, team: Team) -> None:
    count = Query(
        name="count",
        sql="SELECT count(*) AS n FROM evidence_fragments WHERE team_id = %s",
        parameters=[team.team_id],
    )

    async def plan(transaction: Transaction) -> tuple[int, int, int]:
        write_evidence(transaction, team.profiles[0], "x")
        (extra,) = await transaction.fetch(count)
        return transaction.reading.revision, transaction.prefetched["count"][0]["n"], extra["n"]

    answers = [(await runner.run(team.team_id, plan, prefetch=[count])).value for _ in range(3)]
    assert answers == [(0, 0, 0), (1, 1, 1), (2, 2, 2)]


async def test_without_a_revision_nothing_moves(runner: TransactionRunner, team: Team, look: Look) -> None:
    answer = await runner.run(team.team_id, lambda tx: tx.reading.revision)
    assert (answer.value, answer.revision) == (0, 0)
    assert ledger_of(look, team) == []


@pytest.mark.promise("kept.refused")
async def test_a_refusal_of_the_planner_writes_nothing(runner: TransactionRunner, team: Team, look: Look) -> None:
    def plan(transaction: Transaction) -> None:
        write_evidence(transaction, team.profiles[0], "x")
        raise Refusal(Reason.NOT_OWNER, "not yours")

    with pytest.raises(Refusal, match="not yours"):
        await runner.run(team.team_id, plan)
    assert ledger_of(look, team) == []
    assert (await runner.run(team.team_id, lambda tx: write_evidence(tx, team.profiles[0], "x"))).revision == 1


async def test_only_a_commit_is_told_of(ingest: Database, team: Team) -> None:
    told: list[tuple[str, object]] = []
    runner = TransactionRunner(
        ingest, committed=lambda rows: told.extend((table.name, row.get("content")) for table, row in rows)
    )

    def refuse(transaction: Transaction) -> None:
        write_evidence(transaction, team.profiles[0], "refused")
        raise Refusal(Reason.NOT_OWNER, "no")

    with pytest.raises(Refusal):
        await runner.run(team.team_id, refuse)
    await runner.run(team.team_id, lambda tx: write_evidence(tx, team.profiles[0], "written"))
    assert told == [("ingests", None), ("evidence_fragments", "written")]


async def test_what_the_database_refuses_writes_nothing(runner: TransactionRunner, team: Team, look: Look) -> None:
    def plan(transaction: Transaction) -> None:
        write_evidence(transaction, team.profiles[0], "x")
        transaction.insert(
            tables.ingests, {"ingest_id": str(uuid.uuid4()), "profile_id": str(uuid.uuid4()), "result": b""}
        )

    with pytest.raises(Refusal) as refused:
        await runner.run(team.team_id, plan)
    assert refused.value.reason is Reason.INTERNAL_ERROR
    assert refused.value.metadata == {"sqlstate": "23503", "constraint": "ingests_team_id_profile_id_fkey"}
    assert ledger_of(look, team) == []


@pytest.mark.parametrize("team_id", ["01900000-0000-7000-8000-000000000000", "no id", "'; DROP TABLE teams; --"])
async def test_a_missing_team_is_not_found(runner: TransactionRunner, team_id: str) -> None:
    with pytest.raises(Refusal) as refused:
        await runner.run(TeamId(team_id), lambda tx: None)
    assert refused.value.reason is Reason.RESOURCE_NOT_FOUND


async def test_versions_of_a_row_follow_each_other(
    runner: TransactionRunner, team: Team, look: Look, shared_database: ThrowawayDatabase
) -> None:
    owner = team.profiles[0]
    await runner.run(team.team_id, lambda tx: write_predicate(tx, owner, predicate_row("p", 1), None))
    await runner.run(team.team_id, lambda tx: write_predicate(tx, owner, predicate_row("p", 2, unit="m"), 1))
    history = look(
        f"SELECT version, unit, revision FROM predicates_history WHERE team_id = '{team.team_id}' ORDER BY version"
    )
    assert history == [(1, "", 1), (2, "m", 2)]
    with shared_database.connect() as connection:
        assert verify_ledger(connection, team.team_id).is_verified


async def test_a_stale_version_is_refused_and_nothing_of_the_commit_stays(
    runner: TransactionRunner, team: Team, look: Look
) -> None:
    owner = team.profiles[0]
    for version, prior in ((1, None), (2, 1)):
        await runner.run(
            team.team_id, lambda tx, v=version, p=prior: write_predicate(tx, owner, predicate_row("p", v), p)
        )

    def stale(transaction: Transaction) -> None:
        write_evidence(transaction, owner, "goes down with the rest")
        transaction.put(tables.predicates, predicate_row("p", 2, unit="km"), 1)

    with pytest.raises(Refusal) as refused:
        await runner.run(team.team_id, stale)
    assert refused.value.reason is Reason.STALE_VERSION
    assert len(ledger_of(look, team)) == 2


async def test_what_is_not_set_must_be_as_it_is(runner: TransactionRunner, team: Team) -> None:
    owner = team.profiles[0]
    await runner.run(team.team_id, lambda tx: write_predicate(tx, owner, predicate_row("p", 1), None))

    def plan(transaction: Transaction, unit: str) -> None:
        transaction.next_moment(actor_of(owner), "test")
        row = predicate_row("p", 2, unit=unit, lifecycle="retired")
        transaction.put(tables.predicates, row, 1, changed=["lifecycle"])

    with pytest.raises(Refusal) as refused:
        await runner.run(team.team_id, lambda tx: plan(tx, "a unit that the table does not have"))
    assert refused.value.reason is Reason.STALE_VERSION
    assert (await runner.run(team.team_id, lambda tx: plan(tx, ""))).revision == 2


def _skips_a_version(transaction: Transaction, team: Team) -> None:
    transaction.next_moment(actor_of(team.profiles[0]), "test")
    transaction.put(tables.predicates, predicate_row("p", 3), 1)


def _has_no_revision(transaction: Transaction, team: Team) -> None:
    transaction.insert(tables.ingests, {"ingest_id": str(uuid.uuid4()), "profile_id": team.profiles[0], "result": b""})


def _is_incomplete(transaction: Transaction, team: Team) -> None:
    transaction.next_moment(actor_of(team.profiles[0]), "test")
    transaction.insert(tables.ingests, {"ingest_id": str(uuid.uuid4()), "result": b""})


def _has_an_unknown_column(transaction: Transaction, team: Team) -> None:
    transaction.next_moment(actor_of(team.profiles[0]), "test")
    transaction.insert(tables.ingests, {"ingest_id": str(uuid.uuid4()), "colour": "red"})


def _is_of_another_team(transaction: Transaction, team: Team) -> None:
    transaction.next_moment(actor_of(team.profiles[0]), "test")
    transaction.insert(tables.ingests, {"team_id": str(uuid.uuid4())})


def _has_a_wrong_value(transaction: Transaction, team: Team) -> None:
    transaction.next_moment(actor_of(team.profiles[0]), "test")
    transaction.insert(tables.ingests, {"ingest_id": 7, "profile_id": team.profiles[0], "result": b""})


@pytest.mark.rule("R11.4")
@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE evidence_fragments SET labels = '{}' WHERE team_id = %s",
        "INSERT INTO entities SELECT * FROM entities WHERE team_id = %s",
        "WITH gone AS (DELETE FROM predicates_history WHERE team_id = %s RETURNING 1) SELECT 1",
        "merge  into relationships AS r USING x ON r.team_id = %s",
    ],
)
async def test_nothing_is_written_past_the_ledger(runner: TransactionRunner, team: Team, statement: str) -> None:
    def plan(transaction: Transaction) -> None:
        transaction.next_moment(actor_of(team.profiles[0]), "test")
        transaction.execute(Query(name="trick", sql=statement, parameters=[team.team_id]))

    with pytest.raises(ValueError, match="past the ledger"):
        await runner.run(team.team_id, plan)


@pytest.mark.parametrize(
    ("plan", "error", "message"),
    [
        (_skips_a_version, ValueError, "does not follow"),
        (_has_no_revision, RuntimeError, "next_moment"),
        (_is_incomplete, ValueError, "profile_id needs a value"),
        (_has_an_unknown_column, ValueError, "no column colour"),
        (_is_of_another_team, ValueError, "team_id is"),
        (_has_a_wrong_value, TypeError, "ingest_id"),
    ],
)
async def test_a_planner_cannot_make_an_incomplete_or_foreign_row(
    runner: TransactionRunner,
    team: Team,
    plan: Callable[[Transaction, Team], None],
    error: type[Exception],
    message: str,
) -> None:
    with pytest.raises(error, match=message):
        await runner.run(team.team_id, lambda tx: plan(tx, team))


async def test_settings_outside_the_ledger_may_be_executed(runner: TransactionRunner, team: Team, look: Look) -> None:
    def plan(transaction: Transaction) -> None:
        moment = transaction.next_moment(actor_of(team.profiles[0]), "rename")
        transaction.execute(
            Query(
                name="rename",
                sql="UPDATE teams SET name = %s, revision = %s, recorded_at = %s WHERE team_id = %s",
                parameters=["renamed", moment.revision, moment.at, team.team_id],
            )
        )

    await runner.run(team.team_id, plan)
    assert look(f"SELECT name FROM teams WHERE team_id = '{team.team_id}'") == [("renamed",)]


async def test_who_waits_too_long_for_the_teams_turn_is_told_so(runner: TransactionRunner, team: Team) -> None:
    begun, go_on = asyncio.Event(), asyncio.Event()

    async def slow(transaction: Transaction) -> None:
        write_evidence(transaction, team.profiles[0], "x")
        begun.set()
        await go_on.wait()

    slow_commit = asyncio.create_task(runner.run(team.team_id, slow))
    await begun.wait()
    with pytest.raises(Refusal) as refused:
        await runner.run(team.team_id, lambda tx: None, deadline=Deadline.after(0.3))
    assert refused.value.reason is Reason.OVERLOADED
    assert refused.value.retry_after_seconds
    go_on.set()
    assert (await slow_commit).revision == 1


async def test_a_commit_takes_two_round_trips(shared_database: ThrowawayDatabase, team: Team) -> None:
    url = shared_database.url("corrigenda_ingest")
    async with TcpProxy(url) as proxy, Database(proxy.url(url), settings=PoolSettings(max_connections=1)) as database:
        runner = TransactionRunner(database)
        for _ in range(2):
            proxy.reset_count()
            await runner.run(team.team_id, lambda tx: write_evidence(tx, team.profiles[0], "x"))
        assert proxy.round_trips == 2
