"""Calls of the ingest service on behalf of a caller: with their key, within their deadline, as part of their trace."""

from __future__ import annotations

import grpc
from corrigenda.ingest.v1 import ingest_service_pb2, ingest_service_pb2_grpc
from corrigenda_core.domain.errors import Reason, Refusal
from corrigenda_core.ports.deadline import Deadline
from corrigenda_core.rpc.channels import ServiceChannel
from corrigenda_core.rpc.interceptors import REQUEST_ID_KEY
from corrigenda_core.rpc.status import refusal_of
from corrigenda_core.security.certificates import ClientTls
from opentelemetry import propagate


class IngestCalls:
    """One connection to the ingest service; it holds no key of its own.

    Args:
        address: host and port.
        tls: how it is connected; ``None``: in plain text.
    """

    def __init__(self, address: str, tls: ClientTls | None = None) -> None:
        # Who called this service repeats a call that is worth it: two that repeat would multiply.
        self._channel = ServiceChannel(address, tls, retries=False)

    async def close(self) -> None:
        """Closes the connection."""
        await self._channel.close()

    async def remember(
        self,
        request: ingest_service_pb2.RememberRequest,
        *,
        authorization: str,
        request_id: str,
        deadline: Deadline,
    ) -> ingest_service_pb2.RememberResponse:
        """Remembers for a caller.

        Args:
            request: what is remembered; its idempotency key is the caller's.
            authorization: the caller's credential, as it came.
            request_id: of the call that this one is part of.
            deadline: of that call.

        Raises:
            Refusal: of the ingest service; STORE_UNAVAILABLE if it does not answer, and then the commit may have
                happened: the same call again finds out.
        """
        stub = ingest_service_pb2_grpc.IngestServiceStub(self._channel.current())
        carrier: dict[str, str] = {"authorization": authorization, REQUEST_ID_KEY: request_id}
        propagate.inject(carrier)
        try:
            answer: ingest_service_pb2.RememberResponse = await stub.Remember(
                request, timeout=deadline.remaining_seconds(), metadata=tuple(carrier.items())
            )
        except grpc.aio.AioRpcError as error:
            refusal = refusal_of(error) or Refusal(
                Reason.STORE_UNAVAILABLE,
                "the ingest service does not answer",
                metadata={"outcome": "unknown"},
                retry_after_seconds=1.0,
            )
            raise refusal from error
        return answer
