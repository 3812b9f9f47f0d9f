"""What the schema promises as a whole, read from the catalogue: team first, indexed, explained, distributable."""

import re
from collections.abc import Iterator

import pytest
from corrigenda_core.persistence.tables import metadata
from corrigenda_core.testing.postgres import PostgresCluster
from corrigenda_core.testing.sample_team import Connection

pytestmark = pytest.mark.database

# Each exception with the reason that makes it one.
NOT_TEAM_FIRST = {
    "entity_names_trigrams_idx": "a GIN index has no team column; search_names keeps to its team by itself",
    "alembic_version_pkc": "belongs to alembic and to no team",
    "api_keys_key_id_idx": "a key says which team it is for, nothing else can",
    "case_lease_due_idx": "which teams are due is asked before any team is known",
    "search_documents_embedding_idx": "a vector index has one column; its scan goes on until it has enough of the team",
    "search_documents_lexemes_idx": "the lexemes themselves begin with the team",
}


@pytest.fixture(scope="module")
def catalogue(cluster: PostgresCluster) -> Iterator[Connection]:
    with cluster.database() as database, database.connect() as connection:
        yield connection


def test_tables_are_the_declared_ones(catalogue: Connection) -> None:
    rows = catalogue.execute(
        "SELECT relname, relkind::text FROM pg_class WHERE relnamespace = 'public'::regnamespace "
        "AND relkind NOT IN ('i', 't', 'c')"
    ).fetchall()
    # No sequence, no view: relkind is an ordinary table throughout.
    assert set(rows) == {(name, "r") for name in {*metadata.tables, "alembic_version"}}


def test_the_team_is_the_first_column_of_every_key_and_index(catalogue: Connection) -> None:
    rows = catalogue.execute(
        "SELECT c.relname, a.attname FROM pg_index AS i JOIN pg_class AS c ON c.oid = i.indexrelid "
        "LEFT JOIN pg_attribute AS a ON a.attrelid = i.indrelid AND a.attnum = i.indkey[0] "
        "WHERE c.relnamespace = 'public'::regnamespace"
    ).fetchall()
    assert {name for name, first in rows if first != "team_id"} == set(NOT_TEAM_FIRST)
    uniques = catalogue.execute(
        "SELECT c.relname FROM pg_index AS i JOIN pg_class AS c ON c.oid = i.indexrelid "
        "WHERE i.indisunique AND c.relname = ANY (%s)",
        [list(NOT_TEAM_FIRST)],
    ).fetchall()
    assert uniques == [("alembic_version_pkc",)]


def test_the_team_is_the_first_column_of_both_sides_of_every_foreign_key(catalogue: Connection) -> None:
    rows = catalogue.execute(
        "SELECT f.conname, a.attname, r.attname FROM pg_constraint AS f "
        "JOIN pg_attribute AS a ON a.attrelid = f.conrelid AND a.attnum = f.conkey[1] "
        "JOIN pg_attribute AS r ON r.attrelid = f.confrelid AND r.attnum = f.confkey[1] WHERE f.contype = 'f'"
    ).fetchall()
    assert len(rows) > 40
    assert [name for name, *sides in rows if sides != ["team_id", "team_id"]] == []


def test_every_foreign_key_is_the_beginning_of_an_index(catalogue: Connection) -> None:
    """Or contains the beginning of a unique one, which leaves at most one row to look at."""
    rows = catalogue.execute(
        "SELECT f.conname FROM pg_constraint AS f WHERE f.contype = 'f' AND NOT EXISTS ("
        "SELECT 1 FROM pg_index AS i WHERE i.indrelid = f.conrelid AND ("
        "(i.indkey::smallint[])[0:cardinality(f.conkey) - 1] @> f.conkey "
        "OR i.indisunique AND i.indpred IS NULL AND f.conkey @> i.indkey::smallint[]))"
    ).fetchall()
    assert rows == []


def test_every_index_says_which_query_it_serves(catalogue: Connection) -> None:
    declared = {str(index.name): index.info["serves"] for table in metadata.tables.values() for index in table.indexes}
    rows = catalogue.execute(
        "SELECT c.relname, obj_description(c.oid) FROM pg_index AS i JOIN pg_class AS c ON c.oid = i.indexrelid "
        "WHERE c.relnamespace = 'public'::regnamespace "
        "AND NOT EXISTS (SELECT 1 FROM pg_constraint WHERE conindid = c.oid)"
    ).fetchall()
    assert dict(rows) == declared
    assert all(declared.values())


def test_nothing_stored_comes_from_the_servers_clock_or_a_sequence(catalogue: Connection) -> None:
    (defaults,) = catalogue.execute(
        "SELECT count(*) FROM pg_attrdef AS d JOIN pg_class AS c ON c.oid = d.adrelid "
        "WHERE c.relnamespace = 'public'::regnamespace"
    ).fetchone() or (None,)
    (identities,) = catalogue.execute(
        "SELECT count(*) FROM pg_attribute AS a JOIN pg_class AS c ON c.oid = a.attrelid "
        "WHERE c.relnamespace = 'public'::regnamespace AND (a.attidentity <> '' OR a.attgenerated <> '')"
    ).fetchone() or (None,)
    assert (defaults, identities) == (0, 0)
    # No trigger reads the clock; only functions that poll or settle do.
    rows = catalogue.execute(
        "SELECT proname FROM pg_proc WHERE pronamespace = 'public'::regnamespace "
        "AND prosrc ~ '(clock|statement|transaction)_timestamp|now\\(\\)|current_timestamp' "
        "AND NOT EXISTS (SELECT 1 FROM pg_depend WHERE objid = pg_proc.oid AND deptype = 'e')"
    ).fetchall()
    assert {name for (name,) in rows} == {"close_instant", "due_teams", "review_gauges"}


def test_history_has_every_column_and_its_trigger_copies_it(catalogue: Connection) -> None:
    for name in metadata.tables:
        if not name.endswith("_history"):
            continue
        versioned = name.removesuffix("_history")
        columns = [column.name for column in metadata.tables[versioned].columns]
        kept = ["recorded_from" if column == "recorded_at" else column for column in columns]
        assert [column.name for column in metadata.tables[name].columns] == [*kept, "recorded_to"]
        ((source,),) = catalogue.execute(
            "SELECT prosrc FROM pg_proc WHERE proname = %s", [f"keep_{versioned}_history"]
        ).fetchall()
        _, _, insert = str(source).partition("INSERT INTO")
        named, _, values = insert.partition("VALUES")
        assert re.findall(r"\w+", named.partition("(")[2]) == [*kept, "recorded_to"], versioned
        assert re.findall(r"NEW\.(\w+)", values) == columns, versioned


def test_every_time_has_a_zone_and_every_id_is_a_uuid(catalogue: Connection) -> None:
    rows = catalogue.execute(
        "SELECT c.relname, a.attname, format_type(a.atttypid, a.atttypmod) FROM pg_attribute AS a "
        "JOIN pg_class AS c ON c.oid = a.attrelid WHERE c.relnamespace = 'public'::regnamespace "
        "AND c.relkind = 'r' AND a.attnum > 0 AND NOT a.attisdropped"
    ).fetchall()
    types = {(table, column): type_ for table, column, type_ in rows}
    assert "timestamp without time zone" not in types.values()
    assert {type_ for (_, column), type_ in types.items() if str(column).endswith("_at")} == {
        "timestamp with time zone"
    }
    # What a caller names in a request of its own is text; every other id is one of ours.
    callers_own = {"proposal_id"}
    assert {
        type_ for (_, column), type_ in types.items() if str(column).endswith("_id") and column not in callers_own
    } == {"uuid"}


def test_every_table_and_function_is_explained(catalogue: Connection) -> None:
    tables = catalogue.execute(
        "SELECT relname FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relkind = 'r' "
        "AND obj_description(oid) IS NULL"
    ).fetchall()
    functions = catalogue.execute(
        "SELECT proname FROM pg_proc WHERE pronamespace = 'public'::regnamespace AND obj_description(oid) IS NULL "
        "AND NOT EXISTS (SELECT 1 FROM pg_depend WHERE objid = pg_proc.oid AND deptype = 'e')"
    ).fetchall()
    assert (tables, functions) == ([("alembic_version",)], [])


def test_triggers_of_immutable_tables_cannot_be_skipped_by_a_setting(catalogue: Connection) -> None:
    """session_replication_role is a superuser's; nobody of ours may set it."""
    rows = catalogue.execute(
        "SELECT rolname FROM pg_roles WHERE rolname LIKE 'corrigenda\\_%' "
        "AND rolname <> 'corrigenda_superuser' AND has_parameter_privilege(oid, 'session_replication_role', 'SET')"
    ).fetchall()
    assert rows == []
