"""What decisions say that waiting observations name, and who may see that a quarantined text was released."""

from alembic import op
from corrigenda_core.persistence.migration_steps import execute_file, protect_by_team, refuse_changes

revision = "0009_expand_bindings"
down_revision = "0007_expand_sources"
branch_labels = None
depends_on = None


def upgrade() -> None:
    execute_file(op, "0009_bindings/tables.sql")
    protect_by_team(op, "observation_bindings")
    refuse_changes(op, "observation_bindings")
    execute_file(op, "0009_bindings/grants.sql")


def downgrade() -> None:
    op.execute("REVOKE SELECT (team_id, fragment_id, kind, status, reason) ON review_items FROM corrigenda_indexer")
    op.execute("DROP TABLE observation_bindings")
