"""Every named statement is prepared against the migrated schema and uses the index that its header claims."""

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


@pytest.mark.parametrize("statement", STATEMENTS)
def test_the_statement_is_valid_and_uses_its_index(
    shared_database: ThrowawayDatabase, statement: NamedStatement
) -> None:
    arguments = ", ".join("NULL" for _ in statement.parameters)
    with shared_database.connect() as connection, connection.transaction(force_rollback=True):
        # Empty tables would be scanned; the question is whether the index can serve the statement at all.
        connection.execute("SET LOCAL enable_seqscan = off")
        connection.execute("SET LOCAL plan_cache_mode = force_generic_plan")
        connection.execute(f"PREPARE named AS {statement.positional_sql}".encode())
        try:
            explain = f"EXPLAIN EXECUTE named{f' ({arguments})' if arguments else ''}"
            plan = "\n".join(str(row[0]) for row in connection.execute(explain.encode()).fetchall())
        finally:
            connection.execute("DEALLOCATE named")
    for index in statement.index.split(","):
        assert index.strip() == "none" or index.strip() in plan, plan
