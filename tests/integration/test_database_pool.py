"""The pool on PostgreSQL: types of values, roles that must not serve, and what happens when there is too much to do."""

import asyncio
from datetime import UTC, datetime

import pytest
from corrigenda_core.domain.errors import Reason, Refusal
from corrigenda_core.persistence.database import Database, PoolSettings, UnsafeRole
from corrigenda_core.persistence.roles import LOGIN_ROLES, ROLES
from corrigenda_core.ports.deadline import Deadline
from corrigenda_core.testing.postgres import ThrowawayDatabase

pytestmark = pytest.mark.database

ID = "0190a0b0-c0d0-7e00-8f00-000000000001"
BYPASSING = [role.name for role in ROLES if role.bypasses_teams]


@pytest.mark.parametrize("is_binary", [False, True], ids=["text", "binary"])
@pytest.mark.parametrize("time_zone", ["UTC", "Asia/Kolkata"])
async def test_values_arrive_as_the_domain_wants_them(
    shared_database: ThrowawayDatabase, is_binary: bool, time_zone: str
) -> None:
    async with Database(shared_database.url("corrigenda_recall")) as database, database.connection() as connection:
        await connection.execute("BEGIN")
        await connection.execute(f"SET LOCAL timezone = '{time_zone}'".encode())
        cursor = await connection.execute(
            "SELECT '2026-03-01 12:30:00.000001+02'::timestamptz AS t, 'infinity'::timestamptz AS later,"
            " '-infinity'::timestamptz AS before, %s::uuid AS id, ARRAY[%s::uuid] AS ids,"
            " '0002-01-01 00:00:00+00'::timestamptz AS first, '9999-12-31 00:00:00.999999+00'::timestamptz AS last",
            [ID, ID],
            binary=is_binary,
        )
        (row,) = await cursor.fetchall()
        await connection.rollback()
    assert row == {
        "t": datetime(2026, 3, 1, 10, 30, 0, 1, tzinfo=UTC),
        "later": None,
        "before": None,
        "id": ID,
        "ids": [ID],
        "first": datetime(2, 1, 1, tzinfo=UTC),
        "last": datetime(9999, 12, 31, 0, 0, 0, 999999, tzinfo=UTC),
    }
    assert row["t"].utcoffset() == UTC.utcoffset(None)


@pytest.mark.promise("apart.roles")
@pytest.mark.rule("R11.2")
async def test_a_role_that_passes_row_level_security_does_not_serve(shared_database: ThrowawayDatabase) -> None:
    for url in (shared_database.superuser_url, *(shared_database.url(role) for role in BYPASSING)):
        with pytest.raises(UnsafeRole, match="row-level security"):
            await Database(url).open()
    async with Database(shared_database.url(BYPASSING[-1]), settings=PoolSettings(may_bypass_teams=True)):
        pass


@pytest.mark.parametrize("role", sorted(set(LOGIN_ROLES) - set(BYPASSING)))
async def test_every_other_role_may_serve(shared_database: ThrowawayDatabase, role: str) -> None:
    async with Database(shared_database.url(role)) as database, database.connection() as connection:
        cursor = await connection.execute("SELECT current_user::text AS role")
        assert await cursor.fetchall() == [{"role": role}]


async def test_a_full_pool_refuses(shared_database: ThrowawayDatabase) -> None:
    settings = PoolSettings(max_connections=1, max_waiting=1, acquire_timeout_seconds=0.5)
    async with Database(shared_database.url("corrigenda_recall"), settings=settings) as database:

        async def take() -> None:
            async with database.connection():
                pass

        async with database.connection():
            waiting = asyncio.create_task(take())
            await asyncio.sleep(0)
            for one in (take(), waiting):
                with pytest.raises(Refusal) as refused:
                    await one
                assert refused.value.reason is Reason.OVERLOADED
                assert refused.value.retry_after_seconds
        await take()


@pytest.mark.error("STORE_UNAVAILABLE")
async def test_a_database_that_is_away_is_unavailable(shared_database: ThrowawayDatabase) -> None:
    database = Database(shared_database.url("corrigenda_recall"))
    await database.open()
    await database.close()
    with pytest.raises(Refusal) as refused:
        async with database.connection(Deadline.after(1)):
            pass
    assert refused.value.reason is Reason.STORE_UNAVAILABLE
