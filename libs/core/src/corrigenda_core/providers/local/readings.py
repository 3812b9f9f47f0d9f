"""Decides how a sentence says what it says: asserted or denied, plainly or not, and when."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

from corrigenda_core.domain.objects import Polarity
from corrigenda_core.domain.verification import Modality
from corrigenda_core.providers.local.cues import (
    AFTER_OBJECT,
    CONFIRMATIONS,
    DENIALS,
    DENIED_PREFIXES,
    DETERMINERS,
    EMPHASIS,
    FACTIVES,
    FOREIGN_NEGATIONS,
    GAP_CUES,
    GLUE,
    NEGATIONS,
    NO_LONGER,
    PREFIX_PLAN,
    QUESTION_OPENERS,
    REFERRING_BACK,
    RELATIVES,
    REPORTS,
    SENTENCE_SPECULATION,
    SUFFIX_SPECULATION,
    UNITS,
    Cue,
)
from corrigenda_core.providers.local.forms import PhraseForm
from corrigenda_core.providers.local.sentences import CitedText, Found, Range, Wanted
from corrigenda_core.providers.local.text import Sentence, Word
from corrigenda_core.providers.local.times import MAX_SENTENCE_WORDS

# How far into the next sentence a denial is looked for ("That is no longer true.").
MAX_DENIAL_WORDS = 8


_COPULAS = frozenset({Cue.COPULA, Cue.PAST_COPULA})
_NEEDED_CUES = {
    PhraseForm.BARE_VERB: frozenset({Cue.DO, Cue.DID, Cue.TO, Cue.PLAN, Cue.SPECULATION}),
    PhraseForm.PROGRESSIVE: _COPULAS | {Cue.CONTINUES, Cue.CEASED},
    PhraseForm.WITHOUT_COPULA: _COPULAS,
}

# They make the sentence no plain statement, whatever else it says.
_MODAL_WORDS = SENTENCE_SPECULATION | PREFIX_PLAN | REPORTS | QUESTION_OPENERS


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """One place of a text that says something about subject, predicate and object.

    ``modalities`` is empty for a plain statement. ``problem`` says why the reading cannot be relied on, else it is
    empty. ``is_past`` says that it was so, not that it is.
    """

    polarity: Polarity
    modalities: frozenset[Modality]
    is_past: bool
    problem: str
    found: Found


def read_statement(source: CitedText, wanted: Wanted, found: Found) -> Reading:
    """Reads one place; the whole sentence counts, not the cited part alone, so that no "not" can be left uncited."""
    sentence = source.sentence_at(found.first)
    if sentence.last - sentence.first > MAX_SENTENCE_WORDS:
        return _unreadable(found, "the sentence is too long to be read by rule")
    source.effort.spend(sentence.last - sentence.first)
    prefix = _without_time(source, Range(first=sentence.first, last=found.first))
    suffix_range = Range(first=_behind_object(source, wanted, found), last=sentence.last)
    suffix = _without_time(source, suffix_range)
    denied = _is_denied_in_front(prefix)
    negations = found.cues.count(Cue.NEGATION) + found.cues.count(Cue.CEASED) + denied + _says_no_longer(suffix)
    problem = (
        _grammar_problem(source, found, prefix)
        or _foreign_problem(source, sentence, found)
        or _subject_problem(source, wanted, found, prefix)
        or _object_problem(source, suffix_range, sentence)
        or _negation_problem(found, negations, () if denied else prefix)
        or _denial_problem(suffix, _next_sentence(source, sentence))
    )
    return Reading(
        polarity=Polarity.NEGATIVE if negations else Polarity.POSITIVE,
        modalities=frozenset(_modalities(source, sentence, found, prefix, suffix)),
        is_past=_is_past(found),
        problem=problem,
        found=found,
    )


def _unreadable(found: Found, problem: str) -> Reading:
    return Reading(polarity=Polarity.POSITIVE, modalities=frozenset(), is_past=False, problem=problem, found=found)


def _without_time(source: CitedText, words: Range) -> tuple[Word, ...]:
    return tuple(source.text.words[place] for place in words if not source.times.is_time(place))


def _behind_object(source: CitedText, wanted: Wanted, found: Found) -> int:
    """The first word behind the statement and the kind of its object ("the main *branch*")."""
    last = max(found.object.last, found.phrase.last)
    words = source.text.words
    while last < len(words) and (words[last].norm in wanted.object_kind or words[last].norm in EMPHASIS):
        last += 1
    return last


def _grammar_problem(source: CitedText, found: Found, prefix: tuple[Word, ...]) -> str:
    """Whether what stands in front of an inflected form makes it the form that it looks like."""
    # "does production deploy from main": a question has its auxiliary in front of the subject.
    cues = {*found.cues, *(GAP_CUES[word.norm] for word in prefix if word.norm in QUESTION_OPENERS & GAP_CUES.keys())}
    needed = _NEEDED_CUES.get(found.form)
    fits = needed is None or not cues.isdisjoint(needed)
    if found.form is PhraseForm.BARE_VERB:
        is_plural = source.text.words[found.subject.last - 1].norm.endswith("s")
        fits = fits or is_plural
    elif found.form is PhraseForm.PAST:
        # "is used" is the passive of "uses" and turns subject and object round.
        fits = cues.isdisjoint(_COPULAS)
    return "" if fits else "the form of the predicate is not understood"


def _is_past(found: Found) -> bool:
    cues = set(found.cues)
    past_form = found.form is PhraseForm.PAST and Cue.HAVE not in cues
    return past_form or bool(cues & {Cue.PAST, Cue.PAST_COPULA, Cue.DID})


def _foreign_problem(source: CitedText, sentence: Sentence, found: Found) -> str:
    """Other languages deny in ways that the rules do not know."""
    own = {*found.subject, *found.phrase, *found.object}
    for place in range(sentence.first, sentence.last):
        word = source.text.words[place]
        if place not in own and (word.norm in FOREIGN_NEGATIONS or not _is_latin(word.norm)):
            return "only English sentences are read by rule"
    return ""


def _is_latin(norm: str) -> bool:
    return not any(ord(c) > 0x24F and c.isalpha() and not 0x1E00 <= ord(c) <= 0x1EFF for c in norm)


def _subject_problem(source: CitedText, wanted: Wanted, found: Found, prefix: tuple[Word, ...]) -> str:
    """Whether the subject stands alone: "East Berlin", "the owner of production" and "Acme's production" are others."""
    words = source.text.words
    place = found.first - 1
    first = source.sentence_at(found.first).first
    if place >= first and not source.times.is_time(place) and words[place].norm not in FACTIVES | DETERMINERS:
        both_capitalised = words[place].is_capitalised and words[found.first].is_capitalised
        if both_capitalised and words[place].norm not in _MODAL_WORDS:
            return "the subject may be part of a longer name"
    governor = _governor(source, wanted, found, first)
    if governor is not None and not (governor.is_mark or governor.norm in FACTIVES | _MODAL_WORDS):
        return "the subject does not stand alone"
    relatives = [word for word in prefix if word.norm in RELATIVES]
    if relatives and relatives[-1] != governor and (governor is None or governor.norm != ":"):
        return "the subject may belong to another verb"
    return ""


def _governor(source: CitedText, wanted: Wanted, found: Found, first: int) -> Word | None:
    """The word in front of the subject, articles, kinds and times passed over; ``None`` at the start of a sentence or
    a line."""
    words = source.text.words
    for place in range(found.first - 1, first - 1, -1):
        if "\n" in source.text.content[words[place].end : words[place + 1].start]:
            return None
        norm = words[place].norm
        passed_over = norm in DETERMINERS or norm in wanted.subject_kind or norm in EMPHASIS
        if not passed_over and not source.times.is_time(place):
            return words[place]
    return None


def _object_problem(source: CitedText, suffix: Range, sentence: Sentence) -> str:
    """Whether the object ends where its name does: "release" is not "release candidates"."""
    if suffix.first >= sentence.last or source.times.is_time(suffix.first):
        return ""
    words = source.text.words
    following, before = words[suffix.first], words[suffix.first - 1]
    on_next_line = "\n" in source.text.content[before.end : following.start]
    glued = following.norm in UNITS or (following.start == before.end and following.norm in GLUE)
    if glued or not (following.is_mark or on_next_line or following.norm in AFTER_OBJECT):
        return "the object may be part of a longer name"
    return ""


def _is_denied_in_front(prefix: tuple[Word, ...]) -> bool:
    """Whether the words in front say "it is not true that", and nothing else denies them in turn."""
    norms = tuple(word.norm for word in prefix if word.norm not in DETERMINERS and word.norm != ",")
    for denial in DENIED_PREFIXES:
        if norms[-len(denial) :] == denial:
            return NEGATIONS.isdisjoint(norms[: -len(denial)])
    return False


def _says_no_longer(suffix: tuple[Word, ...]) -> bool:
    norms = tuple(word.norm for word in suffix[:3])
    return any(norms[: len(words)] == words for words in NO_LONGER)


def _negation_problem(found: Found, negations: int, prefix: tuple[Word, ...]) -> str:
    if negations > 1:
        return "more than one negation"
    if negations and Cue.UNIVERSAL in found.cues:
        return "the negation is qualified"
    for place, word in enumerate(prefix):
        # "No, production deploys from main" answers a question.
        answers = word.norm == "no" and place + 1 < len(prefix) and prefix[place + 1].norm == ","
        if not answers and (word.norm in NEGATIONS or word.norm.endswith("n't")):
            return "what the negation in front denies is not clear"
    return ""


def _denial_problem(suffix: tuple[Word, ...], next_sentence: tuple[Word, ...]) -> str:
    """Whether the rest of the sentence, or the next one, takes it back."""
    norms = [word.norm for word in suffix]
    taken_back = not DENIALS.isdisjoint(norms) or any(
        norm in ("not", "n't") and following in CONFIRMATIONS for norm, following in pairwise(norms)
    )
    opening = [word.norm for word in next_sentence]
    refers_back = not REFERRING_BACK.isdisjoint(opening[:1])
    refused = not (DENIALS | {"not", "n't", "no", "never"}).isdisjoint(opening)
    if taken_back or (refers_back and refused) or not DENIALS.isdisjoint(opening[:1]):
        return "the statement is taken back"
    return ""


def _next_sentence(source: CitedText, sentence: Sentence) -> tuple[Word, ...]:
    return source.text.words[sentence.last : sentence.last + MAX_DENIAL_WORDS]


def _modalities(
    source: CitedText, sentence: Sentence, found: Found, prefix: tuple[Word, ...], suffix: tuple[Word, ...]
) -> Iterator[Modality]:
    """How the sentence says it, where that is not a plain statement."""
    before = {word.norm for word in prefix}
    behind = {word.norm for word in suffix}
    opener = next((word.norm for word in prefix if not word.is_mark), "")
    if sentence.is_question or opener in QUESTION_OPENERS:
        yield Modality.QUESTION
    if any(source.text.quoted[place] for place in found.phrase) or not REPORTS.isdisjoint(before | behind):
        yield Modality.QUOTATION
    hedged = not SENTENCE_SPECULATION.isdisjoint(before | behind) or not SUFFIX_SPECULATION.isdisjoint(behind)
    if hedged or Cue.SPECULATION in found.cues:
        yield Modality.SPECULATION
    if Cue.PLAN in found.cues or _is_infinitive(found) or not PREFIX_PLAN.isdisjoint(before):
        yield Modality.PLAN


def _is_infinitive(found: Found) -> bool:
    """Whether "to" carries the verb; after "used", "continues" and "stopped" it says something else."""
    return Cue.TO in found.cues and not {Cue.PAST, Cue.CONTINUES, Cue.CEASED} & set(found.cues)
