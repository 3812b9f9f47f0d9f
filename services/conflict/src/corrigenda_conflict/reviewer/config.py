"""The settings of the reviewer process."""

from __future__ import annotations

from corrigenda_core.config import ProcessSettings
from pydantic import Field


class ReviewerSettings(ProcessSettings):
    """A process that claims cases and looks at them; it needs its database and nothing else."""

    review_lease_seconds: float = Field(
        default=60.0, ge=1.0, le=3600.0, description="How long a claimed case or run belongs to this reviewer."
    )
    review_batch_cases: int = Field(
        default=20, ge=1, le=500, description="How many cases of a team are claimed at once."
    )
    review_attempts_per_night: int = Field(
        default=5, ge=1, le=100, description="How often a case is tried in a night before people are alerted."
    )
    review_poll_seconds: float = Field(
        default=0.25, ge=0.01, le=60.0, description="How long to wait when no team is due."
    )
    review_teams_at_once: int = Field(default=4, ge=1, le=64, description="How many teams are reviewed side by side.")
    review_gauge_seconds: float = Field(
        default=30.0, ge=1.0, le=3600.0, description="How often live cases and leases of all teams are counted."
    )
