"""Lists of cases cost what they show, however much the team has decided; and mix open and closed without a loss."""

from collections.abc import Iterator
from datetime import datetime, timedelta

import pytest
from corrigenda_core.domain.cases import CaseKind, CaseStatus
from corrigenda_core.persistence.conflict_entries import EntryPlace
from corrigenda_core.persistence.named_sql import load_sql
from corrigenda_core.testing.postgres import PostgresCluster
from corrigenda_core.testing.sample_team import SampleTeam
from corrigenda_core.testing.sample_transactions import sample_transaction

pytestmark = pytest.mark.database

CLOSED_CASES = 2_000
PAGE = 10


@pytest.fixture
def sample(cluster: PostgresCluster) -> Iterator[SampleTeam]:
    """A team with one open case and two thousand that were resolved."""
    with cluster.database() as database, sample_transaction(database.superuser_url) as sample:
        connection = sample.connection
        connection.execute("SET LOCAL session_replication_role = replica")
        for status, recorded_to in (("open", "k.recorded_from + interval '1 second'"), ("resolved", "'infinity'")):
            connection.execute(
                "INSERT INTO conflict_cases_history SELECT (jsonb_populate_record(k, jsonb_build_object("
                f"'conflict_id', md5(n::text)::uuid, 'status', '{status}',"
                "'opened_at', k.opened_at - n * interval '1 hour',"
                "'revision', CASE WHEN %(open)s THEN 1 ELSE 2 END,"
                "'recorded_from', k.recorded_from + CASE WHEN %(open)s THEN 0 ELSE 1 END * interval '1 second',"
                f"'recorded_to', {recorded_to}))).* FROM conflict_cases_history AS k, generate_series(1, %(n)s) AS n "
                "WHERE k.team_id = %(team)s AND k.recorded_to = 'infinity' AND k.status = 'open' "
                "AND k.conflict_id = %(case)s",
                {"open": status == "open", "n": CLOSED_CASES, "team": sample.team_id, "case": sample.conflict_id},
            )
        connection.execute("ANALYZE conflict_cases_history, review_items_history")
        yield sample


def listed(sample: SampleTeam, name: str, at: datetime, statuses: list[str]) -> tuple[list[object], int]:
    """The ids of a page, and how many rows of the history were read for it."""
    statement = load_sql("conflict_entries.sql")[name]
    given = {
        "team_id": sample.team_id,
        "profile_id": sample.owner_a,
        "at": at,
        "after": EntryPlace().opened_at,
        "after_id": EntryPlace().entry_id,
        "limit": PAGE,
        "opened_before": at + timedelta(days=1),
        "with_cases": True,
        "with_items": False,
        "case_kinds": list(CaseKind),
        "case_statuses": statuses,
        "item_kinds": [],
        "item_statuses": [],
        "predicate": None,
        "entity_id": None,
        "mine": False,
    }
    query = statement.query(**{one: given[one] for one in statement.parameters})
    before = read_rows(sample)
    rows = sample.connection.execute(query.sql.encode(), query.parameters).fetchall()
    return [row[1] for row in rows], read_rows(sample) - before


def read_rows(sample: SampleTeam) -> int:
    row = sample.connection.execute(
        "SELECT seq_tup_read + idx_tup_fetch FROM pg_stat_xact_user_tables WHERE relname = 'conflict_cases_history'"
    ).fetchone()
    assert row is not None
    return int(str(row[0]))


def test_a_list_of_open_cases_does_not_read_what_is_closed(sample: SampleTeam) -> None:
    at = sample.recorded_at + timedelta(days=1)
    found, read = listed(sample, "open_entries", at, [CaseStatus.OPEN, CaseStatus.OVERDUE])
    assert [str(one) for one in found] == [str(sample.conflict_id)]
    assert read < 20


def test_a_page_of_closed_cases_reads_that_page(sample: SampleTeam) -> None:
    at = sample.recorded_at + timedelta(days=1)
    found, read = listed(sample, "closed_entries", at, [CaseStatus.RESOLVED])
    assert len(found) == PAGE
    assert read < 5 * PAGE
