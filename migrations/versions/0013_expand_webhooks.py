"""Webhooks: how far each endpoint was told, and the role of the process that tells them."""

from alembic import op
from corrigenda_core.persistence.migration_steps import execute_file, keep_rows, protect_by_team

revision = "0013_expand_webhooks"
down_revision = "0012_expand_erasure"
branch_labels = None
depends_on = None

TABLE = "webhook_cursors"
# What the notifier reads and writes elsewhere.
ELSEWHERE = (
    "alembic_version",
    "team_clock",
    "teams",
    "case_events",
    "conflict_cases",
    "review_items_history",
    "alerts",
)


def upgrade() -> None:
    execute_file(op, "0013_webhooks/tables.sql")
    execute_file(op, "0013_webhooks/functions.sql")
    protect_by_team(op, TABLE)
    keep_rows(op, TABLE)
    execute_file(op, "0013_webhooks/grants.sql")


def downgrade() -> None:
    op.execute(f"DROP TABLE {TABLE}")
    op.execute("DROP FUNCTION keep_webhook_cursor_forward()")
    for table in ELSEWHERE:
        op.execute(f"REVOKE ALL ON {table} FROM corrigenda_notifier")
    op.execute("REVOKE USAGE ON SCHEMA public FROM corrigenda_notifier")
