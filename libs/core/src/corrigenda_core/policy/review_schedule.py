"""Review schedule: when a case that stays live is looked at again."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, tzinfo

from corrigenda_core.domain.team import TeamPolicy
from corrigenda_core.domain.time import EARLIEST, LATEST, Instant

# Local dates near the ends of the calendar do not exist; no team's clock comes near them.
_MARGIN = timedelta(days=4)


def decide_next_review_at(
    *, now: Instant, review_due_at: Instant, policy: TeamPolicy, zone: tzinfo, jitter_seconds: int = 0
) -> Instant:
    """When to look again after a look at ``now`` (R7.6): the next night, or the deadline if that comes first.

    Args:
        now: the moment of the look.
        review_due_at: the deadline; once it has passed, only nights are left.
        policy: the team's settings.
        zone: the zone that ``policy.time_zone`` names.
        jitter_seconds: the team's stable delay of its nightly start.
    """
    night = decide_next_night(now=now, policy=policy, zone=zone, jitter_seconds=jitter_seconds)
    return min(night, review_due_at) if review_due_at > now else night


def decide_next_night(*, now: Instant, policy: TeamPolicy, zone: tzinfo, jitter_seconds: int = 0) -> Instant:
    """The first nightly start later than ``now``.

    A start that the clocks skip comes as much later as they are put forward; of one that they repeat, the first counts.
    """
    now = min(max(now, EARLIEST + _MARGIN), LATEST - _MARGIN)
    local_midnight = datetime.combine(now.astimezone(zone).date(), datetime.min.time())
    delay = timedelta(seconds=jitter_seconds)
    # Yesterday's start may still come, by its delay; tomorrow's may be over, where the clocks go back over midnight.
    starts = (
        (local_midnight + timedelta(days=days, minutes=policy.review_start_minute)).replace(tzinfo=zone).astimezone(UTC)
        for days in range(-1, 3)
    )
    return next(start + delay for start in starts if start + delay > now)
