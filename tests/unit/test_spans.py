"""Passages cited by offsets or by a quote."""

import pytest
from corrigenda_core.domain.errors import Reason, Refusal
from corrigenda_core.domain.time import TextSpan
from corrigenda_core.domain.verification import CitedSpan
from corrigenda_core.policy.spans import Citation, OffsetCitation, QuoteCitation, decide_cited_span

FIELD = "proposal.relationships[0].evidence[0]"


def offsets(start: int, end: int, evidence_index: int = 0) -> OffsetCitation:
    return OffsetCitation(evidence_index=evidence_index, start=start, end=end)


def quote(text: str, evidence_index: int = 0) -> QuoteCitation:
    return QuoteCitation(evidence_index=evidence_index, quote=text)


@pytest.mark.parametrize(
    ("content", "citation", "start", "end"),
    [
        ("main", offsets(0, 4), 0, 4),
        ("main", offsets(3, 4), 3, 4),
        ("🚀 production → release", offsets(2, 12), 2, 12),
        ("🚀 production → release", quote("production"), 2, 12),
        ("e\u0301tat", quote("e"), 0, 1),
        ("aab", quote("ab"), 1, 3),
        ("line one\nline two", quote("one\nline"), 5, 13),
        ("main", quote("main"), 0, 4),
    ],
)
@pytest.mark.rule("R3.1")
def test_found_in_code_points(content: str, citation: Citation, start: int, end: int) -> None:
    assert decide_cited_span([content], citation, field=FIELD) == CitedSpan(
        evidence_index=0, span=TextSpan(start=start, end=end)
    )


@pytest.mark.rule("R3.1")
def test_each_citation_names_its_evidence_item() -> None:
    found = decide_cited_span(["main", "release"], quote("release", 1), field=FIELD)
    assert found == CitedSpan(evidence_index=1, span=TextSpan(start=0, end=7))


@pytest.mark.parametrize(
    ("citation", "field", "message"),
    [
        (offsets(0, 4, 1), "evidence_index", "is 1, but there is 1 evidence item"),
        (quote("main", -1), "evidence_index", "is -1"),
        (quote("main", 2), "evidence_index", "is 2, but there is 1 evidence item"),
        (offsets(4, 5), "start", "is 4, but the text has 4"),
        (offsets(-1, 2), "start", "is -1"),
        (offsets(2, 2), "end", "not after the start 2"),
        (offsets(2, 1), "end", "not after the start 2"),
        (offsets(2, 5), "end", "is 5, but the text has 4"),
        (quote(""), "quote", "empty"),
    ],
)
@pytest.mark.rule("R3.1")
def test_bounds_errors_name_the_field(citation: Citation, field: str, message: str) -> None:
    with pytest.raises(Refusal, match=message) as refused:
        decide_cited_span(["main"], citation, field=FIELD)
    assert refused.value.reason is Reason.INVALID_FIELD
    assert refused.value.field == f"{FIELD}.{field}"


@pytest.mark.parametrize(
    ("content", "text", "reason", "matches"),
    [
        ("main", "release", Reason.QUOTE_NOT_FOUND, "0"),
        ("Main", "main", Reason.QUOTE_NOT_FOUND, "0"),
        ("e\u0301tat", "\u00e9tat", Reason.QUOTE_NOT_FOUND, "0"),
        ("main and main", "main", Reason.QUOTE_AMBIGUOUS, "2"),
        ("aa", "a", Reason.QUOTE_AMBIGUOUS, "2"),
        ("aaa", "aa", Reason.QUOTE_AMBIGUOUS, "2"),
        ("cb ab ab", "ab", Reason.QUOTE_AMBIGUOUS, "2"),
        ("abababa", "aba", Reason.QUOTE_AMBIGUOUS, "3"),
        ("aabaabaaab", "aab", Reason.QUOTE_AMBIGUOUS, "3"),
        ("a" * 20_000, "a" * 10_000, Reason.QUOTE_AMBIGUOUS, "10001"),
    ],
)
@pytest.mark.rule("R3.1")
def test_a_quote_matches_exactly_once_or_the_error_has_the_count(
    content: str, text: str, reason: Reason, matches: str
) -> None:
    with pytest.raises(Refusal) as refused:
        decide_cited_span([content], quote(text), field=FIELD)
    assert refused.value.reason is reason
    assert refused.value.field == f"{FIELD}.quote"
    assert refused.value.metadata == {"count": matches}
