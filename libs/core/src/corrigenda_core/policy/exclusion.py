"""Exclusion: when two relationships cannot both hold, whoever owns them."""

from __future__ import annotations

from corrigenda_core.domain.objects import Polarity
from corrigenda_core.domain.relationships import Relationship
from corrigenda_core.domain.time import ClosedToNothing, Instant
from corrigenda_core.policy.validity import decide_common_instant


def is_excluding(p: Relationship, q: Relationship) -> bool:
    """Whether ``p`` and ``q`` contradict each other at every instant at which both are in force (glossary).

    Both ``+`` with different objects where a slot holds one value, or one object with opposite polarities, whatever
    the cardinality. Facets part the values of one owner; they part nothing between owners. Events of two days, or of a
    known day and an unknown one, are two events.
    """
    if p.slot != q.slot or is_of_two_days(p, q):
        return False
    if p.object.key == q.object.key:
        return p.polarity is not q.polarity
    return p.polarity is q.polarity is Polarity.POSITIVE and p.slot_exclusive and q.slot_exclusive


def is_of_two_days(p: Relationship, q: Relationship) -> bool:
    """Whether two rows tell of events on different days, which have nothing to do with each other."""
    return (p.event or q.event) and _start_of(p) != _start_of(q)


def is_common_from(p: Relationship, q: Relationship, now: Instant) -> bool:
    """Whether some instant not before ``now`` lies in the validity of both."""
    return decide_common_instant(p.validity, q.validity, now) is not None


def is_excluding_from(p: Relationship, q: Relationship, now: Instant) -> bool:
    """Whether ``p`` and ``q`` exclude each other at a common instant not before ``now``."""
    return is_excluding(p, q) and is_common_from(p, q, now)


def _start_of(row: Relationship) -> Instant | None:
    return row.validity.at if isinstance(row.validity, ClosedToNothing) else row.validity.start
