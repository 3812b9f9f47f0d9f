"""Finds in a text where a subject, a predicate and an object stand together, and what stands between them."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import islice

from corrigenda_core.domain.time import TextSpan
from corrigenda_core.providers.local.cues import (
    COPULA_GAP_CUES,
    DETERMINERS,
    EMPHASIS,
    GAP_CUES,
    OBJECT_GAP_CUES,
    Cue,
)
from corrigenda_core.providers.local.forms import Phrase, PhraseForm
from corrigenda_core.providers.local.text import ReadText, Sentence
from corrigenda_core.providers.local.times import Effort, TextTimes

# Bounds: hostile text may repeat a phrase tens of thousands of times.
MAX_PLACES_PER_PHRASE = 64
MAX_GAP_WORDS = 24

Names = tuple[tuple[str, ...], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What is looked for: the names and forms of one proposal, in normal form."""

    subject_names: Names
    subject_kind: frozenset[str]
    phrases: tuple[Phrase, ...]
    object_names: Names
    object_kind: frozenset[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Range:
    """Words ``first`` to ``last``, exclusive."""

    first: int
    last: int

    def __iter__(self) -> Iterator[int]:
        return iter(range(self.first, self.last))


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """Subject, predicate and object together in one sentence, and the cues between them."""

    subject: Range
    phrase: Range
    object: Range
    form: PhraseForm
    cues: tuple[Cue, ...]

    @property
    def first(self) -> int:
        """The first word of the statement."""
        return min(self.subject.first, self.phrase.first)


@dataclass(frozen=True, slots=True, kw_only=True)
class CitedText:
    """A text, the words of it that name times, and the passages of it that a proposal cites."""

    text: ReadText
    times: TextTimes
    cited: tuple[TextSpan, ...]
    effort: Effort

    def is_cited(self, words: Range) -> bool:
        """Whether one of the passages holds all these words."""
        start, end = self.text.words[words.first].start, self.text.words[words.last - 1].end
        return self.is_span_cited(TextSpan(start=start, end=end))

    def is_span_cited(self, span: TextSpan) -> bool:
        """Whether one of the passages holds the whole span."""
        return any(passage.start <= span.start and span.end <= passage.end for passage in self.cited)

    def sentence_at(self, word: int) -> Sentence:
        """The sentence that a word stands in."""
        return self.text.sentences[self.text.sentence_of[word]]


def find_statements(source: CitedText, wanted: Wanted) -> Iterator[Found]:
    """Each place where the three stand together: in the order subject, predicate, object ("production deploys from
    main"), or predicate, subject, object with a form of "to be" ("the capital of Germany is Berlin").

    At most `MAX_PLACES_PER_PHRASE` places of each form are looked at.
    """
    for phrase in wanted.phrases:
        for at in islice(_places(source, phrase.words), MAX_PLACES_PER_PHRASE):
            place = Range(first=at, last=at + len(phrase.words))
            found = _subject_first(source, wanted, place, phrase.form) or _phrase_first(source, wanted, place, phrase)
            if found is not None:
                yield found


def is_anywhere(source: CitedText, names: Names) -> bool:
    """Whether one of the names stands in a cited passage at all, to say what is missing."""
    return any(next(_places(source, words), None) is not None for words in names)


def _places(source: CitedText, words: tuple[str, ...]) -> Iterator[int]:
    places = source.text.places.get(words[0], ())
    for span in source.cited:
        at = bisect_left(places, span.start, key=lambda place: source.text.words[place].start)
        while at < len(places) and source.text.words[places[at]].end <= span.end:
            source.effort.spend(1)
            if source.text.matches(words, places[at]):
                found = Range(first=places[at], last=places[at] + len(words))
                if source.is_cited(found):
                    yield found.first
            at += 1


def _subject_first(source: CitedText, wanted: Wanted, phrase: Range, form: PhraseForm) -> Found | None:
    subject = _subject_before(source, wanted, phrase.first)
    if subject is None:
        return None
    object_ = _name_after(source, wanted, phrase.last, OBJECT_GAP_CUES)
    if object_ is None:
        return None
    before = _gap_cues(source, Range(first=subject.last, last=phrase.first), GAP_CUES)
    after = _gap_cues(source, Range(first=phrase.last, last=object_.first), OBJECT_GAP_CUES)
    # "to be" behind the predicate ("the job title was engineer") is not the auxiliary of its verb.
    after = tuple(Cue.PAST if cue is Cue.PAST_COPULA else cue for cue in after if cue is not Cue.COPULA)
    return Found(subject=subject, phrase=phrase, object=object_, form=form, cues=before + after)


def _phrase_first(source: CitedText, wanted: Wanted, phrase: Range, form: Phrase) -> Found | None:
    if form.form is not PhraseForm.EXACT:
        return None
    subject = _subject_after(source, wanted, phrase.last)
    if subject is None:
        return None
    object_ = _name_after(source, wanted, subject.last, COPULA_GAP_CUES)
    if object_ is None:
        return None
    cues = _gap_cues(source, Range(first=subject.last, last=object_.first), COPULA_GAP_CUES)
    if Cue.COPULA not in cues and Cue.PAST_COPULA not in cues:
        return None
    return Found(subject=subject, phrase=phrase, object=object_, form=form.form, cues=cues)


def _subject_before(source: CitedText, wanted: Wanted, phrase_first: int) -> Range | None:
    """The nearest name of the subject in front of the predicate, with nothing between that is not understood."""
    lowest = max(source.sentence_at(phrase_first).first, phrase_first - MAX_GAP_WORDS)
    for last in range(phrase_first, lowest, -1):
        source.effort.spend(len(wanted.subject_names))
        for name in wanted.subject_names:
            first = last - len(name)
            if first >= lowest and source.text.matches(name, first):
                subject = Range(first=first, last=last)
                return subject if source.is_cited(subject) else None
        if not _may_stand_in_gap(source, last - 1, GAP_CUES, wanted.subject_kind):
            return None
    return None


def _subject_after(source: CitedText, wanted: Wanted, phrase_last: int) -> Range | None:
    for first in range(phrase_last, min(source.sentence_at(phrase_last - 1).last, phrase_last + MAX_GAP_WORDS)):
        subject = _name_at(source, wanted.subject_names, first)
        if subject is not None:
            return subject
        norm = source.text.words[first].norm
        if norm not in DETERMINERS and norm not in EMPHASIS and norm not in wanted.subject_kind:
            return None
    return None


def _name_after(source: CitedText, wanted: Wanted, start: int, cues: Mapping[str, Cue]) -> Range | None:
    """The nearest name of the object behind ``start``, with nothing in between that is not understood."""
    kinds = wanted.subject_kind | wanted.object_kind
    for first in range(start, min(source.sentence_at(start - 1).last, start + MAX_GAP_WORDS)):
        object_ = _name_at(source, wanted.object_names, first)
        if object_ is not None:
            return object_
        if not _may_stand_in_gap(source, first, cues, kinds):
            return None
    return None


def _name_at(source: CitedText, names: Names, first: int) -> Range | None:
    """The longest of the names that stands at ``first`` inside one sentence and is cited."""
    last_of_sentence = source.sentence_at(first).last
    source.effort.spend(len(names))
    for name in names:
        found = Range(first=first, last=first + len(name))
        if found.last <= last_of_sentence and source.text.matches(name, first) and source.is_cited(found):
            return found
    return None


def _may_stand_in_gap(source: CitedText, word: int, cues: Mapping[str, Cue], kinds: frozenset[str]) -> bool:
    norm = source.text.words[word].norm
    if norm in cues or norm in EMPHASIS or norm in kinds or _is_about_time(source, word):
        return True
    # "the city of Washington": the kind of what is named.
    return norm == "of" and word > 0 and source.text.words[word - 1].norm in kinds


def _is_about_time(source: CitedText, word: int) -> bool:
    """Whether a word names a time, or is the comma that sets one off."""
    if source.times.is_time(word):
        return True
    is_comma = source.text.words[word].norm == ","
    return is_comma and (source.times.is_time(word - 1) or source.times.is_time(word + 1))


def _gap_cues(source: CitedText, gap: Range, cues: Mapping[str, Cue]) -> tuple[Cue, ...]:
    """What the words of a gap do to the reading.

    A word with a cue counts by it, also when it is called the kind of an entity.
    """
    found: list[Cue] = []
    for place in gap:
        norm = source.text.words[place].norm
        if norm in ("only", "just") and found and found[-1] is Cue.NEGATION:
            # "not only deploys from main" asserts it.
            found[-1] = Cue.LIGHT
        elif norm in cues and not source.times.is_time(place):
            found.append(cues[norm])
    return tuple(found)
