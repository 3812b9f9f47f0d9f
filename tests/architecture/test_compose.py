"""The compose file of a laptop: starts what exists, with settings that exist and secrets that are made."""

import importlib.util
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml
from corrigenda_cli.commands.health import LISTEN_VARIABLE, METRICS_VARIABLE, TARGET_VARIABLE
from corrigenda_conflict.config import ConflictSettings
from corrigenda_conflict.reviewer.config import ReviewerSettings
from corrigenda_core.persistence.roles import LOGIN_ROLES
from corrigenda_gateway.config import GatewaySettings
from corrigenda_ingest.config import IngestSettings
from corrigenda_recall.config import RecallSettings
from corrigenda_recall.indexer.config import IndexerSettings
from pydantic_settings import BaseSettings

FOLDER = Path(__file__).resolve().parents[2] / "deploy" / "docker"
COMPOSED: dict[str, Any] = yaml.safe_load((FOLDER / "compose.yaml").read_text())
SETTINGS: dict[str, type[BaseSettings]] = {
    "ingest": IngestSettings,
    "conflict": ConflictSettings,
    "reviewer": ReviewerSettings,
    "recall": RecallSettings,
    "indexer": IndexerSettings,
    "gateway": GatewaySettings,
}


@pytest.mark.parametrize("name", SETTINGS)
def test_a_process_is_started_with_settings_that_it_has(name: str) -> None:
    service = COMPOSED["services"][name]
    python, minus_m, module = service["command"]
    assert (python, minus_m) == ("python", "-m")
    assert importlib.util.find_spec(f"{module}.__main__") is not None
    assert service["read_only"]
    assert service["cap_drop"] == ["ALL"]
    fields = SETTINGS[name].model_fields
    known = {f"CORRIGENDA_{field}".upper() for field in fields} | {
        str(alias)
        for field in fields.values()
        if field.validation_alias is not None
        for alias in getattr(field.validation_alias, "choices", [field.validation_alias])
    }
    # Whether plain text may be spoken is asked of those that speak; the others are given it with the rest.
    # The target of the health check is for the command that asks.
    assert set(service["environment"]) - known <= {"CORRIGENDA_ALLOW_PLAINTEXT", TARGET_VARIABLE}
    required = {f"CORRIGENDA_{field}".upper() for field, facts in fields.items() if facts.is_required()}
    assert required <= set(service["environment"])


@pytest.mark.parametrize("name", SETTINGS)
def test_the_images_health_check_finds_whom_to_ask(name: str) -> None:
    environment = COMPOSED["services"][name]["environment"]
    assert "healthcheck" not in COMPOSED["services"][name]
    if name in ("ingest", "conflict", "recall"):
        assert LISTEN_VARIABLE in environment
    else:
        assert (TARGET_VARIABLE if name == "gateway" else METRICS_VARIABLE) in environment


def test_the_image_has_what_its_commands_look_for() -> None:
    """Seen when it was built and started for the first time; no engine is here in every run of the tests."""
    built = (FOLDER / "Dockerfile").read_text()
    # The packages name the workspace as each other's source, and its root is not in the image.
    assert "--no-sources ./libs/core" in built
    # Installed, the core looks for the migrations in the folders above itself.
    assert "COPY migrations /opt/corrigenda/migrations" in built
    assert '"corrigenda_cli", "health"]' in built


def test_each_process_has_the_role_that_is_its_own() -> None:
    roles = {}
    for name in SETTINGS:
        url = COMPOSED["services"][name]["environment"].get("CORRIGENDA_DATABASE_URL", "")
        roles[name] = url.partition("//")[2].partition(":")[0]
    assert roles.pop("gateway") == ""
    assert roles == {name: f"corrigenda_{name}" for name in roles}
    assert set(roles.values()) <= set(LOGIN_ROLES)


def test_ports_are_open_to_this_machine_alone() -> None:
    published = [port for service in COMPOSED["services"].values() for port in service.get("ports", [])]
    assert len(published) == 4
    assert [port for port in published if not port.startswith("127.0.0.1:")] == []


def test_every_secret_that_is_asked_for_is_made_and_never_twice_the_same() -> None:
    def made() -> dict[str, str]:
        printed = subprocess.run([FOLDER / "make-secrets"], capture_output=True, text=True, check=True).stdout
        return dict(line.split("=", 1) for line in printed.splitlines())

    asked = set(re.findall(r"\$\{(\w+)", (FOLDER / "compose.yaml").read_text()))
    first, second = made(), made()
    assert set(first) == asked
    assert all(re.fullmatch(r"[0-9a-f]{64}", value) for value in first.values())
    assert not set(first.values()) & set(second.values())
