"""The gateway by the command line of the MCP inspector, over both transports: a client that is none of ours.

It is no part of the environment: `npm ci --ignore-scripts --prefix tests/inspector` installs the pinned version.
"""

import asyncio
import json
import os
import shutil
import sys
import uuid
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from corrigenda_cli.stack import Stack

INSPECTOR = Path(__file__).parents[1] / "inspector" / "node_modules" / ".bin" / "mcp-inspector"

pytestmark = [
    pytest.mark.database,
    pytest.mark.skipif(shutil.which("node") is None, reason="node is not installed"),
    pytest.mark.skipif(
        not INSPECTOR.exists(), reason="the inspector is not installed: npm ci --prefix tests/inspector"
    ),
]

NewTeam = Callable[..., Awaitable[Any]]
Inspect = Callable[..., Awaitable[tuple[int, Any]]]
SAID = "production deploys from main"


def over_stdio(stack: Stack, key: str) -> Sequence[str]:
    settings = {f"CORRIGENDA_{name.upper()}_ADDRESS": stack.address(name) for name in ("ingest", "conflict", "recall")}
    settings |= {"CORRIGENDA_KEY": key, "CORRIGENDA_LOG_LEVEL": "error", "PATH": os.environ["PATH"]}
    given = [word for name, value in settings.items() for word in ("-e", f"{name}={value}")]
    return [*given, sys.executable, "-m", "corrigenda_cli", "mcp"]


def over_http(stack: Stack, key: str) -> Sequence[str]:
    url = f"http://{stack.address('gateway')}/mcp"
    return [url, "--transport", "http", "--header", f"Authorization: Bearer {key}"]


@pytest.fixture(params=[over_stdio, over_http], ids=["stdio", "http"])
def inspect(request: pytest.FixtureRequest, stack: Stack) -> Inspect:
    """Asks the gateway by the inspector; answers its exit status and the JSON that it printed."""

    async def asked(key: str, *words: str) -> tuple[int, Any]:
        process = await asyncio.create_subprocess_exec(
            INSPECTOR,
            "--cli",
            *request.param(stack, key),
            *words,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        out, err = await process.communicate()
        assert process.returncode is not None
        return process.returncode, json.loads(out) if out.strip() else err.decode()

    return asked


async def test_everything_is_listed(inspect: Inspect, new_team: NewTeam) -> None:
    key = (await new_team()).keys["A"]
    listed = {}
    for what in ("tools", "resources", "resources/templates", "prompts"):
        status, listed[what] = await inspect(key, "--method", f"{what}/list")
        assert status == 0, listed[what]
    tools = {tool["name"]: tool for tool in listed["tools"]["tools"]}
    assert len(tools) == 21
    assert tools["recall_memory"]["annotations"]["readOnlyHint"] is True
    assert tools["remember"]["inputSchema"]["required"]
    assert [one["uri"] for one in listed["resources"]["resources"]] == ["corrigenda://conflicts"]
    assert len(listed["resources/templates"]["resourceTemplates"]) == 2
    assert {one["name"] for one in listed["prompts"]["prompts"]} == {"present_conflict", "ask_for_evidence"}


async def test_a_tool_is_called_and_a_resource_is_read(inspect: Inspect, new_team: NewTeam) -> None:
    key = (await new_team()).keys["A"]
    entities = [
        {"ref": "env", "name": "production", "entity_kind": "environment"},
        {"ref": "branch", "name": "main", "entity_kind": "git_branch"},
    ]
    relationship = {
        "proposal_id": "p1",
        "subject_ref": "env",
        "predicate": "deploys_from",
        "object_ref": "branch",
        "polarity": "+",
        "modality": "statement",
        "evidence": [{"quote": SAID}],
    }
    said = {
        "idempotency_key": uuid.uuid4().hex,
        "evidence": json.dumps([{"content": SAID, "source_type": "conversation"}]),
        "proposal": json.dumps({"entities": entities, "relationships": [relationship]}),
    }
    given = [f"{name}={value}" for name, value in said.items()]
    status, answer = await inspect(key, "--method", "tools/call", "--tool-name", "remember", "--tool-arg", *given)
    assert status == 0, answer
    assert answer["structuredContent"]["placement"]["relationships"][0]["outcome"] == "inserted"
    status, read = await inspect(key, "--method", "resources/read", "--uri", "corrigenda://conflicts")
    assert (status, json.loads(read["contents"][0]["text"])["entries"]) == (0, [])


async def test_a_refusal_says_what_to_do(inspect: Inspect, new_team: NewTeam) -> None:
    key = (await new_team()).keys["A"]
    given = (
        "--method",
        "tools/call",
        "--tool-name",
        "trace_memory",
        "--tool-arg",
        f"relationship_id={uuid.UUID(int=7)}",
    )
    _, answer = await inspect(key, *given)
    assert answer["isError"] is True
    error = answer["structuredContent"]["error"]
    assert (error["reason"], error["next_action"][-1]) == ("RESOURCE_NOT_FOUND", ".")
