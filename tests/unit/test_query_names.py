"""Names that a query may speak of."""

from __future__ import annotations

import os

import pytest
from corrigenda_core.policy.normalisation import decide_text_form
from corrigenda_core.policy.query_names import MAX_NAME_WORDS, MAX_QUERY_NAMES, plan_query_names
from hypothesis import given, settings
from hypothesis import strategies as st

EXAMPLES = 1_000 if os.environ.get("CORRIGENDA_TEST_TIER") == "full" else 60


@pytest.mark.rule("R9.1")
@pytest.mark.parametrize(
    ("query", "name"),
    [
        ("production", "production"),
        ("Where does Production deploy from?", "production"),
        ("what about billing-service?", "billing-service"),
        ("is it C++ or Rust", "c++"),
        ("who is Mark Huang, the maintainer?", "mark huang"),
        ("Mark Huang's team", "mark huang"),
        ("production’s branch", "production"),
        ("(production)", "production"),
        ("ＰＲＯＤＵＣＴＩＯＮ", "production"),
        ("cafe\u0301 opening hours", "café"),
        ("東京都の天気は", "東京都"),
        ("the 東京 office", "東京"),
        ("한국어 팀", "한국어 팀"),
        ("  spaced   out   name ", "spaced out name"),
    ],
)
def test_a_name_is_found_in_a_query(query: str, name: str) -> None:
    assert name in plan_query_names(query)


@pytest.mark.parametrize("query", ["", " ", "\u200b"])
def test_nothing_visible_names_nothing(query: str) -> None:
    assert plan_query_names(query) == ()


def test_a_piece_of_a_word_keeps_to_scripts_without_word_breaks() -> None:
    assert set(plan_query_names("api東京v2")) == {"api東京v2", "東", "京", "東京"}


def test_names_are_distinct_and_bounded() -> None:
    names = plan_query_names(" ".join(f"word{number}" for number in range(500)))
    assert len(names) == len(set(names)) == MAX_QUERY_NAMES
    assert names[0] == "word0"


@settings(max_examples=EXAMPLES)
@given(
    before=st.lists(st.text("abc", min_size=1, max_size=4), max_size=5),
    name=st.lists(st.text("xyzäß", min_size=1, max_size=4), min_size=1, max_size=MAX_NAME_WORDS),
    after=st.lists(st.text("abc", min_size=1, max_size=4), max_size=5),
)
def test_every_short_name_between_spaces_is_found(before: list[str], name: list[str], after: list[str]) -> None:
    query = " ".join([*before, *name, *after])
    assert decide_text_form(" ".join(name)) in plan_query_names(query.upper())


@settings(max_examples=EXAMPLES)
@given(st.text(max_size=512))
def test_any_text_is_read(query: str) -> None:
    names = plan_query_names(query)
    assert len(names) <= MAX_QUERY_NAMES
    assert all(names)
