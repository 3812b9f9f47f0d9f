"""The tools: every method that the protos offer to agents, with what a client is told about it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import mcp_types
from corrigenda.conflict.v1 import conflict_service_pb2
from corrigenda.ingest.v1 import ingest_service_pb2
from corrigenda.options.v1 import options_pb2
from corrigenda.recall.v1 import recall_service_pb2
from corrigenda_core.rpc.comments import comment_of
from google.protobuf.descriptor import MethodDescriptor, ServiceDescriptor
from google.protobuf.message import Message
from google.protobuf.message_factory import GetMessageClass

from corrigenda_gateway.schemas import request_schema, response_schema

SERVICES: dict[str, ServiceDescriptor] = {
    "ingest": ingest_service_pb2.DESCRIPTOR.services_by_name["IngestService"],
    "conflict": conflict_service_pb2.DESCRIPTOR.services_by_name["ConflictService"],
    "recall": recall_service_pb2.DESCRIPTOR.services_by_name["RecallService"],
}
"""The services whose methods can be tools, by the name of the endpoint that serves them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentTool:
    """One method as a tool; ``told`` is what clients see, ``endpoint`` names who serves the method."""

    endpoint: str
    method: MethodDescriptor
    told: mcp_types.Tool

    @property
    def path(self) -> str:
        """The method's path on the wire."""
        return f"/{self.method.containing_service.full_name}/{self.method.name}"

    @property
    def is_stream(self) -> bool:
        """Whether the method answers with a stream of messages."""
        return self.method.server_streaming

    def new_request(self) -> Message:
        """An empty request."""
        return GetMessageClass(self.method.input_type)()

    def parse_response(self, data: bytes) -> Message:
        """An answer from its bytes."""
        return GetMessageClass(self.method.output_type).FromString(data)


def agent_tools() -> dict[str, AgentTool]:
    """All tools by name, in the order of the services and of their methods.

    Raises:
        ValueError: if two methods have one tool name, or a client would have to stream.
    """
    found: dict[str, AgentTool] = {}
    for endpoint, service in SERVICES.items():
        for method in _offered(service.methods):
            tool = _tool(endpoint, method)
            if tool.told.name in found or method.client_streaming:
                raise ValueError(f"{method.full_name} cannot be the tool {tool.told.name}")
            found[tool.told.name] = tool
    return found


def _offered(methods: Iterable[MethodDescriptor]) -> Iterable[MethodDescriptor]:
    return (method for method in methods if method.GetOptions().HasExtension(options_pb2.mcp_tool))


def _tool(endpoint: str, method: MethodDescriptor) -> AgentTool:
    declared = method.GetOptions().Extensions[options_pb2.mcp_tool]
    return AgentTool(
        endpoint=endpoint,
        method=method,
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
