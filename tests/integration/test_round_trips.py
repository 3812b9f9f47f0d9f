"""The conversation with the server: what is prepared, what a failure leaves behind, and batches of any size."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import psycopg
import pytest
from corrigenda_core.persistence.database import Database, PoolSettings
from corrigenda_core.persistence.named_sql import Query
from corrigenda_core.persistence.round_trips import Connection
from corrigenda_core.testing.postgres import ThrowawayDatabase

pytestmark = pytest.mark.database

BEGIN, COMMIT = Query(name="begin", sql="BEGIN"), Query(name="commit", sql="COMMIT")
KNOWN = "SELECT count(*) AS n FROM pg_prepared_statements"
MANY_BYTES = 8_000_000


def asked(sql: str, *values: object, **named: object) -> Query:
    """A query of one's own."""
    return Query(name="asked", sql=sql, parameters=named or values)


@pytest.fixture(params=[500, 1, 0], ids=["prepared", "one prepared", "none prepared"])
async def connection(request: pytest.FixtureRequest, shared_database: ThrowawayDatabase) -> AsyncIterator[Connection]:
    """A connection of its own, on which so many statements may stay prepared."""
    settings = PoolSettings(max_connections=1, prepares_max=request.param)
    database = Database(shared_database.url("corrigenda_recall"), settings=settings)
    async with database, database.connection() as connection:
        yield connection


async def in_one_trip(connection: Connection, *queries: Query) -> list[list[dict[str, Any]]]:
    """The rows of queries in a transaction of their own."""
    async with connection.round_trips() as trips:
        return (await trips.run(BEGIN, *queries, COMMIT))[1:-1]


async def test_statements_are_prepared_once_up_to_a_bound(connection: Connection) -> None:
    for number in range(3):
        one = asked("SELECT %(n)s::int + %(n)s::int AS twice, '100%%' AS all, %(t)s::text AS t", n=number, t=None)
        other = asked("SELECT %s::text || %s AS both", "a", "b")
        assert await in_one_trip(connection, one, other, one) == [
            [{"twice": 2 * number, "all": "100%", "t": None}],
            [{"both": "ab"}],
            [{"twice": 2 * number, "all": "100%", "t": None}],
        ]
    ((known,),) = await in_one_trip(connection, asked(KNOWN))
    assert known["n"] == min(2, connection.prepares_max) == len(connection.prepared)


async def test_a_statement_is_planned_again_ever_more_seldom(shared_database: ThrowawayDatabase) -> None:
    database = Database(shared_database.url("corrigenda_recall"))
    asks = asked("SELECT %s::int AS n", 1)
    async with database, database.connection() as connection:
        names = []
        for _ in range(100):
            # Twice in one batch: the second one is what the first one has prepared.
            assert await in_one_trip(connection, asks, asks) == [[{"n": 1}], [{"n": 1}]]
            (prepared,) = connection.prepared.values()
            names.append(prepared.name)
        assert await in_one_trip(connection, *[asks] * 500) == [[{"n": 1}]] * 500
        assert await in_one_trip(connection, asks) == [[{"n": 1}]]
        ((known,),) = await in_one_trip(connection, asked(KNOWN))
    assert known["n"] == 1
    assert [names.count(name) for name in sorted(set(names))] == [4, 32, 64]


async def test_the_first_failure_is_told_and_the_connection_goes_on(connection: Connection) -> None:
    fine, failing = asked("SELECT %s::int AS n", 1), asked("SELECT 1 / %s::int AS n", 0)
    never = asked("SELECT %s::text AS never", "x")
    for _ in range(2):
        async with connection.round_trips() as trips:
            with pytest.raises(psycopg.errors.DivisionByZero):
                await trips.run(BEGIN, fine, failing, never, COMMIT)
        await connection.rollback()
        with pytest.raises(psycopg.errors.UndefinedTable):
            await in_one_trip(connection, asked("SELECT %s::int FROM nowhere", 1))
        await connection.rollback()
        assert await in_one_trip(connection, fine, never) == [[{"n": 1}], [{"never": "x"}]]
    ((known,),) = await in_one_trip(connection, asked(KNOWN))
    assert known["n"] == len(connection.prepared) <= min(3, connection.prepares_max)


async def test_a_value_that_cannot_be_sent_sends_nothing(connection: Connection) -> None:
    async with connection.round_trips() as trips:
        with pytest.raises(psycopg.DataError):
            await trips.run(BEGIN, asked("SELECT %s::text AS t", "\0"))
        with pytest.raises(KeyError):
            await trips.run(BEGIN, asked("SELECT %(absent)s::text AS t", other="x"))
    assert connection.pgconn.transaction_status == psycopg.pq.TransactionStatus.IDLE
    assert await in_one_trip(connection, asked("SELECT %s::int AS n", 1)) == [[{"n": 1}]]


async def test_a_batch_may_be_larger_than_what_the_socket_holds(connection: Connection) -> None:
    # The server answers while we still send: whoever only sends, and reads afterwards, waits for ever.
    text = "x" * (MANY_BYTES // 8)
    async with asyncio.timeout(60):
        answers = await in_one_trip(connection, *(asked("SELECT %s::text AS t", text) for _ in range(8)))
    assert answers == [[{"t": text}]] * 8


async def test_a_conversation_that_is_broken_off_leaves_a_connection_that_works_or_none(
    shared_database: ThrowawayDatabase,
) -> None:
    settings = PoolSettings(max_connections=1)
    async with Database(shared_database.url("corrigenda_recall"), settings=settings) as database:
        under_way = asyncio.Event()

        async def sleep() -> None:
            async with database.connection() as connection:
                under_way.set()
                await in_one_trip(connection, asked("SELECT pg_sleep(%s)", 20), asked("SELECT %s::int AS n", 1))

        task = asyncio.create_task(sleep())
        await under_way.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        async with asyncio.timeout(10), database.connection() as connection:
            assert await in_one_trip(connection, asked("SELECT %s::int AS n", 1)) == [[{"n": 1}]]


async def test_the_server_s_reason_for_ending_a_connection_is_told(shared_database: ThrowawayDatabase) -> None:
    async with Database(shared_database.url("corrigenda_recall")) as database, database.connection() as connection:
        async with connection.round_trips() as trips:
            with pytest.raises(psycopg.errors.AdminShutdown):
                await trips.run(asked("SELECT pg_terminate_backend(pg_backend_pid())"), asked("SELECT %s::int", 1))
        assert connection.broken
