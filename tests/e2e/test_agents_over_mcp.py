"""An agent's session, driven by the protocol's own client over both transports."""

import json
import os
import sys
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx2
import pytest
from corrigenda.admin.v1 import admin_service_pb2
from corrigenda.conflict.v1 import conflict_service_pb2
from corrigenda_cli.stack import Stack
from google.protobuf.timestamp_pb2 import Timestamp
from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.exceptions import MCPError

pytestmark = pytest.mark.database

NewTeam = Callable[..., Awaitable[Any]]
START = datetime(2026, 3, 1, 9, tzinfo=UTC)


@asynccontextmanager
async def over_http(stack: Stack, key: str) -> AsyncIterator[Client]:
    async with (
        httpx2.AsyncClient(headers={"authorization": f"Bearer {key}"}, timeout=30) as http,
        Client(streamable_http_client(f"http://{stack.address('gateway')}/mcp", http_client=http)) as client,
    ):
        yield client


@asynccontextmanager
async def over_stdio(stack: Stack, key: str) -> AsyncIterator[Client]:
    addresses = {f"CORRIGENDA_{name.upper()}_ADDRESS": stack.address(name) for name in ("ingest", "conflict", "recall")}
    parameters = StdioServerParameters(
        command=sys.executable,
        args=["-m", "corrigenda_cli", "mcp"],
        env={**addresses, "CORRIGENDA_KEY": key, "PATH": os.environ["PATH"], "CORRIGENDA_LOG_LEVEL": "error"},
    )
    async with Client(stdio_client(parameters)) as client:
        yield client


def statement(branch: str, text: str, **more: Any) -> dict[str, Any]:
    """A tool call that says where production deploys from."""
    return {
        "idempotency_key": uuid.uuid4().hex,
        "evidence": [{"content": text, "source_type": "conversation"}],
        "proposal": {
            "entities": [
                {"ref": "env", "name": "production", "entity_kind": "environment"},
                {"ref": "branch", "name": branch, "entity_kind": "git_branch"},
            ],
            "relationships": [
                {
                    "proposal_id": "p1",
                    "subject_ref": "env",
                    "predicate": "deploys_from",
                    "object_ref": "branch",
                    "polarity": "+",
                    "modality": "statement",
                    "evidence": [{"quote": text}],
                    **more,
                }
            ],
        },
    }


async def called(client: Client, tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
    result = await client.call_tool(tool, arguments)
    assert not result.is_error, result.content
    answer: dict[str, Any] = result.structured_content
    assert json.loads(result.content[0].text) == answer  # type: ignore[union-attr]
    return answer


async def test_an_agent_meets_a_conflict_adds_evidence_and_sees_it_resolved(stack: Stack, new_team: NewTeam) -> None:
    team = await new_team(driven_from=START)
    async with over_http(stack, team.keys["A"]) as a, over_stdio(stack, team.keys["B"]) as b:
        await called(a, "remember", statement("main", "production deploys from main"))
        answer = await called(b, "remember", statement("release", "production deploys from release"))
        (placed,) = answer["placement"]["relationships"]
        assert placed["conflict"]["effect"] == "opens_case"

        (entry,) = (await called(b, "list_conflicts", {"entry_kinds": ["team_case"]}))["entries"]
        conflict = entry["team_case"]
        assert conflict["status"] == "open"
        assert [len(position["owners"]) for position in conflict["positions"]] == [1, 1]

        explained = await called(b, "explain_conflict", {"conflict_id": conflict["conflict_id"]})
        assert explained["explanation"]
        prompt = await b.get_prompt("present_conflict", {"conflict_id": conflict["conflict_id"]})
        shown = prompt.messages[0].content.text  # type: ignore[union-attr]
        assert "main" in shown
        assert "release" in shown
        resource = await b.read_resource(f"corrigenda://conflicts/{conflict['conflict_id']}")
        assert json.loads(resource.contents[0].text)["conflict"]["conflict_id"] == conflict["conflict_id"]  # type: ignore[union-attr]

        # A third agent knows more and says so, as an answer to the version of the conflict that it saw.
        seen = {"conflict_id": conflict["conflict_id"], "expected_version": conflict["version"]}
        text = "our release calendar confirms: production deploys from release"
        async with over_http(stack, team.keys["C"]) as c:
            answer = await called(c, "remember", statement("release", text, conflict_context=seen))
            assert answer["placement"]["relationships"][0]["conflict"]["effect"] == "joins_case"
            again = statement("release", "production deploys from release", conflict_context=seen)
            refused = await c.call_tool("remember", again)
        assert refused.is_error
        assert refused.structured_content["error"]["reason"] == "CONFLICT_VERSION_STALE"

        due = Timestamp()
        due.FromDatetime(START + timedelta(days=8))
        await team.admin.admin.DriveClock(admin_service_pb2.DriveClockRequest(idempotency_key="due", time=due))
        await team.admin.conflict.ReviewNow(
            conflict_service_pb2.ReviewNowRequest(idempotency_key="now", wait_seconds=60)
        )
        after = (await called(a, "get_conflict", {"conflict_id": conflict["conflict_id"]}))["conflict"]
        assert after["status"] == "resolved", {k: v for k, v in after.items() if k != "positions"}
        assert after["resolution_reason"] == "due_majority"


async def test_both_transports_list_the_same_tools_resources_and_prompts(stack: Stack, new_team: NewTeam) -> None:
    team = await new_team()
    async with over_http(stack, team.keys["A"]) as http, over_stdio(stack, team.keys["A"]) as stdio:
        for client in (http, stdio):
            tools = {tool.name: tool for tool in (await client.list_tools()).tools}
            assert {"remember", "recall_memory", "trace_memory", "list_conflicts"} <= set(tools)
            assert tools["recall_memory"].annotations is not None
            assert tools["recall_memory"].annotations.read_only_hint is True
            resources = await client.list_resources()
            assert [str(one.uri) for one in resources.resources] == ["corrigenda://conflicts"]
            assert len((await client.list_resource_templates()).resource_templates) == 2
            assert {one.name for one in (await client.list_prompts()).prompts} == {
                "present_conflict",
                "ask_for_evidence",
            }
            listed = await client.read_resource("corrigenda://conflicts")
            assert json.loads(listed.contents[0].text)["entries"] == []  # type: ignore[union-attr]


async def test_the_trace_request_of_the_contract_works_as_it_stands(stack: Stack, new_team: NewTeam) -> None:
    team = await new_team()
    async with over_http(stack, team.keys["A"]) as client:
        answer = await called(client, "remember", statement("main", "production deploys from main"))
        relationship_id = answer["placement"]["relationships"][0]["relationship"]["relationship_id"]
        request = """{"relationship_id": "r_deploy_branch", "include_evidence_content": true,
          "include_verification": true, "include_transitions": true, "max_depth": 1, "max_edges": 12}"""
        traced = await called(client, "trace_memory", json.loads(request.replace("r_deploy_branch", relationship_id)))
        assert traced["evidence"][0]["content"] == "production deploys from main"
        assert traced["verifications"][0]["verdict"] == "entailed"
        assert traced["relationship"]["polarity"] == "+"


@pytest.mark.parametrize(
    ("tool", "arguments", "reason", "field"),
    [
        ("recall_memory", {"query": "x", "limit": 51}, "INVALID_FIELD", "limit"),
        ("recall_memory", {"querry": "x"}, "INVALID_FIELD", "querry"),
        ("recall_memory", {}, "INVALID_FIELD", "query"),
        ("recall_memory", {"query": "x" * 513}, "TOO_LARGE", "query"),
        ("trace_memory", {"relationship_id": str(uuid.UUID(int=7))}, "RESOURCE_NOT_FOUND", "relationship_id"),
    ],
)
async def test_a_refusal_is_a_result_that_says_what_to_do(
    stack: Stack, new_team: NewTeam, tool: str, arguments: dict[str, Any], reason: str, field: str
) -> None:
    team = await new_team()
    async with over_http(stack, team.keys["A"]) as client:
        result = await client.call_tool(tool, arguments)
        assert result.is_error
        error = result.structured_content["error"]
        assert error["reason"] == reason
        assert error["field"] == field
        assert error["next_action"]


async def test_what_does_not_exist_is_an_error_of_the_protocol(stack: Stack, new_team: NewTeam) -> None:
    team = await new_team()
    async with over_http(stack, team.keys["A"]) as client:
        for call in (
            client.call_tool("forget_everything", {}),
            client.read_resource("corrigenda://nothing"),
            client.get_prompt("nothing", {}),
            client.get_prompt("present_conflict", {"conflict_id": str(uuid.UUID(int=7))}),
        ):
            with pytest.raises(MCPError):
                await call


async def test_who_brings_no_key_or_a_foreign_host_is_turned_away(stack: Stack) -> None:
    url = f"http://{stack.address('gateway')}/mcp"
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
    async with httpx2.AsyncClient() as http:
        keyless = await http.post(url, json=body)
        assert (keyless.status_code, keyless.headers["www-authenticate"]) == (401, "Bearer")
        headers = {"authorization": "Bearer x", "accept": "application/json, text/event-stream"}
        foreign = await http.post(url, json=body, headers={**headers, "host": "evil.example"})
        assert foreign.status_code == 421
        origin = await http.post(url, json=body, headers={**headers, "origin": "https://evil.example"})
        assert origin.status_code == 403
        ready = await http.get(url.replace("/mcp", "/readyz"))
        assert (ready.status_code, ready.json()) == (200, {"ingest": True, "conflict": True, "recall": True})


async def test_a_wrong_key_is_told_by_the_services(stack: Stack) -> None:
    async with over_http(stack, "crk_wrong") as client:
        result = await client.call_tool("recall_memory", {"query": "x"})
        assert result.is_error
        assert result.structured_content["error"]["reason"] == "CREDENTIAL_INVALID"
