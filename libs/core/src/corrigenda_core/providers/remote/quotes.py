"""Finds in a text the words that a model quotes: a model counts badly, and copies well."""

from __future__ import annotations

from collections.abc import Iterable

from corrigenda_core.domain.time import TextSpan

MAX_QUOTE_CODE_POINTS = 4096


def find_quote(content: str, quote: str, passages: Iterable[TextSpan] | None = None) -> TextSpan | None:
    """The one place of a quote in a text, or ``None`` if there is none or more than one.

    Args:
        content: the text.
        quote: the words, exactly as the text has them.
        passages: where it may stand; everywhere by default.
    """
    if not 0 < len(quote) <= MAX_QUOTE_CODE_POINTS:
        return None
    places = [TextSpan(start=0, end=len(content))] if passages is None and content else list(passages or ())
    found = {
        at
        for place in places
        for at in (content.find(quote, place.start, place.end), content.rfind(quote, place.start, place.end))
        if at >= 0
    }
    if len(found) != 1:
        return None
    (at,) = found
    return TextSpan(start=at, end=at + len(quote))
