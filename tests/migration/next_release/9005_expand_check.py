"""Example of a next release: a constraint; first for what is written from now on, then for what is there."""

from alembic import op
from corrigenda_core.persistence.migration_steps import validate_beside_traffic

revision = "9005_expand_check"
down_revision = "9004_expand_index"
branch_labels = None
depends_on = None

LOCKS = {"relationships": "NOT VALID: no row is looked at"}


def upgrade() -> None:
    # An attempt that was cut off after the first of its two transactions is simply repeated.
    op.execute("ALTER TABLE relationships DROP CONSTRAINT IF EXISTS relationships_note_check")
    op.execute("ALTER TABLE relationships ADD CONSTRAINT relationships_note_check CHECK (note <> '') NOT VALID")
    validate_beside_traffic(op, "relationships", "relationships_note_check")


def downgrade() -> None:
    op.execute("ALTER TABLE relationships DROP CONSTRAINT relationships_note_check")
