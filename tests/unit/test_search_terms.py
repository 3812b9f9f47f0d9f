"""The terms of full-text search: a table of texts."""

import pytest
from corrigenda_core.policy.limits import decide_limit
from corrigenda_core.policy.scripts import is_unspaced
from corrigenda_core.policy.search_terms import (
    MAX_COMPOUND_PARTS,
    MAX_QUERY_TERMS,
    MAX_TERM_CODE_POINTS,
    MAX_TEXT_CODE_POINTS,
    plan_document_terms,
    plan_query_terms,
)


@pytest.mark.rule("R9.1")
@pytest.mark.parametrize(
    ("text", "document", "query"),
    [
        ("", [], []),
        ("  \n .,;!? ", [], []),
        ("Production deploys", ["production", "deploys"], ["production", "deploys"]),
        ("main main MAIN", ["main"], ["main"]),
        ("deploys_from", ["deploys", "from", "deploys_from"], ["deploys", "deploys_from"]),
        ("billing-service v2.1", ["billing", "service", "billing-service", "v2", "1", "v2.1"], None),
        ("a - b", ["a", "b"], ["b"]),
        ("a--b", ["a", "b"], ["b"]),
        ("x-東京", ["x", "東", "京", "東京"], ["x", "東京"]),
        ("Bob's", ["bob", "s"], ["bob"]),
        ("Ünïcode ﬁ Straße", ["unicode", "fi", "strasse"], None),
        ("ŁÓDŹ København ÆON", ["lodz", "kobenhavn", "aeon"], None),
        ("İstanbul ISPARTA ılık", ["istanbul", "isparta", "ilik"], None),
        ("ΟΔΟΣ οδος", ["οδοσ"], None),
        ("ᾀ α\u0313\u0345 ἀι", ["αι"], None),
        ("Ёлка й", ["елка", "и"], None),
        ("ｆｕｌｌ ①", ["full", "1"], None),
        ("x²", ["x2"], None),
        ("東京都", ["東", "京", "都", "東京", "京都"], ["東京", "京都"]),
        ("京", ["京"], ["京"]),
        ("ｶﾞｽ", ["ガ", "ス", "ガス"], ["ガス"]),
        ("mainブランチ", ["main", "ブ", "ラ", "ン", "チ", "ブラ", "ラン", "ンチ"], ["main", "ブラ", "ラン", "ンチ"]),
        ("ที่นี่", ["ที่", "นี่", "ที่นี่"], ["ที่นี่"]),
        ("한국어 문서", ["한국어", "문서"], None),
        ("हिन्दी की", ["हिन्दी", "की"], None),
        ("שָׁלוֹם", ["שלום"], None),
        ("كِتَاب", ["كتاب"], None),
        ("soft\u00adhyphen zero\u200bwidth", ["softhyphen", "zerowidth"], None),
        ("it is what it is", ["it", "is", "what"], ["it", "is", "what"]),
        ("what does production deploy from?", None, ["production", "deploy"]),
        ("\u0301", [], []),
        ("\u093c", ["\u093c"], None),
        ("\ud800x", ["x"], None),
    ],
)  # fmt: skip
def test_terms(text: str, document: list[str] | None, query: list[str] | None) -> None:
    if document is not None:
        assert list(plan_document_terms(text)) == document
    if query is not None:
        assert list(plan_query_terms(text)) == query


@pytest.mark.parametrize("excess", [0, 1])
def test_limits_at_the_limit_and_beyond(excess: int) -> None:
    (word,) = plan_document_terms("a" * (MAX_TERM_CODE_POINTS + excess))
    assert len(word) == MAX_TERM_CODE_POINTS
    assert ("last" in plan_document_terms("." * (MAX_TEXT_CODE_POINTS - 4 + excess) + "last")) == (not excess)
    assert len(plan_query_terms(" ".join(f"w{n}" for n in range(MAX_QUERY_TERMS + excess)))) == MAX_QUERY_TERMS
    parts = "-".join(f"p{n}" for n in range(MAX_COMPOUND_PARTS + excess))
    assert (parts in plan_document_terms(parts)) == (not excess)
    half = "b" * (MAX_TERM_CODE_POINTS // 2)
    compound = f"{half}-{half[: -1 + excess or None]}"
    assert (compound in plan_document_terms(compound)) == (not excess)


def test_marks_without_end_stay_bounded() -> None:
    (term,) = plan_document_terms("क" + "\u093c" * 10_000)
    assert len(term) <= MAX_TERM_CODE_POINTS


@pytest.mark.parametrize("character", ["a", "é", "ш", "한", "अ", "\u0dff", "\u0000"])
def test_scripts_with_word_breaks(character: str) -> None:
    assert not is_unspaced(character)


@pytest.mark.parametrize("character", ["ก", "ລ", "ခ", "ខ", "あ", "ア", "ｱ", "京", "𠀀"])
def test_scripts_without_word_breaks(character: str) -> None:
    assert is_unspaced(character)


def test_the_longest_evidence_is_read_whole() -> None:
    assert decide_limit("content").greatest == MAX_TEXT_CODE_POINTS


@pytest.mark.parametrize(
    ("first", "last"),
    [
        (0x0300, 0x036F),
        (0x0591, 0x05C7),
        (0x0610, 0x061A),
        (0x064B, 0x065F),
        (0x0670, 0x0670),
        (0x1AB0, 0x1ACE),
        (0x1DC0, 0x1DFF),
        (0x20D0, 0x20F0),
        (0xFE00, 0xFE2F),
    ],
)
def test_a_search_overlooks_the_diacritics_of_a_block_from_its_first_to_its_last(first: int, last: int) -> None:
    for mark in (first, last):
        assert plan_document_terms(f"x{chr(mark)}y") == ("xy",)


def test_marks_beyond_these_blocks_are_part_of_the_word() -> None:
    assert plan_document_terms("x\u1b00y") == ("x\u1b00y",)
