"""Which names of entities a query may speak of: runs of its words, in the normal form by which names are found."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator

from corrigenda_core.policy.normalisation import decide_text_form
from corrigenda_core.policy.scripts import is_unspaced

MAX_QUERY_NAMES = 1024
MAX_NAME_WORDS = 6
MAX_UNSPACED_NAME_LETTERS = 12

_POSSESSIVES = ("'s", "’s")


def plan_query_names(query: str) -> tuple[str, ...]:
    """The names to look up, each once, at most `MAX_QUERY_NAMES`, the ones of few words first.

    A name stands between white space, with or without punctuation at its ends, or anywhere inside a run of a script
    without word breaks.

    Args:
        query: what the reader typed.
    """
    words = decide_text_form(query).split()
    found = dict.fromkeys(name for name in (*_runs(words), *_pieces(words)) if name)
    return tuple(found)[:MAX_QUERY_NAMES]


def _runs(words: list[str]) -> Iterator[str]:
    for length in range(1, min(MAX_NAME_WORDS, len(words)) + 1):
        for first in range(len(words) - length + 1):
            run = " ".join(words[first : first + length])
            bare = _bare(run)
            yield from (run, bare)
            for possessive in _POSSESSIVES:
                if bare.endswith(possessive):
                    yield bare.removesuffix(possessive)


def _bare(run: str) -> str:
    """The run without what is neither letter nor digit at its ends."""
    first, last = 0, len(run)
    while first < last and unicodedata.category(run[first])[0] not in "LNM":
        first += 1
    while last > first and unicodedata.category(run[last - 1])[0] not in "LNM":
        last -= 1
    return run[first:last]


def _pieces(words: list[str]) -> Iterator[str]:
    """Every short piece of letters of scripts without word breaks, the short ones first."""
    words = [word for word in words if not word.isascii()]
    for length in range(1, MAX_UNSPACED_NAME_LETTERS + 1):
        for word in words:
            for first in range(len(word) - length + 1):
                piece = word[first : first + length]
                if all(is_unspaced(letter) or unicodedata.category(letter)[0] == "M" for letter in piece):
                    yield piece
