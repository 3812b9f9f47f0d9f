"""What is written once stays as it is: for every role, for the owner, for a superuser."""

from collections.abc import Iterator

import pytest
from corrigenda_core.persistence.roles import MIGRATOR, ROLES
from corrigenda_core.persistence.sqlstates import IMMUTABLE_ROW
from corrigenda_core.persistence.tables import metadata
from corrigenda_core.testing.postgres import PostgresCluster
from corrigenda_core.testing.sample_team import SampleTeam
from corrigenda_core.testing.sample_transactions import SUPERUSER, sample_transaction, sqlstate_of
from psycopg import errors

pytestmark = pytest.mark.database

IMMUTABLE = {
    "alerts",
    "carriages",
    "case_evaluations",
    "case_events",
    "cross_references",
    "decisions",
    "entities",
    "entity_contexts",
    "entity_merges",
    "entity_names",
    "erased_texts",
    "erasures",
    "evidence_fragments",
    "evidence_occurrences",
    "fragment_retirements",
    "idempotency_records",
    "ingests",
    "ledger",
    "observation_bindings",
    "observations",
    "reference_decisions",
    "review_reservations",
    "statements",
    "support_decisions",
    "supports",
    "timeline_decisions",
    "transitions",
    "verification_events",
}
HISTORY = {name for name in metadata.tables if name.endswith("_history")}
# What can be rebuilt from the evidence may go.
REBUILDABLE = {"search_documents", "text_bands"}
PERMANENT = set(metadata.tables) - IMMUTABLE - HISTORY - REBUILDABLE

EVERYONE = [SUPERUSER, *(role.name for role in ROLES)]


@pytest.fixture(scope="module")
def sample(cluster: PostgresCluster) -> Iterator[SampleTeam]:
    with cluster.database() as database, sample_transaction(database.superuser_url) as sample:
        yield sample


def row_count(sample: SampleTeam, table: str) -> int:
    (count,) = sample.connection.execute(
        f"SELECT count(*) FROM {table} WHERE team_id = %s", [sample.team_id]
    ).fetchone() or (0,)
    assert isinstance(count, int)
    return count


def changes(table: str) -> list[str]:
    column = next(c.name for c in metadata.tables[table].columns if c.name != "team_id")
    return [f"UPDATE {table} SET {column} = {column}", f"DELETE FROM {table}", f"TRUNCATE {table} CASCADE"]


def test_the_catalogue_freezes_exactly_what_is_listed_here(sample: SampleTeam) -> None:
    rows = sample.connection.execute(
        "SELECT c.relname, t.tgfoid::regproc::text, (t.tgtype & 16) > 0, (t.tgtype & 8) > 0, (t.tgtype & 32) > 0 "
        "FROM pg_trigger AS t JOIN pg_class AS c ON c.oid = t.tgrelid WHERE NOT t.tgisinternal AND t.tgenabled = 'O'"
    ).fetchall()
    refused: dict[str, set[str]] = {}
    for table, function, on_update, on_delete, on_truncate in rows:
        if function in ("refuse_change", "guard_history"):
            verbs = zip(("UPDATE", "DELETE", "TRUNCATE"), (on_update, on_delete, on_truncate), strict=True)
            refused.setdefault(str(table), set()).update(verb for verb, on in verbs if on)
    assert {t for t, verbs in refused.items() if verbs == {"UPDATE", "DELETE", "TRUNCATE"}} == IMMUTABLE | HISTORY
    assert {t for t, verbs in refused.items() if verbs == {"DELETE", "TRUNCATE"}} == PERMANENT


@pytest.mark.promise("kept.evidence", "Q14")
@pytest.mark.rule("R2.1", "R4.6")
@pytest.mark.parametrize("table", sorted(IMMUTABLE | HISTORY))
def test_nobody_changes_what_is_written_once(sample: SampleTeam, table: str) -> None:
    assert row_count(sample, table) > 0
    for statement in changes(table):
        for role in EVERYONE:
            code = sqlstate_of(sample, role, statement)
            if role in (SUPERUSER, MIGRATOR):
                assert code == IMMUTABLE_ROW, (role, statement)
                continue
            # Without the right to try, the server says so first; with every right on the table, its own net holds.
            assert code == errors.InsufficientPrivilege.sqlstate, (role, statement)
    for statement in changes(table)[:2]:
        for role in EVERYONE[1:]:
            assert sqlstate_of(sample, role, statement, granted=f"ALL ON {table}") == IMMUTABLE_ROW, (role, statement)


@pytest.mark.promise("kept.versions", "Q14")
@pytest.mark.rule("R4.6")
@pytest.mark.parametrize("table", sorted(PERMANENT))
def test_nobody_deletes_a_row(sample: SampleTeam, table: str) -> None:
    assert row_count(sample, table) > 0
    for statement in changes(table)[1:]:
        for role in EVERYONE:
            expected = IMMUTABLE_ROW if role in (SUPERUSER, MIGRATOR) else errors.InsufficientPrivilege.sqlstate
            assert sqlstate_of(sample, role, statement) == expected, (role, statement)


@pytest.mark.parametrize("table", sorted(HISTORY))
def test_history_is_inserted_by_its_trigger_alone(sample: SampleTeam, table: str) -> None:
    statement = f"INSERT INTO {table} SELECT * FROM {table} WHERE team_id = '{sample.team_id}'"
    for role in EVERYONE:
        assert sqlstate_of(sample, role, statement) in (IMMUTABLE_ROW, errors.InsufficientPrivilege.sqlstate), role
    assert sqlstate_of(sample, MIGRATOR, statement) == IMMUTABLE_ROW


@pytest.mark.promise("Q14")
@pytest.mark.parametrize("table", sorted(IMMUTABLE | HISTORY))
def test_the_net_is_the_trigger(sample: SampleTeam, table: str) -> None:
    """The anomaly switch: with the triggers off the same statements go through, or as far as the next net."""
    update, delete, _ = changes(table)
    # Beyond its own rows the next net is that of another table.
    others = [delete, f"TRUNCATE {table}"]
    with sample.connection.transaction(force_rollback=True):
        sample.connection.execute(f"ALTER TABLE {table} DISABLE TRIGGER USER")
        assert sqlstate_of(sample, MIGRATOR, update) is None
        assert IMMUTABLE_ROW not in {sqlstate_of(sample, SUPERUSER, statement) for statement in others}


@pytest.mark.promise("Q14")
@pytest.mark.parametrize("table", sorted(PERMANENT))
def test_what_keeps_a_row_is_the_trigger(sample: SampleTeam, table: str) -> None:
    """The anomaly switch: without it nothing of ours refuses to delete."""
    with sample.connection.transaction(force_rollback=True):
        sample.connection.execute(f"ALTER TABLE {table} DISABLE TRIGGER USER")
        assert sqlstate_of(sample, SUPERUSER, f"DELETE FROM {table}") != IMMUTABLE_ROW
