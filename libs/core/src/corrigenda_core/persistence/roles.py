"""The database roles: one per process, made once per cluster.

Roles belong to the cluster, not to a database, so several databases may be migrated at once and each must find or make
the same roles.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial

import psycopg
from psycopg import errors, sql

MIGRATOR = "corrigenda_migrator"


@dataclass(frozen=True, slots=True, kw_only=True)
class Role:
    """One role of the cluster; ``bypasses_teams`` is BYPASSRLS, for roles that serve no traffic."""

    name: str
    login: bool = True
    bypasses_teams: bool = False

    @property
    def attributes(self) -> str:
        """The attributes as CREATE ROLE and ALTER ROLE spell them."""
        login = "LOGIN" if self.login else "NOLOGIN"
        bypass = "BYPASSRLS" if self.bypasses_teams else "NOBYPASSRLS"
        return f"NOSUPERUSER NOCREATEDB NOCREATEROLE NOREPLICATION NOINHERIT {login} {bypass}"


ROLES: tuple[Role, ...] = (
    Role(name=MIGRATOR),
    Role(name="corrigenda_definer", login=False),
    Role(name="corrigenda_search", login=False),
    Role(name="corrigenda_eraser", login=False),
    Role(name="corrigenda_ingest"),
    Role(name="corrigenda_conflict"),
    Role(name="corrigenda_reviewer"),
    Role(name="corrigenda_recall"),
    Role(name="corrigenda_indexer"),
    Role(name="corrigenda_notifier"),
    Role(name="corrigenda_backup", bypasses_teams=True),
    Role(name="corrigenda_auditor", bypasses_teams=True),
)

FUNCTION_OWNERS = ("corrigenda_definer", "corrigenda_search", "corrigenda_eraser")
"""Roles that own SECURITY DEFINER functions; the migrator may become them, and inherits nothing from them."""

LOGIN_ROLES: tuple[str, ...] = tuple(role.name for role in ROLES if role.login)

_ATTEMPTS = 50


class RolesRefused(Exception):
    """The connecting role may not make the roles; the message holds the statements that a superuser has to run."""


def ensure_roles(connection: psycopg.Connection[tuple[object, ...]], passwords: Mapping[str, str]) -> None:
    """Makes what is missing, corrects attributes that differ, sets the given passwords (role name -> password).

    Idempotent, and safe beside another database's migration. ``connection`` must be in autocommit mode.

    Raises:
        RolesRefused: if a role is missing or differs and the connecting role may not change that.
        ValueError: if a password is given for what is not a login role.
    """
    if unknown := sorted(set(passwords) - set(LOGIN_ROLES)):
        raise ValueError(f"not login roles of corrigenda: {', '.join(unknown)}")
    try:
        for role in _roles_here(connection):
            _repeat_if_another_migration_interferes(partial(_ensure_role, connection, role))
        for owner in FUNCTION_OWNERS:
            _repeat_if_another_migration_interferes(partial(_ensure_member, connection, owner, MIGRATOR))
        _repeat_if_another_migration_interferes(partial(_ensure_connecting_role_may_migrate, connection))
        for name, password in passwords.items():
            _repeat_if_another_migration_interferes(partial(_set_password, connection, name, password))
    except errors.InsufficientPrivilege as refused:
        raise RolesRefused(
            f"the connecting role may not make the roles of corrigenda ({refused.diag.message_primary}); "
            f"have a superuser run:\n{role_statements()}\nGRANT {MIGRATOR} TO {connection.info.user};"
        ) from refused


def _roles_here(connection: psycopg.Connection[tuple[object, ...]]) -> tuple[Role, ...]:
    """On a Citus cluster a node asks another as the role that it runs as, so the owners of functions may log in."""
    if connection.execute("SELECT 1 FROM pg_catalog.pg_extension WHERE extname = 'citus'").fetchone() is None:
        return ROLES
    return tuple(replace(role, login=role.login or role.name in FUNCTION_OWNERS) for role in ROLES)


def role_statements() -> str:
    """What a superuser runs once per cluster where the migrating role may not."""
    lines = [f"CREATE ROLE {role.name} {role.attributes};" for role in ROLES]
    lines += [f"GRANT {owner} TO {MIGRATOR};" for owner in FUNCTION_OWNERS]
    return "\n".join(lines)


def sees_every_team(connection: psycopg.Connection[tuple[object, ...]]) -> bool:
    """Whether row-level security lets the role pass; otherwise it sees no row and everything looks well."""
    row = connection.execute("SELECT rolbypassrls OR rolsuper FROM pg_roles WHERE rolname = current_user").fetchone()
    return row is not None and row[0] is True


def _repeat_if_another_migration_interferes(step: Callable[[], None]) -> None:
    """Runs a step that looks before it changes, again when another database's migration changed the role meanwhile."""
    for attempt in range(1, _ATTEMPTS + 1):
        try:
            step()
        except (errors.DuplicateObject, errors.UniqueViolation):
            if attempt == _ATTEMPTS:
                raise
        except errors.InternalError_ as failure:
            # The catalogue has no better code than an internal error for two writers of one role.
            if "concurrently updated" not in str(failure) or attempt == _ATTEMPTS:
                raise
        else:
            return


def _ensure_role(connection: psycopg.Connection[tuple[object, ...]], role: Role) -> None:
    found = connection.execute(
        "SELECT rolcanlogin, rolbypassrls, rolsuper OR rolcreatedb OR rolcreaterole OR rolreplication OR rolinherit "
        "FROM pg_catalog.pg_roles WHERE rolname = %s",
        [role.name],
    ).fetchone()
    if found is None:
        connection.execute(f"CREATE ROLE {role.name} {role.attributes}")
    elif found != (role.login, role.bypasses_teams, False):
        connection.execute(f"ALTER ROLE {role.name} {role.attributes}")


def _ensure_member(connection: psycopg.Connection[tuple[object, ...]], group: str, member: str) -> None:
    if (
        connection.execute(
            "SELECT 1 FROM pg_catalog.pg_auth_members WHERE roleid = %s::regrole AND member = %s::regrole",
            [group, member],
        ).fetchone()
        is None
    ):
        connection.execute(f"GRANT {group} TO {member}")


def _ensure_connecting_role_may_migrate(connection: psycopg.Connection[tuple[object, ...]]) -> None:
    # From 16 on, who made a role is its member without being able to become it.
    right = "SET" if connection.info.server_version >= 160_000 else "MEMBER"
    (may,) = connection.execute("SELECT pg_has_role(%s, %s)", [MIGRATOR, right]).fetchone() or (False,)
    if not may:
        connection.execute(f"GRANT {MIGRATOR} TO CURRENT_USER")


def _set_password(connection: psycopg.Connection[tuple[object, ...]], name: str, password: str) -> None:
    # The server sees the verifier only: no statement log and no pg_stat_activity ever holds the password.
    verifier = connection.pgconn.encrypt_password(password.encode(), name.encode(), b"scram-sha-256")
    connection.execute(
        sql.SQL("ALTER ROLE {} PASSWORD {}").format(sql.Identifier(name), sql.Literal(verifier.decode()))
    )
