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
    arguments = ", ".join("NULL" for _ in statement.parameters)
    claimed = [index.strip() for index in statement.index.split(",") if index.strip() != "none"]
    with shared_database.connect() as connection, connection.transaction(force_rollback=True):
        connection.execute("SET LOCAL enable_seqscan = off")
        connection.execute("SET LOCAL plan_cache_mode = force_generic_plan")
        connection.execute(ONLY_THE_CLAIMED, {"claimed": claimed})
        connection.execute(f"PREPARE named AS {statement.positional_sql}".encode())
        try:
            explain = f"EXPLAIN EXECUTE named{f' ({arguments})' if arguments else ''}"
            plan = "\n".join(str(row[0]) for row in connection.execute(explain.encode()).fetchall())
        finally:
            connection.execute("DEALLOCATE named")
    for index in claimed:
        assert index in plan, plan
