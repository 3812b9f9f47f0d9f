"""The form of named SQL files."""

import pytest
from corrigenda_core.persistence.named_sql import NamedSqlError, parse_sql

HEADER = "-- purpose: p\n-- index: none\n-- lock: none\n"


def test_a_file_is_cut_into_its_statements() -> None:
    parsed = parse_sql(
        "some.sql",
        "-- About the file.\n\n-- name: one\n-- purpose: finds it\n-- index: i_idx\n-- lock: row\n"
        "SELECT a -- trailing stays\n-- a comment goes\nFROM t\nWHERE x = %(x)s AND y LIKE '10%%' AND z = %(x)s;\n\n"
        f"-- name: two\n{HEADER}SELECT %(b)s, %(a)s",
    )
    one, two = parsed["one"], parsed["two"]
    assert (one.purpose, one.index, one.lock) == ("finds it", "i_idx", "row")
    assert one.sql == "SELECT a -- trailing stays\nFROM t\nWHERE x = %(x)s AND y LIKE '10%%' AND z = %(x)s"
    assert one.positional_sql.endswith("WHERE x = $1 AND y LIKE '10%' AND z = $1")
    assert two.parameters == ("b", "a")
    assert two.positional_sql == "SELECT $1, $2"
    query = parsed.query("two", a=1, b=2)
    assert (query.name, query.sql, query.parameters) == ("two", two.sql, {"a": 1, "b": 2})


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("SELECT 1", "without a name"),
        (f"-- name: a\n{HEADER}", "no body"),
        ("-- name: a\n-- purpose: p\n-- index: none\nSELECT 1", "lacks the header 'lock'"),
        (f"-- name: a\n{HEADER}-- lock: none\nSELECT 1", "'lock' twice"),
        (f"-- name: a\n{HEADER}SELECT 1;\n-- name: a\n{HEADER}SELECT 2", "used twice"),
    ],
)
def test_what_does_not_follow_the_form_is_refused(text: str, message: str) -> None:
    with pytest.raises(NamedSqlError, match=message):
        parse_sql("some.sql", text)


@pytest.mark.parametrize("parameters", [{}, {"a": 1}, {"a": 1, "b": 2, "c": 3}])
def test_parameters_are_checked(parameters: dict[str, int]) -> None:
    with pytest.raises(TypeError, match="two takes"):
        parse_sql("some.sql", f"-- name: two\n{HEADER}SELECT %(b)s, %(a)s").query("two", **parameters)
