"""The settings of the ingest service."""

from __future__ import annotations

from corrigenda_core.config import ExtractorSettings, ServerSettings, VerifierSettings


class IngestSettings(ServerSettings, VerifierSettings, ExtractorSettings):
    """A server that reads evidence."""
