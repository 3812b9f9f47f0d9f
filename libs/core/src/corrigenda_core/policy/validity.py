"""The algebra of validity: intervals whose ends may be unknown, their order, and the times that count for a statement.

Shapes: `Validity` is an `Interval` (``None`` is an end that is not known and reads as unbounded) or `ClosedToNothing`.
A `WholeInterval` is what time words name; it orders statements and is never a validity. Every function is total on
valid domain values; only those that read a request refuse.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import UTC, datetime, tzinfo
from enum import StrEnum

from corrigenda_core.domain.errors import Reason, Refusal
from corrigenda_core.domain.predicates import Predicate, RelationshipKind, StartGranularity, SupersessionBasis
from corrigenda_core.domain.relationships import LIVING_STATUSES, Status
from corrigenda_core.domain.time import (
    EARLIEST,
    LATEST,
    ClosedToNothing,
    Instant,
    Interval,
    KnownBound,
    Side,
    TimeBasis,
    TimeBound,
    Validity,
    WholeInterval,
)
from corrigenda_core.policy.calendar_days import MICROSECOND, decide_calendar_day
from corrigenda_core.policy.instants import decide_instant

# --- one validity and an instant -------------------------------------------------------------------------------------


def is_holding_at(validity: Validity, at: Instant) -> bool:
    """Whether ``at`` lies in ``validity``: the start counts, the end does not, and nothing holds at no instant."""
    if isinstance(validity, ClosedToNothing):
        return False
    return (validity.start is None or validity.start <= at) and (validity.end is None or at < validity.end)


def is_in_force(status: Status, validity: Validity, at: Instant) -> bool:
    """Whether a row of this status and validity is in force at ``at`` (glossary)."""
    return status in LIVING_STATUSES and is_holding_at(validity, at)


def is_living(status: Status, validity: Validity) -> bool:
    """Whether a row of this status has a non-empty validity and may be in force at some instant (glossary)."""
    return status in LIVING_STATUSES and isinstance(validity, Interval)


def apply_closing(validity: Validity, at: Instant) -> Validity:
    """``validity`` ended at ``at``; it never grows, and closing it at or before its own start leaves nothing."""
    return decide_intersection(validity, Interval(end=at))


def apply_start(validity: Validity, at: Instant) -> Validity:
    """``validity`` begun at ``at``; it never grows, and beginning it at or after its own end leaves nothing."""
    return decide_intersection(validity, Interval(start=at))


# --- two validities --------------------------------------------------------------------------------------------------


def is_overlapping(first: Validity, second: Validity) -> bool:
    """Whether some instant lies in both; touching intervals do not overlap."""
    return isinstance(decide_intersection(first, second), Interval)


def decide_intersection(first: Validity, second: Validity) -> Validity:
    """The instants that lie in both, or nothing at the later of the two starts."""
    start = _later_start(_start_of(first), _start_of(second))
    if isinstance(first, ClosedToNothing) or isinstance(second, ClosedToNothing):
        return ClosedToNothing(at=start)
    end = _earlier_end(first.end, second.end)
    if start is not None and end is not None and end <= start:
        return ClosedToNothing(at=start)
    return Interval(start=start, end=end)


def decide_common_instant(first: Validity, second: Validity, not_before: Instant) -> Instant | None:
    """The earliest instant, ``not_before`` or later, that lies in both; ``None`` if there is none."""
    shared = apply_start(decide_intersection(first, second), not_before)
    return shared.start if isinstance(shared, Interval) else None


class AllenRelation(StrEnum):
    """The thirteen ways in which one interval can lie to another."""

    BEFORE = "before"
    MEETS = "meets"
    OVERLAPS = "overlaps"
    FINISHED_BY = "finished_by"
    CONTAINS = "contains"
    STARTS = "starts"
    EQUALS = "equals"
    STARTED_BY = "started_by"
    DURING = "during"
    FINISHES = "finishes"
    OVERLAPPED_BY = "overlapped_by"
    MET_BY = "met_by"
    AFTER = "after"


# Keyed by how the first start compares to the second, then the first end to the second, for intervals that overlap.
_OVERLAPPING_RELATIONS = {
    (-1, -1): AllenRelation.OVERLAPS,
    (-1, 0): AllenRelation.FINISHED_BY,
    (-1, 1): AllenRelation.CONTAINS,
    (0, -1): AllenRelation.STARTS,
    (0, 0): AllenRelation.EQUALS,
    (0, 1): AllenRelation.STARTED_BY,
    (1, -1): AllenRelation.DURING,
    (1, 0): AllenRelation.FINISHES,
    (1, 1): AllenRelation.OVERLAPPED_BY,
}


def decide_allen_relation(first: Interval, second: Interval) -> AllenRelation:
    """How ``first`` lies to ``second`` (Allen 1983); ends that are not known are equal to each other."""
    if first.end is not None and second.start is not None and first.end <= second.start:
        return AllenRelation.MEETS if first.end == second.start else AllenRelation.BEFORE
    if second.end is not None and first.start is not None and second.end <= first.start:
        return AllenRelation.MET_BY if second.end == first.start else AllenRelation.AFTER
    starts = _comparison(_start_key(first.start), _start_key(second.start))
    ends = _comparison(_end_key(first.end), _end_key(second.end))
    return _OVERLAPPING_RELATIONS[starts, ends]


# --- whole intervals -------------------------------------------------------------------------------------------------


class Order(StrEnum):
    """How one time expression lies to another; overlapping ones have no known order."""

    BEFORE = "before"
    AFTER = "after"
    UNKNOWN = "unknown"


def decide_order(first: WholeInterval, second: WholeInterval) -> Order:
    """Whether all of ``first`` lies before all of ``second``, or after; equal ones have no order either."""
    if first.end <= second.start:
        return Order.BEFORE
    if second.end <= first.start:
        return Order.AFTER
    return Order.UNKNOWN


def decide_whole_instant(at: Instant) -> WholeInterval:
    """The shortest whole interval that begins at ``at``: one microsecond.

    The very last representable instant has no successor; its whole interval is the last microsecond before it.
    """
    start = min(at, LATEST - MICROSECOND)
    return WholeInterval(start=start, end=start + MICROSECOND)


def decide_common_whole(wholes: Iterable[WholeInterval]) -> WholeInterval | None:
    """What all of ``wholes`` have in common; ``None`` if there are none, or nothing is common to all."""
    starts, ends = [], []
    for whole in wholes:
        starts.append(whole.start)
        ends.append(whole.end)
    if not starts or min(ends) <= max(starts):
        return None
    return WholeInterval(start=max(starts), end=min(ends))


# --- the times that count for one statement --------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class StatementTimes:
    """All times that come with one statement.

    ``bounds`` are those that the verifier found in the cited text; ``valid_from`` and ``valid_to`` what the owner
    stated beside it; ``occurred_ats`` when the cited fragments were observed, as far as they say so.
    """

    bounds: tuple[TimeBound, ...] = ()
    valid_from: Instant | None = None
    valid_to: Instant | None = None
    occurred_ats: tuple[Instant, ...] = ()


# Each basis counts its own times and those that are trusted more.
_COUNTS_STATED = frozenset({SupersessionBasis.STATED_TIME, SupersessionBasis.OBSERVED_TIME})
_TRUST = list(TimeBasis)


def known_start(times: StatementTimes, predicate: Predicate, zone: tzinfo) -> KnownBound | None:
    """The start that counts under the predicate's basis (R4.9), the most trusted that there is.

    A verified start bound; else, from `stated_time` on, the owner's ``valid_from``; else, with `observed_time`, the
    earliest observation of the cited evidence. With granularity `day`, and for an event always, it is the whole
    calendar day, or run of days, of the team's ``zone``.
    """
    start = _verified(times.bounds, Side.START)
    if start is None and predicate.basis in _COUNTS_STATED and times.valid_from is not None:
        start = _at_instant(times.valid_from, TimeBasis.STATED_TIME)
    if start is None and predicate.basis is SupersessionBasis.OBSERVED_TIME and times.occurred_ats:
        start = _at_instant(min(times.occurred_ats), TimeBasis.OBSERVED_TIME)
    if start is not None and is_starting_on_days(predicate):
        return _on_calendar_days(start, zone)
    return start


def is_starting_on_days(predicate: Predicate) -> bool:
    """Whether starts are calendar days: where the predicate says so, and for events, which meet on their day."""
    return predicate.kind is RelationshipKind.EVENT or predicate.granularity is StartGranularity.DAY


def known_end(times: StatementTimes, predicate: Predicate) -> KnownBound | None:
    """The end that counts under the predicate's basis; an observation is no end, and ends are never rounded.

    Nothing lies before the very first instant: what words end there held at that instant, and no longer.
    """
    end = _verified(times.bounds, Side.END)
    if end is None and predicate.basis in _COUNTS_STATED and times.valid_to is not None:
        end = _at_instant(times.valid_to, TimeBasis.STATED_TIME)
    return replace(end, at=EARLIEST + MICROSECOND) if end is not None and end.at == EARLIEST else end


def decide_known_bounds(
    times: StatementTimes, predicate: Predicate, zone: tzinfo
) -> tuple[KnownBound | None, KnownBound | None]:
    """`known_start` and `known_end`, made to agree: of two that leave no time between, the less trusted is dropped.

    If both are trusted alike, the statement contradicts itself and neither is known.
    """
    start, end = known_start(times, predicate, zone), known_end(times, predicate)
    if start is None or end is None or start.at < end.at:
        return start, end
    start_rank, end_rank = _TRUST.index(start.basis), _TRUST.index(end.basis)
    return (start if start_rank < end_rank else None), (end if end_rank < start_rank else None)


def decide_witness_time(occurred_ats: Iterable[Instant], recorded_at: Instant, end: KnownBound | None) -> Instant:
    """When a statement without a known start was certainly true.

    The latest observation of its effective supports, else the recorded time; in any case before its own ``end``, so at
    the last microsecond before it if the observation came later.
    """
    witnessed_at = max(occurred_ats, default=recorded_at)
    if end is None or witnessed_at < end.at:
        return witnessed_at
    return max(end.at, EARLIEST + MICROSECOND) - MICROSECOND


# --- requests --------------------------------------------------------------------------------------------------------


def decide_requested_instant(value: datetime | str, *, field: str) -> Instant:
    """An instant of a request in UTC, whatever offset it was given with.

    Raises:
        Refusal: INVALID_FIELD naming ``field``, for a naive time, for one outside the years 1..9999 in UTC, and for
            text that is no RFC 3339 instant.
    """
    if isinstance(value, str):
        return decide_instant(value, field=field)
    if value.utcoffset() is None:
        raise Refusal(Reason.INVALID_FIELD, f"{field} needs an offset from UTC", field=field)
    try:
        return value.astimezone(UTC)
    except OverflowError:
        raise Refusal(Reason.INVALID_FIELD, f"{field} must lie in the years 1 to 9999 (UTC)", field=field) from None


def decide_requested_interval(
    valid_from: datetime | str | None, valid_to: datetime | str | None, *, field: str
) -> Interval:
    """The interval that a request states (R4.5): half-open, in UTC, each end known or not.

    Raises:
        Refusal: INVALID_FIELD naming ``<field>.valid_from`` or ``<field>.valid_to``, for an end that is no instant
            and for an empty or inverted interval; one that ends at the very first instant holds none either.
    """
    start = None if valid_from is None else decide_requested_instant(valid_from, field=f"{field}.valid_from")
    end = None if valid_to is None else decide_requested_instant(valid_to, field=f"{field}.valid_to")
    begin = EARLIEST if start is None else start
    if end is not None and end <= begin:
        problem = "empty" if end == begin else "inverted"
        raise Refusal(
            Reason.INVALID_FIELD,
            f"{field}.valid_to must be later than valid_from: the interval is {problem}",
            field=f"{field}.valid_to",
        )
    return Interval(start=start, end=end)


# --- ends that may be unknown ----------------------------------------------------------------------------------------


def _start_of(validity: Validity) -> Instant | None:
    return validity.at if isinstance(validity, ClosedToNothing) else validity.start


def _later_start(first: Instant | None, second: Instant | None) -> Instant | None:
    return max(first, second, key=_start_key)


def _earlier_end(first: Instant | None, second: Instant | None) -> Instant | None:
    return min(first, second, key=_end_key)


def _start_key(start: Instant | None) -> tuple[int, Instant]:
    """Orders starts, an unknown one before all."""
    return (-1, EARLIEST) if start is None else (0, start)


def _end_key(end: Instant | None) -> tuple[int, Instant]:
    """Orders ends, an unknown one after all."""
    return (1, LATEST) if end is None else (0, end)


def _comparison(first: tuple[int, Instant], second: tuple[int, Instant]) -> int:
    return (first > second) - (first < second)


# --- known bounds ----------------------------------------------------------------------------------------------------


def _verified(bounds: tuple[TimeBound, ...], side: Side) -> KnownBound | None:
    """What the verified bounds of one side agree on; bounds that contradict each other are as none."""
    found = [bound for bound in bounds if bound.side is side]
    whole = decide_common_whole(bound.whole for bound in found)
    # A start takes effect where its words begin; an end there too ("until"), or where they end ("from ... to").
    effects = {side is Side.START or bound.at == bound.whole.start for bound in found}
    if whole is None or len(effects) > 1:
        return None
    return KnownBound(at=whole.start if True in effects else whole.end, whole=whole, basis=TimeBasis.EVIDENCE_TIME)


def _at_instant(at: Instant, basis: TimeBasis) -> KnownBound:
    return KnownBound(at=at, whole=decide_whole_instant(at), basis=basis)


def _on_calendar_days(bound: KnownBound, zone: tzinfo) -> KnownBound:
    first = decide_calendar_day(bound.whole.start, zone)
    last = decide_calendar_day(bound.whole.end - MICROSECOND, zone)
    return KnownBound(at=first.start, whole=WholeInterval(start=first.start, end=last.end), basis=bound.basis)
