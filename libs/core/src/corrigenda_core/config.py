"""Every setting of a process, read once from the environment (prefix ``CORRIGENDA_``) and checked at start.

A process gets the secrets of its own role and no others: the database URL that it is given names its role and holds
that role's password. A service puts its settings together from the classes here, by inheritance.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

from pydantic import AliasChoices, Field, SecretStr, StringConstraints
from pydantic_settings import BaseSettings, SettingsConfigDict

# A key shorter than this could be guessed.
MIN_SECRET_CODE_POINTS = 32

Secret = Annotated[SecretStr, Field(min_length=MIN_SECRET_CODE_POINTS)]
Address = Annotated[str, StringConstraints(pattern=r"^(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9.-]+):[0-9]{1,5}$")]


class LogLevel(StrEnum):
    """The least important lines that are logged."""

    DEBUG = "debug"
    INFO = "info"
    WARNING = "warning"
    ERROR = "error"


class LogFormat(StrEnum):
    """How log lines look: for machines, or for people at a terminal."""

    JSON = "json"
    CONSOLE = "console"


class EmbedderChoice(StrEnum):
    """The embedders to choose from."""

    MINILM = "minilm"
    HASHING = "hashing"


class VerifierChoice(StrEnum):
    """The verifiers to choose from."""

    LOCAL = "local"


class ExtractorChoice(StrEnum):
    """The extractors to choose from."""

    LOCAL = "local"


class JudgeChoice(StrEnum):
    """The judges to choose from."""

    LOCAL = "local"


class ObservedSettings(BaseSettings):
    """What every process needs: its logs, its traces and metrics, and time to drain."""

    model_config = SettingsConfigDict(
        env_prefix="CORRIGENDA_",
        env_ignore_empty=True,
        extra="ignore",
        frozen=True,
        hide_input_in_errors=True,
        populate_by_name=True,
    )

    drain_seconds: float = Field(
        default=25.0, ge=0.0, le=300.0, description="How long work in flight may finish after SIGTERM."
    )
    log_level: LogLevel = Field(default=LogLevel.INFO, description="The least important lines that are logged.")
    log_format: LogFormat = Field(default=LogFormat.JSON, description="json (one object a line) or console.")
    metrics_listen: Address | None = Field(
        default=None, description="host:port of the Prometheus endpoint. Default: metrics are not served."
    )
    otlp_endpoint: str | None = Field(
        default=None,
        validation_alias=AliasChoices("CORRIGENDA_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT"),
        description="URL of an OpenTelemetry collector (gRPC). Default: nothing is traced.",
    )
    trace_sample_ratio: float = Field(
        default=0.1, ge=0.0, le=1.0, description="Share of calls that are traced, unless the caller decided already."
    )


class ProcessSettings(ObservedSettings):
    """What a process needs beside that to work with the database."""

    database_url: SecretStr = Field(description="PostgreSQL URL of this process's own role, its password included.")
    database_connections: int = Field(
        default=8, ge=1, le=100, description="The most connections to PostgreSQL that this process holds."
    )


class ServerSettings(ProcessSettings):
    """What a process needs beside that to serve calls: an address, and the secrets of keys and tokens."""

    listen: Address = Field(
        default="127.0.0.1:0", description="host:port on which this process serves; port 0 lets the system choose."
    )
    key_pepper: Secret = Field(
        description="Secret with which API keys are hashed, at least 32 characters; changing it ends every key."
    )
    page_token_key: Secret = Field(
        description="Secret that signs page tokens and other short-lived tokens, at least 32 characters."
    )
    caller_cache_seconds: float = Field(
        default=2.0,
        ge=0.0,
        le=60.0,
        description="How long an authenticated key is trusted without asking the database: a revocation takes effect "
        "within this time.",
    )


class EmbedderSettings(BaseSettings):
    """Which embedder a process uses."""

    model_config = ProcessSettings.model_config

    embedder: EmbedderChoice = Field(
        default=EmbedderChoice.MINILM, description="What turns text into vectors: minilm, or hashing for tests."
    )
    embedder_threads: int = Field(
        default=1, ge=1, le=2, description="Threads that the local embedding model computes with."
    )


class VerifierSettings(BaseSettings):
    """Which verifier a process uses."""

    model_config = ProcessSettings.model_config

    verifier: VerifierChoice = Field(
        default=VerifierChoice.LOCAL, description="What reads evidence: local (by rule, no model)."
    )
    verifier_timeout_seconds: float = Field(
        default=20.0, gt=0.0, le=120.0, description="How long one call of the verifier may take."
    )
    verifier_retries: int = Field(
        default=3, ge=0, le=3, description="How often the verifier is asked again after an unusable answer."
    )


class ExtractorSettings(BaseSettings):
    """Which extractor a process uses."""

    model_config = ProcessSettings.model_config

    extractor: ExtractorChoice = Field(
        default=ExtractorChoice.LOCAL,
        description="What proposes what evidence says if its author does not: local (by rule, no model).",
    )
    extractor_timeout_seconds: float = Field(
        default=10.0, gt=0.0, le=120.0, description="How long one call of the extractor may take."
    )
    extractor_retries: int = Field(
        default=1, ge=0, le=3, description="How often the extractor is asked again after an unusable answer."
    )


class JudgeSettings(BaseSettings):
    """Which judge a process uses."""

    model_config = ProcessSettings.model_config

    judge: JudgeChoice = Field(
        default=JudgeChoice.LOCAL, description="What judges pairs of an owner's statements: local (by rule, no model)."
    )
    judge_timeout_seconds: float = Field(
        default=20.0, gt=0.0, le=120.0, description="How long one call of the judge may take."
    )
    judge_retries: int = Field(
        default=2, ge=0, le=3, description="How often the judge is asked again after an unusable answer."
    )
