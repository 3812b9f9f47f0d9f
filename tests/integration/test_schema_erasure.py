"""The one exception to immutability: what the erasure function may do, and what nobody may do beside it."""

import hashlib
from collections.abc import Iterator, Mapping

import psycopg
import pytest
from corrigenda_core.persistence.erasure_catalogue import KEPT_TEXTS
from corrigenda_core.persistence.roles import ROLES
from corrigenda_core.persistence.sqlstates import IMMUTABLE_ROW
from corrigenda_core.persistence.tables import metadata
from corrigenda_core.testing.postgres import PostgresCluster
from corrigenda_core.testing.sample_rows import CONTENT
from corrigenda_core.testing.sample_team import SampleTeam, new_id, set_team
from corrigenda_core.testing.sample_transactions import SUPERUSER, sample_transaction, sqlstate_of
from psycopg import errors, sql

pytestmark = [pytest.mark.database, pytest.mark.rule("R11.3")]

EVERYONE = [SUPERUSER, *(role.name for role in ROLES)]
TEXT, JSON = "erased:text", '{"erased": "00"}'
BYTES = "\\x" + "07" * 32


@pytest.fixture
def sample(cluster: PostgresCluster, sample_url: str) -> Iterator[SampleTeam]:
    with sample_transaction(sample_url) as sample:
        yield sample


@pytest.fixture(scope="module")
def sample_url(cluster: PostgresCluster) -> Iterator[str]:
    with cluster.database() as database:
        yield database.superuser_url


def record(sample: SampleTeam, table: str, row_key: list[str], columns: Mapping[str, tuple[bytes, str]]) -> str:
    """Records an erasure of columns of one row, as the ingest role does; gives its id."""
    erasure_id = new_id()
    sample.insert(
        "erasures",
        erasure_id=erasure_id,
        fragment_id=sample.fragment_id,
        fragment_ids=[sample.fragment_id],
        reason="sample",
        erased_by=sample.owner_a,
    )
    for entry, (column, (entered, tombstone)) in enumerate(columns.items()):
        sample.insert(
            "erased_texts",
            erasure_id=erasure_id,
            entry=entry,
            table_name=table,
            row_key=row_key,
            column_name=column,
            entered=entered,
            tombstone=tombstone,
        )
    return str(erasure_id)


def erasable_columns(connection: psycopg.Connection[tuple[object, ...]]) -> dict[str, list[tuple[str, str]]]:
    """The columns that the eraser's role may write, with their types, by table."""
    rows = connection.execute(
        "SELECT c.relname, a.attname, format_type(a.atttypid, a.atttypmod) FROM pg_class AS c"
        " JOIN pg_attribute AS a ON a.attrelid = c.oid AND a.attnum > 0"
        " WHERE has_column_privilege('corrigenda_eraser', c.oid, a.attnum, 'UPDATE')"
        " AND c.relnamespace = 'public'::regnamespace AND c.relkind = 'r'"
        " AND a.attname <> 'erasure_id' AND c.relname <> 'search_documents' ORDER BY 1, a.attnum"
    ).fetchall()
    found: dict[str, list[tuple[str, str]]] = {}
    for table, column, type_ in rows:
        found.setdefault(str(table), []).append((str(column), str(type_)))
    return found


def tombstone_of(type_: str) -> str:
    return {"jsonb": JSON, "bytea": BYTES}.get(type_, TEXT)


def key_of(table: str) -> list[str]:
    return [column.name for column in metadata.tables[table].primary_key.columns if column.name != "team_id"]


def test_every_recorded_text_of_every_table_is_erased_and_no_version_is_made(sample: SampleTeam) -> None:
    connection = sample.connection
    for table, columns in erasable_columns(connection).items():
        key = key_of(table)
        values = dict.fromkeys((name for name, _ in columns), "")
        selected = sql.SQL(", ").join([*(sql.SQL("{}::text").format(sql.Identifier(name)) for name in [*key, *values])])
        row = connection.execute(
            sql.SQL("SELECT {} FROM {} WHERE team_id = %s LIMIT 1").format(selected, sql.Identifier(table)),
            [sample.team_id],
        ).fetchone()
        assert row is not None, table
        named = dict(zip([*key, *values], row, strict=True))
        # Where the column of a value belongs to an entity, there is no text to erase.
        present = {name: type_ for name, type_ in columns if named[name] is not None and "object_key" not in name}
        if not present:
            continue
        row_key = [tombstone_of(present[name]) if name in present else str(named[name]) for name in key]
        entered = {name: hashlib.sha256(str(named[name]).encode()).digest() for name in present}
        with connection.transaction(force_rollback=True):
            recorded = {name: (entered[name], tombstone_of(type_)) for name, type_ in present.items()}
            erasure_id = record(sample, table, row_key, recorded)
            connection.execute("SET LOCAL ROLE corrigenda_ingest")
            found = connection.execute("SELECT erase_texts(%s, 2)", [erasure_id]).fetchone()
            assert found == (1,), table


def test_every_column_that_can_hold_words_is_erased_or_says_why_not(sample: SampleTeam) -> None:
    erased = {
        (table, column) for table, columns in erasable_columns(sample.connection).items() for column, _ in columns
    }
    rows = sample.connection.execute(
        "SELECT c.relname, a.attname FROM pg_class AS c"
        " JOIN pg_attribute AS a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped"
        " WHERE c.relnamespace = 'public'::regnamespace AND c.relkind = 'r' AND c.relname <> 'alembic_version'"
        " AND format_type(a.atttypid, NULL) IN ('text', 'text[]', 'jsonb', 'bytea', 'tsvector', 'halfvec')"
        # A closed list holds codes.
        " AND NOT EXISTS (SELECT 1 FROM pg_constraint AS k WHERE k.conrelid IN (c.oid, to_regclass("
        "replace(c.relname, '_history', ''))) AND k.contype = 'c'"
        " AND pg_get_constraintdef(k.oid) ~ ('^CHECK \\(\\(\\(?' || a.attname || ' (= ANY|<@)'))"
    ).fetchall()
    words = {(str(table), str(column)) for table, column in rows}
    kept = {
        (table, column)
        for table, column in words - erased
        if column in KEPT_TEXTS.get(table.removesuffix("_history"), {})
    }
    # Search documents are emptied by the function itself.
    emptied = {("search_documents", "lexemes"), ("search_documents", "embedding")}
    assert words - erased - kept - emptied == set()
    listed = {(table, column) for table, columns in KEPT_TEXTS.items() for column in columns}
    assert listed <= words
    assert listed & erased == set()


def test_the_owner_of_the_function_writes_nothing_that_is_not_recorded(sample: SampleTeam) -> None:
    for table, columns in erasable_columns(sample.connection).items():
        column, type_ = columns[0]
        for value in (f"'{tombstone_of(type_)}'::{type_}", column):
            statement = f"UPDATE {table} SET {column} = {value}"
            assert sqlstate_of(sample, "corrigenda_eraser", statement) == IMMUTABLE_ROW, statement
        delete = f"DELETE FROM {table}"
        assert sqlstate_of(sample, "corrigenda_eraser", delete) == errors.InsufficientPrivilege.sqlstate
        assert sqlstate_of(sample, "corrigenda_eraser", delete, granted=f"DELETE ON {table}") == IMMUTABLE_ROW


def test_a_recorded_text_is_erased_by_the_function_alone(sample: SampleTeam) -> None:
    recorded = {"content": (hashlib.sha256(CONTENT.encode()).digest(), TEXT)}
    record(sample, "evidence_fragments", [str(sample.fragment_id)], recorded)
    statement = f"UPDATE evidence_fragments SET content = '{TEXT}', erasure_id = gen_random_uuid()"
    assert sqlstate_of(sample, SUPERUSER, statement) == IMMUTABLE_ROW
    for role in EVERYONE[1:]:
        if role != "corrigenda_eraser":
            code = sqlstate_of(sample, role, statement, granted="UPDATE ON evidence_fragments")
            assert code == IMMUTABLE_ROW, role
    other = f"UPDATE evidence_fragments SET content = '{TEXT}x', erasure_id = gen_random_uuid()"
    assert sqlstate_of(sample, "corrigenda_eraser", other) == IMMUTABLE_ROW


def test_nobody_but_the_administrations_server_erases(sample: SampleTeam) -> None:
    for role in EVERYONE:
        code = sqlstate_of(sample, role, "SELECT erase_texts(gen_random_uuid(), 1)")
        allowed = role in (SUPERUSER, "corrigenda_ingest", "corrigenda_eraser")
        assert code == (None if allowed else errors.InsufficientPrivilege.sqlstate), role


def test_an_erasure_of_another_team_finds_nothing(sample: SampleTeam) -> None:
    recorded = {"content": (hashlib.sha256(CONTENT.encode()).digest(), TEXT)}
    erasure_id = record(sample, "evidence_fragments", [str(sample.fragment_id)], recorded)
    with sample.connection.transaction(force_rollback=True):
        set_team(sample.connection, new_id())
        sample.connection.execute("SET LOCAL ROLE corrigenda_ingest")
        assert sample.connection.execute("SELECT erase_texts(%s, 2)", [erasure_id]).fetchone() == (0,)


def test_a_text_that_is_not_the_recorded_one_stays(sample: SampleTeam) -> None:
    wrong = {"normal_name": (hashlib.sha256(b"another").digest(), TEXT)}
    erasure_id = record(sample, "entity_names", [str(sample.main_id), TEXT, str(sample.owner_a)], wrong)
    assert sqlstate_of(sample, "corrigenda_ingest", "SELECT erase_texts(%s, 2)", [erasure_id]) == IMMUTABLE_ROW


@pytest.mark.promise("erase.final")
def test_an_older_search_document_does_not_come_back(sample: SampleTeam) -> None:
    recorded = {
        "content": (hashlib.sha256(CONTENT.encode()).digest(), TEXT),
        "content_sha256": (hashlib.sha256(CONTENT.encode()).digest(), BYTES),
    }
    erasure_id = record(sample, "evidence_fragments", [str(sample.fragment_id)], recorded)
    connection = sample.connection
    with connection.transaction(force_rollback=True):
        connection.execute("SET LOCAL ROLE corrigenda_ingest")
        connection.execute("SELECT erase_texts(%s, 7)", [erasure_id])
        connection.execute("RESET ROLE")
        asked = "SELECT version, lexemes::text, embedding FROM search_documents WHERE fragment_id = %s"
        assert connection.execute(asked, [sample.fragment_id]).fetchone() == (7, "", None)
        with pytest.raises(psycopg.Error) as refused, connection.transaction():
            connection.execute("UPDATE search_documents SET version = 6, lexemes = 'back'::tsvector")
        assert refused.value.sqlstate == "ZC003"
