"""Who may read and write what: the whole table of rights, compared with the catalogue in both directions."""

from collections.abc import Iterator

import pytest
from corrigenda_core.persistence.roles import ROLES
from corrigenda_core.persistence.tables import metadata
from corrigenda_core.testing.postgres import PostgresCluster
from corrigenda_core.testing.sample_team import SampleTeam
from corrigenda_core.testing.sample_transactions import sample_transaction, sqlstate_of
from psycopg import errors

pytestmark = pytest.mark.database


def named(names: str) -> set[str]:
    """The names of a text."""
    return set(names.split())


EVERYTHING = {*metadata.tables, "alembic_version"}
# What a placement is made of, and what a reader shows of it.
KNOWLEDGE = named(
    "carriages case_evaluations case_events case_lease case_members case_members_history case_positions "
    "case_positions_history conflict_cases conflict_cases_history cross_references decisions entities entity_contexts "
    "entity_merges entity_names evidence_fragments fragment_retirements ledger observation_bindings observations "
    "predicate_aliases predicates predicates_history profiles reference_decisions relationships relationships_history "
    "review_items "
    "review_items_history source_states source_states_history sources sources_history statements "
    "support_decisions supports team_clock teams timeline_decisions transitions verification_events"
)
EVERY_SERVICE = {"alembic_version", "team_clock", "teams"}

SELECT = {
    "corrigenda_ingest": EVERY_SERVICE
    | KNOWLEDGE
    | named("alerts api_keys evidence_occurrences idempotency_records ingests text_bands"),
    "corrigenda_conflict": EVERY_SERVICE | KNOWLEDGE | {"alerts", "idempotency_records", "review_runs"},
    "corrigenda_reviewer": EVERY_SERVICE
    | named(
        "alerts carriages case_evaluations case_events case_lease case_members case_members_history case_positions "
        "case_positions_history conflict_cases conflict_cases_history cross_references ledger reference_decisions "
        "relationships relationships_history review_reservations review_runs support_decisions supports "
        "transitions"
    ),
    "corrigenda_recall": EVERY_SERVICE
    | KNOWLEDGE
    | {"evidence_occurrences", "search_documents", "search_refresh_intents"},
    "corrigenda_indexer": EVERY_SERVICE | {"evidence_fragments", "search_documents", "search_refresh_intents"},
    "corrigenda_notifier": {"alembic_version", "webhook_cursors"},
    "corrigenda_eraser": {"erased_texts", "erasures"},
    "corrigenda_backup": EVERYTHING,
    "corrigenda_auditor": EVERYTHING,
}

INSERT = {
    "corrigenda_ingest": named(
        "api_keys carriages case_events case_lease case_members case_positions conflict_cases cross_references "
        "decisions entities entity_contexts entity_merges entity_names erased_texts erasures evidence_fragments "
        "evidence_occurrences "
        "fragment_retirements idempotency_records ingests ledger observation_bindings observations "
        "predicate_aliases predicates profiles reference_decisions relationships review_items search_refresh_intents "
        "source_states sources "
        "statements support_decisions supports text_bands timeline_decisions transitions verification_events"
    ),
    "corrigenda_conflict": named(
        "carriages case_events case_lease case_members case_positions conflict_cases cross_references decisions "
        "idempotency_records ledger reference_decisions relationships review_items review_runs support_decisions "
        "timeline_decisions transitions"
    ),
    "corrigenda_reviewer": named(
        "alerts case_evaluations case_events ledger review_reservations review_runs search_refresh_intents transitions"
    ),
    "corrigenda_indexer": {"search_documents"},
    "corrigenda_notifier": {"alerts", "webhook_cursors"},
    "corrigenda_eraser": {"search_documents"},
}

CLOCK = "closed_at ledger_head revision"
POSITION = "authoritative_groups counted_groups last_seen_at present recorded_at revision support_digest version"
MEMBER = "present recorded_at relationship_version revision version"

LEASE = "attempts attempts_date claim_token lease_expires_at next_review_at"
ROW = (
    "facet record recorded_at revision slot_exclusive status tier valid_from valid_from_basis valid_to "
    "valid_to_basis version"
)
ITEM = "decision_id details incoming opposing reason recorded_at revision statement_id status version"

UPDATE = {
    ("corrigenda_ingest", "api_keys"): "expires_at recorded_at revision revoked_at",
    ("corrigenda_ingest", "case_lease"): LEASE,
    ("corrigenda_ingest", "case_members"): MEMBER,
    ("corrigenda_ingest", "case_positions"): POSITION,
    ("corrigenda_ingest", "conflict_cases"): "recorded_at revision version",
    ("corrigenda_ingest", "predicate_aliases"): "active predicate recorded_at revision",
    ("corrigenda_ingest", "predicates"): (
        "aliases current_cardinality lifecycle object_kinds pii_class recorded_at relationship_kind review_after_days "
        "revision same_moment_policy start_granularity subject_kinds supersession_basis unit value_types version"
    ),
    ("corrigenda_ingest", "profiles"): "name recorded_at revision",
    ("corrigenda_ingest", "relationships"): ROW,
    ("corrigenda_ingest", "review_items"): ITEM,
    ("corrigenda_ingest", "source_states"): "current_revision prior_revision recorded_at revision version",
    ("corrigenda_ingest", "sources"): (
        "authoritative_for authoritative_for_all lifecycle record recorded_at revision speakers version"
    ),
    ("corrigenda_ingest", "team_clock"): CLOCK,
    ("corrigenda_ingest", "teams"): (
        "clock_mode driven_now name opened_at recorded_at review_period_days review_start_minute revision time_zone "
        "trusts_declared_groups version"
    ),
    ("corrigenda_conflict", "case_lease"): LEASE,
    ("corrigenda_conflict", "case_members"): MEMBER,
    ("corrigenda_conflict", "case_positions"): POSITION,
    ("corrigenda_conflict", "conflict_cases"): "recorded_at revision version",
    ("corrigenda_conflict", "relationships"): ROW,
    ("corrigenda_conflict", "review_items"): ITEM,
    ("corrigenda_conflict", "team_clock"): CLOCK,
    ("corrigenda_reviewer", "team_clock"): CLOCK,
    ("corrigenda_reviewer", "case_lease"): (
        "attempts attempts_date claim_token last_evaluated_at lease_expires_at next_review_at"
    ),
    ("corrigenda_reviewer", "case_members"): MEMBER,
    ("corrigenda_reviewer", "case_positions"): POSITION,
    ("corrigenda_reviewer", "conflict_cases"): (
        "dismissed_at effective_at effective_time_basis policy_version preferred_position_id recorded_at "
        "resolution_reason resolved_at revision status version"
    ),
    ("corrigenda_reviewer", "relationships"): "recorded_at revision status valid_to valid_to_basis version",
    ("corrigenda_reviewer", "review_runs"): (
        "claim_token dismissed_cases examined_cases failed_cases finished_at kept_cases lease_expires_at left_cases "
        "marked_overdue_cases resolved_cases started_at status"
    ),
    ("corrigenda_indexer", "search_documents"): ("embedding embedding_space lexemes recorded_from recorded_to version"),
    ("corrigenda_indexer", "search_refresh_intents"): "consumed_at",
    ("corrigenda_notifier", "webhook_cursors"): (
        "after_id after_revision attempts claim_token delivered_at lease_expires_at next_attempt_at problem status"
    ),
    ("corrigenda_definer", "team_clock"): "closed_at",
    # Texts, and nothing but texts.
    ("corrigenda_eraser", "case_evaluations"): "decision snapshot",
    ("corrigenda_eraser", "case_positions"): "position_key",
    ("corrigenda_eraser", "case_positions_history"): "position_key",
    ("corrigenda_eraser", "conflict_cases"): "object_key scope",
    ("corrigenda_eraser", "conflict_cases_history"): "object_key scope",
    ("corrigenda_eraser", "decisions"): "details reason",
    ("corrigenda_eraser", "entity_contexts"): "context_value",
    ("corrigenda_eraser", "entity_names"): "name normal_name",
    ("corrigenda_eraser", "evidence_fragments"): "content content_sha256 erasure_id metadata normal_sha256",
    ("corrigenda_eraser", "evidence_occurrences"): "metadata",
    ("corrigenda_eraser", "idempotency_records"): "response",
    ("corrigenda_eraser", "ingests"): "result",
    ("corrigenda_eraser", "observations"): (
        "comment mentions object_phrase object_ref predicate_phrase proposal_id scope "
        "subject_phrase subject_ref value_canonical value_display"
    ),
    ("corrigenda_eraser", "relationships"): "object_key scope value_canonical value_display",
    ("corrigenda_eraser", "relationships_history"): "object_key scope value_canonical value_display",
    ("corrigenda_eraser", "review_items"): "details scope",
    ("corrigenda_eraser", "review_items_history"): "details scope",
    ("corrigenda_eraser", "search_documents"): "embedding embedding_space lexemes version",
    ("corrigenda_eraser", "statements"): "object_key scope value_canonical value_display",
    ("corrigenda_eraser", "timeline_decisions"): "closing_object_key",
    ("corrigenda_eraser", "transitions"): "closing_object_key",
    ("corrigenda_eraser", "verification_events"): "reason",
}

SELECT_COLUMNS = {
    # The policy counts witnesses by hash, group and time; it never reads a text.
    ("corrigenda_reviewer", "evidence_fragments"): (
        "author_id claimed_authority content_sha256 derived_from_fragment_ids fragment_id inherited_labels "
        "normal_sha256 occurred_at recorded_at revision scan_verdict source_group "
        "source_key source_revision source_type team_id"
    ),
    ("corrigenda_indexer", "review_items"): "fragment_id kind reason status team_id",
    # What is told outside: ids, kinds and times, and no text that could not be erased there.
    ("corrigenda_notifier", "case_events"): (
        "action conflict_id event_id recorded_at resulting_status revision team_id version"
    ),
    ("corrigenda_notifier", "conflict_cases"): "conflict_id kind team_id",
    ("corrigenda_notifier", "review_items_history"): "item_id kind owner_id recorded_from revision team_id version",
    ("corrigenda_notifier", "team_clock"): "closed_at revision team_id",
    ("corrigenda_notifier", "teams"): "driven_now team_id",
    ("corrigenda_definer", "api_keys"): "expires_at key_hash key_id profile_id revoked_at scopes team_id",
    ("corrigenda_definer", "case_lease"): "lease_expires_at next_review_at on_driven_clock team_id",
    ("corrigenda_definer", "conflict_cases"): "opened_at status team_id",
    ("corrigenda_definer", "review_runs"): "lease_expires_at requested_at status team_id",
    ("corrigenda_definer", "search_documents"): "embedding_space fragment_id team_id",
    ("corrigenda_definer", "search_refresh_intents"): "consumed_at recorded_at revision team_id",
    ("corrigenda_definer", "team_clock"): "closed_at team_id",
    ("corrigenda_definer", "teams"): "clock_mode driven_now team_id",
    ("corrigenda_eraser", "case_evaluations"): "decision evaluation_id snapshot team_id",
    ("corrigenda_eraser", "case_positions"): "conflict_id position_id position_key team_id",
    ("corrigenda_eraser", "case_positions_history"): "conflict_id position_id position_key team_id version",
    ("corrigenda_eraser", "conflict_cases"): "conflict_id object_key scope team_id",
    ("corrigenda_eraser", "conflict_cases_history"): "conflict_id object_key revision scope team_id",
    ("corrigenda_eraser", "decisions"): "decision_id details reason team_id",
    ("corrigenda_eraser", "entity_contexts"): "context_key context_value entity_id team_id",
    ("corrigenda_eraser", "entity_names"): "entity_id given_by name normal_name team_id",
    ("corrigenda_eraser", "evidence_fragments"): (
        "content content_sha256 erasure_id fragment_id metadata normal_sha256 recorded_at team_id"
    ),
    ("corrigenda_eraser", "evidence_occurrences"): "metadata occurrence_id team_id",
    ("corrigenda_eraser", "idempotency_records"): "idempotency_key profile_id response team_id",
    ("corrigenda_eraser", "ingests"): "ingest_id result team_id",
    ("corrigenda_eraser", "observations"): (
        "comment mentions object_phrase object_ref observation_id predicate_phrase proposal_id scope "
        "subject_phrase subject_ref team_id value_canonical value_display"
    ),
    ("corrigenda_eraser", "relationships"): "object_key relationship_id scope team_id value_canonical value_display",
    ("corrigenda_eraser", "relationships_history"): (
        "object_key relationship_id scope team_id value_canonical value_display version"
    ),
    ("corrigenda_eraser", "review_items"): "details item_id scope team_id",
    ("corrigenda_eraser", "review_items_history"): "details item_id scope team_id version",
    ("corrigenda_eraser", "search_documents"): "fragment_id team_id version",
    ("corrigenda_eraser", "statements"): (
        "object_key revision scope statement_id team_id value_canonical value_display"
    ),
    ("corrigenda_eraser", "timeline_decisions"): "closing_object_key decision_id entry team_id",
    ("corrigenda_eraser", "transitions"): "closing_object_key team_id transition_id",
    ("corrigenda_eraser", "verification_events"): "reason team_id verification_id",
    ("corrigenda_eraser", "text_bands"): "fragment_id team_id",
    ("corrigenda_search", "entity_names"): (
        "entity_id given_by is_confirmed is_primary normal_name recorded_at team_id"
    ),
    ("corrigenda_search", "carriages"): "recorded_at relationship_id revision statement_id team_id",
    ("corrigenda_search", "case_members"): "conflict_id position_id relationship_id team_id",
    ("corrigenda_search", "case_members_history"): (
        "conflict_id position_id present recorded_from relationship_id team_id version"
    ),
    ("corrigenda_search", "conflict_cases_history"): (
        "conflict_id effective_at preferred_position_id recorded_from revision status team_id"
    ),
    ("corrigenda_search", "relationships_history"): (
        "object_entity_id owner_id polarity recorded_from relationship_id status subject_id team_id tier valid_from "
        "valid_from_basis valid_to version"
    ),
    (
        "corrigenda_search",
        "search_documents",
    ): "embedding embedding_space fragment_id lexemes recorded_from recorded_to team_id",
    ("corrigenda_search", "support_decisions"): "authority kind recorded_at revision support_id team_id",
    ("corrigenda_search", "supports"): "fragment_id recorded_at statement_id support_id team_id",
}

SERVERS = {"corrigenda_ingest", "corrigenda_conflict", "corrigenda_recall"}
EXECUTE = {
    "authenticate": SERVERS,
    "close_instant": SERVERS,
    "due_teams": {"corrigenda_reviewer"},
    "erase_texts": {"corrigenda_ingest"},
    "is_recorded_erasure": {"corrigenda_eraser"},
    "edges_of_fragment": {"corrigenda_recall", "corrigenda_search"},
    "review_gauges": {"corrigenda_reviewer"},
    "stale_teams": {"corrigenda_indexer"},
    "sample_document": {"corrigenda_indexer", "corrigenda_recall"},
    "search_names": {"corrigenda_recall"},
    "search_near": {"corrigenda_recall"},
    "search_text": {"corrigenda_recall"},
    "is_large_team": {"corrigenda_search"},
    "at_least": {"corrigenda_search"},
    "teams_in_other_spaces": {"corrigenda_indexer"},
    "team_lexemes": {"corrigenda_indexer", "corrigenda_search"},
}


@pytest.fixture(scope="module")
def sample(cluster: PostgresCluster) -> Iterator[SampleTeam]:
    with cluster.database() as database, sample_transaction(database.superuser_url) as sample:
        yield sample


@pytest.mark.promise("apart.roles")
def test_rights_on_tables_are_the_listed_ones(sample: SampleTeam) -> None:
    rows = sample.connection.execute(
        "SELECT g.grantee::regrole::text, c.relname, g.privilege_type, g.is_grantable "
        "FROM pg_class AS c, aclexplode(c.relacl) AS g "
        "WHERE c.relnamespace = 'public'::regnamespace AND c.relkind IN ('r', 'p') AND g.grantee <> c.relowner"
    ).fetchall()
    expected = {
        *((role, table, "SELECT", False) for role, tables in SELECT.items() for table in tables),
        *((role, table, "INSERT", False) for role, tables in INSERT.items() for table in tables),
        # What finds an erased text is made from it, and nothing stands in its place.
        ("corrigenda_eraser", "text_bands", "DELETE", False),
    }
    assert set(rows) == expected


def test_rights_on_columns_are_the_listed_ones(sample: SampleTeam) -> None:
    rows = sample.connection.execute(
        "SELECT g.grantee::regrole::text, c.relname, g.privilege_type, string_agg(a.attname, ' ' ORDER BY a.attname) "
        "FROM pg_class AS c JOIN pg_attribute AS a ON a.attrelid = c.oid, aclexplode(a.attacl) AS g "
        "WHERE c.relnamespace = 'public'::regnamespace GROUP BY 1, 2, 3"
    ).fetchall()
    assert {(role, table): columns for role, table, verb, columns in rows if verb == "UPDATE"} == UPDATE
    assert {(role, table): columns for role, table, verb, columns in rows if verb == "SELECT"} == SELECT_COLUMNS
    assert {verb for _, _, verb, _ in rows} == {"SELECT", "UPDATE"}


def test_rights_on_functions_are_the_listed_ones(sample: SampleTeam) -> None:
    rows = sample.connection.execute(
        "SELECT p.proname, g.grantee FROM pg_proc AS p, "
        "aclexplode(coalesce(p.proacl, acldefault('f', p.proowner))) AS g "
        "WHERE p.pronamespace = 'public'::regnamespace AND g.grantee <> p.proowner "
        "AND NOT EXISTS (SELECT 1 FROM pg_depend AS d WHERE d.objid = p.oid AND d.deptype = 'e')"
    ).fetchall()
    names = dict(sample.connection.execute("SELECT oid, rolname FROM pg_roles").fetchall())
    found: dict[object, set[object]] = {}
    for function, grantee in rows:
        found.setdefault(function, set()).add(names.get(grantee, "PUBLIC"))
    assert found == EXECUTE


def test_definer_functions_are_the_listed_ones_and_choose_their_names_themselves(sample: SampleTeam) -> None:
    rows = sample.connection.execute(
        "SELECT proname, proowner::regrole::text, proconfig FROM pg_proc "
        "WHERE pronamespace = 'public'::regnamespace AND prosecdef ORDER BY 1"
    ).fetchall()
    versioned = [name.removesuffix("_history") for name in metadata.tables if name.endswith("_history")]
    assert {name: owner for name, owner, _ in rows} == {
        "authenticate": "corrigenda_definer",
        "close_instant": "corrigenda_definer",
        "due_teams": "corrigenda_definer",
        "move_leases_to_real_time": "corrigenda_migrator",
        "review_gauges": "corrigenda_definer",
        "sample_document": "corrigenda_definer",
        "stale_teams": "corrigenda_definer",
        "teams_in_other_spaces": "corrigenda_definer",
        "search_names": "corrigenda_search",
        "search_near": "corrigenda_search",
        "search_text": "corrigenda_search",
        "erase_texts": "corrigenda_eraser",
        **{f"keep_{table}_history": "corrigenda_migrator" for table in versioned},
    }
    # pg_temp last: a caller's temporary table never stands in for one of ours.
    assert {settings[0] for _, _, settings in rows if isinstance(settings, list)} == {
        "search_path=pg_catalog, public, pg_temp"
    }


def test_nobody_but_the_owner_makes_objects(sample: SampleTeam) -> None:
    for role in ROLES:
        (may,) = sample.connection.execute(
            "SELECT has_schema_privilege(%s, 'public', 'CREATE')", [role.name]
        ).fetchone() or (None,)
        assert may == (role.name == "corrigenda_migrator"), role.name


@pytest.mark.rule("R7.19")
@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE relationships SET tier = 'fact'",
        "UPDATE relationships SET valid_from = '-infinity'",
        "UPDATE relationships SET object_key = ''",
        "UPDATE review_items SET status = 'closed'",
        "INSERT INTO review_items DEFAULT VALUES",
        "INSERT INTO relationships DEFAULT VALUES",
        "INSERT INTO conflict_cases DEFAULT VALUES",
        "INSERT INTO evidence_fragments DEFAULT VALUES",
        "INSERT INTO observations DEFAULT VALUES",
        "INSERT INTO supports DEFAULT VALUES",
        "INSERT INTO support_decisions DEFAULT VALUES",
        "INSERT INTO cross_references DEFAULT VALUES",
        "UPDATE conflict_cases SET review_due_at = review_due_at",
        "UPDATE teams SET driven_now = driven_now",
        "SELECT content FROM evidence_fragments",
        "SELECT * FROM observations",
        "SELECT * FROM api_keys",
    ],
)
def test_the_reviewer_writes_nothing_else_and_reads_no_text(sample: SampleTeam, statement: str) -> None:
    assert sqlstate_of(sample, "corrigenda_reviewer", statement) == errors.InsufficientPrivilege.sqlstate


@pytest.mark.rule("R7.8")
@pytest.mark.parametrize("column", ["status", "resolved_at", "dismissed_at", "preferred_position_id", "effective_at"])
def test_a_placement_cannot_say_how_a_case_ended(sample: SampleTeam, column: str) -> None:
    for role in ("corrigenda_ingest", "corrigenda_conflict", "corrigenda_recall"):
        statement = f"UPDATE conflict_cases SET {column} = {column}"
        assert sqlstate_of(sample, role, statement) == errors.InsufficientPrivilege.sqlstate


@pytest.mark.rule("R5.3", "R4.6")
@pytest.mark.parametrize(
    "statement",
    [
        "INSERT INTO evidence_fragments DEFAULT VALUES",
        "INSERT INTO observations DEFAULT VALUES",
        "INSERT INTO verification_events DEFAULT VALUES",
        "INSERT INTO statements DEFAULT VALUES",
        "INSERT INTO supports DEFAULT VALUES",
        "INSERT INTO entities DEFAULT VALUES",
        "INSERT INTO predicates DEFAULT VALUES",
        "INSERT INTO case_evaluations DEFAULT VALUES",
        "UPDATE relationships SET owner_id = owner_id",
        "UPDATE relationships SET object_key = object_key",
        "UPDATE relationships SET subject_id = subject_id",
        "UPDATE review_items SET owner_id = owner_id",
        "UPDATE conflict_cases SET review_due_at = review_due_at",
        "DELETE FROM relationships",
        "DELETE FROM decisions",
    ],
)
def test_the_conflict_service_writes_what_a_decision_writes_and_nothing_else(
    sample: SampleTeam, statement: str
) -> None:
    assert sqlstate_of(sample, "corrigenda_conflict", statement) == errors.InsufficientPrivilege.sqlstate
