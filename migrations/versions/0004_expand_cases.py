"""Team conflict cases with their history, and the reviewer's leases, runs, reservations and alerts."""

from alembic import op
from corrigenda_core.persistence.migration_steps import (
    drop_functions_of,
    execute_file,
    guard_history,
    keep_rows,
    protect_by_team,
    refuse_changes,
)

revision = "0004_expand_cases"
down_revision = "0003_expand_relationships"
branch_labels = None
depends_on = None

IMMUTABLE = ("case_events", "case_evaluations", "review_reservations", "alerts")
VERSIONED = ("conflict_cases", "case_positions", "case_members")
OTHER = ("case_lease", "review_runs")


def upgrade() -> None:
    execute_file(op, "0004_cases/tables.sql")
    execute_file(op, "0004_cases/functions.sql")
    for table in (*IMMUTABLE, *VERSIONED, *(f"{table}_history" for table in VERSIONED), *OTHER):
        protect_by_team(op, table)
    for table in IMMUTABLE:
        refuse_changes(op, table)
    for table in VERSIONED:
        keep_rows(op, table)
        guard_history(op, f"{table}_history")
    for table in OTHER:
        keep_rows(op, table)
    execute_file(op, "0004_cases/grants.sql")


def downgrade() -> None:
    drop_functions_of(op, "corrigenda_definer", "due_teams(integer)", "review_gauges()")
    op.execute("DROP TRIGGER teams_leases_open ON teams")
    for table in ("teams", "team_clock"):
        op.execute(f"DROP POLICY definer_polls ON {table}")
    op.execute("ALTER TABLE transitions DROP CONSTRAINT transitions_team_id_conflict_id_fkey")
    op.execute("ALTER TABLE conflict_cases DROP CONSTRAINT conflict_cases_preferred_position_fkey")
    for table in (
        "alerts",
        "review_reservations",
        "review_runs",
        "case_lease",
        "case_evaluations",
        "case_events",
        "case_members_history",
        "case_members",
        "case_positions_history",
        "case_positions",
        "conflict_cases_history",
        "conflict_cases",
    ):
        op.execute(f"DROP TABLE {table}")
    for function in (
        "move_leases_to_real_time()",
        "keep_lease_clock()",
        "keep_claim_forward()",
        "keep_case_lifecycle()",
        "keep_case_members_history()",
        "keep_case_positions_history()",
        "keep_conflict_cases_history()",
    ):
        op.execute(f"DROP FUNCTION {function}")
