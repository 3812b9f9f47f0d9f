"""Exclusion: when two relationships cannot both hold, whoever owns them."""

from __future__ import annotations

from corrigenda_core.domain.objects import Polarity
from corrigenda_core.domain.relationships import Relationship
from corrigenda_core.domain.time import Instant
from corrigenda_core.policy.validity import decide_common_instant


def is_excluding(p: Relationship, q: Relationship) -> bool:
    """Whether ``p`` and ``q`` contradict each other at every instant at which both are in force (glossary).

    Both ``+`` with different objects where a slot holds one value, or one object with opposite polarities, whatever
    the cardinality. Facets part the values of one owner; they part nothing between owners.
    """
    if p.slot != q.slot:
        return False
    if p.object.key == q.object.key:
        return p.polarity is not q.polarity
    return p.polarity is q.polarity is Polarity.POSITIVE and p.slot_exclusive and q.slot_exclusive


def is_common_from(p: Relationship, q: Relationship, now: Instant) -> bool:
    """Whether some instant not before ``now`` lies in the validity of both."""
    return decide_common_instant(p.validity, q.validity, now) is not None


def is_excluding_from(p: Relationship, q: Relationship, now: Instant) -> bool:
    """Whether ``p`` and ``q`` exclude each other at a common instant not before ``now``."""
    return is_excluding(p, q) and is_common_from(p, q, now)
