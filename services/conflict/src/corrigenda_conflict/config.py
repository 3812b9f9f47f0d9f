"""The settings of the conflict service."""

from __future__ import annotations

from corrigenda_core.config import Address, JudgeSettings, ServerSettings
from pydantic import Field


class ConflictSettings(ServerSettings, JudgeSettings):
    """What the service needs beside that of every server: a judge, and ingest, which remembers for a merge."""

    ingest_address: Address = Field(default="127.0.0.1:7101", description="host:port of the ingest service.")
