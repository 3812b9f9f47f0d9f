"""Reads words that name a stretch of time by themselves: a year, a quarter, a month, a day, an instant.

Forms: ISO 8601 days, months and times with or without an offset, and the common English ones ("1 March 2026",
"March 1st, 2026", "the 1st of March 2026", "1-Mar-2026", "March 2026", "Q1 2026", "2026 Q1", "the first quarter of
2026", "2026"), a day optionally with its weekday before and a time after it ("at 9:30 am", "14:30 UTC").

Nothing is guessed. These name nothing: other numeric forms ("03/04/2026", "20260301"), dates without a year or with a
two-digit one, days that do not exist (30 February, a day that the zone skipped) or are not that weekday, times beside
a zone that an abbreviation names ("10:00 PST"), and numbers that only look like a year ("2026.1", "2026%", "1024").
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta, timezone, tzinfo

from corrigenda_core.domain.time import Instant, WholeInterval
from corrigenda_core.policy.calendar_days import decide_calendar_days, decide_wall_clock_instant
from corrigenda_core.policy.instants import decide_offset
from corrigenda_core.policy.validity import decide_whole_instant

# White space between words of one phrase: never a blank line.
GAP = r"(?:[^\S\n]{1,4}|[^\S\n]{0,4}\n[^\S\n]{0,4})"

_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_WEEKDAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
_ORDINALS = ("first", "second", "third", "fourth")

_YEAR = r"(?P<year>[0-9]{4})"
_DAY = r"(?P<day>[0-9]{1,2})(?:st|nd|rd|th)?"
_MONTH = (
    r"(?P<month>jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sep(?:t(?:ember)?)?"
    r"|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)\.?"
)
_WEEKDAY = (
    rf"(?:(?P<weekday>mon(?:day)?|tue(?:s(?:day)?)?|wed(?:nesday)?|thu(?:r(?:s(?:day)?)?)?|fri(?:day)?|sat(?:urday)?"
    rf"|sun(?:day)?)\.?,?{GAP})?"
)

# The first form that matches decides: if what it names does not exist, no other form is tried.
_FORMS = tuple(
    re.compile(form, re.IGNORECASE)
    for form in (
        rf"{_YEAR}-(?P<month_number>[0-9]{{2}})-(?P<day>[0-9]{{2}})",
        rf"{_YEAR}-(?P<month_number>[0-9]{{2}})",
        rf"{_YEAR}(?:{GAP}|-)?q(?P<quarter>[1-4])",
        rf"{_WEEKDAY}(?:the{GAP})?{_DAY}\.?{GAP}(?:of{GAP})?{_MONTH},?{GAP}{_YEAR}",
        rf"{_DAY}-{_MONTH}-{_YEAR}",
        rf"{_WEEKDAY}{_MONTH}{GAP}{_DAY}(?:,{GAP}?|{GAP}){_YEAR}",
        rf"{_MONTH}(?:,?{GAP}(?:of{GAP})?|-){_YEAR}",
        rf"q(?P<quarter>[1-4])(?:,?{GAP}(?:of{GAP})?|[-/])?{_YEAR}",
        rf"(?:the{GAP})?(?P<ordinal>first|second|third|fourth){GAP}quarter{GAP}of{GAP}{_YEAR}",
        rf"(?:(?:the{GAP})?year{GAP})?{_YEAR}",
    )
)

# What may not follow the words directly: they would be part of a longer number, name or date.
_TORN = re.compile(r"[\w%$€£]|[-/:.'’+]\w|,[0-9]|[–—][0-9]")

# A bare number is taken for a year only in this range.
_BARE_YEARS = range(1900, 2100)

_CLOCK_BEGINS = re.compile(
    rf"t[0-9]|,?{GAP}(?:at{GAP})?[0-9]{{1,2}}(?::|{GAP}?[ap]\.?m\b)|,?{GAP}at{GAP}(?:[0-9]|noon|midnight)",
    re.IGNORECASE,
)
_CLOCK = re.compile(
    rf"(?:(?P<iso>t)|,?{GAP}(?:at{GAP})?)"
    r"(?P<hour>[0-9]{1,2})(?::(?P<minute>[0-9]{2})(?::(?P<second>[0-9]{2})(?:[.,](?P<fraction>[0-9]{1,9}))?)?)?"
    rf"(?:{GAP}?(?P<half>[ap])(?:m\b|\.m\.))?"
    rf"(?:{GAP}?(?:(?P<zero>z|utc|gmt)|(?P<utc>utc|gmt)?(?P<sign>[+-])(?P<offset_hours>[0-9]{{1,2}})"
    r"(?::?(?P<offset_minutes>[0-9]{2}))?)(?![\w+-]))?",
    re.IGNORECASE,
)
# Abbreviations name several zones each (CST, IST) or depend on the season, and "Berlin time" needs a gazetteer.
_OTHER_ZONE = re.compile(
    rf"{GAP}?\(?(?:[ECMPA][SD]T|AK[SD]T|HST|CES?T|EES?T|WES?T|BST|IST|MSK|JST|KST|HKT|SGT|A[EC][SD]T|AWST|NZ[SD]T|SAST|[BA]RT)\b"
    rf"|{GAP}[A-Za-z]+{GAP}(?:(?:[Ss]tandard|[Dd]aylight|[Ss]ummer){GAP})?[Tt]ime\b|\["
)


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedTime:
    """What the words name, and the position in code points after them; ``bare_year`` if they are four digits only."""

    whole: WholeInterval
    end: int
    bare_year: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class _Period:
    """A run of calendar days, both ends included."""

    first: date
    last: date
    end: int
    bare_year: bool


def decide_named_time(text: str, position: int, zone: tzinfo) -> NamedTime | None:
    """What the words that begin at ``position`` of ``text`` name, or ``None``; total on any text.

    ``zone`` is that of words without an offset.
    """
    period = _period(text, position)
    if period is None:
        return None
    if period.first == period.last and _CLOCK_BEGINS.match(text, period.end):
        return _instant_on(period.first, text, period.end, zone)
    whole = decide_calendar_days(period.first, period.last, zone)
    if whole is None or _TORN.match(text, period.end):
        return None
    return NamedTime(whole=whole, end=period.end, bare_year=period.bare_year)


def decide_calendar_date(text: str) -> date | None:
    """The calendar day that the whole of ``text`` names, or ``None``."""
    period = _period(text, 0)
    return period.first if period is not None and period.end == len(text) and period.first == period.last else None


def _period(text: str, position: int) -> _Period | None:
    found = next((match for form in _FORMS if (match := form.match(text, position))), None)
    if found is None:
        return None
    words = found.groupdict()
    year, bare_year = int(found["year"]), found[0] == found["year"]
    if bare_year and year not in _BARE_YEARS:
        return None
    try:
        first, last = _days(year, words)
    except ValueError:
        return None
    weekday = words.get("weekday")
    if weekday and _WEEKDAYS.index(weekday[:3].lower()) != first.weekday():
        return None
    return _Period(first=first, last=last, end=found.end(), bare_year=bare_year)


def _days(year: int, words: Mapping[str, str | None]) -> tuple[date, date]:
    """The first and the last day that the words name; a ``ValueError`` if there is no such day."""
    month, quarter = _month(words), _quarter(words)
    if month is not None:
        if day := words.get("day"):
            return date(year, month, int(day)), date(year, month, int(day))
        return date(year, month, 1), _last_day(year, month)
    if quarter is not None:
        return date(year, 3 * quarter - 2, 1), _last_day(year, 3 * quarter)
    return date(year, 1, 1), date(year, 12, 31)


def _month(words: Mapping[str, str | None]) -> int | None:
    if number := words.get("month_number"):
        return int(number)
    name = words.get("month")
    return _MONTHS.index(name[:3].lower()) + 1 if name else None


def _quarter(words: Mapping[str, str | None]) -> int | None:
    if ordinal := words.get("ordinal"):
        return _ORDINALS.index(ordinal.lower()) + 1
    quarter = words.get("quarter")
    return int(quarter) if quarter else None


def _last_day(year: int, month: int) -> date:
    """The last day of a month; a ``ValueError`` for a month or year that does not exist."""
    if month == 12:
        return date(year, 12, 31)
    return date(year, month + 1, 1) - timedelta(days=1)


def _instant_on(day: date, text: str, position: int, zone: tzinfo) -> NamedTime | None:
    """The instant that a time at ``position``, after the words for ``day``, makes of it; ``None`` if it is unclear."""
    found = _CLOCK.match(text, position)
    if found is None or _TORN.match(text, found.end()):
        return None
    hour = _hour(found)
    if hour is None or _is_unclear_zone(found):
        return None
    try:
        # Finer digits than microseconds name an instant inside that microsecond, which is the whole interval.
        microsecond = int((found["fraction"] or "")[:6].ljust(6, "0"))
        clock = time(hour, int(found["minute"] or 0), int(found["second"] or 0), microsecond)
        instant = _instant(datetime.combine(day, clock), _offset(found), zone)
    except (ValueError, OverflowError):
        return None
    return NamedTime(whole=decide_whole_instant(instant), end=found.end())


def _instant(wall: datetime, offset: timezone | None, zone: tzinfo) -> Instant:
    """The instant of a wall-clock time; an ``OverflowError`` if its offset leads out of the representable time."""
    if offset is None:
        return decide_wall_clock_instant(wall, zone)
    return wall.replace(tzinfo=offset).astimezone(UTC)


def _hour(clock: re.Match[str]) -> int | None:
    hour = int(clock["hour"])
    if clock["half"] is None:
        return hour if clock["minute"] is not None else None
    if not 1 <= hour <= 12:
        return None
    return hour % 12 + (12 if clock["half"].lower() == "p" else 0)


def _is_unclear_zone(clock: re.Match[str]) -> bool:
    """Whether the time may be meant in a zone that cannot be told: "10:00 PST", or the time range "10:00-12:00"."""
    if clock["sign"] is None:
        return clock["zero"] is None and _OTHER_ZONE.match(clock.string, clock.end()) is not None
    return clock["sign"] == "-" and not (clock["iso"] or clock["utc"] or clock["second"])


def _offset(clock: re.Match[str]) -> timezone | None:
    """The offset of a time, ``None`` if it has none; a ``ValueError`` if there is no such offset."""
    if clock["zero"] is not None:
        return UTC
    if clock["sign"] is None:
        return None
    return decide_offset(clock["sign"], int(clock["offset_hours"]), int(clock["offset_minutes"] or 0))
