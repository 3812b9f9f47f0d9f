"""The MCP server: lists what there is, calls the services with the caller's key, and tells failures as results."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from importlib.metadata import version
from typing import Any

import grpc
import mcp_types
from corrigenda_core.domain.errors import Reason, Refusal
from corrigenda_core.rpc.json_mapping import fill_from_json, to_json
from corrigenda_core.rpc.validation import refuse_invalid
from corrigenda_core.rpc.wire_methods import MethodCalls
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.shared.exceptions import MCPError
from opentelemetry import propagate, trace
from opentelemetry.context import Context as TraceContext
from prometheus_client import CollectorRegistry

from corrigenda_gateway.answers import text_of
from corrigenda_gateway.failures import failed, refusal_of_call
from corrigenda_gateway.metrics import ToolMetrics
from corrigenda_gateway.prompts import PROMPTS
from corrigenda_gateway.resources import CONFLICT, MIME_TYPE, OPEN_CONFLICTS, TRACE, resource_call
from corrigenda_gateway.tools import AgentTool

_tracer = trace.get_tracer("corrigenda.gateway")

Context = ServerRequestContext[Any, Any]
KeyOf = Callable[[Context], str]

STREAMED_MESSAGES_MAX = 1000
"""A tool answers at once: what a stream has beyond this many messages is left out, and the answer says so."""

INSTRUCTIONS = """\
Corrigenda is memory that a team of agents shares. Nothing in it is overwritten: evidence stays word for word, every
author keeps an own record, and where records contradict each other the conflict is shown until evidence settles it.

Recall before you answer from memory. If a result is marked as competing or comes with a conflict, tell the user so and
take no side. Remember texts as they were said, with their source, never your own summary as if it were evidence. If you
know better than a record of somebody else, store your own evidence; you cannot change theirs."""


class MemoryServer:
    """The handlers of one MCP server.

    Args:
        tools: what is offered, by name.
        calls: how the services are called.
        key_of: the API key that a request came with.
        metrics: where calls are counted; default: nowhere that anybody looks.
    """

    def __init__(
        self, *, tools: Mapping[str, AgentTool], calls: MethodCalls, key_of: KeyOf, metrics: ToolMetrics | None = None
    ) -> None:
        self._metrics = metrics or ToolMetrics(CollectorRegistry())
        self._tools = tools
        self._calls = calls
        self._key_of = key_of

    def server(self) -> Server[Any]:
        """The server, for any transport."""
        return Server(
            "corrigenda",
            title="Corrigenda",
            version=version("corrigenda-gateway"),
            instructions=INSTRUCTIONS,
            on_list_tools=self.list_tools,
            on_call_tool=self.call_tool,
            on_list_resources=self.list_resources,
            on_list_resource_templates=self.list_resource_templates,
            on_read_resource=self.read_resource,
            on_list_prompts=self.list_prompts,
            on_get_prompt=self.get_prompt,
        )

    async def list_tools(
        self, _context: Context, _params: mcp_types.PaginatedRequestParams | None
    ) -> mcp_types.ListToolsResult:
        """All tools; they are few enough for one page."""
        return mcp_types.ListToolsResult(tools=[tool.told for tool in self._tools.values()])

    async def call_tool(self, context: Context, params: mcp_types.CallToolRequestParams) -> mcp_types.CallToolResult:
        """Calls a tool.

        Raises:
            MCPError: there is no such tool.
        """
        try:
            answer = await self._answer(context, params.name, params.arguments or {})
        except Refusal as refusal:
            return failed(refusal)
        return mcp_types.CallToolResult(
            content=[mcp_types.TextContent(text=text_of(answer))], structured_content=answer
        )

    async def list_resources(
        self, _context: Context, _params: mcp_types.PaginatedRequestParams | None
    ) -> mcp_types.ListResourcesResult:
        """The resources that need no id."""
        return mcp_types.ListResourcesResult(resources=[OPEN_CONFLICTS])

    async def list_resource_templates(
        self, _context: Context, _params: mcp_types.PaginatedRequestParams | None
    ) -> mcp_types.ListResourceTemplatesResult:
        """The resources that need one."""
        return mcp_types.ListResourceTemplatesResult(resource_templates=[CONFLICT, TRACE])

    async def read_resource(
        self, context: Context, params: mcp_types.ReadResourceRequestParams
    ) -> mcp_types.ReadResourceResult:
        """Reads a resource.

        Raises:
            MCPError: there is no such resource, or the read was refused.
        """
        call = resource_call(params.uri)
        if call is None:
            raise MCPError(mcp_types.INVALID_PARAMS, "there is no such resource", {"uri": params.uri})
        text = await self._read(context, call.tool, call.arguments)
        contents = mcp_types.TextResourceContents(uri=params.uri, mime_type=MIME_TYPE, text=text)
        return mcp_types.ReadResourceResult(contents=[contents])

    async def list_prompts(
        self, _context: Context, _params: mcp_types.PaginatedRequestParams | None
    ) -> mcp_types.ListPromptsResult:
        """All prompts."""
        return mcp_types.ListPromptsResult(prompts=[prompt.told for prompt in PROMPTS.values()])

    async def get_prompt(self, context: Context, params: mcp_types.GetPromptRequestParams) -> mcp_types.GetPromptResult:
        """A prompt with the conflict that it is about.

        Raises:
            MCPError: there is no such prompt, or the conflict could not be read.
        """
        prompt = PROMPTS.get(params.name)
        if prompt is None:
            raise MCPError(mcp_types.INVALID_PARAMS, "there is no such prompt", {"name": params.name})
        conflict_id = (params.arguments or {}).get("conflict_id", "")
        return prompt.filled(await self._read(context, "get_conflict", {"conflict_id": conflict_id}))

    async def _read(self, context: Context, tool: str, arguments: Mapping[str, Any]) -> str:
        """What a tool answers, as text; a refusal is an error of the protocol here, since nobody sees a result."""
        try:
            return text_of(await self._answer(context, tool, arguments))
        except Refusal as refusal:
            told = failed(refusal).structured_content
            raise MCPError(mcp_types.INVALID_PARAMS, refusal.message, told) from refusal

    async def _answer(self, context: Context, name: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """Calls a tool as part of the caller's trace, and counts it."""
        tool = self._tools.get(name)
        if tool is None:
            raise MCPError(mcp_types.INVALID_PARAMS, "there is no such tool", {"name": name})
        began, reason = time.monotonic(), ""
        with _tracer.start_as_current_span(
            f"mcp {name}",
            context=_trace_of(context),
            kind=trace.SpanKind.SERVER,
            record_exception=False,
            set_status_on_exception=False,
        ) as span:
            try:
                return await self._answered(context, tool, arguments)
            except Refusal as refusal:
                reason = refusal.reason.value
                raise
            finally:
                span.set_attribute("corrigenda.reason", reason)
                self._metrics.finished(tool=name, reason=reason, duration_seconds=time.monotonic() - began)

    async def _answered(self, context: Context, tool: AgentTool, arguments: Mapping[str, Any]) -> dict[str, Any]:
        key = self._key_of(context)
        request = tool.method.new_request()
        fill_from_json(request, arguments)
        # Refused here, a bad request costs no call; the service checks it again.
        refuse_invalid(request)
        try:
            if tool.method.descriptor.server_streaming:
                return await self._streamed(context, tool, request, key)
            return to_json(await self._calls.call(tool.method, request, key=key))
        except grpc.aio.AioRpcError as error:
            raise refusal_of_call(error) from error

    async def _streamed(self, context: Context, tool: AgentTool, request: Any, key: str) -> dict[str, Any]:
        """The messages of a stream in one answer, and progress for a client that asked for it."""
        messages: list[dict[str, Any]] = []
        async for message in self._calls.stream(tool.method, request, key=key):
            if len(messages) == STREAMED_MESSAGES_MAX:
                return {"messages": messages, "truncated": True}
            messages.append(to_json(message))
            await context.session.report_progress(len(messages))
        return {"messages": messages, "truncated": False}


def _trace_of(context: Context) -> TraceContext | None:
    """The trace that an HTTP request belongs to (W3C ``traceparent``), if it says so."""
    return None if context.request is None else propagate.extract(dict(context.request.headers))


def key_of_setting(key: str | None) -> KeyOf:
    """The key of every request of a transport that serves one agent: the one that it was started with."""

    def key_of(_context: Context) -> str:
        if key is None:
            raise Refusal(Reason.CREDENTIAL_INVALID, "the gateway was started without CORRIGENDA_KEY")
        return key

    return key_of


def key_of_header(context: Context) -> str:
    """The key of an HTTP request: its bearer token.

    Raises:
        Refusal: CREDENTIAL_INVALID if it has none.
    """
    key = bearer_of(context.request.headers.get("authorization", "")) if context.request is not None else ""
    if not key:
        raise Refusal(Reason.CREDENTIAL_INVALID, "there is no bearer token")
    return key


def bearer_of(authorization: str) -> str:
    """The token of an ``Authorization`` header, empty if it has another scheme (RFC 6750)."""
    scheme, _, token = authorization.partition(" ")
    return token.strip() if scheme.lower() == "bearer" else ""
