"""Cuts text into the terms of full-text search, the same way for documents and for queries.

The application does this and SQL never folds text, so that a result does not depend on the locale, the extensions or
the version of a database. A term is case-folded and freed of accents, holds neither white space, quote nor backslash
and is at most `MAX_TERM_CODE_POINTS` long: it can stand in a ``tsvector`` or in quotes in a ``tsquery`` as it is.

- Words of scripts with word breaks are terms. Words joined without a space (``billing-service``, ``deploys_from``,
  ``10.0.0.1``) are a term each and one together.
- In scripts without word breaks every pair of neighbouring letters is a term; documents also have the single letters,
  for queries of one letter.

Time is linear in the length of the text.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise

from corrigenda_core.policy.scripts import is_unspaced

MAX_TEXT_CODE_POINTS = 65_536
MAX_TERM_CODE_POINTS = 64
MAX_QUERY_TERMS = 32
MAX_COMPOUND_PARTS = 8
# The Unicode stream-safe limit. Normalisation sorts runs of marks in quadratic time, so longer ones are cut first.
MAX_MARKS_IN_A_ROW = 30

_CONNECTORS = frozenset("-_./:@&+#")

# Marks that a search overlooks: diacritics of Latin, Greek and Cyrillic, Hebrew points, Arabic vowel signs. Marks of
# other scripts are part of their letters (a Thai or Devanagari word without its vowel signs is another word).
_OVERLOOKED_MARK_BLOCKS = (
    (0x0300, 0x036F),
    (0x0591, 0x05C7),
    (0x0610, 0x061A),
    (0x064B, 0x065F),
    (0x0670, 0x0670),
    (0x1AB0, 0x1AFF),
    (0x1DC0, 0x1DFF),
    (0x20D0, 0x20FF),
    (0xFE00, 0xFE2F),
)
_OVERLOOKED: dict[int, str | None] = {
    code_point: None
    for first, last in _OVERLOOKED_MARK_BLOCKS
    for code_point in range(first, last + 1)
    if unicodedata.category(chr(code_point)) == "Mn"
}
# The iota below a Greek vowel becomes a letter where case is folded, so it is left until then.
_OVERLOOKED_BEFORE_CASE = {code_point: None for code_point in _OVERLOOKED if code_point != 0x0345}
# Letters that carry a stroke or are joined, which no normalisation takes apart.
_PLAIN_LETTERS = str.maketrans(
    {"ø": "o", "ł": "l", "đ": "d", "ħ": "h", "ŧ": "t", "ı": "i", "æ": "ae", "œ": "oe", "þ": "th", "ð": "d", "ς": "σ"}
)

# Words of questions that nearly every document has: they would decide the order and cost the most to look up.
_FREQUENT = """
    a an and any are as at be been by can could did do does for from had has have how i if in into is it its me my of on
    or our s so t that the their there these they this those to us was we were what when where which who whom whose why
    will with would you your
"""
_FREQUENT_WORDS = frozenset(_FREQUENT.split())


@dataclass(frozen=True, slots=True, kw_only=True)
class _Part:
    """A stretch of letters between separators: a word, or the letters of a script without word breaks."""

    letters: tuple[str, ...]
    unspaced: bool
    joined: bool
    connector: str

    @property
    def text(self) -> str:
        return "".join(self.letters)


def plan_document_terms(text: str) -> tuple[str, ...]:
    """The distinct terms of a document, in the order in which they first stand there.

    Args:
        text: at most `MAX_TEXT_CODE_POINTS` are read.
    """
    return _distinct(_terms(text, single_letters=True))


def plan_query_terms(text: str) -> tuple[str, ...]:
    """The terms that a query looks for, any of which may match; at most `MAX_QUERY_TERMS`.

    Frequent English words are left out, unless the query has no others.

    Args:
        text: what the reader typed; at most `MAX_TEXT_CODE_POINTS` are read.
    """
    terms = _distinct(_terms(text, single_letters=False))
    telling = tuple(term for term in terms if term not in _FREQUENT_WORDS)
    return (telling or terms)[:MAX_QUERY_TERMS]


def _distinct(terms: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(terms))


def _terms(text: str, *, single_letters: bool) -> Iterator[str]:
    compound: list[_Part] = []
    for part in _parts(_fold(text[:MAX_TEXT_CODE_POINTS])):
        if not part.joined:
            yield from _compound_term(compound)
            compound = []
        compound.append(part)
        if part.unspaced:
            yield from _letter_terms(part.letters, single_letters=single_letters)
        else:
            yield part.text[:MAX_TERM_CODE_POINTS]
    yield from _compound_term(compound)


def _letter_terms(letters: tuple[str, ...], *, single_letters: bool) -> Iterator[str]:
    if single_letters or len(letters) == 1:
        yield from letters
    yield from (left + right for left, right in pairwise(letters))


def _compound_term(parts: list[_Part]) -> Iterator[str]:
    if 1 < len(parts) <= MAX_COMPOUND_PARTS and not any(part.unspaced for part in parts):
        term = parts[0].text + "".join(part.connector + part.text for part in parts[1:])
        if len(term) <= MAX_TERM_CODE_POINTS:
            yield term


def _parts(folded: str) -> Iterator[_Part]:
    """The stretches of letters, each knowing whether one connector alone joins it to the one before."""
    letters: list[str] = []
    unspaced = False
    gap = " "
    for character in folded:
        kind = unicodedata.category(character)[0]
        if kind not in "LNM":
            if letters:
                yield _part(letters, unspaced, gap)
                letters, gap = [], ""
            gap += character if len(gap) < 2 else ""
            continue
        if kind == "M" and letters:
            # A mark belongs to its letter; in a script without word breaks the two are one unit of a pair.
            letters[-1] += character if len(letters[-1]) < MAX_TERM_CODE_POINTS // 2 else ""
            continue
        if letters and unspaced != is_unspaced(character):
            yield _part(letters, unspaced, gap)
            letters, gap = [], " "
        unspaced = is_unspaced(character)
        letters.append(character)
    if letters:
        yield _part(letters, unspaced, gap)


def _part(letters: list[str], unspaced: bool, gap: str) -> _Part:
    return _Part(letters=tuple(letters), unspaced=unspaced, joined=gap in _CONNECTORS, connector=gap)


def _fold(text: str) -> str:
    """Case, width and accents folded; equal for equivalent spellings of a text (NFC, NFD, NFKC, NFKD)."""
    if text.isascii():
        return text.lower()
    plain = _cut_mark_runs(text.translate(_OVERLOOKED_BEFORE_CASE))
    plain = unicodedata.normalize("NFKD", unicodedata.normalize("NFKC", plain).casefold())
    plain = "".join(c for c in plain.translate(_OVERLOOKED) if unicodedata.category(c) != "Cf")
    return unicodedata.normalize("NFC", plain.translate(_PLAIN_LETTERS))


def _cut_mark_runs(text: str) -> str:
    kept: list[str] = []
    run = 0
    for character in text:
        run = run + 1 if unicodedata.combining(character) else 0
        if run <= MAX_MARKS_IN_A_ROW:
            kept.append(character)
    return "".join(kept)
