"""The connection pool of one process: one role, one set of type mappings, no session state.

Nothing here survives a transaction on the server: no SET, no LISTEN, no temporary table, so that a pooler in
transaction mode may stand between. Prepared statements are the one exception and can be switched off
(``prepares_max=0``) for poolers that do not follow them.
"""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import AsyncIterator, Coroutine
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import Enum
from typing import Any, Self, TypeVar

import psycopg
from psycopg.abc import AdaptContext, Buffer
from psycopg.adapt import Dumper, Loader
from psycopg.pq import Format, PipelineStatus
from psycopg.rows import DictRow, dict_row
from psycopg.types.numeric import Int8Dumper
from psycopg_pool import AsyncConnectionPool, PoolClosed, PoolTimeout, TooManyRequests

from corrigenda_core.domain.errors import Reason, Refusal
from corrigenda_core.persistence.named_sql import Query
from corrigenda_core.persistence.round_trips import Connection
from corrigenda_core.ports.deadline import NO_DEADLINE, Deadline

T = TypeVar("T")
Row = DictRow

PREPARES_MAX = 500
"""Statements that stay prepared on a connection; a process has fewer."""

_POSTGRES_EPOCH = datetime(2000, 1, 1, tzinfo=UTC)
_LONGEST_TEXT_OF_INFINITY = 9
_GRACE_SECONDS = 0.05  # for what knows by itself that its time is over, and can say what it was waiting for
_INFINITE_MICROSECONDS = (-(1 << 63), (1 << 63) - 1)


class Unbounded(Enum):
    """An end that is not known, as the database writes it; reading gives ``None`` for both."""

    START = "-infinity"
    END = "infinity"


class UnsafeRole(Exception):
    """The connecting role can pass row-level security, so it must not serve traffic."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolSettings:
    """How one process uses the database.

    Attributes:
        max_connections: the pool's bound.
        max_waiting: how many may wait for a connection before others are refused.
        acquire_timeout_seconds: how long one waits for a connection.
        ask_seconds: how long one waits for an answer outside any transaction.
        prepares_max: how many statements stay prepared on a connection; 0 for transaction poolers that do not follow
            prepared statements.
        may_bypass_teams: for the auditor alone, whose role is BYPASSRLS and serves no traffic.
    """

    min_connections: int = 1
    max_connections: int = 8
    max_waiting: int = 256
    acquire_timeout_seconds: float = 5.0
    ask_seconds: float = 30.0
    prepares_max: int = PREPARES_MAX
    may_bypass_teams: bool = False


class _InstantLoader(Loader):
    """timestamptz as text -> aware instant in UTC; an infinite one is ``None``: an end that is not known."""

    def load(self, data: Buffer) -> datetime | None:
        text = bytes(data)
        if len(text) <= _LONGEST_TEXT_OF_INFINITY:
            return None
        return datetime.fromisoformat(text.decode("ascii")).astimezone(UTC)


class _InstantBinaryLoader(Loader):
    """The same for the binary format: microseconds since 2000."""

    format = Format.BINARY

    def load(self, data: Buffer) -> datetime | None:
        microseconds = int.from_bytes(data, "big", signed=True)
        if microseconds in _INFINITE_MICROSECONDS:
            return None
        return _POSTGRES_EPOCH + timedelta(microseconds=microseconds)


class _IdLoader(Loader):
    """uuid as text -> ``str``: ids are opaque text in the domain."""

    def load(self, data: Buffer) -> str:
        return bytes(data).decode("ascii")


class _IdBinaryLoader(Loader):
    """The same for the binary format."""

    format = Format.BINARY

    def load(self, data: Buffer) -> str:
        return str(uuid.UUID(bytes=bytes(data)))


class _UnboundedDumper(Dumper):
    """`Unbounded` as timestamptz."""

    oid = psycopg.adapters.types["timestamptz"].oid

    def dump(self, obj: Unbounded) -> bytes:
        return obj.value.encode()


def register_types(context: AdaptContext) -> None:
    """Registers the mappings above for a connection."""
    adapters = context.adapters
    adapters.register_loader("timestamptz", _InstantLoader)
    adapters.register_loader("timestamptz", _InstantBinaryLoader)
    adapters.register_loader("uuid", _IdLoader)
    adapters.register_loader("uuid", _IdBinaryLoader)
    # Every int as bigint: psycopg's own choice by size would prepare one statement once per mix of sizes.
    adapters.register_dumper(int, Int8Dumper)
    adapters.register_dumper(Unbounded, _UnboundedDumper)


class Database:
    """The pool of one process and role; an asynchronous context manager.

    Args:
        url: libpq URL of the process's own role.
        settings: how the pool is used.
        name: of the process, shown by the server as the application's name.
    """

    def __init__(self, url: str, *, settings: PoolSettings | None = None, name: str = "corrigenda") -> None:
        self._settings = settings or PoolSettings()
        self._unfinished: set[asyncio.Task[Any]] = set()
        self._lent = 0
        self._pool: AsyncConnectionPool[Connection] = AsyncConnectionPool(
            url,
            connection_class=Connection,
            kwargs={
                "autocommit": True,  # transactions say BEGIN and COMMIT themselves, in the middle of a pipeline
                "row_factory": dict_row,
                "application_name": name,
                # The conversation prepares by itself; the driver would forget, and drop, all of it after a rollback.
                "prepare_threshold": None,
            },
            min_size=self._settings.min_connections,
            max_size=self._settings.max_connections,
            max_waiting=self._settings.max_waiting,
            timeout=self._settings.acquire_timeout_seconds,
            configure=self._configure,
            name=name,
            open=False,
        )

    async def open(self, *, timeout_seconds: float = 30.0) -> None:
        """Connects, and checks the role.

        Raises:
            UnsafeRole: if the role is superuser or BYPASSRLS, or may become one that is.
            PoolTimeout: if the database does not answer in time.
        """
        async with AsyncExitStack() as unless_opened:
            unless_opened.push_async_callback(self._pool.close)
            await self._pool.open(wait=True, timeout=timeout_seconds)
            await self._check_role()
            unless_opened.pop_all()

    async def close(self) -> None:
        """Waits for transactions that were abandoned by their callers, then closes the pool."""
        if self._unfinished:
            await asyncio.wait(self._unfinished)
        await self._pool.close()

    async def __aenter__(self) -> Self:
        await self.open()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    @asynccontextmanager
    async def connection(self, deadline: Deadline = NO_DEADLINE) -> AsyncIterator[Connection]:
        """A connection for one transaction; what is left open on it is rolled back before anyone else gets it.

        Raises:
            Refusal: OVERLOADED if all connections are in use for too long, STORE_UNAVAILABLE if there is none.
        """
        timeout = min(self._settings.acquire_timeout_seconds, deadline.remaining_seconds())
        try:
            connection = await self._pool.getconn(timeout=max(timeout, 0.001))
        except TooManyRequests as refused:
            raise Refusal(Reason.OVERLOADED, "too many wait for the database", retry_after_seconds=1.0) from refused
        except (PoolTimeout, PoolClosed) as refused:
            raise self._no_connection() from refused
        self._lent += 1
        try:
            yield connection
        finally:
            self._lent -= 1
            if connection.pgconn.pipeline_status != PipelineStatus.OFF:
                # Whoever was cancelled may have left the pipeline open while the connection looks idle: the next one
                # would read no answer, or the answers to another's questions.
                await connection.close()
            # The pool rolls back what is open and replaces a connection that is closed.
            await self._pool.putconn(connection)

    async def ask(self, query: Query) -> list[Row]:
        """The rows of one statement outside any transaction: of a function that is asked before a team is known.

        A server that does not answer is not waited for: neither beyond ``ask_seconds`` nor by a caller who gives up.

        Raises:
            Refusal: OVERLOADED or STORE_UNAVAILABLE.
        """
        deadline = Deadline.after(self._settings.ask_seconds)
        return await self.within(deadline, self._asked(query, deadline))

    async def _asked(self, query: Query, deadline: Deadline) -> list[Row]:
        async with self.connection(deadline) as connection:
            try:
                async with connection.round_trips() as trips:
                    (rows,) = await trips.run(query)
            except psycopg.OperationalError as error:
                raise self._no_connection() from error
            return rows

    async def replace_broken(self) -> None:
        """Tests the idle connections and replaces those that a restart of the server has broken."""
        await self._pool.check()

    async def within(self, deadline: Deadline, work: Coroutine[Any, Any, T]) -> T:
        """Runs ``work``; at the deadline, or if the caller is cancelled, it is told to stop but not waited for.

        Cancelling a statement needs the server's help, which a frozen server does not give; the caller's answer must
        not wait for it. `close` does.

        Raises:
            Refusal: STORE_UNAVAILABLE at the deadline.
        """
        task = asyncio.create_task(work)
        try:
            timeout = deadline.timeout_seconds()
            done, _ = await asyncio.wait({task}, timeout=None if timeout is None else timeout + _GRACE_SECONDS)
        except asyncio.CancelledError:
            self._abandon(task)
            raise
        if not done:
            self._abandon(task)
            raise Refusal(
                Reason.STORE_UNAVAILABLE,
                "the database did not answer before the deadline",
                metadata={"cause": "deadline"},
                retry_after_seconds=1.0,
            )
        return task.result()

    def _abandon(self, task: asyncio.Task[Any]) -> None:
        task.cancel()
        self._unfinished.add(task)
        task.add_done_callback(self._forget)

    def _forget(self, task: asyncio.Task[Any]) -> None:
        self._unfinished.discard(task)
        if not task.cancelled():
            # Whatever it met while it was being stopped concerns nobody any more; asking marks it as seen.
            task.exception()

    async def _configure(self, connection: Connection) -> None:
        register_types(connection)
        connection.prepares_max = self._settings.prepares_max

    def _no_connection(self) -> Refusal:
        if self._lent >= self._settings.max_connections:
            return Refusal(Reason.OVERLOADED, "all database connections are in use", retry_after_seconds=1.0)
        return Refusal(Reason.STORE_UNAVAILABLE, "the database cannot be reached", retry_after_seconds=2.0)

    async def _check_role(self) -> None:
        if self._settings.may_bypass_teams:
            return
        async with self.connection() as connection:
            cursor = await connection.execute(
                "SELECT current_user::text AS role, array_agg(r.rolname::text ORDER BY r.rolname) AS unsafe"
                " FROM pg_roles AS r WHERE (r.rolsuper OR r.rolbypassrls) AND pg_has_role(r.oid, 'MEMBER')"
            )
            row = await cursor.fetchone()
        if row is not None and row["unsafe"]:
            raise UnsafeRole(f"role {row['role']} can act as {', '.join(row['unsafe'])}, past row-level security")
