"""Time values that cannot exist are refused by their constructors."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta, timezone
from zoneinfo import ZoneInfo

import pytest
from corrigenda_core.domain.time import ClosedToNothing, Interval, Moment, TextSpan, WholeInterval

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
LATER = NOON + timedelta(hours=1)
NAIVE = datetime.fromisoformat("2026-03-01T12:00:00")
ELSEWHERE = datetime(2026, 3, 1, 12, tzinfo=timezone(timedelta(hours=1)))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Interval(start=NAIVE), "start must be an aware instant"),
        (lambda: Interval(end=ELSEWHERE), "end must be an aware instant in UTC"),
        (lambda: Interval(start=NOON, end=NOON), "start < end"),
        (lambda: Interval(start=LATER, end=NOON), "start < end"),
        (lambda: ClosedToNothing(at=NAIVE), "at must be an aware instant"),
        (lambda: WholeInterval(start=NOON, end=NOON), "start < end"),
        (lambda: WholeInterval(start=NAIVE, end=LATER), "start must be"),
        (lambda: TextSpan(start=-1, end=2), "0 <= start"),
        (lambda: TextSpan(start=2, end=2), "start < end"),
        (lambda: Moment(revision=-1, at=NOON), "not negative"),
        (lambda: Moment(revision=0, at=NAIVE), "at must be"),
    ],
)
@pytest.mark.rule("R4.5")
def test_an_invalid_time_value_cannot_exist(make: Callable[[], object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make()


def test_an_instant_is_in_utc_whatever_its_zone_is_called() -> None:
    greenwich = NOON.replace(tzinfo=ZoneInfo("Etc/UTC"))
    assert Interval(start=greenwich) == Interval(start=NOON)


def test_the_least_of_each_exists() -> None:
    assert Interval() == Interval(start=None, end=None)
    assert TextSpan(start=0, end=1).end == 1
    assert Moment(revision=0, at=NOON).revision == 0
