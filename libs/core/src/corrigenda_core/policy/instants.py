"""Reads instants that are written as RFC 3339 text."""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, time, timedelta, timezone

from corrigenda_core.domain.errors import Reason, Refusal
from corrigenda_core.domain.time import Instant

# RFC 3339, with two liberties that lose nothing: seconds may be missing, and a space may stand for the T. The year has
# any number of digits, so that "10000" is refused for what it is.
_RFC_3339 = re.compile(
    r"(?P<year>[0-9]{4,9})-(?P<month>[0-9]{2})-(?P<day>[0-9]{2})[Tt ]"
    r"(?P<hour>[0-9]{2}):(?P<minute>[0-9]{2})(?::(?P<second>[0-9]{2})(?:\.(?P<fraction>[0-9]{1,32}))?)?"
    r"(?P<offset>[Zz]|(?P<sign>[+-])(?P<offset_hours>[0-9]{2}):(?P<offset_minutes>[0-9]{2}))?"
)


def decide_instant(text: str, *, field: str) -> Instant:
    """The instant in UTC that ``text`` writes as RFC 3339.

    Raises:
        Refusal: INVALID_FIELD naming ``field``: other text, no offset, a day or time that does not exist (a leap
            second among them), a year outside 1..9999, or more digits than microseconds hold.
    """
    found = _RFC_3339.fullmatch(text)
    if found is None:
        raise _refusal(field, "an instant as in RFC 3339, such as 2026-03-01T09:30:00+01:00")
    if found["offset"] is None:
        raise _refusal(field, "an instant with an offset from UTC")
    microseconds = _microseconds(found["fraction"] or "")
    if microseconds is None:
        raise _refusal(field, "an instant of at most microsecond precision")
    try:
        day = date(int(found["year"]), int(found["month"]), int(found["day"]))
        clock = time(int(found["hour"]), int(found["minute"]), int(found["second"] or 0), microseconds, _offset(found))
        return datetime.combine(day, clock).astimezone(UTC)
    except (ValueError, OverflowError):
        raise _refusal(field, "an instant that exists, in the years 1 to 9999 (UTC)") from None


def decide_written_offset_minutes(text: str) -> int | None:
    """How many minutes to the east of UTC an instant is written; ``None`` for other text, and for the Z of UTC itself.

    That is what an instant has in its normal form, so it says nothing of where it was written.
    """
    found = _RFC_3339.fullmatch(text)
    if found is None or found["sign"] is None:
        return None
    size = int(found["offset_hours"]) * 60 + int(found["offset_minutes"])
    return size if found["sign"] == "+" else -size


def _microseconds(fraction: str) -> int | None:
    """The digits of a fraction as microseconds; ``None`` if they say more than microseconds can."""
    return None if fraction[6:].strip("0") else int(fraction[:6].ljust(6, "0"))


def _offset(found: re.Match[str]) -> timezone:
    if found["sign"] is None:
        return UTC
    return decide_offset(found["sign"], int(found["offset_hours"]), int(found["offset_minutes"]))


def decide_offset(sign: str, hours: int, minutes: int) -> timezone:
    """The offset from UTC that a sign and two numbers write.

    Raises:
        ValueError: there is no such offset (60 minutes, 24 hours).
    """
    if minutes > 59:
        raise ValueError(f"no offset has {minutes} minutes")
    size = timedelta(hours=hours, minutes=minutes)
    return timezone(size if sign == "+" else -size)


def _refusal(field: str, wanted: str) -> Refusal:
    return Refusal(Reason.INVALID_FIELD, f"{field} must be {wanted}", field=field)
