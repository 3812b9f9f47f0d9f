"""Reads one evidence text into words, sentences and quotations, each with its place in the text.

Words are compared in normal form (NFKC, case-folded, invisible format characters dropped); offsets are code points of
the text as it was given. Names such as ``billing-service`` or ``release-2.1`` are one word, so that ``main`` is never
found in ``main-legacy``; letters of scripts without word breaks are a word each.
"""

from __future__ import annotations

import re
import unicodedata
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from corrigenda_core.policy.scripts import is_unspaced
from corrigenda_core.providers.local.cues import SENTENCE_CONTINUES


class Word(NamedTuple):
    """A word or a single mark of punctuation; ``start`` and ``end`` are code points, end exclusive."""

    norm: str
    start: int
    end: int
    is_mark: bool
    is_capitalised: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Sentence:
    """The words ``first`` to ``last`` (exclusive); ``is_question`` if it ends with a question mark."""

    first: int
    last: int
    is_question: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadText:
    """A text with its words, its sentences, where each word belongs, and which words are quoted."""

    content: str
    words: tuple[Word, ...]
    sentences: tuple[Sentence, ...]
    sentence_of: tuple[int, ...]
    quoted: tuple[bool, ...]
    places: Mapping[str, tuple[int, ...]]

    def matches(self, norms: tuple[str, ...], at: int) -> bool:
        """Whether the words from ``at`` on are these."""
        return all(at + n < len(self.words) and self.words[at + n].norm == norm for n, norm in enumerate(norms))


_PLAIN_LETTERS = re.compile(r"[A-Za-z0-9_]+")

# Joins two halves of one name when letters stand on both sides: release-2.1, team/app, a@b, 10:30.
_CONNECTORS = frozenset("-./:@&+\u2010\u2011")
_APOSTROPHES = frozenset("'\u2019\u02bc")
_SUFFIXES = frozenset({"s", "ll", "re", "ve", "d", "m"})
_SPLIT_NEGATIONS = {"can't": "can", "won't": "will", "shan't": "shall"}

_TERMINATORS = frozenset({".", "!", "?", ";", "\u3002", "\u061f", "\u0964", "\u037e", "..."})
_QUESTION_MARKS = frozenset({"?", "\u061f", "\u037e"})
_ABBREVIATIONS = frozenset(
    {"mr", "mrs", "ms", "dr", "prof", "st", "jr", "sr", "inc", "ltd", "co", "corp", "no", "vs", "e.g", "i.e", "approx"}
    | {"jan", "feb", "mar", "apr", "jun", "jul", "aug", "sep", "sept", "oct", "nov", "dec"}
)
# "K." of "Ursula K. Le Guin", "S.C." of "S.C. Salgueiros".
_INITIALS = re.compile(r"[^\W\d_](?:\.[^\W\d_])*")
_CLOSED_BY = {
    '"': '"', "\u201c": "\u201d", "\u201e": "\u201c\u201d", "\u00ab": "\u00bb", "\u00bb": "\u00ab",
    "\u2039": "\u203a", "\u300c": "\u300d", "\u300e": "\u300f", "'": "'\u2019", "\u2018": "'\u2019",
}  # fmt: skip
_CLOSING_MARKS = frozenset({'"', "'", "\u201d", "\u00bb", "\u203a", "\u300d", "\u300f", ")", "]", "*"})
MAX_CLOSING_MARKS = 3
# A mere line break inside a paragraph may be a wrapped line and ends nothing.
_PARAGRAPH = re.compile(r"\n[^\S\n]*\n|\u2029")
_LIST_ITEM = re.compile(r"[-*\u2022>#|]|\d{1,4}[.)]")


def read_text(content: str) -> ReadText:
    """Reads a text in linear time."""
    words = tuple(_words(content))
    sentences = tuple(_sentences(content, words))
    places: defaultdict[str, list[int]] = defaultdict(list)
    for place, word in enumerate(words):
        places[word.norm].append(place)
    return ReadText(
        content=content,
        words=words,
        sentences=sentences,
        sentence_of=tuple(n for n, sentence in enumerate(sentences) for _ in range(sentence.first, sentence.last)),
        quoted=tuple(_quoted(content, words)),
        places={norm: tuple(found) for norm, found in places.items()},
    )


def normal_words(text: str) -> tuple[str, ...]:
    """The words of a name or a phrase in normal form, to be looked for in a text."""
    return tuple(word.norm for word in _words(text))


def _norm(text: str) -> str:
    if text.isascii():
        return text.lower()
    folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())
    visible = "".join(character for character in folded if unicodedata.category(character) != "Cf")
    return visible.replace("\u2019", "'").replace("\u02bc", "'").replace("\u2010", "-").replace("\u2011", "-")


def _is_letter(character: str) -> bool:
    return character.isalnum() or character == "_" or unicodedata.category(character)[0] in "LNM"


def _words(content: str) -> Iterator[Word]:
    at, length = 0, len(content)
    while at < length:
        character = content[at]
        if not _is_letter(character):
            if not character.isspace() and unicodedata.category(character) not in ("Cf", "Cc"):
                yield Word(_norm(character), at, at + 1, True, False)
            at += 1
            continue
        end = _end_of_word(content, at)
        yield from _split_word(content, at, end)
        at = end


def _end_of_word(content: str, start: int) -> int:
    if is_unspaced(content[start]):
        end = start + 1
        while end < len(content) and unicodedata.category(content[end])[0] == "M":
            end += 1
        return end
    end = _behind_plain_letters(content, start + 1)
    while end < len(content):
        character = content[end]
        if _is_letter(character):
            if is_unspaced(character):
                break
        elif unicodedata.category(character) != "Cf" and not _joins(content, end):
            break
        end = _behind_plain_letters(content, end + 1)
    return end


def _behind_plain_letters(content: str, at: int) -> int:
    """What most words consist of is passed over at once."""
    found = _PLAIN_LETTERS.match(content, at)
    return at if found is None else found.end()


def _joins(content: str, at: int) -> bool:
    """Whether the character at ``at``, which follows a letter, belongs to the word."""
    character = content[at]
    following = content[at + 1] if at + 1 < len(content) else " "
    if character in "+#":
        return True
    if character in _CONNECTORS or character in _APOSTROPHES:
        return _is_letter(following)
    return character == "," and content[at - 1].isdigit() and following.isdigit()


def _split_word(content: str, start: int, end: int) -> Iterator[Word]:
    """The word, with a negation or a short form behind an apostrophe as a word of its own."""
    norm = _norm(content[start:end])
    capitalised = content[start].isupper() or content[start].istitle()
    if norm.endswith("n't") and len(norm) > 3 and len(norm) == end - start:
        yield Word(_SPLIT_NEGATIONS.get(norm, norm[:-3]), start, end - 3, False, capitalised)
        yield Word("n't", end - 3, end, False, False)
        return
    head, apostrophe, suffix = norm.rpartition("'")
    if apostrophe and head and suffix in _SUFFIXES and len(norm) == end - start:
        cut = end - len(suffix) - 1
        yield Word(head, start, cut, False, capitalised)
        yield Word(f"'{suffix}", cut, end, False, False)
        return
    yield Word(norm, start, end, False, capitalised)


def _sentences(content: str, words: tuple[Word, ...]) -> Iterator[Sentence]:
    first = 0
    for place in range(len(words)):
        if not _ends_sentence(content, words, place):
            continue
        norms = {word.norm for word in words[max(first, place - MAX_CLOSING_MARKS) : place + 1] if word.is_mark}
        yield Sentence(first=first, last=place + 1, is_question=not _QUESTION_MARKS.isdisjoint(norms))
        first = place + 1


def _ends_sentence(content: str, words: tuple[Word, ...], place: int) -> bool:
    if place + 1 == len(words):
        return True
    following = words[place + 1]
    between = content[words[place].end : following.start]
    if _PARAGRAPH.search(between) or ("\n" in between and _LIST_ITEM.match(content, following.start)):
        return True
    closing = 0
    while closing < min(place, MAX_CLOSING_MARKS) and words[place - closing].norm in _CLOSING_MARKS:
        closing += 1
    mark = words[place - closing]
    if not mark.is_mark or mark.norm not in _TERMINATORS or following.start == words[place].end:
        return False
    return mark.norm != "." or not _goes_on(content, words, place - closing, following)


def _goes_on(content: str, words: tuple[Word, ...], full_stop: int, following: Word) -> bool:
    """Whether a full stop belongs to a shortened word, so that the sentence goes on behind it."""
    before = words[full_stop - 1].norm if full_stop else ""
    is_initial = _INITIALS.fullmatch(before) is not None
    # Sentences may start with an identifier in lower case, and hardly ever with a conjunction or a verb.
    continues = content[following.start].islower() and following.norm in SENTENCE_CONTINUES
    return before in _ABBREVIATIONS or is_initial or continues


def _quoted(content: str, words: tuple[Word, ...]) -> Iterator[bool]:
    """For each word whether it stands between quotation marks or in a line marked as quoted.

    A quotation that is not closed lasts to the end of its paragraph.
    """
    closes = ""
    line_quoted = False
    for place, word in enumerate(words):
        between = content[words[place - 1].end if place else 0 : word.start]
        if place == 0 or "\n" in between:
            line_quoted = word.norm == ">"
        if between.count("\n") > 1:
            closes = ""
        character = content[word.start] if word.is_mark else ""
        if closes and character and character in closes:
            closes = ""
        elif not closes and character in _CLOSED_BY and _opens_quotation(content, word.start):
            closes = _CLOSED_BY[character]
        yield bool(closes) or line_quoted


def _opens_quotation(content: str, at: int) -> bool:
    before = content[at - 1] if at else " "
    after = content[at + 1] if at + 1 < len(content) else " "
    return not after.isspace() and not _is_letter(before)
