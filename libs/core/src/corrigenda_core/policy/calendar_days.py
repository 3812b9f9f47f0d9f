"""Wall clocks and calendar days of a time zone, as instants in UTC.

A zone is an argument (``zoneinfo.ZoneInfo`` as a rule): which one a team has, and from which data it was read, is the
shell's business. In the first and the last representable year, where a zone could lead out of the representable time,
wall clocks and days are those of UTC.
"""

from __future__ import annotations

from datetime import MAXYEAR, MINYEAR, UTC, date, datetime, time, timedelta, tzinfo

from corrigenda_core.domain.time import LATEST, Instant, WholeInterval

MICROSECOND = timedelta(microseconds=1)
_ONE_DAY = timedelta(days=1)


def decide_wall_clock_instant(wall: datetime, zone: tzinfo) -> Instant:
    """The first instant at which the clocks of ``zone`` show the naive time ``wall`` or a later one.

    A time that the clocks show twice is its first occurrence; one that they skip is the moment of the skip.
    """
    if wall.year in (MINYEAR, MAXYEAR):
        return wall.replace(tzinfo=UTC)
    before, after = sorted(wall.replace(tzinfo=zone, fold=fold).astimezone(UTC) for fold in (0, 1))
    if _wall_clock(before, zone) >= wall:
        return before
    # The clocks jump over `wall` somewhere between the two readings. Halving a day takes at most 37 steps.
    while after - before > MICROSECOND:
        middle = before + (after - before) // 2
        before, after = (before, middle) if _wall_clock(middle, zone) >= wall else (middle, after)
    return after


def decide_calendar_days(first: date, last: date, zone: tzinfo) -> WholeInterval | None:
    """The interval from the start of ``first`` to the end of ``last`` in ``zone``.

    Returns ``None`` if nothing of it ever was: the zone skipped that day, or ``last`` is before ``first``.
    """
    start, end = _start_of(first, zone), _end_of(last, zone)
    return WholeInterval(start=start, end=end) if start < end else None


def decide_calendar_day(at: Instant, zone: tzinfo) -> WholeInterval:
    """The calendar day of ``zone`` that ``at`` falls on.

    Days follow each other without gap or overlap, also where the clocks go back over midnight: the repeated hour
    belongs to the day that has begun. The very last representable instant counts to the last day.
    """
    day = at.date() if at.year in (MINYEAR, MAXYEAR) else at.astimezone(zone).date()
    if day != date.max and at >= _end_of(day, zone):
        day += _ONE_DAY
    elif at < _start_of(day, zone):
        day -= _ONE_DAY
    return WholeInterval(start=_start_of(day, zone), end=_end_of(day, zone))


def _wall_clock(at: Instant, zone: tzinfo) -> datetime:
    return at.astimezone(zone).replace(tzinfo=None)


def _start_of(day: date, zone: tzinfo) -> Instant:
    return decide_wall_clock_instant(datetime.combine(day, time.min), zone)


def _end_of(day: date, zone: tzinfo) -> Instant:
    return LATEST if day == date.max else _start_of(day + _ONE_DAY, zone)
