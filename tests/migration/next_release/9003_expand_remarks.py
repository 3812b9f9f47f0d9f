"""Example of a next release: a table, behind its team, with a foreign key to one that is in use."""

from alembic import op
from corrigenda_core.persistence.migration_steps import protect_by_team, refuse_changes

revision = "9003_expand_remarks"
down_revision = "9002_expand_weight"
branch_labels = None
depends_on = None

LOCKS = {"evidence_fragments": "the triggers of a foreign key from an empty table; no row is looked at"}


def upgrade() -> None:
    op.execute(
        "CREATE TABLE remarks (team_id UUID NOT NULL, remark_id UUID NOT NULL, fragment_id UUID NOT NULL,"
        " words TEXT NOT NULL, PRIMARY KEY (team_id, remark_id),"
        " FOREIGN KEY (team_id, fragment_id) REFERENCES evidence_fragments (team_id, fragment_id))"
    )
    op.execute("CREATE INDEX remarks_fragment_id_idx ON remarks (team_id, fragment_id)")
    protect_by_team(op, "remarks")
    refuse_changes(op, "remarks")
    op.execute("GRANT SELECT, INSERT ON remarks TO corrigenda_ingest")
    op.execute("GRANT SELECT ON remarks TO corrigenda_backup, corrigenda_auditor")


def downgrade() -> None:
    op.execute("DROP TABLE remarks")
