"""The settings of the conflict service."""

from __future__ import annotations

from typing import Self

from corrigenda_core.config import Address, JudgeSettings, ServerSettings
from pydantic import Field, model_validator


class ConflictSettings(ServerSettings, JudgeSettings):
    """What the service needs beside that of every server: a judge, and ingest, which remembers for a merge."""

    ingest_address: Address = Field(default="127.0.0.1:7101", description="host:port of the ingest service.")

    @model_validator(mode="after")
    def _connects_safely(self) -> Self:
        self.client_tls(self.ingest_address)
        return self
