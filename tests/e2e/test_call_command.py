"""`corrigenda call`: every method from a shell, with the JSON that agents use."""

import asyncio
import json
import os
import sys
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from corrigenda_cli.stack import Stack

pytestmark = pytest.mark.database

NewTeam = Callable[..., Awaitable[Any]]


async def call(stack: Stack, key: str, *arguments: str, given: str = "") -> tuple[int, str, str]:
    """Exit status, output and errors of `corrigenda call`."""
    addresses = {f"CORRIGENDA_{name.upper()}_ADDRESS": stack.address(name) for name in ("ingest", "conflict", "recall")}
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "corrigenda_cli",
        "call",
        *arguments,
        env={**addresses, **({"CORRIGENDA_KEY": key} if key else {}), "PATH": os.environ["PATH"]},
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    output, errors = await process.communicate(given.encode())
    assert process.returncode is not None
    return process.returncode, output.decode(), errors.decode()


async def test_a_method_is_called_by_its_name_and_answers_with_json(stack: Stack, new_team: NewTeam) -> None:
    team = await new_team()
    status, output, _ = await call(stack, team.keys["A"], "ListPredicates", '{"page_size": 10}')
    assert status == 0
    assert [one["definition"]["key"] for one in json.loads(output)["predicates"]] == ["deploys_from"]


async def test_a_refusal_is_json_with_what_to_do_and_exit_status_1(stack: Stack, new_team: NewTeam) -> None:
    team = await new_team()
    for request in ('{"querry": "x"}', '{"query": ""}', "no json", "[" * 5_000):
        status, output, errors = await call(stack, team.keys["A"], "RecallService/Recall", request)
        assert (status, output) == (1, "")
        error = json.loads(errors)["error"]
        assert error["reason"] == "INVALID_FIELD"
        assert error["next_action"]


async def test_a_stream_takes_one_object_a_line(stack: Stack, new_team: NewTeam) -> None:
    team = await new_team()
    notes = [{"content": f"note {number}", "source_type": "manual"} for number in range(3)]
    items = [
        {"submission": {"idempotency_key": f"item {number}", "evidence": [note]}} for number, note in enumerate(notes)
    ]
    given = "\n".join(json.dumps(item) for item in items)
    status, output, errors = await call(stack, team.keys["A"], "RememberStream", "-", given=given)
    assert status == 0, errors
    assert [json.loads(line)["idempotency_key"] for line in output.splitlines()] == ["item 0", "item 1", "item 2"]


async def test_wrong_usage_is_told_and_the_methods_are_listed(stack: Stack, new_team: NewTeam) -> None:
    assert (await call(stack, "", "Recall"))[0] == 2
    assert (await call(stack, "", "NoSuchMethod"))[0] == 2
    status, output, _ = await call(stack, "", "--list")
    assert status == 0
    assert "IngestService/Remember " in output
    assert "AdminService/EraseEvidence" in output
