"""A team's policy: what an administrator sets and every planner reads."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class TeamPolicy:
    """Settings of one team.

    ``review_period_days`` is 1..30; ``review_start_minute`` is the local minute of the day (0..1439) at which the
    nightly run starts; ``time_zone`` is an IANA name.
    """

    review_period_days: int = 7
    review_start_minute: int = 120
    time_zone: str = "UTC"
    trusts_declared_groups: bool = False

    def __post_init__(self) -> None:
        if not 1 <= self.review_period_days <= 30:
            raise ValueError(f"review_period_days must be 1..30, not {self.review_period_days}")
        if not 0 <= self.review_start_minute < 24 * 60:
            raise ValueError(f"review_start_minute must be 0..1439, not {self.review_start_minute}")
