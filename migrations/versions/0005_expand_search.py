"""Search documents, the queue that keeps them current, and full-text search inside the transaction's team."""

from alembic import op
from corrigenda_core.persistence.migration_steps import drop_functions_of, execute_file, keep_rows, protect_by_team

revision = "0005_expand_search"
down_revision = "0004_expand_cases"
branch_labels = None
depends_on = None

TABLES = ("search_documents", "search_refresh_intents")
# What the searches read besides, to tell what is eligible.
SEARCHED = (
    "entity_names",
    "supports",
    "support_decisions",
    "carriages",
    "relationships_history",
    "case_members",
    "case_members_history",
    "conflict_cases_history",
)


def upgrade() -> None:
    execute_file(op, "0005_search/tables.sql")
    execute_file(op, "0005_search/functions.sql")
    for table in TABLES:
        protect_by_team(op, table)
    keep_rows(op, "search_refresh_intents")
    execute_file(op, "0005_search/grants.sql")


def downgrade() -> None:
    drop_functions_of(
        op,
        "corrigenda_search",
        "search_text(text[], timestamptz, timestamptz, integer, boolean)",
        "search_near(halfvec, text, timestamptz, timestamptz, integer, boolean)",
        "search_names(text, uuid, timestamptz)",
    )
    drop_functions_of(
        op,
        "corrigenda_definer",
        "stale_teams(integer)",
        "teams_in_other_spaces(text, boolean, integer)",
        "sample_document(text)",
    )
    op.execute("DROP FUNCTION at_least(text[], integer)")
    op.execute("DROP FUNCTION is_large_team(uuid, timestamptz)")
    op.execute("DROP FUNCTION edges_of_fragment(uuid, uuid, timestamptz, timestamptz)")
    for table in SEARCHED:
        op.execute(f"DROP POLICY search_matches ON {table}")
        op.execute(f"REVOKE ALL ON {table} FROM corrigenda_search")
    for table in reversed(TABLES):
        op.execute(f"DROP TABLE {table}")
    op.execute("DROP FUNCTION keep_document_forward()")
    op.execute("DROP FUNCTION team_lexemes(uuid, text[])")
