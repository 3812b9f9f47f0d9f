"""Each process of a local stack gets the secrets of its own role and no others, and shows none to other users."""

import stat
import sys
from pathlib import Path

import pytest
from corrigenda_cli.stack import PROCESSES, Stack

pytestmark = [
    pytest.mark.database,
    pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads what the kernel tells of a process"),
]


def told_to(stack: Stack, name: str, file: str) -> str:
    return Path(f"/proc/{stack.children[name].pid}/{file}").read_bytes().decode()


@pytest.mark.promise("apart.roles")
async def test_a_process_knows_its_own_secrets_alone(stack: Stack) -> None:
    # The roles of a test server share one password: the URLs tell whose each is.
    for spec in PROCESSES:
        environment = told_to(stack, spec.name, "environ")
        roles = {other.role for other in PROCESSES if f"//{other.role}:" in environment}
        assert roles == {spec.role} - {None}
        serves = spec.port is not None and spec.role is not None
        assert (stack.secrets.key_pepper in environment) is serves
        assert (stack.secrets.page_token_key in environment) is serves


async def test_no_secret_stands_on_a_command_line(stack: Stack) -> None:
    secrets = {stack.secrets.key_pepper, stack.secrets.page_token_key, *stack.secrets.role_passwords.values()}
    for spec in PROCESSES:
        command = told_to(stack, spec.name, "cmdline")
        assert not any(secret in command for secret in secrets)


async def test_what_is_kept_of_secrets_is_readable_by_its_owner_alone(stack: Stack) -> None:
    for name in ("secrets.json", "server.json"):
        assert stat.S_IMODE((stack.directory / name).stat().st_mode) == 0o600


def test_only_processes_that_ask_models_know_the_key_of_their_service(
    stack: Stack, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CORRIGENDA_MODEL_SERVICE_KEY", "a key of a model service")
    monkeypatch.setenv("CORRIGENDA_MODEL_SERVICE_URL", "https://models.internal/v1")
    told = {spec.name: stack._environment(spec) for spec in PROCESSES}
    knowing = {name for name, environment in told.items() if "CORRIGENDA_MODEL_SERVICE_KEY" in environment}
    assert knowing == {"ingest", "conflict", "recall", "indexer"}
