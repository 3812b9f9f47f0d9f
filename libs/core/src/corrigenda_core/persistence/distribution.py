"""Spreads a migrated schema over a Citus cluster: every table by its team, each team whole on one node.

The schema is made for it: the team is the first column of every key, and no statement touches two teams. What differs
on a cluster is what stands here, and one thing in `corrigenda_core.persistence.roles`: owners of functions may log in.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import psycopg
from psycopg import errors, sql

NODE_SETTINGS: Mapping[str, str] = {
    # What a trigger touches is its own row's team, so it is on the row's node.
    "citus.enable_unsafe_triggers": "on",
    # A transaction's team reaches the shards by SET LOCAL; without it row-level security hides every row there.
    "citus.propagate_set_commands": "local",
}
SHARDS_DEFAULT = 32
_ANCHOR = "teams"


class DistributionRefused(Exception):
    """The database cannot be distributed as it is; the message says what somebody has to do."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Distributed:
    """What `distribute` found and did.

    Attributes:
        tables: those that this run distributed, in the order of their names; none if all were.
        nodes: how many nodes hold shards.
    """

    tables: tuple[str, ...]
    nodes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class _ForeignKey:
    table: str
    name: str
    definition: str


def check_cluster(connection: psycopg.Connection[tuple[object, ...]]) -> None:
    """Looks whether the server is the coordinator of a cluster that is set up for this schema.

    Raises:
        DistributionRefused: it is not; the message names the statements to run on every node.
    """
    if connection.execute("SELECT 1 FROM pg_extension WHERE extname = 'citus'").fetchone() is None:
        raise DistributionRefused(
            "this database has no extension citus: have a superuser run CREATE EXTENSION citus; on every node, and add"
            " the workers to the coordinator with citus_add_node"
        )
    for name, wanted in NODE_SETTINGS.items():
        rows = connection.execute(
            "SELECT n.nodename || ':' || n.nodeport, r.result FROM run_command_on_all_nodes(%s) AS r"
            " JOIN pg_dist_node AS n ON n.nodeid = r.nodeid ORDER BY n.nodeid",
            [f"SHOW {name}"],
        ).fetchall()
        if wrong := [str(node) for node, value in rows if value != wanted]:
            raise DistributionRefused(
                f"{name} has to be {wanted} on {', '.join(wrong)}: have a superuser run there"
                f" ALTER SYSTEM SET {name} = '{wanted}'; SELECT pg_reload_conf();"
            )


def distribute(url: str, *, shards: int = SHARDS_DEFAULT) -> Distributed:
    """Distributes every table that is not yet; idempotent.

    In one transaction, so that a run that is broken off leaves nothing: foreign keys are put down for it and set again.

    Args:
        url: of the coordinator, of a role that may become the owner of the schema.
        shards: into how many pieces the teams are put; only the first run counts.

    Raises:
        DistributionRefused: see `check_cluster`; or there are teams already, or the role may not do it.
    """
    try:
        with psycopg.connect(url, autocommit=True) as connection:
            check_cluster(connection)
            with connection.transaction():
                # One connection to each node: another one would not see what this transaction has made there.
                connection.execute("SET LOCAL citus.multi_shard_modify_mode = 'sequential'")
                tables = _distribute_tables(connection, shards)
            (nodes,) = connection.execute(
                "SELECT count(DISTINCT groupid) FROM pg_dist_placement WHERE shardid IN"
                " (SELECT shardid FROM pg_dist_shard WHERE logicalrelid = %s::regclass)",
                [_ANCHOR],
            ).fetchone() or (0,)
    except errors.InsufficientPrivilege as refused:
        raise DistributionRefused(f"the connecting role may not distribute the schema: {refused}") from refused
    return Distributed(tables=tables, nodes=int(str(nodes)))


def _distribute_tables(connection: psycopg.Connection[tuple[object, ...]], shards: int) -> tuple[str, ...]:
    rows = connection.execute(
        "SELECT c.relname FROM pg_class AS c WHERE c.relkind = 'r' AND c.relnamespace = 'public'::regnamespace"
        " AND c.relname <> 'alembic_version' AND NOT EXISTS"
        " (SELECT 1 FROM pg_dist_partition AS d WHERE d.logicalrelid = c.oid)"
        " ORDER BY c.relname <> %s, c.relname",
        [_ANCHOR],
    ).fetchall()
    tables = [str(name) for (name,) in rows]
    if tables and connection.execute(sql.SQL("SELECT 1 FROM {} LIMIT 1").format(sql.Identifier(_ANCHOR))).fetchone():
        # The rows would be copied through the triggers, which would write their history a second time.
        raise DistributionRefused(
            "there are teams already: distribute an empty database and restore their data into it (docs/SCALE.md)"
        )
    # They go round in circles (a case names its event, the event its case), so no order of the tables would do.
    keys = [_ForeignKey(table=str(t), name=str(n), definition=str(d)) for t, n, d in _foreign_keys(connection, tables)]
    for key in keys:
        connection.execute(
            sql.SQL("ALTER TABLE {} DROP CONSTRAINT {}").format(sql.Identifier(key.table), sql.Identifier(key.name))
        )
    for table in tables:
        if table == _ANCHOR:
            connection.execute(
                "SELECT create_distributed_table(%s, 'team_id', shard_count => %s::int)", [table, shards]
            )
        else:
            connection.execute("SELECT create_distributed_table(%s, 'team_id', colocate_with => %s)", [table, _ANCHOR])
    for key in keys:
        connection.execute(
            sql.SQL("ALTER TABLE {} ADD CONSTRAINT {} ").format(sql.Identifier(key.table), sql.Identifier(key.name))
            + sql.SQL(key.definition)
        )
    return tuple(sorted(tables))


def _foreign_keys(connection: psycopg.Connection[tuple[object, ...]], tables: list[str]) -> list[tuple[object, ...]]:
    return connection.execute(
        "SELECT r.relname, f.conname, pg_get_constraintdef(f.oid) FROM pg_constraint AS f"
        " JOIN pg_class AS r ON r.oid = f.conrelid JOIN pg_class AS t ON t.oid = f.confrelid"
        " WHERE f.contype = 'f' AND (r.relname = ANY (%(tables)s) OR t.relname = ANY (%(tables)s))"
        " ORDER BY r.relname, f.conname",
        {"tables": tables},
    ).fetchall()
