"""Relationships with their history, what carries them, the decisions on them and the questions about them."""

from alembic import op
from corrigenda_core.persistence.migration_steps import (
    execute_file,
    guard_history,
    keep_rows,
    protect_by_team,
    refuse_changes,
)

revision = "0003_expand_relationships"
down_revision = "0002_expand_statements"
branch_labels = None
depends_on = None

IMMUTABLE = (
    "carriages",
    "supports",
    "support_decisions",
    "decisions",
    "timeline_decisions",
    "transitions",
    "cross_references",
    "reference_decisions",
)
VERSIONED = ("relationships", "review_items")


def upgrade() -> None:
    execute_file(op, "0003_relationships/tables.sql")
    execute_file(op, "0003_relationships/functions.sql")
    for table in (*IMMUTABLE, *VERSIONED, *(f"{table}_history" for table in VERSIONED)):
        protect_by_team(op, table)
    for table in IMMUTABLE:
        refuse_changes(op, table)
    for table in VERSIONED:
        keep_rows(op, table)
        guard_history(op, f"{table}_history")
    execute_file(op, "0003_relationships/grants.sql")


def downgrade() -> None:
    op.execute("REVOKE SELECT ON evidence_fragments FROM corrigenda_reviewer")
    op.execute("ALTER TABLE decisions DROP CONSTRAINT decisions_team_id_item_id_fkey")
    op.execute("ALTER TABLE transitions DROP CONSTRAINT transitions_team_id_relationship_id_version_fkey")
    for table in (
        "review_items_history",
        "review_items",
        "reference_decisions",
        "cross_references",
        "relationships_history",
        "transitions",
        "support_decisions",
        "supports",
        "carriages",
        "relationships",
        "timeline_decisions",
        "decisions",
    ):
        op.execute(f"DROP TABLE {table}")
    for function in ("reviewer_only_closes()", "keep_review_items_history()", "keep_relationships_history()"):
        op.execute(f"DROP FUNCTION {function}")
