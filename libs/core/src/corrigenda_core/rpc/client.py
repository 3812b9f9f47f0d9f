"""The client of our services: typed stubs, the key on every call, deadlines, and reading one's own writes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Self, TypeVar

import grpc
from corrigenda.admin.v1 import admin_service_pb2_grpc
from corrigenda.conflict.v1 import conflict_service_pb2_grpc
from corrigenda.ingest.v1 import ingest_service_pb2_grpc
from corrigenda.recall.v1 import recall_service_pb2_grpc
from google.protobuf.message import Message
from opentelemetry import propagate

from corrigenda_core.rpc.channels import open_channel

TIMEOUT_SECONDS = 30.0

Request = TypeVar("Request", bound=Message)


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoints:
    """Where the services listen, each as host and port. Ingest serves administration too."""

    ingest: str
    conflict: str
    recall: str


class Client:
    """Calls the services as the profile of one key.

    A failed call raises `grpc.aio.AioRpcError`; `status.refusal_of` reads what it carries. The client remembers the
    latest revision that any answer named, and `own_writes` asks for an answer that knows it.

    Args:
        endpoints: where the services listen.
        secret: the key.
        timeout_seconds: deadline of a call that names none.
        credentials: for TLS; without them the connection is plain.
        retries: whether the connection repeats what is safe to repeat, where the server says that it may help.
    """

    def __init__(
        self,
        endpoints: Endpoints,
        secret: str,
        *,
        timeout_seconds: float = TIMEOUT_SECONDS,
        credentials: grpc.ChannelCredentials | None = None,
        retries: bool = True,
    ) -> None:
        self.seen_revision = 0
        prepared = _Prepared(secret, timeout_seconds)
        interceptors = [_Calls(prepared, self._saw), _Streams(prepared), _BothStreams(_Prepared(secret, None))]
        targets = {endpoints.ingest, endpoints.conflict, endpoints.recall}
        self._channels = {
            target: open_channel(target, credentials, interceptors=interceptors, retries=retries)
            for target in sorted(targets)
        }
        self.ingest = ingest_service_pb2_grpc.IngestServiceStub(self._channels[endpoints.ingest])
        self.admin = admin_service_pb2_grpc.AdminServiceStub(self._channels[endpoints.ingest])
        self.conflict = conflict_service_pb2_grpc.ConflictServiceStub(self._channels[endpoints.conflict])
        self.recall = recall_service_pb2_grpc.RecallServiceStub(self._channels[endpoints.recall])

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        error_type: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Closes the connections."""
        for channel in self._channels.values():
            await channel.close()

    def own_writes(self, request: Request) -> Request:
        """The request, asking for an answer that knows every revision that this client has seen.

        Raises:
            ValueError: if the request has no ``min_revision``.
        """
        if "min_revision" not in request.DESCRIPTOR.fields_by_name:
            raise ValueError(f"{request.DESCRIPTOR.name} has no min_revision")
        # The field is found in the descriptor, so the type checker cannot know it.
        asking: Any = request
        asking.min_revision = max(asking.min_revision, self.seen_revision)
        return request

    def _saw(self, revision: int) -> None:
        self.seen_revision = max(self.seen_revision, revision)


class _Prepared:
    """What every call goes out with: the key, a deadline if there is one, and the trace."""

    def __init__(self, secret: str, timeout_seconds: float | None) -> None:
        self._authorization = f"Bearer {secret}"
        self._timeout_seconds = timeout_seconds

    def __call__(self, details: grpc.aio.ClientCallDetails) -> grpc.aio.ClientCallDetails:
        carrier: dict[str, str] = {"authorization": self._authorization}
        propagate.inject(carrier)
        return grpc.aio.ClientCallDetails(
            method=details.method,
            timeout=self._timeout_seconds if details.timeout is None else details.timeout,
            metadata=grpc.aio.Metadata(*(details.metadata or ()), *carrier.items()),
            credentials=details.credentials,
            wait_for_ready=details.wait_for_ready,
        )


class _Calls(grpc.aio.UnaryUnaryClientInterceptor):
    """Prepares calls with one answer, and notes its revision."""

    def __init__(self, prepared: _Prepared, saw: Callable[[int], None]) -> None:
        self._prepared = prepared
        self._saw = saw

    async def intercept_unary_unary(
        self,
        continuation: Callable[[grpc.aio.ClientCallDetails, Any], Any],
        client_call_details: grpc.aio.ClientCallDetails,
        request: Any,
    ) -> Any:
        call = await continuation(self._prepared(client_call_details), request)
        response = await call
        self._saw(getattr(response, "revision", 0))
        return call


class _Streams(grpc.aio.UnaryStreamClientInterceptor):
    """Prepares calls that are answered with a stream; which revision is seen, its reader knows."""

    def __init__(self, prepared: _Prepared) -> None:
        self._prepared = prepared

    async def intercept_unary_stream(
        self,
        continuation: Callable[[grpc.aio.ClientCallDetails, Any], Any],
        client_call_details: grpc.aio.ClientCallDetails,
        request: Any,
    ) -> Any:
        return await continuation(self._prepared(client_call_details), request)


class _BothStreams(grpc.aio.StreamStreamClientInterceptor):
    """Prepares calls that send a stream and are answered with one; they take as long as there is something to send."""

    def __init__(self, prepared: _Prepared) -> None:
        self._prepared = prepared

    async def intercept_stream_stream(
        self,
        continuation: Callable[[grpc.aio.ClientCallDetails, Any], Any],
        client_call_details: grpc.aio.ClientCallDetails,
        request_iterator: Any,
    ) -> Any:
        return await continuation(self._prepared(client_call_details), request_iterator)
