"""What a commit sends: rows of one table together, and nothing before what it may depend on."""

import pytest
from corrigenda_core.persistence import tables
from corrigenda_core.persistence.commit_writes import CommitWrites, written_tables
from corrigenda_core.persistence.named_sql import Query
from corrigenda_core.persistence.row_writing import RowText, writer_of
from hypothesis import given
from hypothesis import strategies as st

NAMES = ("ingests", "evidence_fragments", "entities", "observations", "relationships", "review_items")


def row(table: str, number: int) -> RowText:
    """A row whose every column says which one it is."""
    return dict.fromkeys(writer_of(tables.metadata.tables[table]).columns, f"{table} {number}")


def sent(writes: CommitWrites) -> list[tuple[str, list[str]]]:
    """The statements with their rows, each row by what it says."""
    found = []
    for query in writes.queries():
        values = list(dict(query.parameters).values()) or [""]
        text = str(values[0])
        numbered = text.strip("{}").replace('"', "").split(",") if text.startswith("{") else [text]
        found.append((query.name.removeprefix("insert "), [one.rpartition(" ")[2] for one in numbered]))
    return found


def added(writes: CommitWrites, steps: str) -> CommitWrites:
    """Adds steps like ``entities``, in turn numbered from 0; one with ``!`` is an UPDATE of that table."""
    for number, step in enumerate(steps.split()):
        if step.endswith("!"):
            sql = f"UPDATE {step[:-1]} SET x = %(x)s"
            writes.statement(Query(name=step, sql=sql, parameters={"x": f"{step} {number}"}))
        else:
            table = tables.metadata.tables[step]
            writes.insert(table, writer_of(table), row(step, number))
    return writes


@pytest.mark.parametrize(
    ("steps", "expected"),
    [
        ("entities", [("entities", ["0"])]),
        ("entities entities entities", [("entities", ["0", "1", "2"])]),
        # Submissions one after the other write the same tables in the same order.
        ("ingests observations ingests observations", [("ingests", ["0", "2"]), ("observations", ["1", "3"])]),
        # An observation refers to an entity that is made known after the first observation.
        (
            "ingests observations entities observations",
            [("ingests", ["0"]), ("observations", ["1"]), ("entities", ["2"]), ("observations", ["3"])],
        ),
        # A row does not come before the change of another row of its table: a constraint may hold only afterwards.
        (
            "relationships relationships! relationships relationships",
            [("relationships", ["0"]), ("relationships!", ["1"]), ("relationships", ["2", "3"])],
        ),
        ("entities relationships! entities", [("entities", ["0", "2"]), ("relationships!", ["1"])]),
    ],
)
def test_rows_join_the_last_statement_of_their_table_if_nothing_stands_between(
    steps: str, expected: list[tuple[str, list[str]]]
) -> None:
    assert sent(added(CommitWrites(), steps)) == expected


@given(st.lists(st.sampled_from([*NAMES, *(f"{name}!" for name in NAMES)]), max_size=30))
def test_nothing_is_lost_and_nothing_comes_before_what_it_may_depend_on(steps: list[str]) -> None:
    order = [int(number) for _, numbers in sent(added(CommitWrites(), " ".join(steps))) for number in numbers]
    assert sorted(order) == list(range(len(steps)))
    place = {number: place for place, number in enumerate(order)}
    for later, step in enumerate(steps):
        table = tables.metadata.tables[step.removesuffix("!")]
        needed = {str(key.referred_table.name) for key in table.foreign_key_constraints if not key.deferrable}
        for earlier, other in enumerate(steps[:later]):
            is_same_table = other.removesuffix("!") == table.name
            if is_same_table or other.removesuffix("!") in needed:
                assert place[earlier] < place[later]


def test_lists_of_one_statement_become_one() -> None:
    writes = CommitWrites()
    bands = "INSERT INTO text_bands SELECT %(team)s, unnest(%(bands)s)"
    for number in (1, 2):
        writes.gather(Query(name="bands", sql=bands, parameters={"team": "t", "bands": [number, number]}))
    added(writes, "entities evidence_fragments")
    writes.gather(Query(name="bands", sql=bands, parameters={"team": "t", "bands": [3]}))
    texts = [query.parameters for query in writes.queries() if query.name == "bands"]
    assert texts == [{"team": "t", "bands": [1, 1, 2, 2]}, {"team": "t", "bands": [3]}]
    with pytest.raises(ValueError, match="team is not the same"):
        writes.gather(Query(name="bands", sql=bands, parameters={"team": "other", "bands": [4]}))


def test_the_tables_of_a_statement_are_found() -> None:
    assert written_tables("WITH w AS (UPDATE Only teams SET x = 1) INSERT INTO ledger SELECT 1") == {"teams", "ledger"}
    assert written_tables("SELECT 1 FROM teams") == frozenset()
