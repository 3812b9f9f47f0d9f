"""The settings: names, defaults, bounds, and that no secret shows."""

from pathlib import Path

import pytest
from corrigenda_core.config import (
    EmbedderChoice,
    EmbedderSettings,
    ExtractorSettings,
    JudgeSettings,
    LogFormat,
    ModelServiceSettings,
    ProcessSettings,
    ServerSettings,
    VerifierSettings,
)
from pydantic import SecretStr, ValidationError

CLASSES = [
    ProcessSettings,
    ServerSettings,
    ModelServiceSettings,
    EmbedderSettings,
    VerifierSettings,
    ExtractorSettings,
    JudgeSettings,
]
# Figures whose unit is what the name counts, not something that a suffix could say.
COUNTS = {
    "database_connections",
    "embedder_threads",
    "embedder_dimensions",
    "model_service_max_calls",
    "verifier_retries",
    "extractor_retries",
    "judge_retries",
    "trace_sample_ratio",
    "calls_at_once",
    "calls_waiting",
    "streams_at_once",
    "key_calls_per_second",
    "key_burst_calls",
    "team_calls_per_second",
    "team_burst_calls",
}
REQUIRED = {
    "CORRIGENDA_DATABASE_URL": "postgresql://corrigenda_ingest:hunter2@127.0.0.1/corrigenda",
    "CORRIGENDA_KEY_PEPPER": "p" * 32,
    "CORRIGENDA_PAGE_TOKEN_KEY": "t" * 32,
}


@pytest.fixture
def environment(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    monkeypatch.delenv("OTEL_EXPORTER_OTLP_ENDPOINT", raising=False)
    for name, value in REQUIRED.items():
        monkeypatch.setenv(name, value)
    return monkeypatch


@pytest.mark.parametrize("settings", CLASSES)
def test_every_field_says_what_it_is_and_figures_name_their_unit(settings: type[ProcessSettings]) -> None:
    for name, field in settings.model_fields.items():
        assert field.description, name
        assert field.description.endswith("."), name
        if field.annotation in (int, float):
            assert name.endswith("_seconds") or name in COUNTS, name


def test_defaults_are_enough_beside_the_secrets(environment: pytest.MonkeyPatch) -> None:
    settings = ServerSettings()
    assert settings.database_url.get_secret_value() == REQUIRED["CORRIGENDA_DATABASE_URL"]
    assert (settings.listen, settings.metrics_listen, settings.otlp_endpoint) == ("127.0.0.1:0", None, None)
    assert settings.log_format is LogFormat.JSON


def test_a_service_puts_its_settings_together(environment: pytest.MonkeyPatch) -> None:
    class RecallSettings(ServerSettings, EmbedderSettings):
        listen: str = "127.0.0.1:7103"

    environment.setenv("CORRIGENDA_EMBEDDER", "hashing")
    environment.setenv("CORRIGENDA_METRICS_LISTEN", "")
    settings = RecallSettings()
    assert (settings.listen, settings.embedder, settings.metrics_listen) == (
        "127.0.0.1:7103",
        EmbedderChoice.HASHING,
        None,
    )


@pytest.mark.parametrize("name", ["CORRIGENDA_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT"])
def test_a_collector_is_named_by_either_variable(environment: pytest.MonkeyPatch, name: str) -> None:
    environment.setenv(name, "http://127.0.0.1:4317")
    assert ProcessSettings().otlp_endpoint == "http://127.0.0.1:4317"


@pytest.mark.parametrize("name", sorted(REQUIRED))
def test_secrets_are_required(environment: pytest.MonkeyPatch, name: str) -> None:
    environment.delenv(name)
    with pytest.raises(ValidationError):
        ServerSettings()


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("CORRIGENDA_KEY_PEPPER", "p" * 31),
        ("CORRIGENDA_PAGE_TOKEN_KEY", "t" * 31),
        ("CORRIGENDA_LISTEN", "7101"),
        ("CORRIGENDA_LISTEN", "http://127.0.0.1:7101"),
        ("CORRIGENDA_CALLER_CACHE_SECONDS", "61"),
        ("CORRIGENDA_DATABASE_CONNECTIONS", "0"),
        ("CORRIGENDA_LOG_LEVEL", "verbose"),
    ],
)
def test_values_out_of_bounds_are_refused_unquoted(environment: pytest.MonkeyPatch, name: str, value: str) -> None:
    environment.setenv(name, value)
    with pytest.raises(ValidationError) as refused:
        ServerSettings()
    assert name.removeprefix("CORRIGENDA_").lower() in str(refused.value)
    assert value not in str(refused.value).replace("between", "")


@pytest.mark.parametrize("address", ["127.0.0.1:7101", "[::1]:7101", "localhost:0", "ingest.corrigenda.svc:7101"])
def test_addresses(environment: pytest.MonkeyPatch, address: str) -> None:
    environment.setenv("CORRIGENDA_LISTEN", address)
    environment.setenv("CORRIGENDA_ALLOW_PLAINTEXT", "true")
    assert ServerSettings().listen == address


def test_no_secret_shows(environment: pytest.MonkeyPatch) -> None:
    shown = f"{ServerSettings()!r} {ServerSettings().model_dump_json()}"
    for secret in ("hunter2", "p" * 32, "t" * 32):
        assert secret not in shown
    assert isinstance(ServerSettings().key_pepper, SecretStr)


PROVIDERS = [EmbedderSettings, VerifierSettings, ExtractorSettings, JudgeSettings]


@pytest.mark.parametrize("settings", PROVIDERS)
def test_a_provider_of_a_service_names_its_model(
    environment: pytest.MonkeyPatch, settings: type[ModelServiceSettings]
) -> None:
    name = f"CORRIGENDA_{settings.__name__.removesuffix('Settings').upper()}"
    environment.setenv(name, "openai")
    with pytest.raises(ValidationError, match=f"{name}_MODEL"):
        settings()
    environment.setenv(f"{name}_MODEL", "m-1")
    with pytest.raises(ValueError, match="CORRIGENDA_MODEL_SERVICE_URL"):
        settings().model_service(timeout_seconds=1.0)
    environment.setenv("CORRIGENDA_MODEL_SERVICE_URL", "http://127.0.0.1:11434/v1")
    service = settings().model_service(timeout_seconds=1.0)
    assert (service.url, service.key, service.timeout_seconds) == ("http://127.0.0.1:11434/v1", "", 1.0)


def test_the_key_of_a_service_comes_from_the_environment_or_from_a_file(
    environment: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    environment.setenv("CORRIGENDA_MODEL_SERVICE_URL", "https://models.internal/v1")
    environment.setenv("CORRIGENDA_MODEL_SERVICE_KEY", "hunter2")
    service = ModelServiceSettings().model_service(timeout_seconds=1.0)
    assert service.key == "hunter2"
    assert "hunter2" not in f"{service!r} {ModelServiceSettings()!r}"
    (tmp_path / "key").write_text("hunter3\n")
    environment.setenv("CORRIGENDA_MODEL_SERVICE_KEY_FILE", str(tmp_path / "key"))
    with pytest.raises(ValueError, match="exclude each other"):
        ModelServiceSettings().model_service(timeout_seconds=1.0)
    environment.delenv("CORRIGENDA_MODEL_SERVICE_KEY")
    assert ModelServiceSettings().model_service(timeout_seconds=1.0).key == "hunter3"


@pytest.mark.parametrize(
    "url",
    ["models.internal/v1", "ftp://models.internal", "https://user:hunter2@models.internal/v1", "https://a/b?key=c"],
)
def test_the_url_of_a_service_holds_no_secret(environment: pytest.MonkeyPatch, url: str) -> None:
    environment.setenv("CORRIGENDA_MODEL_SERVICE_URL", url)
    with pytest.raises(ValidationError) as refused:
        ModelServiceSettings()
    assert "hunter2" not in str(refused.value)
