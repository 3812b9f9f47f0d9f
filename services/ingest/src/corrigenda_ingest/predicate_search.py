"""Finds the registered predicates whose names are closest to an unknown phrase, to offer them to its author."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from difflib import SequenceMatcher

from corrigenda_core.domain.ids import PredicateKey
from corrigenda_core.persistence.database import Row
from corrigenda_core.policy.normalisation import decide_predicate_key

MAX_OFFERED = 5
LEAST_LIKENESS = 0.4


def predicate_words(rows: Iterable[Row]) -> tuple[tuple[PredicateKey, tuple[str, ...]], ...]:
    """The predicates in rows of `predicate_names`, each with the forms of its aliases."""
    return tuple(
        (
            PredicateKey(row["predicate"]),
            tuple(decide_predicate_key(alias, field="aliases") for alias in row["aliases"]),
        )
        for row in rows
    )


def closest_predicates(
    form: PredicateKey, predicates: Sequence[tuple[PredicateKey, tuple[str, ...]]]
) -> tuple[PredicateKey, ...]:
    """At most `MAX_OFFERED` keys, the most alike first; likeness offers, it never decides.

    Args:
        form: the phrase in the form of a key.
        predicates: keys with their aliases, in the form of keys.
    """
    likeness = {key: max(_likeness(form, name) for name in (key, *aliases)) for key, aliases in predicates}
    alike = sorted((-value, key) for key, value in likeness.items() if value >= LEAST_LIKENESS)
    return tuple(key for _, key in alike[:MAX_OFFERED])


def _likeness(one: str, other: str) -> float:
    return SequenceMatcher(None, one, other, autojunk=False).ratio()
