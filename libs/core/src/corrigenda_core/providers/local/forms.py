"""The forms in which a predicate, a name or a value can stand in a text."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date
from decimal import Decimal, InvalidOperation
from enum import Enum, auto
from functools import lru_cache

from corrigenda_core.domain.objects import ValueObject, ValueType
from corrigenda_core.ports.providers import MentionedEntity, PredicateWords
from corrigenda_core.providers.local.text import normal_words

MAX_NAME_WORDS = 64


class PhraseForm(Enum):
    """How a phrase was derived from a registered one, and so what has to stand in front of it."""

    EXACT = auto()
    BARE_VERB = auto()
    """"deploy from": needs "does", "will" or "to", or a plural subject."""
    PAST = auto()
    """"deployed from": needs "has", or says that it was so."""
    PROGRESSIVE = auto()
    """"deploying from": needs "is", "keeps" or "stopped"."""
    WITHOUT_COPULA = auto()
    """"owned by" of "is owned by": needs a form of "to be"."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Phrase:
    """One form of a predicate, as words in normal form."""

    words: tuple[str, ...]
    form: PhraseForm


_SEPARATORS = str.maketrans("_-.:/", "     ")
_COPULAS = frozenset({"is", "are", "was", "were"})
_PARTICLES = frozenset({"from", "to", "in", "on", "at", "by", "with", "for", "of", "as", "under", "into", "over"})
_IRREGULAR = {"has": "have", "does": "do", "goes": "go"}
_VOWELS = frozenset("aeiou")


@lru_cache(maxsize=1024)
def phrases(predicate: PredicateWords) -> tuple[Phrase, ...]:
    """Every form of a predicate's key and aliases, the registered ones first.

    Only the first word is inflected, and only where the spelling leaves no doubt: a third person singular in ``-s``
    gives its bare verb, past and progressive; a bare verb in front of a particle gives its third person.
    """
    registered = dict.fromkeys(
        words
        for text in (predicate.key.translate(_SEPARATORS), predicate.key, *predicate.aliases)
        if (words := normal_words(text)) and len(words) <= MAX_NAME_WORDS
    )
    found = dict.fromkeys(registered, PhraseForm.EXACT)
    for words in registered:
        for derived, form in _derived(words):
            found.setdefault(derived, form)
    return tuple(Phrase(words=words, form=form) for words, form in found.items())


def _derived(words: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], PhraseForm]]:
    first, rest = words[0], words[1:]
    if first in _COPULAS:
        if rest:
            yield rest, PhraseForm.WITHOUT_COPULA
        return
    if not (first.isascii() and first.isalpha()):
        return
    bare = _bare_verb(first)
    if bare is not None:
        yield (bare, *rest), PhraseForm.BARE_VERB
        yield (_with_ending(bare, "ed"), *rest), PhraseForm.PAST
        yield (_with_ending(bare, "ing"), *rest), PhraseForm.PROGRESSIVE
    elif rest and rest[0] in _PARTICLES and not first.endswith(("s", "ed", "ing")):
        yield (_third_person(first), *rest), PhraseForm.EXACT


def _bare_verb(third_person: str) -> str | None:
    """The bare verb of a third person singular, or ``None`` if the word does not look like one."""
    if third_person in _IRREGULAR:
        return _IRREGULAR[third_person]
    if len(third_person) < 4 or not third_person.endswith("s") or third_person.endswith(("ss", "us", "is", "'s")):
        return None
    if third_person.endswith("ies"):
        return third_person[:-3] + "y"
    if third_person.endswith(("ches", "shes", "sses", "xes", "zzes")):
        return third_person[:-2]
    return third_person[:-1]


def _third_person(bare: str) -> str:
    if bare.endswith("y") and bare[-2:-1] not in _VOWELS:
        return bare[:-1] + "ies"
    return bare + ("es" if bare.endswith(("ch", "sh", "x", "zz")) else "s")


def _with_ending(bare: str, ending: str) -> str:
    if bare.endswith("e"):
        return bare[:-1] + ending
    if ending == "ed" and bare.endswith("y") and bare[-2:-1] not in _VOWELS:
        return bare[:-1] + "ied"
    short_closed = len(bare) <= 4 and bare[-1] not in "aeiouwxy" and bare[-2] in _VOWELS and bare[-3:-2] not in _VOWELS
    return (bare + bare[-1] if short_closed else bare) + ending


def entity_names(entity: MentionedEntity) -> tuple[tuple[str, ...], ...]:
    """The names of a mention, the longest first, and those of the offered candidate that it says it is.

    Names of other candidates do not count: whether the mention is one of them is not known yet.
    """
    known = (
        name
        for candidate in entity.candidates
        if candidate.entity_id == entity.known_entity_id
        for name in candidate.names
    )
    return _longest_first((*entity.names, *known))


def kind_words(entity: MentionedEntity | ValueObject) -> frozenset[str]:
    """The words of an entity's kind, which may stand beside its name ("the main branch")."""
    if isinstance(entity, ValueObject):
        return frozenset()
    return frozenset(normal_words(entity.kind.translate(_SEPARATORS)))


def object_names(object_: MentionedEntity | ValueObject) -> tuple[tuple[str, ...], ...]:
    """The word sequences that name an object."""
    if isinstance(object_, ValueObject):
        return _longest_first(_written_values(object_))
    return entity_names(object_)


def _longest_first(texts: tuple[str, ...]) -> tuple[tuple[str, ...], ...]:
    """Distinct word sequences; a name that ends with a full stop is also looked for without it."""
    found: dict[tuple[str, ...], None] = {}
    for text in texts:
        words = normal_words(text)
        while words and len(words) <= MAX_NAME_WORDS:
            found.setdefault(words)
            words = words[:-1] if words[-1] == "." else ()
    return tuple(sorted(found, key=len, reverse=True))


def _written_values(value: ValueObject) -> tuple[str, ...]:
    """How a value may be written: as the author did, in normal form, and the common forms of numbers and dates."""
    written = [value.display] if value.unit else [value.display, value.canonical]
    if value.type is ValueType.NUMBER:
        written += _written_numbers(value)
    elif value.type is ValueType.DATE:
        written += _written_dates(value.canonical)
    return tuple(text for text in written if text)


def _written_numbers(value: ValueObject) -> Iterator[str]:
    try:
        number = Decimal(value.canonical)
    except InvalidOperation:
        return
    if not number.is_finite() or abs(number.adjusted()) > 30:
        return
    for text in dict.fromkeys((f"{number:f}", f"{number:,f}")):
        yield from (f"{text} {value.unit}", f"{text}{value.unit}") if value.unit else (text,)


def _written_dates(canonical: str) -> Iterator[str]:
    try:
        day = date.fromisoformat(canonical)
    except ValueError:
        return
    for month in (_MONTHS[day.month - 1], _MONTHS[day.month - 1][:3]):
        for number in (str(day.day), f"{day.day:02}", _ordinal(day.day)):
            yield from (f"{number} {month} {day.year}", f"{month} {number}, {day.year}", f"{month} {number} {day.year}")


_MONTHS = (
    "january", "february", "march", "april", "may", "june",
    "july", "august", "september", "october", "november", "december",
)  # fmt: skip


def _ordinal(day: int) -> str:
    ending = "th" if day in (11, 12, 13) else {1: "st", 2: "nd", 3: "rd"}.get(day % 10, "th")
    return f"{day}{ending}"
