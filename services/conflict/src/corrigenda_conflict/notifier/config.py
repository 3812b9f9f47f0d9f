"""The settings of the notifier process."""

from __future__ import annotations

from typing import Self

from corrigenda_core.config import ProcessSettings
from pydantic import Field, FilePath, model_validator

# Beside the time that one attempt may take, what a lease leaves for the database.
LEASE_MARGIN_SECONDS = 5.0


class NotifierSettings(ProcessSettings):
    """A process that tells webhook endpoints; it needs its database, and the network to them."""

    webhooks_file: FilePath = Field(
        description="The file that names the webhook endpoints (JSON). Default: none, and no notifier runs."
    )
    webhook_timeout_seconds: float = Field(
        default=10.0, gt=0.0, le=60.0, description="How long an endpoint may take to answer one message."
    )
    webhook_attempts: int = Field(
        default=20, ge=1, le=100, description="How often a message is tried before its endpoint is parked."
    )
    webhook_rest_seconds: float = Field(
        default=5.0, gt=0.0, le=3600.0, description="How long an endpoint rests after a failure; doubled each time."
    )
    webhook_rest_seconds_max: float = Field(default=3600.0, gt=0.0, le=86_400.0, description="The longest such rest.")
    webhook_deliveries_at_once: int = Field(
        default=8, ge=1, le=256, description="How many messages this process has under way at once."
    )
    webhook_poll_seconds: float = Field(
        default=1.0, ge=0.01, le=60.0, description="How long to wait when an endpoint has been told everything."
    )
    webhook_lease_seconds: float = Field(
        default=60.0, ge=1.0, le=3600.0, description="How long an endpoint belongs to the notifier that tells it."
    )

    @model_validator(mode="after")
    def _outlives_an_attempt(self) -> Self:
        if self.webhook_lease_seconds < self.webhook_timeout_seconds + LEASE_MARGIN_SECONDS:
            raise ValueError(
                "CORRIGENDA_WEBHOOK_LEASE_SECONDS must be longer than CORRIGENDA_WEBHOOK_TIMEOUT_SECONDS by "
                f"{LEASE_MARGIN_SECONDS:g}"
            )
        return self
