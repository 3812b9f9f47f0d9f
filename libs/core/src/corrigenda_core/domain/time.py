"""Instants, whole intervals and validity: the time values of the domain.

An instant is an aware ``datetime`` in UTC with microseconds (`Instant`). An end that is not known is ``None``, which
reads as unbounded. A validity that has been closed to nothing is a value of its own, not an interval.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum

Instant = datetime

EARLIEST = datetime(1, 1, 1, tzinfo=UTC)
LATEST = datetime(9999, 12, 31, 23, 59, 59, 999999, tzinfo=UTC)


class TimeBasis(StrEnum):
    """Where a start or an end comes from, the most trusted first."""

    EVIDENCE_TIME = "evidence_time"
    STATED_TIME = "stated_time"
    OBSERVED_TIME = "observed_time"
    RECORDED_FALLBACK = "recorded_fallback"


def require_instant(field: str, value: Instant | None) -> None:
    """Refuses a naive or non-UTC instant.

    Raises:
        ValueError: naming ``field``.
    """
    if value is None or value.tzinfo is UTC:
        return
    if value.tzinfo is None or value.utcoffset() != UTC.utcoffset(None):
        raise ValueError(f"{field} must be an aware instant in UTC, not {value!r}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Interval:
    """A non-empty half-open interval ``[start, end)``; ``None`` is an end that is not known (unbounded)."""

    start: Instant | None = None
    end: Instant | None = None

    def __post_init__(self) -> None:
        require_instant("start", self.start)
        require_instant("end", self.end)
        if self.start is not None and self.end is not None and self.end <= self.start:
            raise ValueError(f"an interval needs start < end, not {self.start} and {self.end}")


@dataclass(frozen=True, slots=True, kw_only=True)
class ClosedToNothing:
    """The empty validity: what an interval becomes that is closed at or before its own start ``at``.

    In storage and on the wire it is written as ``valid_to = valid_from``; it holds at no instant and overlaps nothing.
    """

    at: Instant | None = None

    def __post_init__(self) -> None:
        require_instant("at", self.at)


Validity = Interval | ClosedToNothing


@dataclass(frozen=True, slots=True, kw_only=True)
class WholeInterval:
    """The whole interval ``[start, end)`` that a time expression names: "March 2026" is all of that month.

    Both ends are known. An exact instant names the shortest interval, one microsecond.
    """

    start: Instant
    end: Instant

    def __post_init__(self) -> None:
        require_instant("start", self.start)
        require_instant("end", self.end)
        if self.end <= self.start:
            raise ValueError(f"a whole interval needs start < end, not {self.start} and {self.end}")


class Side(StrEnum):
    """Which end of a validity a bound is."""

    START = "start"
    END = "end"


@dataclass(frozen=True, slots=True, kw_only=True)
class TextSpan:
    """A span of evidence text in Unicode code points, end exclusive."""

    start: int
    end: int

    def __post_init__(self) -> None:
        if not 0 <= self.start < self.end:
            raise ValueError(f"a span needs 0 <= start < end, not {self.start} and {self.end}")


@dataclass(frozen=True, slots=True, kw_only=True)
class TimeBound:
    """A bound that the verifier found in cited text: the side, the whole interval and where the words stand.

    ``at`` is the instant at which it takes effect: the interval's start, or its end for the end of "from ... to".
    """

    side: Side
    whole: WholeInterval
    at: Instant
    span: TextSpan


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownBound:
    """A start or end that counts under the predicate's basis: when it takes effect, what orders it, and its basis."""

    at: Instant
    whole: WholeInterval
    basis: TimeBasis


@dataclass(frozen=True, slots=True, kw_only=True)
class Moment:
    """A commit of a team: its gap-free revision number and its recorded time."""

    revision: int
    at: Instant

    def __post_init__(self) -> None:
        require_instant("at", self.at)
        if self.revision < 0:
            raise ValueError(f"a revision is not negative: {self.revision}")
