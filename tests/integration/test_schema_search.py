"""Full-text search in the database: only the team's, only what is eligible then, and by the index."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from uuid import UUID

import psycopg
import pytest
from corrigenda_core.testing.postgres import PostgresCluster, ThrowawayDatabase
from corrigenda_core.testing.sample_rows import write_sample_team
from corrigenda_core.testing.sample_team import SampleTeam, new_id, set_team
from corrigenda_core.testing.sample_transactions import rolled_back, sample_transaction

pytestmark = pytest.mark.database

FAR = datetime(2027, 1, 1, tzinfo=UTC)
MARCH = datetime(2026, 3, 1, tzinfo=UTC)
TICK = timedelta(microseconds=1)


@pytest.fixture(scope="module")
def database(cluster: PostgresCluster) -> Iterator[ThrowawayDatabase]:
    with cluster.database() as database:
        yield database


@pytest.fixture(scope="module")
def written(database: ThrowawayDatabase) -> Iterator[SampleTeam]:
    with sample_transaction(database.superuser_url) as sample:
        yield sample


@pytest.fixture
def sample(written: SampleTeam) -> Iterator[SampleTeam]:
    with rolled_back(written) as sample:
        yield sample


def search(
    sample: SampleTeam,
    *terms: str,
    valid_at: datetime = FAR,
    known_at: datetime = FAR,
    limit: int = 10,
    team_id: UUID | None = None,
) -> list[object]:
    """The fragments that the recall role finds."""
    with sample.connection.transaction(force_rollback=True):
        set_team(sample.connection, team_id or sample.team_id)
        sample.connection.execute("SET LOCAL ROLE corrigenda_recall")
        found = sample.connection.execute(
            "SELECT fragment_id FROM search_text(%s, %s, %s, %s)", [list(terms), valid_at, known_at, limit]
        ).fetchall()
    return [fragment_id for (fragment_id,) in found]


def add_document(sample: SampleTeam, *terms: str, eligible: bool) -> UUID:
    """A further fragment of the team with its document, carrying owner A's relationship or nothing."""
    fragment_id = new_id()
    sample.connection.execute(
        "INSERT INTO evidence_fragments SELECT (jsonb_populate_record(f, jsonb_build_object('fragment_id', %s::uuid, "
        "'recorded_at', %s::timestamptz))).* FROM evidence_fragments AS f WHERE team_id = %s AND fragment_id = %s",
        [fragment_id, sample.recorded_at, sample.team_id, sample.fragment_id],
    )
    sample.connection.execute(
        "INSERT INTO search_documents (team_id, fragment_id, version, lexemes, recorded_from, recorded_to)"
        " VALUES (%s, %s, %s, team_lexemes(%s, %s), %s, 'infinity')",
        [sample.team_id, fragment_id, sample.revision, sample.team_id, list(terms), sample.recorded_at],
    )
    if eligible:
        support_id = new_id()
        sample.insert(
            "supports",
            support_id=support_id,
            relationship_id=sample.relationship_a,
            statement_id=sample.observation_id,
            fragment_id=fragment_id,
            span_starts=[0],
            span_ends=[1],
            near_duplicate_fragment_ids=[],
            evidence_verified=False,
        )
        decide(sample, support_id, "grant")
    return fragment_id


def decide(sample: SampleTeam, support_id: UUID, kind: str) -> None:
    sample.insert(
        "support_decisions",
        support_id=support_id,
        kind=kind,
        authority="primary",
        granted_by_key=False,
        reason="test",
        actor_kind="profile",
        actor_profile_id=sample.owner_a,
    )


@pytest.mark.rule("R9.1")
def test_any_term_finds_and_no_other_does(sample: SampleTeam) -> None:
    assert search(sample, "main") == [sample.fragment_id]
    assert search(sample, "nothing", "main") == [sample.fragment_id]
    assert search(sample, "nothing") == []
    assert search(sample) == []


@pytest.mark.parametrize("term", ["it's", 'a "quoted" one', "back\\slash", "a | b", "!x", "a:*", "emoji🙂", "/"])
def test_a_term_is_text_and_no_query(sample: SampleTeam, term: str) -> None:
    fragment_id = add_document(sample, term, eligible=True)
    assert search(sample, term) == [fragment_id]
    assert search(sample, f"{term}x") == []


@pytest.mark.rule("R11.2")
def test_only_the_transactions_team_is_searched(sample: SampleTeam) -> None:
    other = write_sample_team(sample.connection)
    assert search(sample, "main") == [sample.fragment_id]
    assert search(sample, "main", team_id=other.team_id) == [other.fragment_id]
    assert search(sample, "main", team_id=new_id()) == []
    # Another team's prefix typed as a term finds nothing of it either.
    assert search(sample, f"{str(other.team_id)[-12:]}/main") == []


@pytest.mark.rule("R11.2")
def test_teams_whose_lexemes_begin_alike_are_kept_apart(sample: SampleTeam) -> None:
    alike = UUID(f"{str(new_id())[:24]}{str(sample.team_id)[24:]}")
    other = write_sample_team(sample.connection, team_id=alike)
    assert search(sample, "main") == [sample.fragment_id]
    assert search(sample, "main", team_id=alike) == [other.fragment_id]


def test_without_a_team_nothing_is_found(sample: SampleTeam) -> None:
    with sample.connection.transaction(force_rollback=True):
        set_team(sample.connection, None)
        found = sample.connection.execute("SELECT * FROM search_text(%s, %s, %s, 9)", [["main"], FAR, FAR]).fetchall()
    assert found == []


@pytest.mark.rule("R9.1")
def test_what_is_not_in_force_takes_no_place_of_what_is(sample: SampleTeam) -> None:
    """The limit is applied after eligibility, however well the others match."""
    for _ in range(5):
        add_document(sample, "main", "branch", eligible=False)
    assert search(sample, "main", "branch", limit=1) == [sample.fragment_id]


@pytest.mark.rule("R8.2")
def test_both_time_axes_decide(sample: SampleTeam) -> None:
    known_before = sample.recorded_at - TICK
    sample.close_relationship_a(MARCH)
    # The present view: in force until March. The view before the closing: in force without end.
    assert search(sample, "main", valid_at=MARCH - TICK) == [sample.fragment_id]
    assert search(sample, "main", valid_at=MARCH) == []
    assert search(sample, "main", valid_at=MARCH, known_at=known_before) == [sample.fragment_id]
    assert search(sample, "main", known_at=sample.recorded_at) == []


@pytest.mark.rule("R8.2")
def test_a_fragment_is_unknown_before_it_was_recorded(sample: SampleTeam) -> None:
    fragment_id = add_document(sample, "later", eligible=True)
    assert search(sample, "later", known_at=sample.recorded_at) == [fragment_id]
    assert search(sample, "later", known_at=sample.recorded_at - TICK) == []


@pytest.mark.rule("R8.2")
def test_a_revoked_support_makes_nothing_eligible_from_then_on(sample: SampleTeam) -> None:
    decide(sample, sample.support_id, "revoke")
    assert search(sample, "main") == []
    assert search(sample, "main", known_at=sample.recorded_at - TICK) == [sample.fragment_id]
    sample.next_revision()
    decide(sample, sample.support_id, "reinstate")
    assert search(sample, "main") == [sample.fragment_id]


@pytest.mark.parametrize("status", ["retracted", "rejected", "needs_review", "pending_evidence", "quarantined"])
def test_only_living_relationships_make_eligible(sample: SampleTeam, status: str) -> None:
    sample.update("relationships", {"relationship_id": sample.relationship_a}, version=2, status=status)
    assert search(sample, "main") == []


def test_an_older_document_never_replaces_a_newer_one(sample: SampleTeam) -> None:
    with pytest.raises(psycopg.Error, match="older search document"):
        sample.connection.execute(
            "UPDATE search_documents SET version = version - 1 WHERE team_id = %s", [sample.team_id]
        )


def add_many_documents(sample: SampleTeam, count: int) -> None:
    """Documents of one term each that nothing makes eligible."""
    sample.connection.execute(
        "CREATE TEMPORARY TABLE many ON COMMIT DROP AS SELECT gen_random_uuid() AS id, n "
        f"FROM generate_series(1, {count}) AS n"
    )
    sample.connection.execute(
        "INSERT INTO evidence_fragments SELECT (jsonb_populate_record(f, jsonb_build_object('fragment_id', m.id))).* "
        "FROM evidence_fragments AS f, many AS m WHERE f.team_id = %s",
        [sample.team_id],
    )
    sample.connection.execute(
        "INSERT INTO search_documents (team_id, fragment_id, version, lexemes, recorded_from, recorded_to) "
        "SELECT %(team)s, id, 1, team_lexemes(%(team)s, ARRAY['word' || n]), %(at)s, 'infinity' FROM many",
        {"team": sample.team_id, "at": sample.recorded_at},
    )
    sample.connection.execute("ANALYZE search_documents")


def plan(sample: SampleTeam, role: str) -> str:
    """How the server would match one word of the team as the role."""
    with sample.connection.transaction(force_rollback=True):
        sample.connection.execute(f"SET LOCAL ROLE {role}")
        lines = sample.connection.execute(
            "EXPLAIN SELECT fragment_id FROM search_documents "
            f"WHERE team_id = '{sample.team_id}' AND lexemes @@ $${str(sample.team_id)[-12:]}/main$$::tsquery"
        ).fetchall()
    return "\n".join(str(line) for (line,) in lines)


def test_the_text_index_serves_the_recall_role(database: ThrowawayDatabase) -> None:
    """Row-level security keeps the planner from the index; the definer function is there to use it."""
    uses = "SELECT idx_scan FROM pg_stat_user_indexes WHERE indexrelname = 'search_documents_lexemes_idx'"
    with psycopg.connect(database.superuser_url) as connection:
        sample = write_sample_team(connection)
        add_many_documents(sample, 3000)
        assert "search_documents_lexemes_idx" not in plan(sample, "corrigenda_recall")
        assert "search_documents_lexemes_idx" in plan(sample, "corrigenda_search")
        ((before,),) = connection.execute(uses).fetchall()
        assert search(sample, "main") == [sample.fragment_id]
        connection.execute("SELECT pg_stat_force_next_flush()")
        connection.commit()
        ((after,),) = connection.execute(uses).fetchall()
    assert isinstance(before, int)
    assert isinstance(after, int)
    assert after > before
