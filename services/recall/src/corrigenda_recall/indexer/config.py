"""The settings of the indexer process."""

from __future__ import annotations

from corrigenda_core.config import EmbedderSettings, ProcessSettings
from pydantic import Field


class IndexerSettings(ProcessSettings, EmbedderSettings):
    """A process that makes search documents; it needs its database and its embedder."""

    embedder_idle_seconds: float = Field(
        default=120.0,
        ge=0.0,
        le=86_400.0,
        description="After how long without a text the local model is dropped from memory, until the next. 0: never.",
    )
    index_poll_milliseconds: int = Field(
        default=200, ge=10, le=60_000, description="How long the indexer waits when no team is behind."
    )
    index_batch_fragments: int = Field(
        default=64, ge=1, le=1000, description="How many waiting requests of a team are answered in one transaction."
    )
    index_space_seconds: float = Field(
        default=60.0,
        ge=0.01,
        le=86_400.0,
        description="How often the indexer looks for documents that another model embedded, to embed them anew.",
    )
    index_retry_seconds: float = Field(
        default=1.0,
        ge=0.01,
        le=60.0,
        description="How long a text that could not be embedded waits at first; doubled each time, at most 30 times as "
        "long.",
    )
