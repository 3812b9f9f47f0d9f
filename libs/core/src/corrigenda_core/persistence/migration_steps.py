"""The steps that migrations are made of: run a text file, put a table behind its team, freeze it, keep its history.

A released migration relies on what these do, so none of them ever changes its effect; a new effect gets a new name.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from alembic.operations import Operations

from corrigenda_core.persistence.sql_text import statements

LOCK_TIMEOUT = "5s"
"""How long a migration waits for a lock, with everybody who comes later waiting behind it, before it gives way."""

TEAM_OF_TRANSACTION = "nullif(current_setting('app.team_id', true), '')::uuid"
"""The team that the transaction serves, as SQL; NULL, which equals nothing, if it has not said so."""


def migrations_folder() -> Path:
    """The folder of the migrations in the checkout that this package runs from.

    Raises:
        FileNotFoundError: if the package was installed without its checkout.
    """
    for parent in Path(__file__).resolve().parents:
        if (parent / "migrations" / "env.py").is_file():
            return parent / "migrations"
    raise FileNotFoundError("the folder `migrations` was not found above corrigenda_core: run from a checkout")


def execute_file(op: Operations, name: str) -> None:
    """Runs a text file of ``migrations/sql``, one statement per call."""
    for statement in statements((migrations_folder() / "sql" / name).read_text(encoding="utf-8")):
        # The driver's own call: SQLAlchemy would take a colon for a parameter.
        op.get_bind().exec_driver_sql(statement)


def protect_by_team(op: Operations, table: str) -> None:
    """Forces row-level security on a table: only rows of the transaction's team are seen, and none other written."""
    op.execute(f"ALTER TABLE {table} ENABLE ROW LEVEL SECURITY")
    op.execute(f"ALTER TABLE {table} FORCE ROW LEVEL SECURITY")
    condition = f"team_id = {TEAM_OF_TRANSACTION}".replace(":", r"\:")
    op.execute(f"CREATE POLICY team_only ON {table} USING ({condition}) WITH CHECK ({condition})")


def refuse_changes(op: Operations, table: str) -> None:
    """Makes a table immutable for everyone: its rows are written once."""
    op.execute(
        f"CREATE TRIGGER {table}_immutable BEFORE UPDATE OR DELETE ON {table} "
        "FOR EACH ROW EXECUTE FUNCTION refuse_change()"
    )
    refuse_truncate(op, table)


def keep_rows(op: Operations, table: str) -> None:
    """Makes the rows of a table permanent: they may change, nobody deletes them."""
    op.execute(
        f"CREATE TRIGGER {table}_permanent BEFORE DELETE ON {table} FOR EACH ROW EXECUTE FUNCTION refuse_change()"
    )
    refuse_truncate(op, table)


def guard_history(op: Operations, table: str) -> None:
    """Leaves a history table to the trigger of its versioned table: a version is inserted once and ended once."""
    op.execute(
        f"CREATE TRIGGER {table}_guard BEFORE INSERT OR UPDATE OR DELETE ON {table} "
        "FOR EACH ROW EXECUTE FUNCTION guard_history()"
    )
    refuse_truncate(op, table)


def erasable(op: Operations, table: str, trigger: str, key: Sequence[str]) -> None:
    """Lets the eraser's role past a trigger of a table, to one of its own that lets recorded erasures through alone.

    ``key`` is the table's primary key behind the team; empty for a second trigger of the same table.
    """
    _make_trigger_again(op, table, trigger, "WHEN (current_user <> 'corrigenda_eraser') ")
    if key:
        verbs = "INSERT OR UPDATE OR DELETE" if table.endswith("_history") else "UPDATE OR DELETE"
        op.execute(
            f"CREATE TRIGGER {table}_erasure BEFORE {verbs} ON {table} "
            "FOR EACH ROW WHEN (current_user = 'corrigenda_eraser') "
            f"EXECUTE FUNCTION refuse_all_but_erasure({', '.join(repr(column) for column in key)})"
        )


def unerasable(op: Operations, table: str, trigger: str) -> None:
    """Takes back what `erasable` did."""
    _make_trigger_again(op, table, trigger, "")
    op.execute(f"DROP TRIGGER IF EXISTS {table}_erasure ON {table}")


def _make_trigger_again(op: Operations, table: str, trigger: str, condition: str) -> None:
    """The same trigger with another condition, or with none: what it does stays what it was made to do."""
    (definition,) = (
        op.get_bind()
        .exec_driver_sql(
            "SELECT pg_get_triggerdef(oid) FROM pg_trigger"
            f" WHERE tgrelid = '{table}'::regclass AND tgname = '{trigger}'"
        )
        .one()
    )
    head, _, function = str(definition).partition(" EXECUTE FUNCTION ")
    op.execute(f"DROP TRIGGER {trigger} ON {table}")
    each_row = head.partition(" FOR EACH ROW")[0] + " FOR EACH ROW "
    op.get_bind().exec_driver_sql(f"{each_row}{condition}EXECUTE FUNCTION {function}")


def make_index_beside_traffic(op: Operations, name: str, definition: str) -> None:
    """Makes an index while its table is written: no transaction, no lock that a writer waits for.

    Args:
        op: the migration's operations.
        name: of the index.
        definition: what follows its name: ``ON table (team_id, ...)``.
    """
    with op.get_context().autocommit_block():
        # An attempt that was cut off leaves an index that nothing uses, and writers that keep it up.
        op.execute(f"DROP INDEX CONCURRENTLY IF EXISTS {name}")
        # It waits for transactions older than itself, and nobody waits for it.
        op.execute("SET lock_timeout = 0")
        op.execute(f"CREATE INDEX CONCURRENTLY {name} {definition}")
        op.execute(f"SET lock_timeout = '{LOCK_TIMEOUT}'")


def drop_index_beside_traffic(op: Operations, name: str) -> None:
    """Takes back what `make_index_beside_traffic` made."""
    with op.get_context().autocommit_block():
        op.execute(f"DROP INDEX CONCURRENTLY IF EXISTS {name}")


def validate_beside_traffic(op: Operations, table: str, constraint: str) -> None:
    """Checks the rows of a constraint that was added ``NOT VALID``: in its own transaction, beside reads and writes.

    The transaction that added it would read the whole table while it keeps everybody out.
    """
    with op.get_context().autocommit_block():
        op.execute(f"ALTER TABLE {table} VALIDATE CONSTRAINT {constraint}")


def refuse_truncate(op: Operations, table: str) -> None:
    """Refuses TRUNCATE for everyone."""
    op.execute(
        f"CREATE TRIGGER {table}_no_truncate BEFORE TRUNCATE ON {table} "
        "FOR EACH STATEMENT EXECUTE FUNCTION refuse_change()"
    )


def drop_functions_of(op: Operations, owner: str, *signatures: str) -> None:
    """Drops functions that the migrator has given to another role; the migrator inherits none of its rights."""
    op.execute(f"SET LOCAL ROLE {owner}")
    for signature in signatures:
        op.execute(f"DROP FUNCTION {signature}")
    op.execute("SET LOCAL ROLE corrigenda_migrator")
