"""The steps that migrations are made of: run a text file, put a table behind its team, freeze it, keep its history.

A released migration relies on what these do, so none of them ever changes its effect; a new effect gets a new name.
"""

from __future__ import annotations

from pathlib import Path

from alembic.operations import Operations

from corrigenda_core.persistence.sql_text import statements

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
