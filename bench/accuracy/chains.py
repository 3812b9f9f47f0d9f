"""Reads a question as a chain of registered predicates that starts at an entity which the question names.

Deterministic, and small on purpose: each predicate has *cues*, words by which a question asks for it. A cue that
several predicates share is a choice between them. The chain is whatever path through the memory uses every cue of the
question; the memory decides the order, and the question only where the memory leaves several.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

HOPS_MAX = 5

Neighbours = Callable[[str, str], Awaitable[Sequence[str]]]
"""For a name and a predicate, the names at the other end."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """Predicates of which the question means one, and the place of the word that says so."""

    predicates: frozenset[str]
    place: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Chain:
    """A path from the named entity: the predicates in the order in which they are followed, and where it ends."""

    predicates: tuple[str, ...]
    end: str


def words_of(text: str) -> list[str]:
    """The words of a text for comparison: case-folded, hyphens as spaces, the possessive as a word of its own."""
    spaced = re.sub(r"['\u2019]s\b", " 's", text.casefold())
    return re.findall(r"'s\b|[^\W_]+", spaced)


def named_in(question: str, names: Iterable[str]) -> list[str]:
    """The names that stand in the question as whole words, the longest first."""
    asked = words_of(question)
    return sorted(
        {name for name in names if _place(asked, words_of(name)) is not None},
        key=lambda name: (-len(words_of(name)), name),
    )


def asked_predicates(question: str, named: str, cues: Mapping[str, Sequence[str]]) -> tuple[Asked, ...]:
    """What the question asks for, in the order of its words; the entity's own name asks for nothing.

    Args:
        question: the question.
        named: the entity that it names.
        cues: for each predicate the words that ask for it; longer ones go before shorter ones that overlap them.
    """
    words = words_of(question)
    name = words_of(named)
    at = _place(words, name)
    if at is not None:
        words[at : at + len(name)] = [""] * len(name)
    by_cue: dict[tuple[str, ...], set[str]] = {}
    for predicate, texts in cues.items():
        for text in texts:
            by_cue.setdefault(tuple(words_of(text)), set()).add(predicate)
    found = []
    for cue in sorted(by_cue, key=len, reverse=True):
        while (place := _place(words, list(cue))) is not None:
            words[place : place + len(cue)] = [""] * len(cue)
            found.append(Asked(predicates=frozenset(by_cue[cue]), place=place))
    return tuple(sorted(found, key=lambda asked: asked.place))


async def chains(start: str, asked: Sequence[Asked], neighbours: Neighbours) -> list[Chain]:
    """The shortest chains from ``start`` that use everything that is asked; those whose order fits the words best."""
    complete: list[Chain] = []
    ends = [Chain(predicates=(), end=start)]
    for _ in range(min(HOPS_MAX, len(asked))):
        further: dict[Chain, None] = {}
        for chain in ends:
            for predicate in _missing(chain, asked):
                for name in await neighbours(chain.end, predicate):
                    further.setdefault(Chain(predicates=(*chain.predicates, predicate), end=name))
        complete = [chain for chain in further if not list(_missing(chain, asked))]
        if complete:
            break
        ends = list(further)
    least = min((_turned_round(chain, asked) for chain in complete), default=0)
    return [chain for chain in complete if _turned_round(chain, asked) == least]


def _missing(chain: Chain, asked: Sequence[Asked]) -> Iterator[str]:
    """The predicates of what the chain has not used yet, each once."""
    open_ = [one for one in asked if one.predicates.isdisjoint(chain.predicates)]
    yield from sorted({predicate for one in open_ for predicate in one.predicates})


def _turned_round(chain: Chain, asked: Sequence[Asked]) -> int:
    """How many hops are named after the one before them: "the A of the B of X" names the last hop first."""
    places = [next(one.place for one in asked if predicate in one.predicates) for predicate in chain.predicates]
    return sum(earlier < later for earlier, later in pairwise(places))


def _place(words: Sequence[str], wanted: Sequence[str]) -> int | None:
    size = len(wanted)
    places = range(len(words) - size + 1) if size else ()
    return next((at for at in places if list(words[at : at + size]) == list(wanted)), None)
