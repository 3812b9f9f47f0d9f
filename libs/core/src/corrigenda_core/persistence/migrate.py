"""Brings a database to the newest schema: extensions, roles, then the migrations as the role that owns the schema."""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import psycopg
from alembic import command
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from psycopg import errors
from sqlalchemy import create_engine
from sqlalchemy.pool import NullPool

from corrigenda_core.persistence.migration_steps import LOCK_TIMEOUT, migrations_folder
from corrigenda_core.persistence.roles import MIGRATOR, ensure_roles

OLDEST_SERVER = 15
EXTENSIONS = ("btree_gist", "pg_trgm", "unaccent", "vector")
OLDEST_VECTOR = (0, 8)
MIGRATION_LOCK = 0x636F7272

# alembic keeps its context and its operations in module globals: one migration at a time in a process.
_alembic_lock = threading.Lock()


class MigrationRefused(Exception):
    """The database cannot be migrated as it is; the message says what somebody has to do."""


def migrate(
    url: str,
    *,
    role_passwords: Mapping[str, str] | None = None,
    revision: str = "head",
    next_versions: Path | None = None,
) -> str | None:
    """Prepares extensions and roles and applies all migrations up to ``revision``.

    A schema that a later release has made is left as it is: every release runs on the schema of the next one.

    Args:
        url: libpq URL or keyword string of a role that may make extensions and roles, or for which both are there.
        role_passwords: by login role; roles that it does not name keep theirs.
        revision: how far; default: all.
        next_versions: a further folder of migrations that follow ours: what tests try as a next release.

    Returns:
        The revision of a later release that the schema was left at, if that is how it was found.

    Raises:
        MigrationRefused: server or extension too old, missing, or not permitted; a schema that is no release's.
        RolesRefused: roles missing and not permitted.
    """
    with _migrating(url, role_passwords or {}, next_versions) as config:
        if (later := _later_revision(config)) is not None:
            return later
        command.upgrade(config, revision)
    return None


def prepare(url: str, *, role_passwords: Mapping[str, str] | None = None) -> None:
    """Prepares extensions, roles and rights and makes no table: what a dump of a database of ours is restored into.

    Arguments and failures are those of `migrate`.
    """
    with _prepared(url, role_passwords or {}):
        pass


def downgrade(url: str, revision: str, *, next_versions: Path | None = None) -> None:
    """Takes migrations back down to ``revision`` (``base``: all); extensions and roles stay."""
    with _migrating(url, {}, next_versions) as config:
        command.downgrade(config, revision)


@contextmanager
def _migrating(url: str, role_passwords: Mapping[str, str], next_versions: Path | None) -> Iterator[Config]:
    """An alembic configuration on a prepared database; one migration of a database at a time."""
    with _alembic_lock, _prepared(url, role_passwords), _as_migrator(url, next_versions) as config:
        yield config


def _later_revision(config: Config) -> str | None:
    """The revision that the schema is at, if a later release than this one has made it.

    Raises:
        MigrationRefused: the schema is at a revision that is neither ours nor a later one.
    """
    script = ScriptDirectory.from_config(config)
    found = MigrationContext.configure(config.attributes["connection"]).get_current_revision()
    config.attributes["connection"].commit()
    ours = {revision.revision for revision in script.walk_revisions()}
    if found is None or found in ours:
        return None
    if found[:4].isdigit() and found[:4] > max(ours)[:4]:
        return found
    raise MigrationRefused(f"the schema is at {found}, which no release of corrigenda has made")


@contextmanager
def _prepared(url: str, role_passwords: Mapping[str, str]) -> Iterator[None]:
    """A database with extensions, roles and rights, kept from other migrations meanwhile."""
    with psycopg.connect(url, autocommit=True) as lock:
        # Two starts of a stack may migrate at once: the second one waits and finds nothing left to do.
        lock.execute("SELECT pg_advisory_lock(%s)", [MIGRATION_LOCK])
        _check_server(lock)
        ensure_roles(lock, role_passwords)
        _ensure_extensions(lock)
        _ensure_schema_rights(lock)
        yield


@contextmanager
def _as_migrator(url: str, next_versions: Path | None) -> Iterator[Config]:
    engine = create_engine("postgresql+psycopg://", creator=partial(psycopg.connect, url), poolclass=NullPool)
    with engine.connect() as connection:
        connection.exec_driver_sql(f"SET ROLE {MIGRATOR}")
        # A migration that cannot have its lock at once gives way instead of queueing traffic behind itself.
        connection.exec_driver_sql(f"SET lock_timeout = '{LOCK_TIMEOUT}'")
        connection.commit()
        config = Config(attributes={"connection": connection})
        config.set_main_option("script_location", str(migrations_folder()))
        config.set_main_option("path_separator", "os")
        folders = [migrations_folder() / "versions", *([] if next_versions is None else [next_versions])]
        config.set_main_option("version_locations", os.pathsep.join(map(str, folders)))
        yield config


def _check_server(connection: psycopg.Connection[tuple[object, ...]]) -> None:
    version = connection.info.server_version
    if version < OLDEST_SERVER * 10_000:
        raise MigrationRefused(f"PostgreSQL {OLDEST_SERVER} or newer is needed, this is {version // 10_000}")
    encoding = connection.info.parameter_status("server_encoding")
    if encoding != "UTF8":
        raise MigrationRefused(f"a database in UTF8 is needed, this one is in {encoding}")


def _ensure_extensions(connection: psycopg.Connection[tuple[object, ...]]) -> None:
    for name in EXTENSIONS:
        try:
            connection.execute(f"CREATE EXTENSION IF NOT EXISTS {name} SCHEMA public")
        except errors.InsufficientPrivilege as refused:
            raise MigrationRefused(
                f"the extension {name} is missing and the connecting role may not make it; "
                f"have a superuser run in this database: CREATE EXTENSION {name} SCHEMA public;"
            ) from refused
        except (errors.UndefinedFile, errors.FeatureNotSupported) as missing:
            raise MigrationRefused(f"the server has no extension {name}: install it on the server") from missing
    (version,) = connection.execute("SELECT extversion FROM pg_extension WHERE extname = 'vector'").fetchone() or ("0",)
    if tuple(int(part) for part in str(version).split(".")[:2]) < OLDEST_VECTOR:
        raise MigrationRefused(
            f"pgvector {'.'.join(map(str, OLDEST_VECTOR))} or newer is needed, this is {version}: "
            "have a superuser run: ALTER EXTENSION vector UPDATE;"
        )


def _ensure_schema_rights(connection: psycopg.Connection[tuple[object, ...]]) -> None:
    # Databases older than PostgreSQL 15 let everyone make objects here: our functions must not meet foreign ones.
    statements = (
        f"GRANT USAGE, CREATE ON SCHEMA public TO {MIGRATOR} WITH GRANT OPTION",
        "REVOKE CREATE ON SCHEMA public FROM PUBLIC",
    )
    if not _has_schema_rights(connection):
        # Without the right to grant, some servers answer with an error and some with a warning: the second look counts.
        with contextlib.suppress(errors.InsufficientPrivilege, errors.InvalidGrantOperation):
            for statement in statements:
                connection.execute(statement)
        if not _has_schema_rights(connection):
            raise MigrationRefused(
                "the connecting role may not set the rights on the schema public; "
                f"have the owner of the database run: {'; '.join(statements)};"
            )


def _has_schema_rights(connection: psycopg.Connection[tuple[object, ...]]) -> bool:
    found = connection.execute(
        "SELECT has_schema_privilege(%(role)s, 'public', 'USAGE WITH GRANT OPTION') "
        "AND has_schema_privilege(%(role)s, 'public', 'CREATE WITH GRANT OPTION') "
        "AND NOT has_schema_privilege('public', 'public', 'CREATE')",
        {"role": MIGRATOR},
    ).fetchone()
    return found == (True,)
