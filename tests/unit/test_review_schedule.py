"""When a live case is looked at again: nights in the team's zone, and the deadline."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from corrigenda_core.domain.team import TeamPolicy
from corrigenda_core.domain.time import EARLIEST, LATEST
from corrigenda_core.policy.review_schedule import decide_next_night, decide_next_review_at
from corrigenda_core.testing.effort import examples
from hypothesis import given, settings
from hypothesis import strategies as st


def at(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


NIGHTS = [
    pytest.param("UTC", 120, 0, "2026-06-01T01:59:59", "2026-06-01T02:00:00", id="a second before the start"),
    pytest.param("UTC", 120, 0, "2026-06-01T02:00:00", "2026-06-02T02:00:00", id="the start itself is over"),
    pytest.param("Asia/Taipei", 120, 0, "2026-06-01T20:00:00", "2026-06-02T18:00:00", id="the night of the zone"),
    pytest.param("UTC", 1439, 120, "2026-06-01T00:00:30", "2026-06-01T00:01:00", id="yesterday's start, delayed"),
    pytest.param("UTC", 120, 90, "2026-06-01T02:01:00", "2026-06-01T02:01:30", id="a stable delay"),
    pytest.param("Europe/Berlin", 150, 0, "2026-03-29T00:00:00", "2026-03-29T01:30:00", id="a start that is skipped"),
    pytest.param("Europe/Berlin", 150, 0, "2026-10-25T00:00:00", "2026-10-25T00:30:00", id="a start that comes twice"),
    pytest.param("Europe/Berlin", 150, 0, "2026-10-25T00:45:00", "2026-10-26T01:30:00", id="but counts once"),
    pytest.param(
        "America/St_Johns", 0, 0, "2010-11-07T02:32:00", "2010-11-08T03:30:00", id="the clocks go back over midnight"
    ),
]


@pytest.mark.rule("R7.6")
@pytest.mark.parametrize(("zone", "minute", "jitter", "now", "night"), NIGHTS)
def test_the_next_night(zone: str, minute: int, jitter: int, now: str, night: str) -> None:
    policy = TeamPolicy(time_zone=zone, review_start_minute=minute)
    assert decide_next_night(now=at(now), policy=policy, zone=ZoneInfo(zone), jitter_seconds=jitter) == at(night)


DUE = [
    pytest.param("2026-06-01T12:00:00", "2026-06-01T12:00:00", id="the deadline comes first"),
    pytest.param("2026-06-02T02:00:00", "2026-06-02T02:00:00", id="the deadline is that night"),
    pytest.param("2026-06-02T02:00:01", "2026-06-02T02:00:00", id="the night comes first"),
    pytest.param("2026-06-01T11:00:00", "2026-06-02T02:00:00", id="the deadline is now: only nights are left"),
    pytest.param("2026-05-01T00:00:00", "2026-06-02T02:00:00", id="the deadline is over"),
]


@pytest.mark.rule("R7.6")
@pytest.mark.parametrize(("due", "expected"), DUE)
def test_the_next_look_is_the_next_night_or_the_deadline(due: str, expected: str) -> None:
    found = decide_next_review_at(
        now=at("2026-06-01T11:00:00"), review_due_at=at(due), policy=TeamPolicy(), zone=ZoneInfo("UTC")
    )
    assert found == at(expected)


@settings(max_examples=examples(fast=100, full=5_000), deadline=None)
@given(
    now=st.integers(0, 150 * 365 * 86_400).map(lambda seconds: at("1950-01-01") + timedelta(seconds=seconds)),
    zone=st.sampled_from(["UTC", "America/St_Johns", "Pacific/Apia", "Europe/Berlin", "Asia/Kathmandu"]),
    minute=st.integers(0, 1439),
    jitter=st.integers(0, 3600),
)
def test_the_next_night_is_later_and_within_two_days_and_a_clock_change(
    now: datetime, zone: str, minute: int, jitter: int
) -> None:
    policy = TeamPolicy(time_zone=zone, review_start_minute=minute)
    night = decide_next_night(now=now, policy=policy, zone=ZoneInfo(zone), jitter_seconds=jitter)
    assert now < night <= now + timedelta(days=2, hours=2)


@pytest.mark.parametrize("zone", ["UTC", "Pacific/Kiritimati", "Pacific/Pago_Pago"])
@pytest.mark.parametrize("now", [EARLIEST, LATEST])
def test_the_ends_of_the_calendar_have_a_night_too(now: datetime, zone: str) -> None:
    night = decide_next_night(now=now, policy=TeamPolicy(), zone=ZoneInfo(zone))
    assert EARLIEST < night < LATEST


def test_without_a_delay_the_night_begins_on_the_minute() -> None:
    night = decide_next_night(now=at("2026-06-01T00:00:00"), policy=TeamPolicy(), zone=UTC)
    assert night == at("2026-06-01T02:00:00")
