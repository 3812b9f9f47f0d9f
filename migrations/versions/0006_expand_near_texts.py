"""The index of texts that say nearly the same, written with every fragment."""

from alembic import op
from corrigenda_core.persistence.migration_steps import execute_file, protect_by_team

revision = "0006_expand_near_texts"
down_revision = "0005_expand_search"
branch_labels = None
depends_on = None


def upgrade() -> None:
    execute_file(op, "0006_near_texts/tables.sql")
    protect_by_team(op, "text_bands")
    execute_file(op, "0006_near_texts/grants.sql")


def downgrade() -> None:
    op.execute("DROP TABLE text_bands")
