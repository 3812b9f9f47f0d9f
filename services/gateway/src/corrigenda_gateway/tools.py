"""The tools: every method that the protos offer to agents, with what a client is told about it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import mcp_types
from corrigenda.options.v1 import options_pb2
from corrigenda_core.rpc.comments import comment_of
from corrigenda_core.rpc.wire_methods import WireMethod, wire_methods
from google.protobuf.descriptor import MethodDescriptor

from corrigenda_gateway.schemas import request_schema, response_schema


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentTool:
    """One method as a tool; ``told`` is what clients see of it."""

    method: WireMethod
    told: mcp_types.Tool


def agent_tools() -> dict[str, AgentTool]:
    """All tools by name, in the order of the services and of their methods.

    Raises:
        ValueError: if two methods have one tool name, or a client would have to stream.
    """
    found: dict[str, AgentTool] = {}
    for method in wire_methods():
        if method.descriptor.GetOptions().HasExtension(options_pb2.mcp_tool):
            tool = _tool(method)
            if tool.told.name in found or method.descriptor.client_streaming:
                raise ValueError(f"{method.name} cannot be the tool {tool.told.name}")
            found[tool.told.name] = tool
    return found


def _tool(wire_method: WireMethod) -> AgentTool:
    method = wire_method.descriptor
    declared = method.GetOptions().Extensions[options_pb2.mcp_tool]
    return AgentTool(
        method=wire_method,
        told=mcp_types.Tool(
            name=declared.name,
            title=declared.title,
            description=_description(method),
            input_schema=request_schema(method.input_type),
            output_schema=_output_schema(method),
            annotations=mcp_types.ToolAnnotations(
                title=declared.title,
                read_only_hint=declared.read_only,
                destructive_hint=declared.destructive,
                idempotent_hint=declared.idempotent,
                # A tool reaches the team's memory and nothing beyond it.
                open_world_hint=False,
            ),
        ),
    )


def _output_schema(method: MethodDescriptor) -> dict[str, Any]:
    schema = response_schema(method.output_type)
    if not method.server_streaming:
        return schema
    parts = schema.pop("$defs", {})
    listed = {"messages": {"type": "array", "items": schema}, "truncated": {"type": "boolean"}}
    return {"type": "object", "properties": listed, "$defs": parts}


def _description(method: MethodDescriptor) -> str:
    """The method's comment without the list of reasons: a failed call says its reason itself."""
    paragraphs = comment_of(method.full_name).split("\n\n")
    return "\n\n".join(" ".join(one.split()) for one in paragraphs if not one.startswith("Reasons:"))
