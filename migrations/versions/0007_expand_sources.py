"""The source registry, which revision of a source is current, and the fragments that a source has left behind."""

from alembic import op
from corrigenda_core.persistence.migration_steps import (
    execute_file,
    guard_history,
    keep_rows,
    protect_by_team,
    refuse_changes,
)

revision = "0007_expand_sources"
down_revision = "0006_expand_near_texts"
branch_labels = None
depends_on = None

IMMUTABLE = ("fragment_retirements",)
VERSIONED = ("sources", "source_states")
# On a table that is there already: what finds the fragments of a source.
INDEXES = ("evidence_fragments_source_key_idx", "evidence_fragments_source_group_idx")


def upgrade() -> None:
    execute_file(op, "0007_sources/tables.sql")
    execute_file(op, "0007_sources/functions.sql")
    for table in (*IMMUTABLE, *VERSIONED, *(f"{table}_history" for table in VERSIONED)):
        protect_by_team(op, table)
    for table in IMMUTABLE:
        refuse_changes(op, table)
    for table in VERSIONED:
        keep_rows(op, table)
        guard_history(op, f"{table}_history")
    execute_file(op, "0007_sources/grants.sql")


def downgrade() -> None:
    for index in INDEXES:
        op.execute(f"DROP INDEX {index}")
    for table in VERSIONED:
        op.execute(f"DROP TABLE {table}_history")
        op.execute(f"DROP TABLE {table}")
        op.execute(f"DROP FUNCTION keep_{table}_history()")
    for table in IMMUTABLE:
        op.execute(f"DROP TABLE {table}")
