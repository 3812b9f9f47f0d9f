"""Erasure: the record of every text that was taken away, and the one function that may take one."""

from alembic import op
from corrigenda_core.persistence.migration_steps import (
    drop_functions_of,
    erasable,
    execute_file,
    protect_by_team,
    refuse_changes,
    unerasable,
)

revision = "0012_expand_erasure"
down_revision = "0009_expand_bindings"
branch_labels = None
depends_on = None

TABLES = ("erasures", "erased_texts")
# Each table with its trigger that refuses a change, or keeps the history of one, and the key behind the team.
GUARDED = (
    ("ingests", "ingests_immutable", ("ingest_id",)),
    (
        "idempotency_records",
        "idempotency_records_immutable",
        (
            "profile_id",
            "idempotency_key",
        ),
    ),
    ("evidence_fragments", "evidence_fragments_immutable", ("fragment_id",)),
    ("evidence_occurrences", "evidence_occurrences_immutable", ("occurrence_id",)),
    (
        "entity_names",
        "entity_names_immutable",
        (
            "entity_id",
            "normal_name",
            "given_by",
        ),
    ),
    (
        "entity_contexts",
        "entity_contexts_immutable",
        (
            "entity_id",
            "context_key",
            "context_value",
        ),
    ),
    ("observations", "observations_immutable", ("observation_id",)),
    ("verification_events", "verification_events_immutable", ("verification_id",)),
    (
        "statements",
        "statements_immutable",
        (
            "statement_id",
            "revision",
        ),
    ),
    ("relationships", "relationships_history", ("relationship_id",)),
    (
        "relationships_history",
        "relationships_history_guard",
        (
            "relationship_id",
            "version",
        ),
    ),
    ("decisions", "decisions_immutable", ("decision_id",)),
    (
        "timeline_decisions",
        "timeline_decisions_immutable",
        (
            "decision_id",
            "entry",
        ),
    ),
    ("transitions", "transitions_immutable", ("transition_id",)),
    ("review_items", "review_items_history", ("item_id",)),
    (
        "review_items_history",
        "review_items_history_guard",
        (
            "item_id",
            "version",
        ),
    ),
    ("conflict_cases", "conflict_cases_history", ("conflict_id",)),
    (
        "conflict_cases_history",
        "conflict_cases_history_guard",
        (
            "conflict_id",
            "revision",
        ),
    ),
    (
        "case_positions",
        "case_positions_history",
        (
            "conflict_id",
            "position_id",
        ),
    ),
    (
        "case_positions_history",
        "case_positions_history_guard",
        (
            "conflict_id",
            "position_id",
            "version",
        ),
    ),
    ("case_evaluations", "case_evaluations_immutable", ("evaluation_id",)),
    ("conflict_cases", "conflict_cases_lifecycle", ()),
)


def upgrade() -> None:
    execute_file(op, "0012_erasure/tables.sql")
    execute_file(op, "0012_erasure/functions.sql")
    for table in TABLES:
        protect_by_team(op, table)
        refuse_changes(op, table)
    for table, trigger, key in GUARDED:
        erasable(op, table, trigger, key)
    execute_file(op, "0012_erasure/grants.sql")


def downgrade() -> None:
    for table, trigger, _ in GUARDED:
        unerasable(op, table, trigger)
    drop_functions_of(op, "corrigenda_eraser", "erase_texts(uuid, bigint)")
    for table in {table for table, _, _ in GUARDED} | {"search_documents", "text_bands"}:
        op.execute(f"REVOKE ALL ON {table} FROM corrigenda_eraser")
    op.execute("ALTER TABLE evidence_fragments DROP CONSTRAINT evidence_fragments_team_id_erasure_id_fkey")
    op.execute("ALTER TABLE evidence_fragments DROP CONSTRAINT evidence_fragments_content_sha256_check")
    op.execute("ALTER TABLE evidence_fragments DROP COLUMN erasure_id")
    op.execute(
        "ALTER TABLE evidence_fragments ADD CONSTRAINT evidence_fragments_content_sha256_check"
        " CHECK (content_sha256 = sha256(convert_to(content, 'UTF8')))"
    )
    for table in reversed(TABLES):
        op.execute(f"DROP TABLE {table}")
    op.execute("DROP FUNCTION refuse_all_but_erasure()")
    op.execute("DROP FUNCTION is_recorded_erasure(text, text[], jsonb, jsonb)")
    op.execute("REVOKE USAGE ON SCHEMA public FROM corrigenda_eraser")
