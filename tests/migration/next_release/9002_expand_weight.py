"""Example of a next release: a column with a constant default, which old rows have without being written."""

from alembic import op

revision = "9002_expand_weight"
down_revision = "9001_expand_note"
branch_labels = None
depends_on = None

LOCKS = {"evidence_fragments": "a constant default is written into the catalogue alone"}


def upgrade() -> None:
    op.execute("ALTER TABLE evidence_fragments ADD COLUMN weight INTEGER NOT NULL DEFAULT 1")


def downgrade() -> None:
    op.execute("ALTER TABLE evidence_fragments DROP COLUMN weight")
