"""The schema as text, read from a database's catalogue: what the snapshot holds and what tests compare.

Says the same for the same schema on every supported server: names, types, definitions, comments, triggers, policies,
grants and functions; no oids, no owner's own rights, nothing that belongs to an extension.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence

import psycopg

Connection = psycopg.Connection[tuple[object, ...]]

_TABLES = """
SELECT c.relname, pg_get_userbyid(c.relowner), c.relrowsecurity, c.relforcerowsecurity, obj_description(c.oid)
FROM pg_class AS c
WHERE c.relnamespace = 'public'::regnamespace AND c.relkind IN ('r', 'p', 'S', 'v', 'm')
ORDER BY c.relname
"""

_COLUMNS = """
SELECT a.attname, format_type(a.atttypid, a.atttypmod), a.attnotnull, pg_get_expr(d.adbin, d.adrelid),
    col_description(a.attrelid, a.attnum)
FROM pg_attribute AS a
LEFT JOIN pg_attrdef AS d ON d.adrelid = a.attrelid AND d.adnum = a.attnum
WHERE a.attrelid = %s::regclass AND a.attnum > 0 AND NOT a.attisdropped
ORDER BY a.attnum
"""

# Servers from 18 on list NOT NULL as a constraint; the columns say it already.
_CONSTRAINTS = """
SELECT conname, pg_get_constraintdef(oid)
FROM pg_constraint
WHERE conrelid = %s::regclass AND contype IN ('c', 'f', 'p', 'u', 'x')
ORDER BY contype, conname
"""

_INDEXES = """
SELECT pg_get_indexdef(i.indexrelid), obj_description(i.indexrelid)
FROM pg_index AS i
JOIN pg_class AS c ON c.oid = i.indexrelid
WHERE i.indrelid = %s::regclass AND NOT EXISTS (SELECT 1 FROM pg_constraint WHERE conindid = i.indexrelid)
ORDER BY c.relname
"""

_TRIGGERS = """
SELECT pg_get_triggerdef(oid) FROM pg_trigger WHERE tgrelid = %s::regclass AND NOT tgisinternal ORDER BY tgname
"""

_POLICIES = """
SELECT policyname, cmd, roles::text, qual, with_check
FROM pg_policies WHERE schemaname = 'public' AND tablename = %s ORDER BY policyname
"""

_GRANTS = """
SELECT CASE grantee WHEN 0 THEN 'PUBLIC' ELSE grantee::regrole::text END AS role, privilege_type,
    string_agg(column_name, ', ' ORDER BY column_name)
FROM (
    SELECT g.grantee, g.privilege_type, NULL::text AS column_name
    FROM pg_class AS c, aclexplode(c.relacl) AS g
    WHERE c.oid = %(table)s::regclass AND g.grantee <> c.relowner
    UNION ALL
    SELECT g.grantee, g.privilege_type, a.attname
    FROM pg_attribute AS a, aclexplode(a.attacl) AS g
    WHERE a.attrelid = %(table)s::regclass AND NOT a.attisdropped
) AS granted
GROUP BY role, privilege_type, column_name IS NULL
ORDER BY role, privilege_type
"""

_FUNCTIONS = """
SELECT p.oid::regprocedure::text, pg_get_function_result(p.oid), pg_get_userbyid(p.proowner), l.lanname,
    p.provolatile::text, p.prosecdef, p.proconfig::text, p.prosrc, obj_description(p.oid),
    (
        SELECT string_agg(g.name, ', ' ORDER BY g.name)
        FROM (
            SELECT x.grantee, CASE x.grantee WHEN 0 THEN 'PUBLIC' ELSE x.grantee::regrole::text END AS name
            FROM aclexplode(coalesce(p.proacl, acldefault('f', p.proowner))) AS x
        ) AS g
        WHERE g.grantee <> p.proowner
    )
FROM pg_proc AS p
JOIN pg_language AS l ON l.oid = p.prolang
WHERE p.pronamespace = 'public'::regnamespace
    AND NOT EXISTS (SELECT 1 FROM pg_depend AS d WHERE d.objid = p.oid AND d.deptype = 'e')
ORDER BY 1
"""

_ROLES = """
SELECT rolname, rolsuper, rolbypassrls, rolcanlogin, rolinherit, rolcreaterole, rolcreatedb, rolreplication
FROM pg_roles WHERE rolname = ANY (%s) ORDER BY rolname
"""


def describe(connection: Connection, *, roles: Sequence[str] = ()) -> str:
    """The schema ``public`` of the connected database as text; ``roles`` names the cluster's roles to describe."""
    lines = [*_role_lines(connection, roles)]
    for name, owner, secured, forced, comment in connection.execute(_TABLES).fetchall():
        lines += ["", f"table {name} (owner {owner})", *_comment(comment)]
        lines.append(f"  row-level security: {'forced' if secured and forced else 'NOT FORCED'}")
        lines += [f"  {line}" for line in describe_table(connection, str(name))]
        lines += [f"  {line}" for line in _policy_and_grant_lines(connection, str(name))]
    lines += [line for function in _function_blocks(connection) for line in ("", *function)]
    return "\n".join(lines).strip() + "\n"


def describe_table(connection: Connection, table: str) -> list[str]:
    """Columns, constraints and indexes of a table: what `tables` declares."""
    lines: list[str] = []
    for name, type_, required, default, comment in connection.execute(_COLUMNS, [table]).fetchall():
        default_text = f" default {default}" if default else ""
        lines += [f"column {name} {type_}{' not null' if required else ''}{default_text}", *_comment(comment)]
    for name, definition in connection.execute(_CONSTRAINTS, [table]).fetchall():
        lines.append(f"constraint {name} {definition}")
    for definition, comment in connection.execute(_INDEXES, [table]).fetchall():
        lines += [f"index {definition}", *_comment(comment)]
    return lines


def _policy_and_grant_lines(connection: Connection, table: str) -> Iterator[str]:
    for (definition,) in connection.execute(_TRIGGERS, [table]).fetchall():
        yield f"trigger {definition}"
    for name, command, roles, using, check in connection.execute(_POLICIES, [table]).fetchall():
        yield f"policy {name} for {command} to {roles} using {using} with check {check}"
    for role, privilege, columns in connection.execute(_GRANTS, {"table": table}).fetchall():
        yield f"grant {privilege}{f' ({columns})' if columns else ''} to {role}"


def _function_blocks(connection: Connection) -> Iterator[list[str]]:
    for row in connection.execute(_FUNCTIONS).fetchall():
        signature, result, owner, language, volatility, definer, settings, source, comment, executors = row
        yield [
            f"function {signature} returns {result} (owner {owner})",
            *_comment(comment),
            f"  {language}, volatility {volatility}{', security definer' if definer else ''}, {settings}",
            f"  body sha256 {hashlib.sha256(str(source).encode()).hexdigest()}",
            f"  execute: {executors or 'owner alone'}",
        ]


def _role_lines(connection: Connection, roles: Sequence[str]) -> Iterator[str]:
    flags = ("superuser", "bypassrls", "login", "inherit", "createrole", "createdb", "replication")
    for name, *values in connection.execute(_ROLES, [list(roles)]).fetchall():
        yield f"role {name}: {' '.join(flag for flag, value in zip(flags, values, strict=True) if value) or 'nothing'}"


def _comment(comment: object) -> list[str]:
    return [f"    -- {comment}"] if comment else []
