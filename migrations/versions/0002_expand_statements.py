"""Predicates, identity, observations, verdicts and the statements they became."""

from alembic import op
from corrigenda_core.persistence.migration_steps import (
    execute_file,
    guard_history,
    keep_rows,
    protect_by_team,
    refuse_changes,
)

revision = "0002_expand_statements"
down_revision = "0001_expand_team"
branch_labels = None
depends_on = None

IMMUTABLE = (
    "evidence_occurrences",
    "entities",
    "entity_names",
    "entity_contexts",
    "observations",
    "verification_events",
    "statements",
)
VERSIONED = ("predicates",)
OTHER = ("predicate_aliases",)


def upgrade() -> None:
    execute_file(op, "0002_statements/tables.sql")
    execute_file(op, "0002_statements/functions.sql")
    for table in (*IMMUTABLE, *VERSIONED, *(f"{table}_history" for table in VERSIONED), *OTHER):
        protect_by_team(op, table)
    for table in IMMUTABLE:
        refuse_changes(op, table)
    for table in VERSIONED:
        keep_rows(op, table)
        guard_history(op, f"{table}_history")
    for table in OTHER:
        keep_rows(op, table)
    execute_file(op, "0002_statements/grants.sql")


def downgrade() -> None:
    for table in (
        "statements",
        "verification_events",
        "observations",
        "entity_contexts",
        "entity_names",
        "entities",
        "evidence_occurrences",
        "predicate_aliases",
        "predicates_history",
        "predicates",
    ):
        op.execute(f"DROP TABLE {table}")
    op.execute("DROP FUNCTION keep_predicates_history()")
    op.execute("DROP FUNCTION guard_history()")
