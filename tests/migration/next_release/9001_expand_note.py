"""Example of a next release: a column that the release before does not know; NULL says that it wrote the row."""

from alembic import op
from corrigenda_core.persistence.migration_steps import migrations_folder

revision = "9001_expand_note"
# It follows whatever is the newest of ours.
down_revision = max(file.stem for file in (migrations_folder() / "versions").glob("*.py"))
branch_labels = None
depends_on = None

LOCKS = {"relationships": "a column without a default is written into the catalogue alone"}


def upgrade() -> None:
    op.execute("ALTER TABLE relationships ADD COLUMN note TEXT")


def downgrade() -> None:
    op.execute("ALTER TABLE relationships DROP COLUMN note")
