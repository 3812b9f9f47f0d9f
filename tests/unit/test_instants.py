"""Instants written as RFC 3339 text."""

from datetime import UTC, datetime

import pytest
from corrigenda_core.domain.errors import Reason, Refusal
from corrigenda_core.policy.instants import decide_instant, decide_written_offset_minutes


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2026-03-01T09:30:00Z", datetime(2026, 3, 1, 9, 30, tzinfo=UTC)),
        ("2026-03-01t09:30:00z", datetime(2026, 3, 1, 9, 30, tzinfo=UTC)),
        ("2026-03-01 09:30:00+01:00", datetime(2026, 3, 1, 8, 30, tzinfo=UTC)),
        ("2026-03-01T09:30:00+00:59", datetime(2026, 3, 1, 8, 31, tzinfo=UTC)),
        ("2026-03-01T09:30-00:30", datetime(2026, 3, 1, 10, 0, tzinfo=UTC)),
        ("2026-03-01T09:30:00.25Z", datetime(2026, 3, 1, 9, 30, 0, 250_000, tzinfo=UTC)),
        ("2026-03-01T09:30:00.123456000Z", datetime(2026, 3, 1, 9, 30, 0, 123_456, tzinfo=UTC)),
        ("2024-02-29T00:00:00Z", datetime(2024, 2, 29, tzinfo=UTC)),
        ("0001-01-01T00:00:00Z", datetime(1, 1, 1, tzinfo=UTC)),
        ("9999-12-31T23:59:59.999999Z", datetime(9999, 12, 31, 23, 59, 59, 999_999, tzinfo=UTC)),
    ],
)
def test_read(text: str, expected: datetime) -> None:
    assert decide_instant(text, field="at") == expected


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "RFC 3339"),
        ("1 March 2026", "RFC 3339"),
        ("2026-03-01", "RFC 3339"),
        ("2026-03-01T09:30:00Z ", "RFC 3339"),
        ("2026-03-01T9:30:00Z", "RFC 3339"),
        ("2026-03-01T09:30:00+0100", "RFC 3339"),
        ("2026-W09-7T09:30:00Z", "RFC 3339"),
        ("٢٠٢٦-03-01T09:30:00Z", "RFC 3339"),
        ("2026-03-01T09:30:00", "offset"),
        ("2026-03-01T09:30:00.1234567Z", "microsecond"),
        ("2026-02-30T00:00:00Z", "exists"),
        ("2025-02-29T00:00:00Z", "exists"),
        ("2026-13-01T00:00:00Z", "exists"),
        ("2026-03-01T24:00:00Z", "exists"),
        ("2026-12-31T23:59:60Z", "exists"),
        ("2026-03-01T09:30:00+00:60", "exists"),
        ("2026-03-01T09:30:00+24:00", "exists"),
        ("0000-01-01T00:00:00Z", "years 1 to 9999"),
        ("10000-01-01T00:00:00Z", "years 1 to 9999"),
        ("0001-01-01T00:00:00+00:01", "years 1 to 9999"),
        ("9999-12-31T23:59:00-00:01", "years 1 to 9999"),
    ],
)
def test_refused(text: str, message: str) -> None:
    with pytest.raises(Refusal, match=message) as refused:
        decide_instant(text, field="evidence[0].occurred_at")
    assert refused.value.reason is Reason.INVALID_FIELD
    assert refused.value.field == "evidence[0].occurred_at"


@pytest.mark.parametrize(
    ("text", "minutes"),
    [
        ("2026-03-01T09:30:00+01:00", 60),
        ("2026-03-01T09:30:00-09:30", -570),
        ("2026-03-01T09:30:00+00:00", 0),
        ("2026-03-01T09:30:00Z", None),
        ("2026-03-01T09:30:00", None),
        ("1 March 2026", None),
    ],
)
def test_the_written_offset(text: str, minutes: int | None) -> None:
    assert decide_written_offset_minutes(text) == minutes
