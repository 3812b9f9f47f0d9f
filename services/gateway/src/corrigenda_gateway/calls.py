"""Calls of the services on behalf of whoever calls the gateway: the caller's key, a deadline, the trace."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from typing import Any

import grpc
from corrigenda_core.rpc.server import MESSAGE_BYTES_MAX
from google.protobuf.message import Message
from opentelemetry import propagate

from corrigenda_gateway.tools import AgentTool

STREAMED_MESSAGES_MAX = 1000
"""A tool answers at once: what a stream has beyond this many messages is left out, and the answer says so."""


class Calls:
    """Calls methods of the services by their descriptors.

    The gateway holds no key: each call carries the one that it was called with, and the services decide.

    Args:
        channels: an open channel for each endpoint.
        timeout_seconds: the deadline of a call.
    """

    def __init__(self, channels: Mapping[str, grpc.aio.Channel], *, timeout_seconds: float) -> None:
        self._channels = channels
        self._timeout_seconds = timeout_seconds

    async def call(self, tool: AgentTool, request: Message, *, key: str) -> Message:
        """Calls a method that answers once.

        Raises:
            grpc.aio.AioRpcError: the call failed.
        """
        method: Any = self._channels[tool.endpoint].unary_unary(
            tool.path, request_serializer=_to_bytes, response_deserializer=tool.parse_response
        )
        response: Message = await method(request, timeout=self._timeout_seconds, metadata=_metadata(key))
        return response

    async def stream(self, tool: AgentTool, request: Message, *, key: str) -> AsyncIterator[Message]:
        """Calls a method that answers with a stream.

        Raises:
            grpc.aio.AioRpcError: the call failed.
        """
        method: Any = self._channels[tool.endpoint].unary_stream(
            tool.path, request_serializer=_to_bytes, response_deserializer=tool.parse_response
        )
        call = method(request, timeout=self._timeout_seconds, metadata=_metadata(key))
        try:
            async for message in call:
                yield message
        finally:
            call.cancel()


def open_channel(target: str, credentials: grpc.ChannelCredentials | None = None) -> grpc.aio.Channel:
    """A channel to one service; without credentials the connection is plain."""
    options = [
        ("grpc.max_receive_message_length", MESSAGE_BYTES_MAX),
        ("grpc.max_send_message_length", MESSAGE_BYTES_MAX),
    ]
    if credentials is None:
        return grpc.aio.insecure_channel(target, options=options)
    return grpc.aio.secure_channel(target, credentials, options=options)


def _metadata(key: str) -> tuple[tuple[str, str], ...]:
    carrier = {"authorization": f"Bearer {key}"}
    propagate.inject(carrier)
    return tuple(carrier.items())


def _to_bytes(message: Message) -> bytes:
    return message.SerializeToString()
