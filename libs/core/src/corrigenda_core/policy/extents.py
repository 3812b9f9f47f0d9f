"""Exact instants as bounds, and the microsecond that separates neighbours."""

from __future__ import annotations

from datetime import timedelta

from corrigenda_core.domain.time import EARLIEST, LATEST, Instant, KnownBound, TimeBasis, WholeInterval

MICROSECOND = timedelta(microseconds=1)


def decide_exact_bound(at: Instant, basis: TimeBasis) -> KnownBound:
    """A bound at exactly one instant; the last representable one shares the whole interval of the one before it."""
    start = min(at, LATEST - MICROSECOND)
    return KnownBound(at=at, whole=WholeInterval(start=start, end=start + MICROSECOND), basis=basis)


def decide_just_before(at: Instant) -> Instant:
    """The last representable instant before ``at``; nothing lies before the first one."""
    return at - MICROSECOND if at > EARLIEST else EARLIEST
