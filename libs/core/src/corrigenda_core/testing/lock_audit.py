"""Watches one migration and tells what it did to those who use the database meanwhile, and to the release before it.

Three questions, each asked of the server and not of the migration's text: which locks it took on tables that were there
before, whether it read or rewrote one of them while it kept others out, and whether anything that the release before
relies on is gone.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psycopg
from sqlalchemy import Engine, event
from sqlalchemy.engine import Connection as SqlConnection

from corrigenda_core.persistence.migrate import migrate

BLOCKING = frozenset({"ShareLock", "ShareRowExclusiveLock", "ExclusiveLock", "AccessExclusiveLock"})
"""The locks that a writer waits for; the last one keeps readers out as well."""

# What runs outside of a transaction is not seen by its own session afterwards: only what is known to keep nobody out.
_BESIDE_TRAFFIC = re.compile(
    r"SET lock_timeout|(CREATE|DROP) INDEX CONCURRENTLY|ALTER TABLE \w+ VALIDATE CONSTRAINT", re.IGNORECASE
)
_LOCKS = """
SELECT l.relation::regclass::text, l.mode, pg_stat_get_xact_numscans(l.relation)
FROM pg_locks AS l
WHERE l.pid = pg_backend_pid() AND l.locktype = 'relation' AND l.granted AND l.relation = ANY (%s)
"""
_SCANS = "SELECT t.oid::regclass::text, pg_stat_get_xact_numscans(t.oid) FROM unnest(%s::oid[]) AS t (oid)"
_TABLES = """
SELECT c.oid, c.relname, pg_relation_filenode(c.oid)
FROM pg_class AS c
WHERE c.relnamespace = 'public'::regnamespace AND c.relkind = 'r' AND c.relname <> 'alembic_version'
"""
_PROVIDED = """
SELECT 'column ' || c.relname || '.' || a.attname || ' ' || format_type(a.atttypid, a.atttypmod)
FROM pg_attribute AS a JOIN pg_class AS c ON c.oid = a.attrelid
WHERE c.relnamespace = 'public'::regnamespace AND c.relkind = 'r' AND a.attnum > 0 AND NOT a.attisdropped
UNION ALL
SELECT 'function ' || p.oid::regprocedure || ' ' || coalesce(pg_get_function_result(p.oid), '')
FROM pg_proc AS p WHERE p.pronamespace = 'public'::regnamespace
UNION ALL
SELECT 'right ' || coalesce(nullif(g.grantee, 0)::regrole::text, 'public') || ' ' || g.privilege_type || ' '
    || c.relname
FROM pg_class AS c, aclexplode(c.relacl) AS g WHERE c.relnamespace = 'public'::regnamespace
UNION ALL
SELECT 'right ' || coalesce(nullif(g.grantee, 0)::regrole::text, 'public') || ' ' || g.privilege_type || ' '
    || c.relname || '.' || a.attname
FROM pg_attribute AS a JOIN pg_class AS c ON c.oid = a.attrelid, aclexplode(a.attacl) AS g
WHERE c.relnamespace = 'public'::regnamespace AND NOT a.attisdropped
"""
_DEMANDED = """
SELECT 'column ' || c.relname || '.' || a.attname
FROM pg_attribute AS a JOIN pg_class AS c ON c.oid = a.attrelid
WHERE c.relnamespace = 'public'::regnamespace AND c.relkind = 'r' AND a.attnum > 0 AND NOT a.attisdropped
    AND a.attnotnull AND NOT a.atthasdef AND a.attidentity = '' AND c.relname = ANY (%s)
"""


@dataclass(slots=True, kw_only=True)
class LockReport:
    """What a migration did.

    Attributes:
        blocking: tables that it kept writers out of, with the locks.
        read: those of them that it read meanwhile.
        rewritten: tables that were written anew.
        gone: what was there before and is not, or not with its type.
        demanded: columns of old tables that an old writer would have to fill and does not know.
        unseen: statements outside of a transaction that are not known to keep nobody out.
    """

    blocking: dict[str, set[str]] = field(default_factory=dict)
    read: set[str] = field(default_factory=set)
    rewritten: set[str] = field(default_factory=set)
    gone: set[str] = field(default_factory=set)
    demanded: set[str] = field(default_factory=set)
    unseen: list[str] = field(default_factory=list)

    def problems(self, reasons: Mapping[str, str]) -> list[str]:
        """What speaks against the migration; ``reasons`` are the tables that it may lock for a moment, and why."""
        found = [
            f"{table} is locked ({', '.join(sorted(modes))}) and the migration gives no reason for it"
            for table, modes in sorted(self.blocking.items())
            if not reasons.get(table)
        ]
        found += [f"{table} is read while writers wait: as long as it is large" for table in sorted(self.read)]
        found += [f"{table} is written anew, which nobody can use meanwhile" for table in sorted(self.rewritten)]
        found += [f"{name} is gone, and the release before may use it" for name in sorted(self.gone)]
        found += [f"{name} must be given, and the release before does not" for name in sorted(self.demanded)]
        found += [f"not known to keep nobody out: {statement}" for statement in self.unseen]
        if len(self.blocking) > 1:
            found.append(f"{len(self.blocking)} tables are locked at once, in an order that writers may not have")
        return found


def audited(url: str, revision: str, *, next_versions: Path | None = None) -> LockReport:
    """Applies one migration and reports what it did; ``url`` is a superuser's."""
    report = LockReport()
    with psycopg.connect(url, autocommit=True) as looking:
        before = {oid: (str(name), node) for oid, name, node in looking.execute(_TABLES).fetchall()}
        tables = [name for name, _ in before.values()]
        provided, demanded = _names(looking, _PROVIDED), _names(looking, _DEMANDED, tables)
        with _watching(report, list(before)):
            migrate(url, revision=revision, next_versions=next_versions)
        nodes = {oid: node for oid, _, node in looking.execute(_TABLES).fetchall()}
        report.rewritten = {name for oid, (name, node) in before.items() if nodes.get(oid, node) != node}
        report.gone = provided - _names(looking, _PROVIDED)
        report.demanded = _names(looking, _DEMANDED, tables) - demanded
    return report


def _names(connection: psycopg.Connection[Any], query: str, *parameters: object) -> set[str]:
    return {str(row[0]) for row in connection.execute(query.encode(), parameters or None).fetchall()}


@contextmanager
def _watching(report: LockReport, oids: list[object]) -> Iterator[None]:
    """Before and after every statement of a migration its own session is asked what it holds and has read."""
    scans_before: dict[str, int] = {}

    def held(connection: SqlConnection) -> list[tuple[str, str, int]]:
        session: Any = connection.connection.dbapi_connection
        return [] if session.autocommit else session.execute(_LOCKS, [oids]).fetchall()

    def before(connection: SqlConnection, *_rest: object) -> None:
        session: Any = connection.connection.dbapi_connection
        if not session.autocommit:
            # What the session has read in earlier transactions may still be counted.
            scans_before.update(session.execute(_SCANS, [oids]).fetchall())

    def after(connection: SqlConnection, _cursor: object, statement: str, *_rest: object) -> None:
        session: Any = connection.connection.dbapi_connection
        if session.autocommit and not _BESIDE_TRAFFIC.match(statement.strip()):
            report.unseen.append(statement)
        for table, mode, scans in held(connection):
            if mode in BLOCKING:
                report.blocking.setdefault(table, set()).add(mode)
                if scans > scans_before[table]:
                    report.read.add(table)

    event.listen(Engine, "before_cursor_execute", before)
    event.listen(Engine, "after_cursor_execute", after)
    try:
        yield
    finally:
        event.remove(Engine, "before_cursor_execute", before)
        event.remove(Engine, "after_cursor_execute", after)
