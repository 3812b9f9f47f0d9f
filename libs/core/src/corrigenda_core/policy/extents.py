"""Exact instants as bounds, and the instant just before another."""

from __future__ import annotations

from corrigenda_core.domain.time import EARLIEST, Instant, KnownBound, TimeBasis
from corrigenda_core.policy.calendar_days import MICROSECOND
from corrigenda_core.policy.validity import decide_whole_instant


def decide_exact_bound(at: Instant, basis: TimeBasis) -> KnownBound:
    """A bound at exactly one instant."""
    return KnownBound(at=at, whole=decide_whole_instant(at), basis=basis)


def decide_just_before(at: Instant) -> Instant:
    """The last representable instant before ``at``; nothing lies before the first one."""
    return at - MICROSECOND if at > EARLIEST else EARLIEST
