"""When the reviewer's nights are: of which local date a moment is, and when the next look at a case comes."""

from __future__ import annotations

import hashlib
from datetime import date, timedelta

from corrigenda_core.domain.ids import TeamId
from corrigenda_core.domain.time import Instant
from corrigenda_core.persistence.review_store import TeamNow
from corrigenda_core.policy.review_schedule import decide_next_night, decide_next_review_at
from corrigenda_core.time_zones import team_zone

JITTER_SECONDS_MAX = 900


def jitter_seconds(team_id: TeamId) -> int:
    """A team's stable delay of its nightly start, so that not all teams of a zone begin in one moment."""
    digest = hashlib.sha256(team_id.encode()).digest()
    return int.from_bytes(digest[:4], "big") % JITTER_SECONDS_MAX


def night_of(team: TeamNow) -> date:
    """The local date of the last nightly start: the night that attempts are counted in."""
    zone = team_zone(team.policy.time_zone)
    delay = timedelta(seconds=jitter_seconds(team.team_id))
    # A night belongs to the date on which it starts; before tonight's start it is still yesterday's.
    started = team.now - delay - timedelta(minutes=team.policy.review_start_minute)
    return started.astimezone(zone).date()


def next_night(team: TeamNow, at: Instant) -> Instant:
    """The first nightly start after ``at``."""
    return decide_next_night(
        now=at,
        policy=team.policy,
        zone=team_zone(team.policy.time_zone),
        jitter_seconds=jitter_seconds(team.team_id),
    )


def next_look(team: TeamNow, at: Instant, review_due_at: Instant) -> Instant:
    """The next look at a case that stays live after a look at ``at``."""
    return decide_next_review_at(
        now=at,
        review_due_at=review_due_at,
        policy=team.policy,
        zone=team_zone(team.policy.time_zone),
        jitter_seconds=jitter_seconds(team.team_id),
    )
