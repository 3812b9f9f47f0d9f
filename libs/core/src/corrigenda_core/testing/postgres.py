"""PostgreSQL for tests: one server per session, one migrated template, a fresh database in a few milliseconds.

The server is, first that is there: ``CORRIGENDA_TEST_DATABASE_URL`` (a superuser's URL), a container if an engine
answers, the embedded one. Several sessions may use one server at once: every name of theirs is random, and the
passwords of the roles, which belong to the server, are the same for all.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import uuid
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from urllib.parse import quote, urlsplit, urlunsplit

import psycopg
from psycopg import sql

from corrigenda_core.domain.ids import ProfileId, TeamId
from corrigenda_core.persistence.database import Unbounded, register_types
from corrigenda_core.persistence.embedded import temporary_server
from corrigenda_core.persistence.ledger import GENESIS_HASH
from corrigenda_core.persistence.migrate import migrate
from corrigenda_core.persistence.roles import LOGIN_ROLES

URL_VARIABLE = "CORRIGENDA_TEST_DATABASE_URL"
CONTAINER_IMAGE = "pgvector/pgvector:pg17"
# A shared test server has no secrets, and sessions that run at once must agree.
ROLE_PASSWORD = "corrigenda-test"
_MEMORY = Path("/dev/shm")
_ROOM_BYTES = 2 * 1024**3


@dataclass(frozen=True, slots=True, kw_only=True)
class ThrowawayDatabase:
    """A migrated database of its own."""

    name: str
    superuser_url: str

    def url(self, role: str) -> str:
        """The URL of a role of corrigenda (``corrigenda_ingest``, ...)."""
        return _with(self.superuser_url, user=role, password=ROLE_PASSWORD)

    def connect(self) -> psycopg.Connection[tuple[object, ...]]:
        """A synchronous superuser connection in autocommit mode, for looking and for tampering."""
        return psycopg.connect(self.superuser_url, autocommit=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class Team:
    """A team with profiles, as `add_team` makes it."""

    team_id: TeamId
    profiles: tuple[ProfileId, ...]


class PostgresCluster:
    """A server with a migrated template database.

    Args:
        superuser_url: of any database of the server.
    """

    def __init__(self, superuser_url: str) -> None:
        self._superuser_url = superuser_url
        self._template = _random_name("template")

    def make_template(self) -> None:
        """Makes the template and sets the roles' passwords, once."""
        self._run(sql.SQL("CREATE DATABASE {} TEMPLATE template0 ENCODING 'UTF8'").format(self._identifier()))
        migrate(
            _with(self._superuser_url, database=self._template),
            role_passwords=dict.fromkeys(LOGIN_ROLES, ROLE_PASSWORD),
        )

    def create(self) -> ThrowawayDatabase:
        """Makes a database from the template."""
        name = _random_name("test")
        self._run(sql.SQL("CREATE DATABASE {} TEMPLATE {}").format(sql.Identifier(name), self._identifier()))
        return ThrowawayDatabase(name=name, superuser_url=_with(self._superuser_url, database=name))

    def create_empty(self) -> ThrowawayDatabase:
        """Makes a database that is not migrated, for tests of the migrations themselves."""
        name = _random_name("empty")
        self._run(sql.SQL("CREATE DATABASE {} TEMPLATE template0 ENCODING 'UTF8'").format(sql.Identifier(name)))
        return ThrowawayDatabase(name=name, superuser_url=_with(self._superuser_url, database=name))

    def drop(self, database: ThrowawayDatabase) -> None:
        """Drops a database, whoever is connected."""
        self._run(sql.SQL("DROP DATABASE IF EXISTS {} WITH (FORCE)").format(sql.Identifier(database.name)))

    def drop_template(self) -> None:
        """Drops the template, for servers that outlive the session."""
        self._run(sql.SQL("DROP DATABASE IF EXISTS {} WITH (FORCE)").format(self._identifier()))

    @contextlib.contextmanager
    def database(self) -> Iterator[ThrowawayDatabase]:
        """A database from the template, for as long as the context lasts."""
        database = self.create()
        try:
            yield database
        finally:
            self.drop(database)

    def _identifier(self) -> sql.Identifier:
        return sql.Identifier(self._template)

    def _run(self, statement: sql.Composed) -> None:
        with psycopg.connect(self._superuser_url, autocommit=True) as connection:
            connection.execute(statement)


@contextlib.contextmanager
def postgres_cluster(environment: Mapping[str, str] = os.environ) -> Iterator[PostgresCluster]:
    """The server of this session with its template ready."""
    with _server_url(environment) as url:
        cluster = PostgresCluster(url)
        try:
            cluster.make_template()
            yield cluster
        finally:
            cluster.drop_template()


@contextlib.contextmanager
def _server_url(environment: Mapping[str, str]) -> Iterator[str]:
    if url := environment.get(URL_VARIABLE):
        yield url
        return
    with contextlib.ExitStack() as stack:
        container_url = _container_url(stack)
        yield container_url or stack.enter_context(temporary_server(within=_memory())).url


def _memory() -> Path | None:
    """A folder in memory, if there is one with room: a database is a thousand files, made anew for many a test."""
    if not _MEMORY.is_dir() or not os.access(_MEMORY, os.W_OK | os.X_OK):
        return None
    system = os.statvfs(_MEMORY)
    return _MEMORY if system.f_bavail * system.f_frsize >= _ROOM_BYTES else None


def _container_url(stack: contextlib.ExitStack) -> str | None:
    """The URL of a container that ends with the stack, or ``None`` if no engine answers."""
    try:
        from docker.errors import DockerException
        from testcontainers.community.postgres import PostgresContainer
    except ImportError:
        return None
    try:
        container = stack.enter_context(PostgresContainer(CONTAINER_IMAGE, driver=None))
    except DockerException:
        return None
    url: str = container.get_connection_url()
    return url


def add_team(
    database: ThrowawayDatabase, *, profiles: int = 2, driven_now: datetime | None = None, name: str = "a team"
) -> Team:
    """A team with its clock and profiles, open unless ``driven_now`` is given; made as a superuser."""
    team = Team(team_id=TeamId(_new_id()), profiles=tuple(ProfileId(_new_id()) for _ in range(profiles)))
    with database.connect() as connection, connection.transaction():
        register_types(connection)
        connection.execute(
            "INSERT INTO teams (team_id, name, review_period_days, review_start_minute, time_zone,"
            " trusts_declared_groups, clock_mode, driven_now, version, created_at, opened_at, revision, recorded_at)"
            " SELECT %s, %s, 7, 120, 'UTC', false, c.mode, c.driven_now, 1, now(), c.opened_at, 0,"
            " coalesce(c.driven_now, now())"
            " FROM (VALUES (%s, %s::timestamptz, coalesce(%s, now()))) AS c (mode, driven_now, opened_at)",
            [
                team.team_id,
                name,
                "driven" if driven_now else "open",
                driven_now,
                Unbounded.END if driven_now else None,
            ],
        )
        connection.execute(
            "INSERT INTO team_clock (team_id, revision, closed_at, ledger_head) VALUES (%s, 0, '-infinity', %s)",
            [team.team_id, GENESIS_HASH],
        )
        for number, profile_id in enumerate(team.profiles):
            connection.execute(
                "INSERT INTO profiles (team_id, profile_id, name, revision, recorded_at)"
                " VALUES (%s, %s, %s, 0, clock_timestamp())",
                [team.team_id, profile_id, f"profile {number}"],
            )
    return team


def _new_id() -> str:
    return str(uuid.UUID(int=(uuid.uuid4().int & ~(0xF << 76)) | (7 << 76)))


def _random_name(kind: str) -> str:
    return f"corrigenda_{kind}_{secrets.token_hex(6)}"


def _with(url: str, *, user: str | None = None, password: str | None = None, database: str | None = None) -> str:
    """The URL with another user, password or database."""
    parts = urlsplit(url)
    place = parts.netloc.rpartition("@")[2]
    who = parts.netloc.rpartition("@")[0] if user is None else f"{quote(user)}:{quote(password or '')}"
    path = parts.path if database is None else f"/{database}"
    return urlunsplit(parts._replace(netloc=f"{who}@{place}" if who else place, path=path))
