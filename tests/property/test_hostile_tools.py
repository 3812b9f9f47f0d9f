"""What an agent puts into a tool is anything at all: it is answered, or refused as an error that says what to do."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack
from types import SimpleNamespace
from typing import Any

import mcp_types
import pytest
from corrigenda_cli.stack import Stack
from corrigenda_core.domain.errors import Reason
from corrigenda_core.rpc.channels import ServiceChannel
from corrigenda_core.rpc.json_mapping import fill_from_json, to_json
from corrigenda_core.rpc.validation import find_breaches
from corrigenda_core.rpc.wire_methods import MethodCalls, WireMethod
from corrigenda_core.testing.effort import examples
from corrigenda_core.testing.filled_messages import filled
from corrigenda_core.testing.hostile_input import any_json, any_text, inputs, one_thing_wrong, result_of
from corrigenda_gateway.server import MemoryServer
from corrigenda_gateway.tools import agent_tools
from google.protobuf.message import Message
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

TOOLS = agent_tools()
VALID = {name: to_json(filled(tool.method.descriptor.input_type)) for name, tool in TOOLS.items()}
NewTeam = Callable[..., Awaitable[Any]]
ERROR_KEYS = {"reason", "code", "message", "next_action", "field", "metadata", "retry_after_seconds"}

arguments_of_a_tool = st.sampled_from(sorted(TOOLS)).flatmap(
    lambda name: st.tuples(
        st.just(name),
        st.one_of(
            st.dictionaries(any_text, any_json, max_size=4),
            one_thing_wrong(VALID[name]).filter(lambda said: isinstance(said, dict)),
        ),
    )
)


class Services:
    """Services that answer whatever reaches them with nothing; they keep what that was."""

    def __init__(self) -> None:
        self.reached: list[Message] = []

    async def call(self, method: WireMethod, request: Message, *, key: str) -> Message:
        self.reached.append(request)
        return method.parse_response(b"")

    async def stream(self, method: WireMethod, request: Message, *, key: str) -> AsyncIterator[Message]:
        yield await self.call(method, request, key=key)


async def no_progress(_messages: int) -> None:
    return


CONTEXT: Any = SimpleNamespace(request=None, session=SimpleNamespace(report_progress=no_progress))


def is_told(result: mcp_types.CallToolResult) -> bool:
    """Whether a tool has answered; what it refused must be an error that a model can act on."""
    answer = result.structured_content
    assert isinstance(answer, dict)
    # What goes over the wire is JSON, whatever came over it.
    assert json.loads(result.content[0].text) == json.loads(json.dumps(answer))
    result.model_dump_json(by_alias=True)
    if not result.is_error:
        return True
    error = answer["error"]
    assert error.keys() <= ERROR_KEYS
    assert Reason(error["reason"]) is not Reason.INTERNAL_ERROR, error
    assert error["next_action"].endswith(".")
    assert len(result.content[0].text) < 20_000
    return False


@pytest.mark.promise("answer.tools", "Q18")
@inputs("arguments of tools")
@given(asked=arguments_of_a_tool)
def test_a_tool_answers_or_refuses_any_arguments(asked: tuple[str, dict[str, Any]]) -> None:
    name, arguments = asked
    services = Services()
    server = MemoryServer(tools=TOOLS, calls=services, key_of=lambda _: "key")
    params = mcp_types.CallToolRequestParams(name=name, arguments=arguments)
    result = result_of(server.call_tool(CONTEXT, params))
    # What is refused reaches no service, and what reaches one keeps to every rule.
    assert is_told(result) is bool(services.reached)
    assert all(find_breaches(request) == () for request in services.reached)


@pytest.mark.database
@pytest.mark.promise("answer.tools", "Q18")
async def test_the_services_answer_or_refuse_what_an_agent_sends(stack: Stack, new_team: NewTeam) -> None:
    wanted: list[tuple[str, dict[str, Any]]] = []
    collecting = settings(
        max_examples=examples(fast=80, full=2_000), deadline=None, suppress_health_check=list(HealthCheck)
    )
    collecting(given(asked=arguments_of_a_tool)(lambda asked: wanted.append(asked)))()
    key = (await new_team()).keys["admin"]
    async with AsyncExitStack() as opened:
        channels = {name: ServiceChannel(stack.address(name)) for name in ("ingest", "conflict", "recall")}
        for channel in channels.values():
            opened.push_async_callback(channel.close)
        server = MemoryServer(tools=TOOLS, calls=MethodCalls(channels, timeout_seconds=30), key_of=lambda _: key)
        for name, arguments in [*VALID.items(), *wanted]:
            params = mcp_types.CallToolRequestParams(name=name, arguments=arguments)
            is_told(await server.call_tool(CONTEXT, params))


def test_what_is_filled_in_is_valid() -> None:
    for name, said in VALID.items():
        request = TOOLS[name].method.new_request()
        fill_from_json(request, said)
        assert find_breaches(request) == (), name
