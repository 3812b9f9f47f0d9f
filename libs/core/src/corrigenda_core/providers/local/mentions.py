"""Finds the names that stand in front of and behind a predicate, and takes nothing for a name that may be none."""

from __future__ import annotations

from dataclasses import dataclass

from corrigenda_core.policy.limits import decide_limit, is_within
from corrigenda_core.policy.normalisation import decide_text_form
from corrigenda_core.providers.local.cues import (
    AFTER_OBJECT,
    CLAUSE_BREAKS,
    DETERMINERS,
    EMPHASIS,
    FACTIVES,
    FOREIGN_NEGATIONS,
    GAP_CUES,
    NEGATIONS,
    OBJECT_GAP_CUES,
    PREFIX_PLAN,
    QUESTION_OPENERS,
    RELATIVES,
    REPORTS,
    SENTENCE_SPECULATION,
)
from corrigenda_core.providers.local.sentences import Range
from corrigenda_core.providers.local.text import ReadText, Sentence
from corrigenda_core.providers.local.times import TextTimes

MAX_NAME_WORDS = 5
MAX_GAP_WORDS = 8
MAX_VALUE_WORDS = 24

_BOUNDARIES = (
    FACTIVES | RELATIVES | CLAUSE_BREAKS | REPORTS | AFTER_OBJECT | SENTENCE_SPECULATION | PREFIX_PLAN
) | QUESTION_OPENERS
# Who or what they stand for is not said here, or they are no part of a name.
_NO_NAMES = (
    (DETERMINERS - {"the"})
    | NEGATIONS
    | FOREIGN_NEGATIONS
    | frozenset(
        [
            "i",
            "me",
            "you",
            "he",
            "him",
            "she",
            "it",
            "we",
            "us",
            "they",
            "them",
            "myself",
            "itself",
            "themselves",
            "who",
            "whom",
            "which",
            "what",
            "one",
            "ones",
            "someone",
            "somebody",
            "anyone",
            "anybody",
            "everyone",
            "everybody",
            "nobody",
            "something",
            "anything",
            "everything",
            "nothing",
            "some",
            "any",
            "all",
            "each",
            "every",
            "many",
            "most",
            "few",
            "several",
            "both",
            "either",
            "neither",
            "none",
            "no",
            "other",
            "others",
            "another",
            "same",
            "such",
            "there",
            "here",
            "today",
            "yesterday",
            "tomorrow",
            "now",
            "then",
            "of",
            "'s",
            "'",
            "and",
            "or",
        ]
    )
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Passage:
    """One sentence of a text, and the words in it that name times."""

    text: ReadText
    times: TextTimes
    sentence: Sentence

    def content(self, words: Range) -> str:
        """The words as they stand in the text."""
        return self.text.content[self.text.words[words.first].start : self.text.words[words.last - 1].end]


def subject_before(passage: Passage, phrase_first: int, kind: frozenset[str]) -> str | None:
    """The name that ends in front of a predicate, or ``None`` if what stands there may be no name.

    Words that may stand between the two are passed over; words of the subject's kind beside its name are left out.
    """
    first = passage.sentence.first
    last = phrase_first
    while last > first and phrase_first - last < MAX_GAP_WORDS and _is_passed_over(passage, last - 1):
        last -= 1
    begin = last
    while begin > first and not _ends_name(passage, begin - 1):
        begin -= 1
    return _name(passage, Range(first=begin, last=last), kind) if begin < last else None


def object_behind(passage: Passage, phrase_last: int, kind: frozenset[str]) -> str | None:
    """The name that begins behind a predicate, or ``None`` if what stands there may be no name."""
    begin = _behind_gap(passage, phrase_last)
    last = begin
    while last < passage.sentence.last and not _ends_name(passage, last):
        last += 1
    return _name(passage, Range(first=begin, last=last), kind) if begin < last else None


def values_behind(passage: Passage, phrase_last: int, *, with_times: bool) -> list[str]:
    """What may be the value behind a predicate, the longest first.

    Args:
        passage: the sentence.
        phrase_last: the first word behind the predicate.
        with_times: whether the value itself may be words of time; then every shorter run of words is offered, too.
    """
    begin = _behind_gap(passage, phrase_last)
    last = begin
    while last < min(passage.sentence.last, begin + MAX_VALUE_WORDS):
        word = passage.text.words[last]
        ends = word.norm in CLAUSE_BREAKS or (word.is_mark and not (with_times and word.norm == ","))
        if ends or (not with_times and (word.norm in AFTER_OBJECT or passage.times.is_time(last))):
            break
        last += 1
    shortest = begin if with_times else last - 1
    return [passage.content(Range(first=begin, last=end)) for end in range(last, shortest, -1) if end > begin]


def _behind_gap(passage: Passage, phrase_last: int) -> int:
    begin = phrase_last
    while (
        begin < passage.sentence.last
        and begin - phrase_last < MAX_GAP_WORDS
        and passage.text.words[begin].norm not in _NO_NAMES
        and (passage.text.words[begin].norm in OBJECT_GAP_CUES or passage.text.words[begin].norm in EMPHASIS)
    ):
        begin += 1
    return begin


def _is_passed_over(passage: Passage, place: int) -> bool:
    norm = passage.text.words[place].norm
    is_gap = norm in GAP_CUES and norm not in DETERMINERS
    return is_gap or norm in EMPHASIS or passage.times.is_time(place)


def _ends_name(passage: Passage, place: int) -> bool:
    word = passage.text.words[place]
    return word.is_mark or word.norm in _BOUNDARIES or passage.times.is_time(place)


def _name(passage: Passage, found: Range, kind: frozenset[str]) -> str | None:
    """The name in some words, its article and its kind left out."""
    words = passage.text.words
    first, last = found.first, found.last
    if words[first].norm == "the":
        first += 1
    if first >= last or any(words[place].norm in _NO_NAMES | {"the"} for place in range(first, last)):
        return None
    generic = kind | {f"{word}s" for word in kind}
    if all(words[place].norm in generic for place in range(first, last)):
        return None
    with_kind = Range(first=first, last=last)
    while words[first].norm in kind:
        first += 1
    while words[last - 1].norm in kind:
        last -= 1
    name = Range(first=first, last=last)
    is_one_name = last - first == 1 or name != with_kind or all(words[place].is_capitalised for place in name)
    # A name that runs over the end of a line is one all the same.
    content = " ".join(passage.content(name).split())
    # "Frank likes production" is no name: of several words, all are capitals or their kind stands beside them.
    fits = is_one_name and last - first <= MAX_NAME_WORDS and is_within(decide_limit("name"), len(content))
    return content if fits and any(letter.isalnum() for letter in decide_text_form(content)) else None
