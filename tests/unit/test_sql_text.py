"""SQL text cut into statements."""

import pytest
from corrigenda_core.persistence.sql_text import statements

CASES = [
    ("", []),
    ("-- nothing but a remark; really\n", []),
    ("SELECT 1", ["SELECT 1"]),
    ("SELECT 1;\nSELECT 2;\n", ["SELECT 1", "SELECT 2"]),
    (";;SELECT 1;;", ["SELECT 1"]),
    ("SELECT 'a;b', 'it''s;';SELECT 2", ["SELECT 'a;b', 'it''s;'", "SELECT 2"]),
    ("SELECT 1 -- one; two\n;SELECT 2", ["SELECT 1 -- one; two", "SELECT 2"]),
    ("DO $$ BEGIN; END $$;SELECT 2", ["DO $$ BEGIN; END $$", "SELECT 2"]),
    ("DO $a$ $$ ; $$ ' $a$;SELECT 2", ["DO $a$ $$ ; $$ ' $a$", "SELECT 2"]),
]


@pytest.mark.parametrize(("text", "expected"), CASES, ids=[text for text, _ in CASES])
def test_a_text_is_cut_at_its_own_semicolons_only(text: str, expected: list[str]) -> None:
    assert statements(text) == expected


def test_a_body_without_an_end_is_refused() -> None:
    with pytest.raises(ValueError, match="does not end"):
        statements("DO $$ BEGIN;")
