"""What decisions say of identity and of waiting observations, and who may see that a quarantined text was released."""

from alembic import op
from corrigenda_core.persistence.migration_steps import execute_file, protect_by_team, refuse_changes

revision = "0009_expand_bindings"
down_revision = "0007_expand_sources"
branch_labels = None
depends_on = None

TABLES = ("observation_bindings", "entity_merges")


def upgrade() -> None:
    execute_file(op, "0009_bindings/tables.sql")
    for table in TABLES:
        protect_by_team(op, table)
        refuse_changes(op, table)
    execute_file(op, "0009_bindings/grants.sql")


def downgrade() -> None:
    op.execute("REVOKE SELECT (team_id, fragment_id, kind, status, reason) ON review_items FROM corrigenda_indexer")
    for table in TABLES:
        op.execute(f"DROP TABLE {table}")
