"""The settings of the gateway."""

from __future__ import annotations

from corrigenda_core.config import Address, ObservedSettings, Secret
from pydantic import Field


class GatewaySettings(ObservedSettings):
    """Where the services are, and how agents reach the gateway."""

    ingest_address: Address = Field(default="127.0.0.1:7101", description="host:port of the ingest service.")
    conflict_address: Address = Field(default="127.0.0.1:7102", description="host:port of the conflict service.")
    recall_address: Address = Field(default="127.0.0.1:7103", description="host:port of the recall service.")
    listen: Address = Field(
        default="127.0.0.1:7104",
        description="host:port of the streamable HTTP transport; port 0 lets the system choose.",
    )
    key: Secret | None = Field(
        default=None,
        description="The API key of the agent; the stdio transport alone uses it, HTTP calls bring theirs.",
    )
    call_timeout_seconds: float = Field(default=30.0, gt=0.0, le=180.0, description="How long one tool call may take.")
    allowed_hosts: list[str] = Field(
        default=["127.0.0.1:*", "localhost:*", "[::1]:*"],
        description="Host headers that are answered, as a JSON list; a browser cannot be led here by another name.",
    )
    allowed_origins: list[str] = Field(
        default=["http://127.0.0.1:*", "http://localhost:*", "http://[::1]:*"],
        description="Origin headers of browsers that are answered, as a JSON list.",
    )
