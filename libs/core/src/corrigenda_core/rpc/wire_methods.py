"""The methods of our services as things to call by name: for tools, command lines and whoever reads descriptors."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from typing import Any

from google.protobuf.descriptor import MethodDescriptor
from google.protobuf.message import Message
from google.protobuf.message_factory import GetMessageClass
from opentelemetry import propagate

from corrigenda_core.rpc.channels import ServiceChannel
from corrigenda_core.rpc.methods import SERVED_BY


@dataclass(frozen=True, slots=True, kw_only=True)
class WireMethod:
    """One method; ``endpoint`` names the process that serves it."""

    endpoint: str
    descriptor: MethodDescriptor

    @property
    def name(self) -> str:
        """Its name with that of its service, such as ``RecallService/Recall``."""
        return f"{self.descriptor.containing_service.name}/{self.descriptor.name}"

    @property
    def path(self) -> str:
        """Its path on the wire."""
        return f"/{self.descriptor.containing_service.full_name}/{self.descriptor.name}"

    def new_request(self) -> Message:
        """An empty request."""
        return GetMessageClass(self.descriptor.input_type)()

    def parse_response(self, data: bytes) -> Message:
        """An answer from its bytes."""
        return GetMessageClass(self.descriptor.output_type).FromString(data)


def wire_methods() -> tuple[WireMethod, ...]:
    """All methods, in the order of the services and of their methods."""
    return tuple(
        WireMethod(endpoint=endpoint, descriptor=method)
        for endpoint, services in SERVED_BY.items()
        for service in services
        for method in service.methods
    )


class MethodCalls:
    """Calls methods with whichever key a call is made for.

    Args:
        channels: the channel to each endpoint.
        timeout_seconds: the deadline of a call.
    """

    def __init__(self, channels: Mapping[str, ServiceChannel], *, timeout_seconds: float) -> None:
        self._channels = channels
        self._timeout_seconds = timeout_seconds

    async def call(self, method: WireMethod, request: Message, *, key: str) -> Message:
        """Calls a method that takes one message and answers once.

        Raises:
            grpc.aio.AioRpcError: the call failed.
        """
        unary: Any = (
            self._channels[method.endpoint]
            .current()
            .unary_unary(method.path, request_serializer=_to_bytes, response_deserializer=method.parse_response)
        )
        response: Message = await unary(request, timeout=self._timeout_seconds, metadata=_metadata(key))
        return response

    async def stream(
        self, method: WireMethod, request: Message | AsyncIterator[Message], *, key: str
    ) -> AsyncIterator[Message]:
        """Calls a method that answers with a stream; ``request`` is a stream too where the method takes one.

        Raises:
            grpc.aio.AioRpcError: the call failed.
        """
        channel = self._channels[method.endpoint].current()
        open_stream: Any = channel.stream_stream if method.descriptor.client_streaming else channel.unary_stream
        started = open_stream(method.path, request_serializer=_to_bytes, response_deserializer=method.parse_response)(
            request, timeout=self._timeout_seconds, metadata=_metadata(key)
        )
        try:
            async for message in started:
                yield message
        finally:
            started.cancel()


def _metadata(key: str) -> tuple[tuple[str, str], ...]:
    carrier = {"authorization": f"Bearer {key}"}
    propagate.inject(carrier)
    return tuple(carrier.items())


def _to_bytes(message: Message) -> bytes:
    return message.SerializeToString()
