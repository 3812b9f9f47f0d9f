"""Wall clocks and calendar days where the clocks jump, go back, or leave out a day."""

from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from corrigenda_core.domain.time import EARLIEST, LATEST, WholeInterval
from corrigenda_core.policy.calendar_days import (
    decide_calendar_day,
    decide_calendar_days,
    decide_wall_clock_instant,
)


def utc(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


def wall(text: str) -> datetime:
    return datetime.fromisoformat(text)


@pytest.mark.parametrize(
    ("zone", "shown", "instant"),
    [
        pytest.param("UTC", "2026-03-01 12:00", "2026-03-01 12:00", id="UTC"),
        pytest.param("Asia/Kolkata", "2026-03-01 12:00", "2026-03-01 06:30", id="half an hour"),
        pytest.param("Europe/Berlin", "2026-03-29 01:59:59.999999", "2026-03-29 00:59:59.999999", id="before a jump"),
        pytest.param("Europe/Berlin", "2026-03-29 02:00", "2026-03-29 01:00", id="first skipped time"),
        pytest.param("Europe/Berlin", "2026-03-29 02:30", "2026-03-29 01:00", id="skipped: the moment of the jump"),
        pytest.param("Europe/Berlin", "2026-03-29 03:00", "2026-03-29 01:00", id="after the jump"),
        pytest.param("Europe/Berlin", "2026-10-25 02:30", "2026-10-25 00:30", id="shown twice: the first"),
        pytest.param("America/Sao_Paulo", "2018-11-04 00:00", "2018-11-04 03:00", id="midnight skipped"),
        pytest.param("America/Toronto", "1919-03-31 00:00", "1919-03-31 04:30", id="jump from 23:30 to 00:30"),
        pytest.param("Pacific/Apia", "2011-12-30 12:00", "2011-12-30 10:00", id="inside a skipped day"),
        pytest.param("Asia/Tokyo", "0001-01-01 00:00", "0001-01-01 00:00", id="first year: UTC"),
        pytest.param("America/New_York", "9999-12-31 23:00", "9999-12-31 23:00", id="last year: UTC"),
    ],
)
def test_wall_clock(zone: str, shown: str, instant: str) -> None:
    assert decide_wall_clock_instant(wall(shown), ZoneInfo(zone)) == utc(instant)


@pytest.mark.parametrize(
    ("zone", "first", "last", "hours"),
    [
        ("UTC", "2026-03-01", "2026-03-01", 24),
        ("Europe/Berlin", "2026-03-29", "2026-03-29", 23),
        ("Europe/Berlin", "2026-10-25", "2026-10-25", 25),
        ("Europe/Berlin", "2026-03-01", "2026-03-31", 31 * 24 - 1),
        ("Pacific/Apia", "2011-12-29", "2011-12-31", 48),
    ],
)
def test_length_of_calendar_days(zone: str, first: str, last: str, hours: int) -> None:
    found = decide_calendar_days(date.fromisoformat(first), date.fromisoformat(last), ZoneInfo(zone))
    assert found is not None
    assert found.end - found.start == timedelta(hours=hours)


def test_a_day_that_never_was_and_an_inverted_run_are_nothing() -> None:
    assert decide_calendar_days(date(2011, 12, 30), date(2011, 12, 30), ZoneInfo("Pacific/Apia")) is None
    assert decide_calendar_days(date(2026, 3, 2), date(2026, 3, 1), UTC) is None


@pytest.mark.parametrize(
    ("zone", "at", "start", "end"),
    [
        pytest.param("Asia/Tokyo", "2026-03-01 14:59:59", "2026-02-28 15:00", "2026-03-01 15:00", id="local day"),
        # In Labrador the clocks went back over midnight: from 00:01 on 1 November to 23:01 on 31 October.
        pytest.param("America/Goose_Bay", "2009-11-01 03:30", "2009-11-01 03:00", "2009-11-02 04:00", id="again"),
        pytest.param("Etc/GMT-9", "9998-12-31 23:00", "9998-12-30 15:00", "9999-01-01 00:00", id="last year"),
        pytest.param("Etc/GMT-9", "0001-12-31 15:00", "0001-12-31 15:00", "0002-01-01 15:00", id="first year, edge"),
        pytest.param("Etc/GMT-9", "0001-12-31 23:00", "0001-12-31 15:00", "0002-01-01 15:00", id="first year"),
    ],
)
def test_calendar_day_of_an_instant(zone: str, at: str, start: str, end: str) -> None:
    assert decide_calendar_day(utc(at), ZoneInfo(zone)) == WholeInterval(start=utc(start), end=utc(end))


def test_the_ends_of_representable_time_have_days() -> None:
    zone = ZoneInfo("Pacific/Kiritimati")
    assert decide_calendar_day(EARLIEST, zone).start == EARLIEST
    assert decide_calendar_day(LATEST, zone).end == LATEST
