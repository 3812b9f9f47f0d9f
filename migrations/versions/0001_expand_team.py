"""Teams, their clock and ledger, keys, stored responses, submissions and evidence."""

from alembic import op
from corrigenda_core.persistence.migration_steps import (
    drop_functions_of,
    execute_file,
    keep_rows,
    protect_by_team,
    refuse_changes,
)

revision = "0001_expand_team"
down_revision = None
branch_labels = None
depends_on = None

CHANGING = ("teams", "profiles", "api_keys", "team_clock")
IMMUTABLE = ("ledger", "idempotency_records", "ingests", "evidence_fragments")


def upgrade() -> None:
    execute_file(op, "0001_team/tables.sql")
    execute_file(op, "0001_team/functions.sql")
    for table in (*CHANGING, *IMMUTABLE):
        protect_by_team(op, table)
    for table in CHANGING:
        keep_rows(op, table)
    for table in IMMUTABLE:
        refuse_changes(op, table)
    execute_file(op, "0001_team/grants.sql")


def downgrade() -> None:
    for table in (*reversed(IMMUTABLE), *reversed(CHANGING)):
        op.execute(f"DROP TABLE {table}")
    drop_functions_of(op, "corrigenda_definer", "close_instant(timestamptz)", "authenticate(uuid, bytea)")
    for function in ("keep_driven_clock()", "keep_clock_forward()", "refuse_change()"):
        op.execute(f"DROP FUNCTION {function}")
