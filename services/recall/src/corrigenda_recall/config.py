"""The settings of the recall service."""

from __future__ import annotations

from corrigenda_core.config import PreviousEmbedderSettings, ServerSettings
from pydantic import Field


class RecallSettings(ServerSettings, PreviousEmbedderSettings):
    """A server that embeds queries."""

    query_embedding_timeout_seconds: float = Field(
        default=2.0,
        gt=0.0,
        le=60.0,
        description="How long a query may take to be embedded; after that words and entities alone answer.",
    )
