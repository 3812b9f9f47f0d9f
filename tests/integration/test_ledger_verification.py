"""Q15: whatever is changed in a team's history behind the back of the write path, the ledger tells, erasures or not."""

import json
import os
import random
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass

import psycopg
import pytest
from corrigenda_cli.commands.verify_ledger import add_parser
from corrigenda_core.domain.ids import ProfileId
from corrigenda_core.persistence import tables
from corrigenda_core.persistence.database import Database
from corrigenda_core.persistence.erased_rows import ErasedRows, Tombstones
from corrigenda_core.persistence.ledger import COLUMNS_OUTSIDE, OUTSIDE_THE_LEDGER, is_ledgered
from corrigenda_core.persistence.ledger_verification import LedgerReport, verify_snapshot
from corrigenda_core.persistence.named_sql import Query
from corrigenda_core.persistence.transaction import Transaction, TransactionRunner
from corrigenda_core.testing.postgres import PostgresCluster, Team, ThrowawayDatabase, add_team
from corrigenda_core.testing.revisions import actor_of, predicate_row, write_evidence, write_predicate
from psycopg import sql
from sqlalchemy import Table
from sqlalchemy.dialects import postgresql

pytestmark = [pytest.mark.database, pytest.mark.rule("R11.4")]

MUTATIONS = 500 if os.environ.get("CORRIGENDA_TEST_TIER") == "full" else 60

LEDGERED = [table for table in tables.metadata.sorted_tables if is_ledgered(table)]
WRITTEN = (
    "ledger",
    "evidence_fragments",
    "ingests",
    "entities",
    "entity_names",
    "predicates_history",
    "erasures",
    "erased_texts",
)

Connection = psycopg.Connection[tuple[object, ...]]


@dataclass(frozen=True)
class Tampering:
    """A change behind the back of the write path, as a statement."""

    kind: str
    table: str
    statement: sql.Composed


@pytest.fixture(scope="module")
async def told(cluster: PostgresCluster) -> AsyncIterator[tuple[ThrowawayDatabase, Team]]:
    """A team with a history of immutable and versioned rows."""
    with cluster.database() as database:
        team = add_team(database)
        owner = team.profiles[0]

        def entity(transaction: Transaction, number: int) -> None:
            transaction.next_moment(actor_of(owner), "test_entity")
            entity_id = f"0190a0b0-c0d0-7e00-8f00-{number:012d}"
            row = {"entity_id": entity_id, "kind": "person", "created_by": owner}
            transaction.insert(tables.entities, row)
            name = {
                "entity_id": entity_id,
                "normal_name": f"n {number}",
                "name": f"N {number}",
                "is_primary": True,
                "given_by": owner,
                "is_confirmed": False,
            }
            transaction.insert(tables.entity_names, name)

        async with Database(database.url("corrigenda_ingest")) as pool:
            runner = TransactionRunner(pool)
            for number in range(4):
                await runner.run(team.team_id, lambda tx, n=number: write_evidence(tx, owner, f"text {n}"))
                await runner.run(team.team_id, lambda tx, n=number: entity(tx, n))
                prior = number or None
                row = predicate_row("p", number + 1, unit=f"u{number}")
                await runner.run(team.team_id, lambda tx, r=row, p=prior: write_predicate(tx, owner, r, p))
            await runner.run(team.team_id, lambda tx: write_predicate(tx, owner, predicate_row("q", 1), None))
            await runner.run(team.team_id, lambda tx: erase_last(tx, owner), prefetch=[last_fragment(team)])
        yield database, team


def last_fragment(team: Team) -> Query:
    return Query(
        name="last_fragment",
        sql="SELECT fragment_id, content_sha256 FROM evidence_fragments WHERE team_id = %(team_id)s"
        " AND content = 'text 3'",
        parameters={"team_id": team.team_id},
    )


def erase_last(transaction: Transaction, owner: ProfileId) -> None:
    """Erases the last text and the last name, as the use case does."""
    (fragment,) = transaction.prefetched["last_fragment"]
    moment = transaction.next_moment(actor_of(owner), "test_erasure")
    stones = Tombstones(secret=b"a secret", team_id=transaction.team_id)
    erasure_id, fragment_id = "0190a0b0-c0d0-7e00-8f00-00000000e7a5", fragment["fragment_id"]
    transaction.insert(
        tables.erasures,
        {
            "erasure_id": erasure_id,
            "fragment_id": fragment_id,
            "fragment_ids": [fragment_id],
            "reason": "asked",
            "erased_by": owner,
        },
    )
    rows = ErasedRows()
    hashed = f"\\x{stones.keyed_hash('text 3').hex()}"
    rows.add(
        tables.evidence_fragments,
        [fragment_id],
        {
            "content": ("text 3", stones.text("text 3")),
            "content_sha256": (bytes(fragment["content_sha256"]), hashed),
        },
    )
    rows.add(
        tables.entity_names,
        ["0190a0b0-c0d0-7e00-8f00-000000000003", stones.text("n 3"), owner],
        {"normal_name": ("n 3", stones.text("n 3")), "name": ("N 3", stones.text("N 3"))},
    )
    rows.write(transaction, erasure_id, moment)


@pytest.fixture
def connection(told: tuple[ThrowawayDatabase, Team]) -> Iterator[Connection]:
    """A superuser's connection without triggers, in a transaction that is rolled back."""
    with psycopg.connect(told[0].superuser_url) as connection:
        connection.execute("SET LOCAL session_replication_role = 'replica'")
        yield connection
        connection.rollback()


def verify(connection: Connection, team: Team) -> LedgerReport:
    return verify_snapshot(connection, team.team_id)


def columns_of(table: Table) -> list[str]:
    # What an erasure marks in place is compared with its record.
    outside = COLUMNS_OUTSIDE.get(table.name, frozenset()) - {"erasure_id"}
    return [column.name for column in table.columns if column.name not in outside]


def tamperings(connection: Connection, team: Team, chance: random.Random) -> Iterator[Tampering]:
    """Endless flips, deletions, insertions and swaps in the tables that the team has written."""
    while True:
        name = chance.choice([*WRITTEN, "predicates"])
        table = tables.metadata.tables[name]
        row, other = (_row_id(connection, name, team, chance) for _ in range(2))
        kind = chance.choice(["flip", "delete", "insert", "swap"])
        target = sql.Identifier(name)
        if kind == "flip":
            column = chance.choice([c for c in columns_of(table) if c != "team_id"])
            statement = sql.SQL("UPDATE {} SET {} = {} WHERE ctid = {}").format(
                target, sql.Identifier(column), _flipped(table, column), sql.Literal(row)
            )
        elif kind == "delete":
            statement = sql.SQL("DELETE FROM {} WHERE ctid = {}").format(target, sql.Literal(row))
        elif kind == "insert":
            statement = _copy_with_another_key(table, row)
        elif row != other:
            column = chance.choice([c for c in columns_of(table) if c not in _key(table)])
            statement = sql.SQL(
                "UPDATE {t} AS a SET {c} = b.{c} FROM {t} AS b WHERE a.ctid IN ({x}, {y}) AND b.ctid IN ({x}, {y})"
                " AND a.ctid <> b.ctid AND a.{c} IS DISTINCT FROM b.{c}"
            ).format(t=target, c=sql.Identifier(column), x=sql.Literal(row), y=sql.Literal(other))
        else:
            continue
        yield Tampering(kind=kind, table=name, statement=statement)


def _row_id(connection: Connection, table: str, team: Team, chance: random.Random) -> str:
    rows = connection.execute(
        sql.SQL("SELECT ctid::text FROM {} WHERE team_id = %s ORDER BY 1").format(sql.Identifier(table)), [team.team_id]
    ).fetchall()
    return str(chance.choice(rows)[0])


def _key(table: Table) -> list[str]:
    return [column.name for column in table.primary_key.columns]


def _flipped(table: Table, column: str) -> sql.Composed:
    """Another value of the column's type."""
    kind = table.columns[column].type.compile(dialect=postgresql.dialect())
    forms = {
        "UUID": "gen_random_uuid()",
        "TEXT": "coalesce({c}, '') || 'x'",
        "BIGINT": "{c} + 1",
        "INTEGER": "coalesce({c}, 0) + 1",
        "BOOLEAN": "NOT {c}",
        "BYTEA": "sha256({c})",
        "NUMERIC": "coalesce({c}, 0) + 1",
        "JSONB": "jsonb_build_array({c})",
        "UUID[]": "{c} || gen_random_uuid()",
        "TEXT[]": "{c} || 'x'::text",
    }
    if kind.startswith("TIMESTAMP"):
        # Also where it is infinite or unknown.
        form = "CASE WHEN isfinite({c}) THEN {c} + interval '1 us' ELSE '2001-01-01' END"
    else:
        form = forms[kind]
    return sql.SQL(form).format(c=sql.Identifier(column))


def _copy_with_another_key(table: Table, row: str) -> sql.Composed:
    changed = _key(table)[-1]
    selected = sql.SQL(", ").join(
        _flipped(table, column.name) if column.name == changed else sql.Identifier(column.name)
        for column in table.columns
    )
    return sql.SQL("INSERT INTO {t} SELECT {s} FROM {t} WHERE ctid = {r}").format(
        t=sql.Identifier(table.name), s=selected, r=sql.Literal(row)
    )


async def test_an_untouched_history_is_verified(told: tuple[ThrowawayDatabase, Team], connection: Connection) -> None:
    report = verify(connection, told[1])
    assert report.problems == ()
    assert report.revisions == 14
    assert report.rows == 4 * 2 + 4 * 2 + 5 + 1 + 4


@pytest.mark.promise("kept.provable", "Q15")
async def test_every_tampering_is_found(told: tuple[ThrowawayDatabase, Team], connection: Connection) -> None:
    _, team = told
    chance = random.Random(2)
    unseen: list[Tampering] = []
    done = 0
    for tampering in tamperings(connection, team, chance):
        connection.execute("SAVEPOINT untouched")
        try:
            changed = connection.execute(tampering.statement).rowcount
        except (psycopg.errors.IntegrityError, psycopg.errors.DataError):
            changed = 0  # a constraint was faster; it holds without triggers too
        else:
            if changed and verify(connection, team).is_verified:
                unseen.append(tampering)
        connection.execute("ROLLBACK TO SAVEPOINT untouched")
        done += bool(changed)
        if done == MUTATIONS:
            break
    assert unseen == []
    assert verify(connection, team).is_verified, "all of it was taken back"


@pytest.mark.parametrize(
    ("statement", "kind"),
    [
        ("UPDATE ledger SET change_kind = 'other' WHERE revision = 3", "entry_hash"),
        ("DELETE FROM ledger WHERE revision = 3", "revision_gap"),
        ("DELETE FROM ledger WHERE revision = 14", "head"),
        ("UPDATE ledger SET prior_hash = sha256('x') WHERE revision = 3", "chain_broken"),
        ("UPDATE team_clock SET revision = 13", "head"),
        ("UPDATE team_clock SET closed_at = '-infinity'", "closed_at"),
        ("DELETE FROM team_clock", "clock_missing"),
        ("UPDATE evidence_fragments SET revision = 99 WHERE content = 'text 0'", "rows_without_entry"),
        ("DELETE FROM entities WHERE kind = 'person'", "change_hash"),
        ("UPDATE predicates_history SET recorded_to = recorded_to - interval '1 us' WHERE version = 1", "history_gap"),
        ("DELETE FROM predicates WHERE predicate = 'q'", "row_missing"),
        ("UPDATE predicates SET unit = 'another'", "row_differs"),
        ("UPDATE predicates SET predicate = 'r' WHERE predicate = 'q'", "row_without_history"),
        ("DELETE FROM predicates_history WHERE version = 2", "version_gap"),
        ("UPDATE entity_names SET name = 'N 3' WHERE name LIKE 'erased:%'", "tombstone"),
        ("UPDATE evidence_fragments SET erasure_id = gen_random_uuid() WHERE content = 'text 1'", "erasure"),
        ("DELETE FROM erased_texts", "change_hash"),
    ],
)
async def test_each_kind_of_problem_has_its_name(
    told: tuple[ThrowawayDatabase, Team], connection: Connection, statement: str, kind: str
) -> None:
    connection.execute(statement.encode())
    assert kind in {problem.kind for problem in verify(connection, told[1]).problems}


async def test_a_text_that_does_not_fit_its_hash_is_found(
    told: tuple[ThrowawayDatabase, Team], connection: Connection
) -> None:
    # The constraint that says the same can be taken away by whoever may take the triggers away.
    connection.execute("ALTER TABLE evidence_fragments DROP CONSTRAINT evidence_fragments_content_sha256_check")
    connection.execute("UPDATE evidence_fragments SET content = 'another' WHERE content = 'text 1'")
    assert [problem.kind for problem in verify(connection, told[1]).problems] == ["text_hash"]


async def test_a_broken_entry_does_not_hide_the_rest(
    told: tuple[ThrowawayDatabase, Team], connection: Connection
) -> None:
    connection.execute("UPDATE ledger SET change_kind = 'other' WHERE revision IN (2, 5)")
    problems = verify(connection, told[1]).problems
    assert [problem.revision for problem in problems if problem.kind == "entry_hash"] == [2, 5]


def test_every_table_of_the_schema_is_ledgered_or_says_why_not() -> None:
    names = {table.name for table in tables.metadata.sorted_tables}
    without_revision = {name for name in names if "revision" not in tables.metadata.tables[name].columns}
    history = {name for name in names if name.endswith("_history")}
    assert names == {table.name for table in LEDGERED} | OUTSIDE_THE_LEDGER.keys() | without_revision | history


async def test_ledgered_rows_are_immutable_or_have_a_history(connection: Connection) -> None:
    rows = connection.execute(
        "SELECT tgrelid::regclass::text, tgname FROM pg_trigger WHERE NOT tgisinternal"
    ).fetchall()
    triggers = set(rows)
    for table in LEDGERED:
        has_history = f"{table.name}_history" in tables.metadata.tables
        is_immutable = (table.name, f"{table.name}_immutable") in triggers
        assert has_history != is_immutable, table.name


def run_command(*arguments: str) -> int:
    import argparse

    parser = argparse.ArgumentParser()
    add_parser(parser.add_subparsers())
    options = parser.parse_args(["verify-ledger", *arguments])
    status: int = options.run(options)
    return status


async def test_the_command_tells_by_its_exit_status(
    told: tuple[ThrowawayDatabase, Team], cluster: PostgresCluster, capsys: pytest.CaptureFixture[str]
) -> None:
    database, team = told
    url = ["--database-url", database.url("corrigenda_auditor")]
    assert run_command(*url) == 0
    assert f"team {team.team_id}: verified; revision 14" in capsys.readouterr().out
    assert run_command("--json", "--team", team.team_id, *url) == 0
    printed = json.loads(capsys.readouterr().out)
    assert printed["verified"] is True
    assert [(entry["team_id"], entry["revisions"]) for entry in printed["teams"]] == [(team.team_id, 14)]
    assert run_command("--team", "0190a0b0-c0d0-7e00-8f00-000000000000", *url) == 1
    assert "the team has no clock" in capsys.readouterr().out
    assert run_command("--database-url", database.url("corrigenda_ingest")) == 2
    assert "does not see every team" in capsys.readouterr().err
    with cluster.database() as empty:
        assert run_command("--database-url", empty.url("corrigenda_auditor")) == 1


@pytest.mark.promise("kept.provable")
async def test_the_command_fails_on_a_tampered_history(
    cluster: PostgresCluster, capsys: pytest.CaptureFixture[str]
) -> None:
    with cluster.database() as database:
        team = add_team(database)
        async with Database(database.url("corrigenda_ingest")) as pool:
            await TransactionRunner(pool).run(team.team_id, lambda tx: write_evidence(tx, team.profiles[0], "x"))
        with database.connect() as connection:
            connection.execute("SET session_replication_role = 'replica'")
            connection.execute("UPDATE evidence_fragments SET labels = '{}'")
        assert run_command("--json", "--database-url", database.url("corrigenda_auditor")) == 1
    printed = json.loads(capsys.readouterr().out)
    assert printed["verified"] is False
    assert [problem["kind"] for problem in printed["teams"][0]["problems"]] == ["change_hash"]
