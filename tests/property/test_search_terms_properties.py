"""The terms of any text: total, bounded, equal for equivalent spellings, and a document finds itself."""

import os
import unicodedata
from time import process_time

import pytest
from corrigenda_core.policy.search_terms import (
    MAX_QUERY_TERMS,
    MAX_TERM_CODE_POINTS,
    MAX_TEXT_CODE_POINTS,
    plan_document_terms,
    plan_query_terms,
)
from hypothesis import given, settings
from hypothesis import strategies as st

COUNT = 4_000 if os.environ.get("CORRIGENDA_TEST_TIER") == "full" else 100

LETTERS = "aZ09_-./' \néßøıİΣςЁй東京都アﾞガทีน่ำ한각हिन्दीשָׁكِ𠀀🚀"
SCRIPTS = LETTERS + "\u0301\u0327\u3099\u200d\u00ad\ufdfa"
TEXTS = st.one_of(st.text(max_size=80), st.text(alphabet=SCRIPTS, max_size=80))


@pytest.mark.rule("R9.1")
@settings(max_examples=COUNT, deadline=None)
@given(text=TEXTS)
def test_terms_are_distinct_bounded_and_safe(text: str) -> None:
    terms = plan_document_terms(text)
    assert len(set(terms)) == len(terms)
    for term in terms:
        assert 0 < len(term) <= MAX_TERM_CODE_POINTS
        assert not set(term) & set("'\"\\\0")
        assert not any(character.isspace() for character in term)
    assert len(plan_query_terms(text)) <= MAX_QUERY_TERMS


@settings(max_examples=COUNT, deadline=None)
@given(text=TEXTS)
def test_equivalent_spellings_have_equal_terms(text: str) -> None:
    for form in ("NFC", "NFD", "NFKC", "NFKD"):
        assert plan_document_terms(unicodedata.normalize(form, text)) == plan_document_terms(text)


@settings(max_examples=COUNT, deadline=None)
@given(text=TEXTS)
def test_case_makes_no_difference(text: str) -> None:
    assert plan_document_terms(text.casefold()) == plan_document_terms(text)


@pytest.mark.rule("R9.1")
@settings(max_examples=COUNT, deadline=None)
@given(data=st.data(), text=TEXTS)
def test_a_document_matches_a_query_of_its_own_words(data: st.DataObject, text: str) -> None:
    words = text.split()
    chosen = data.draw(st.lists(st.sampled_from(words), max_size=10)) if words else []
    assert set(plan_query_terms(" ".join(chosen))) <= set(plan_document_terms(text))


@settings(max_examples=COUNT, deadline=None)
@given(data=st.data(), text=st.text(alphabet="東京都アガกข", min_size=1, max_size=40))
def test_a_document_without_word_breaks_matches_any_part_of_it(data: st.DataObject, text: str) -> None:
    first = data.draw(st.integers(0, len(text) - 1))
    last = data.draw(st.integers(first + 1, len(text)))
    part = plan_query_terms(text[first:last])
    assert part
    assert set(part) <= set(plan_document_terms(text))


UNITS = ["word ", "wörd ", "a-", "東京", "a東", "ấ", "ש\u05b8\u05c1"]
UNITS += ["\u0301\u0327", "\u3099\u093c", "\u0e38\u0e48"]


@pytest.mark.parametrize("unit", UNITS)
def test_time_is_linear(unit: str) -> None:
    """Eight times the text may take thirty times as long (a quadratic step would take sixty-four)."""

    def seconds(length: int) -> float:
        text = (unit * length)[:length]
        runs = []
        for _ in range(3):
            start = process_time()
            plan_document_terms(text)
            runs.append(process_time() - start)
        return min(runs)

    assert seconds(MAX_TEXT_CODE_POINTS // 2) <= 30 * seconds(MAX_TEXT_CODE_POINTS // 16) + 0.005
