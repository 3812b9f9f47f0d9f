"""Example of a next release: an index on a table that is written meanwhile."""

from alembic import op
from corrigenda_core.persistence.migration_steps import drop_index_beside_traffic, make_index_beside_traffic

revision = "9004_expand_index"
down_revision = "9003_expand_remarks"
branch_labels = None
depends_on = None


def upgrade() -> None:
    make_index_beside_traffic(op, "relationships_note_idx", "ON relationships (team_id, note) WHERE note IS NOT NULL")


def downgrade() -> None:
    drop_index_beside_traffic(op, "relationships_note_idx")
