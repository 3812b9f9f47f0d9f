"""The settings of the ingest service."""

from __future__ import annotations

from corrigenda_core.config import ServerSettings, VerifierSettings


class IngestSettings(ServerSettings, VerifierSettings):
    """A server that reads evidence."""
