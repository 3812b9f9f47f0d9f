"""Each process of a local stack gets the secrets of its own role and no others, and shows none to other users."""

import json
import stat
import sys
from dataclasses import asdict
from pathlib import Path

import pytest
from corrigenda_cli.local_secrets import DATABASE_ROLES, LocalSecrets, load_or_make, write_private
from corrigenda_cli.stack import NOTIFIER, PROCESSES, WEBHOOKS_VARIABLE, Stack, configured_processes

pytestmark = [
    pytest.mark.database,
    pytest.mark.skipif(not sys.platform.startswith("linux"), reason="needs Linux: it reads /proc"),
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
    told = {spec.name: stack.environment_of(spec) for spec in PROCESSES}
    knowing = {name for name, environment in told.items() if "CORRIGENDA_MODEL_SERVICE_KEY" in environment}
    assert knowing == {"ingest", "conflict", "recall", "indexer"}


def test_a_notifier_is_started_only_where_webhooks_are_configured_and_knows_its_role_alone(
    stack: Stack, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(WEBHOOKS_VARIABLE, raising=False)
    assert NOTIFIER not in configured_processes()
    monkeypatch.setenv(WEBHOOKS_VARIABLE, "webhooks.json")
    assert configured_processes() == (*PROCESSES, NOTIFIER)
    environment = stack.environment_of(NOTIFIER)
    assert f"//{NOTIFIER.role}:" in environment["CORRIGENDA_DATABASE_URL"]
    assert not {stack.secrets.key_pepper, stack.secrets.page_token_key} & set(environment.values())


def test_a_role_that_is_new_gets_a_password_and_the_others_keep_theirs(tmp_path: Path) -> None:
    path = tmp_path / "secrets.json"
    first = load_or_make(path)
    older = {role: password for role, password in first.role_passwords.items() if role != NOTIFIER.role}
    kept = LocalSecrets(key_pepper=first.key_pepper, page_token_key=first.page_token_key, role_passwords=older)
    write_private(path, json.dumps(asdict(kept)))
    completed = load_or_make(path)
    assert set(completed.role_passwords) == set(DATABASE_ROLES)
    assert older.items() <= completed.role_passwords.items()
    assert (completed.key_pepper, load_or_make(path)) == (first.key_pepper, completed)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
