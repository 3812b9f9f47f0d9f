"""Resolves the passages that a proposal cites: by offsets in code points, or by a quote that stands there once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from corrigenda_core.domain.errors import Reason, Refusal
from corrigenda_core.domain.time import TextSpan
from corrigenda_core.domain.verification import CitedSpan


@dataclass(frozen=True, slots=True, kw_only=True)
class OffsetCitation:
    """A passage of one evidence item from code point ``start`` up to, not including, ``end``; not yet checked."""

    evidence_index: int
    start: int
    end: int


@dataclass(frozen=True, slots=True, kw_only=True)
class QuoteCitation:
    """A passage of one evidence item, verbatim; not yet found."""

    evidence_index: int
    quote: str


Citation = OffsetCitation | QuoteCitation


def decide_cited_span(contents: Sequence[str], citation: Citation, *, field: str) -> CitedSpan:
    """The span of evidence that a citation means (R3.1).

    Args:
        contents: the texts of the evidence items of the request, in their order.
        citation: what the caller wrote.
        field: the path of the citation, such as ``proposal.relationships[0].evidence[0]``.

    Raises:
        Refusal: INVALID_FIELD naming ``<field>.evidence_index``, ``.start``, ``.end`` or ``.quote``; QUOTE_NOT_FOUND
            or QUOTE_AMBIGUOUS naming ``<field>.quote``, with the number of ``matches`` in the metadata.
    """
    index = citation.evidence_index
    if not 0 <= index < len(contents):
        given = "is 1 evidence item" if len(contents) == 1 else f"are {len(contents)} evidence items"
        raise _refusal(f"{field}.evidence_index", f"is {index}, but there {given}")
    if isinstance(citation, OffsetCitation):
        span = _offset_span(contents[index], citation.start, citation.end, field)
    else:
        span = _quote_span(contents[index], citation.quote, f"{field}.quote")
    return CitedSpan(evidence_index=index, span=span)


def _offset_span(content: str, start: int, end: int, field: str) -> TextSpan:
    if not 0 <= start < len(content):
        raise _refusal(f"{field}.start", f"is {start}, but the text has {len(content)} code points")
    if end <= start:
        raise _refusal(f"{field}.end", f"is {end}, which is not after the start {start}")
    if end > len(content):
        raise _refusal(f"{field}.end", f"is {end}, but the text has {len(content)} code points")
    return TextSpan(start=start, end=end)


def _quote_span(content: str, quote: str, field: str) -> TextSpan:
    if not quote:
        raise _refusal(field, "is empty")
    start = content.find(quote)
    if start < 0:
        raise Refusal(
            Reason.QUOTE_NOT_FOUND,
            f"{field} does not stand in the text; a quote must be verbatim, code point by code point",
            field=field,
            metadata={"count": "0"},
        )
    if content.find(quote, start + 1) >= 0:
        matches = _match_count(content, quote)
        raise Refusal(
            Reason.QUOTE_AMBIGUOUS,
            f"{field} stands in the text {matches} times; quote more of it, or give offsets",
            field=field,
            metadata={"count": str(matches)},
        )
    return TextSpan(start=start, end=start + len(quote))


def _match_count(content: str, quote: str) -> int:
    """How often ``quote`` stands in ``content``, matches that overlap included.

    Knuth, Morris and Pratt: linear also for a quote that repeats itself, which a search from each match on is not.
    """
    borders = [0]
    for code_point in quote[1:]:
        borders.append(_longer_border(quote, borders, borders[-1], code_point))
    matches = matched = 0
    for code_point in content:
        matched = _longer_border(quote, borders, matched, code_point)
        if matched == len(quote):
            matches += 1
            matched = borders[-1]
    return matches


def _longer_border(quote: str, borders: Sequence[int], border: int, code_point: str) -> int:
    """How much of ``quote`` the text ends with after ``code_point``, if it ended with ``border`` of it before."""
    while border and quote[border] != code_point:
        border = borders[border - 1]
    return border + 1 if quote[border] == code_point else 0


def _refusal(field: str, problem: str) -> Refusal:
    return Refusal(Reason.INVALID_FIELD, f"{field} {problem}", field=field)
