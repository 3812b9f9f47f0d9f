"""Every setting of a process, read once from the environment (prefix ``CORRIGENDA_``) and checked at start.

A process gets the secrets of its own role and no others: the database URL that it is given names its role and holds
that role's password. A service puts its settings together from the classes here, by inheritance.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Self

from pydantic import AliasChoices, Field, FilePath, SecretStr, StringConstraints, model_validator
from pydantic_settings import BaseSettings

from corrigenda_core.providers.remote.service import Service
from corrigenda_core.settings_source import SETTINGS_SOURCE
from corrigenda_core.wire_config import AdmissionSettings, ListeningSettings

# A key shorter than this could be guessed.
MIN_SECRET_CODE_POINTS = 32

Secret = Annotated[SecretStr, Field(min_length=MIN_SECRET_CODE_POINTS)]
# No password in a URL: it would be shown wherever the URL is.
ServiceUrl = Annotated[str, StringConstraints(pattern=r"^https?://[^\s/?#@]+(/[^\s?#]*)?$", max_length=512)]
ModelName = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9._:/+-]*$", max_length=96)]
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
    WORDLLAMA = "wordllama"
    OPENAI = "openai"
    HASHING = "hashing"


class VerifierChoice(StrEnum):
    """The verifiers to choose from."""

    LOCAL = "local"
    OPENAI = "openai"


class ExtractorChoice(StrEnum):
    """The extractors to choose from."""

    LOCAL = "local"
    OPENAI = "openai"


class JudgeChoice(StrEnum):
    """The judges to choose from."""

    LOCAL = "local"
    OPENAI = "openai"


class ObservedSettings(BaseSettings):
    """What every process needs: its logs, its traces and metrics, and time to drain."""

    model_config = SETTINGS_SOURCE

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
        description="URL of an OpenTelemetry collector (gRPC). Default: traces and metrics are sent nowhere.",
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
    database_prepares: bool = Field(
        default=True,
        description="Whether statements are prepared. Switch it off behind a transaction pooler that does not follow "
        "prepared statements (pgbouncer before 1.21, or with max_prepared_statements = 0).",
    )


class ServerSettings(ProcessSettings, ListeningSettings, AdmissionSettings):
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

    @model_validator(mode="after")
    def _listens_safely(self) -> Self:
        self.server_tls(self.listen)
        return self


@dataclass(frozen=True, slots=True, kw_only=True)
class EmbedderSpec:
    """One embedder as the settings describe it; the model's name and figures are those of a service."""

    choice: EmbedderChoice
    model: str
    revision: str
    dimensions: int
    shortens: bool


class ModelServiceSettings(BaseSettings):
    """The OpenAI-compatible service that the providers use which are set to ``openai``."""

    model_config = SETTINGS_SOURCE

    model_service_url: ServiceUrl | None = Field(
        default=None,
        description="Base URL of an OpenAI-compatible service, such as https://models.internal/v1. Default: none.",
    )
    model_service_key: SecretStr | None = Field(default=None, description="The key of that service. Default: none.")
    model_service_key_file: FilePath | None = Field(
        default=None, description="A file that holds the key of that service. Default: none."
    )
    model_service_max_calls: int = Field(
        default=8, ge=1, le=256, description="How many calls this process has under way at that service at once."
    )

    model_service_temperature: bool = Field(
        default=True,
        description="Whether models are asked for their most likely answer (temperature 0). Some refuse to be asked.",
    )

    def model_service(self, *, timeout_seconds: float) -> Service:
        """The service.

        Raises:
            ValueError: there is none, or its key is given twice.
        """
        if self.model_service_url is None:
            raise ValueError("CORRIGENDA_MODEL_SERVICE_URL must name the service of a provider that is set to openai")
        return Service(
            url=self.model_service_url,
            key=_secret(self.model_service_key, self.model_service_key_file, "CORRIGENDA_MODEL_SERVICE_KEY"),
            timeout_seconds=timeout_seconds,
            max_calls=self.model_service_max_calls,
            sends_temperature=self.model_service_temperature,
        )


def _secret(value: SecretStr | None, file: Path | None, name: str) -> str:
    """A secret that stands in the environment or in a file, or empty."""
    if value is not None and file is not None:
        raise ValueError(f"{name} and {name}_FILE exclude each other")
    if file is not None:
        return file.read_text("utf-8").strip()
    return "" if value is None else value.get_secret_value()


def _require_model(choice: StrEnum, model: str, name: str) -> None:
    if choice.value == "openai" and not model:
        raise ValueError(f"{name} must name the model of a provider that is set to openai")


class EmbedderSettings(ModelServiceSettings):
    """Which embedder a process uses."""

    model_config = SETTINGS_SOURCE

    embedder: EmbedderChoice = Field(
        default=EmbedderChoice.MINILM,
        description="What turns text into vectors: minilm, wordllama (smaller, much faster, less exact), openai (a "
        "service), or hashing for tests.",
    )
    embedder_threads: int = Field(
        default=1, ge=1, le=2, description="Threads that the local embedding model computes with."
    )
    embedder_idle_seconds: float = Field(
        default=0.0,
        ge=0.0,
        le=86_400.0,
        description="After how long without a text the local model is dropped from memory, until the next. 0: never.",
    )
    embedder_model: ModelName = Field(default="", description="The model of an embedder that is set to openai.")
    embedder_revision: ModelName = Field(
        default="1",
        description="What you call this version of that model. Change it when the service serves another one under the "
        "same name: vectors of two versions are never compared.",
    )
    embedder_dimensions: int = Field(
        default=384, ge=1, le=384, description="The length of that model's vectors, at most 384."
    )
    embedder_shortens: bool = Field(
        default=False, description="Whether that service is asked to shorten its vectors to this length."
    )
    embedder_timeout_seconds: float = Field(
        default=10.0, gt=0.0, le=120.0, description="How long one call of that service may take."
    )

    @model_validator(mode="after")
    def _names_embedder_model(self) -> Self:
        _require_model(self.embedder, self.embedder_model, "CORRIGENDA_EMBEDDER_MODEL")
        return self

    @property
    def embedder_spec(self) -> EmbedderSpec:
        """The embedder."""
        return EmbedderSpec(
            choice=self.embedder,
            model=self.embedder_model,
            revision=self.embedder_revision,
            dimensions=self.embedder_dimensions,
            shortens=self.embedder_shortens,
        )


class PreviousEmbedderSettings(EmbedderSettings):
    """Beside the embedder, the one before it: it serves the documents that are not made anew yet."""

    previous_embedder: EmbedderChoice | None = Field(
        default=None, description="The embedder before a change, until `corrigenda reindex` is done. Default: none."
    )
    previous_embedder_model: ModelName = Field(default="", description="Its model, if it was set to openai.")
    previous_embedder_revision: ModelName = Field(default="1", description="The revision of that model.")
    previous_embedder_dimensions: int = Field(
        default=384, ge=1, le=384, description="The length of that model's vectors, at most 384."
    )
    previous_embedder_shortens: bool = Field(
        default=False, description="Whether the service was asked to shorten its vectors to this length."
    )

    @model_validator(mode="after")
    def _names_previous_model(self) -> Self:
        if self.previous_embedder is not None:
            name = "CORRIGENDA_PREVIOUS_EMBEDDER_MODEL"
            _require_model(self.previous_embedder, self.previous_embedder_model, name)
        return self

    @property
    def previous_embedder_spec(self) -> EmbedderSpec | None:
        """The one before it, if there is one."""
        if self.previous_embedder is None:
            return None
        return EmbedderSpec(
            choice=self.previous_embedder,
            model=self.previous_embedder_model,
            revision=self.previous_embedder_revision,
            dimensions=self.previous_embedder_dimensions,
            shortens=self.previous_embedder_shortens,
        )


class VerifierSettings(ModelServiceSettings):
    """Which verifier a process uses."""

    model_config = SETTINGS_SOURCE

    verifier: VerifierChoice = Field(
        default=VerifierChoice.LOCAL, description="What reads evidence: local (by rule), or openai (a service)."
    )
    verifier_timeout_seconds: float = Field(
        default=20.0, gt=0.0, le=120.0, description="How long one call of the verifier may take."
    )
    verifier_retries: int = Field(
        default=3, ge=0, le=3, description="How often the verifier is asked again after an unusable answer."
    )
    verifier_model: ModelName = Field(default="", description="The model of a verifier that is set to openai.")

    @model_validator(mode="after")
    def _names_verifier_model(self) -> Self:
        _require_model(self.verifier, self.verifier_model, "CORRIGENDA_VERIFIER_MODEL")
        return self


class ExtractorSettings(ModelServiceSettings):
    """Which extractor a process uses."""

    model_config = SETTINGS_SOURCE

    extractor: ExtractorChoice = Field(
        default=ExtractorChoice.LOCAL,
        description="What proposes what evidence says if its author does not: local (by rule), or openai (a service).",
    )
    extractor_timeout_seconds: float = Field(
        default=10.0, gt=0.0, le=120.0, description="How long one call of the extractor may take."
    )
    extractor_retries: int = Field(
        default=1, ge=0, le=3, description="How often the extractor is asked again after an unusable answer."
    )
    extractor_model: ModelName = Field(default="", description="The model of a extractor that is set to openai.")

    @model_validator(mode="after")
    def _names_extractor_model(self) -> Self:
        _require_model(self.extractor, self.extractor_model, "CORRIGENDA_EXTRACTOR_MODEL")
        return self


class JudgeSettings(ModelServiceSettings):
    """Which judge a process uses."""

    model_config = SETTINGS_SOURCE

    judge: JudgeChoice = Field(
        default=JudgeChoice.LOCAL,
        description="What judges pairs of an owner's statements: local (by rule), or openai (a service).",
    )
    judge_timeout_seconds: float = Field(
        default=20.0, gt=0.0, le=120.0, description="How long one call of the judge may take."
    )
    judge_retries: int = Field(
        default=2, ge=0, le=3, description="How often the judge is asked again after an unusable answer."
    )
    judge_model: ModelName = Field(default="", description="The model of a judge that is set to openai.")

    @model_validator(mode="after")
    def _names_judge_model(self) -> Self:
        _require_model(self.judge, self.judge_model, "CORRIGENDA_JUDGE_MODEL")
        return self
