"""Every named statement is prepared against the migrated schema and uses the index that its header claims."""

import re
from importlib.resources import files

import pytest
from corrigenda_core.persistence.named_sql import NamedStatement, load_sql
from corrigenda_core.testing.postgres import ThrowawayDatabase

pytestmark = pytest.mark.database

FILES = sorted(
    entry.name for entry in files("corrigenda_core.persistence.sql").iterdir() if entry.name.endswith(".sql")
)
STATEMENTS = [
    pytest.param(statement, id=f"{file}:{name}")
    for file in FILES
    for name, statement in load_sql(file).statements.items()
]


# In a table without rows all indexes cost the same: the other ones of the table are kept out of the planner's sight.
ONLY_THE_CLAIMED = """
UPDATE pg_index SET indisvalid = false
WHERE indrelid IN (SELECT indrelid FROM pg_index WHERE indexrelid = ANY (%(claimed)s::regclass[]))
  AND NOT indexrelid = ANY (%(claimed)s::regclass[])
"""


@pytest.mark.parametrize("statement", STATEMENTS)
def test_the_statement_is_valid_and_uses_its_index(
    shared_database: ThrowawayDatabase, statement: NamedStatement
) -> None:
    plan = plan_of(shared_database, statement)
    for index in claimed_by(statement):
        assert index in plan, plan


@pytest.mark.parametrize("statement", STATEMENTS)
def test_every_table_is_filtered_by_the_team_itself(statement: NamedStatement) -> None:
    # By way of another table it would be the same rows; but where the tables are distributed, the planner of a cluster
    # follows no such equality into an outer join or a subquery, and then refuses the statement.
    if "team_id" in statement.parameters:
        assert re.findall(r"\w+\.team_id = \w+\.team_id", statement.sql) == []


@pytest.mark.parametrize("name", ["entity_names_for_mentions", "entity_contexts_for_mentions"])
def test_a_mention_reads_its_candidates_and_not_the_team(shared_database: ThrowawayDatabase, name: str) -> None:
    plan = plan_of(shared_database, load_sql("ingest.sql")[name])
    # With "known or named" in one condition the server reads every name of the team and keeps a few.
    assert re.search(r"Index Cond: .*entity_id = ANY", plan), plan


def claimed_by(statement: NamedStatement) -> list[str]:
    """The indexes that a statement claims."""
    return [index.strip() for index in statement.index.split(",") if index.strip() != "none"]


def plan_of(database: ThrowawayDatabase, statement: NamedStatement) -> str:
    """The plan of a statement, made once for all parameters, as commits have it."""
    arguments = ", ".join("NULL" for _ in statement.parameters)
    with database.connect() as connection, connection.transaction(force_rollback=True):
        connection.execute("SET LOCAL enable_seqscan = off")
        connection.execute("SET LOCAL plan_cache_mode = force_generic_plan")
        connection.execute(ONLY_THE_CLAIMED, {"claimed": claimed_by(statement)})
        connection.execute(f"PREPARE named AS {statement.positional_sql}".encode())
        try:
            explain = f"EXPLAIN EXECUTE named{f' ({arguments})' if arguments else ''}"
            return "\n".join(str(row[0]) for row in connection.execute(explain.encode()).fetchall())
        finally:
            connection.execute("DEALLOCATE named")
