"""Which words of a text name times, and which of those times belong to a statement."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import replace
from datetime import tzinfo
from typing import Protocol

from corrigenda_core.domain.time import TextSpan, TimeBound
from corrigenda_core.providers.local.text import ReadText, Sentence

MAX_SENTENCE_WORDS = 512
"""A longer sentence is not read."""
MAX_STEPS = 1_000_000
CODE_POINTS_PER_STEP = 16


class TooMuchToRead(Exception):
    """A submission that would take too long; the rest of it is answered as insufficient."""


class Effort:
    """The steps that one submission may still cost, counted and not timed, so that every run decides the same."""

    def __init__(self, steps: int) -> None:
        self._steps = steps

    def spend(self, steps: int) -> None:
        """Counts steps.

        Raises:
            TooMuchToRead: there are none left.
        """
        self._steps -= steps
        if self._steps < 0:
            raise TooMuchToRead


class TimeReader(Protocol):
    """Finds the time bounds that a text states; spans count the code points of that text."""

    def __call__(self, text: str, zone: tzinfo, *, mentions: Sequence[TextSpan] = ()) -> tuple[TimeBound, ...]:
        """Reads one text; words inside ``mentions`` are names and no times."""
        ...


class TextTimes:
    """The time bounds of one text, read sentence by sentence when first asked for."""

    def __init__(self, text: ReadText, reader: TimeReader, zone: tzinfo, effort: Effort) -> None:
        self._text = text
        self._reader = reader
        self._zone = zone
        self._effort = effort
        self._bounds: dict[int, tuple[TimeBound, ...]] = {}
        self._words: dict[int, frozenset[int]] = {}

    def is_time(self, word: int) -> bool:
        """Whether a word is part of words that state a time bound; ``word`` may lie outside the text."""
        if not 0 <= word < len(self._text.words):
            return False
        number = self._text.sentence_of[word]
        if number not in self._words:
            self._words[number] = frozenset(
                place for bound in self.bounds(self._text.sentences[number]) for place in self.words_of(bound)
            )
        return word in self._words[number]

    def bounds(self, sentence: Sentence, mentions: tuple[TextSpan, ...] = ()) -> tuple[TimeBound, ...]:
        """The bounds that a sentence states, spans counted in the whole text.

        Args:
            sentence: a sentence of the text.
            mentions: spans of the whole text that name the subject and the object.
        """
        number = self._text.sentence_of[sentence.first]
        if number not in self._bounds:
            self._bounds[number] = self._read(sentence, ())
        stated = self._bounds[number]
        overlapping = any(
            mention.start < bound.span.end and bound.span.start < mention.end
            for mention in mentions
            for bound in stated
        )
        return self._read(sentence, mentions) if overlapping else stated

    def words_of(self, bound: TimeBound) -> range:
        """The places of the words that state a bound."""
        first = bisect_left(self._text.words, bound.span.start, key=lambda word: word.start)
        last = bisect_left(self._text.words, bound.span.end, key=lambda word: word.start)
        return range(first, last)

    def _read(self, sentence: Sentence, mentions: tuple[TextSpan, ...]) -> tuple[TimeBound, ...]:
        if sentence.last - sentence.first > MAX_SENTENCE_WORDS:
            return ()
        start, end = self._text.words[sentence.first].start, self._text.words[sentence.last - 1].end
        self._effort.spend((end - start) // CODE_POINTS_PER_STEP + 1)
        passage = self._text.content[start:end]
        inside = tuple(
            TextSpan(start=mention.start - start, end=mention.end - start)
            for mention in mentions
            if start <= mention.start and mention.end <= end
        )
        return tuple(
            replace(bound, span=TextSpan(start=bound.span.start + start, end=bound.span.end + start))
            for bound in self._reader(passage, self._zone, mentions=inside)
        )
