"""Methods that answer with a stream, over the wire: the same gate, one deadline for all messages, and a drain."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import grpc
import pytest
import pytest_asyncio
import structlog
from corrigenda.recall.v1 import recall_service_pb2, recall_service_pb2_grpc
from corrigenda_core.domain.actors import Caller, KeyScope
from corrigenda_core.domain.errors import Reason, Refusal
from corrigenda_core.domain.ids import KeyId, ProfileId, TeamId
from corrigenda_core.policy.authorization import may_call_method
from corrigenda_core.rpc.admission import Admission, AdmissionBounds
from corrigenda_core.rpc.calls import current_call
from corrigenda_core.rpc.client import Client, Endpoints
from corrigenda_core.rpc.interceptors import CallGate
from corrigenda_core.rpc.methods import methods_of
from corrigenda_core.rpc.metrics import CallMetrics
from corrigenda_core.rpc.rate_limit import RateLimiter, RateLimits
from corrigenda_core.rpc.server import RpcServer, ServiceBinding
from corrigenda_core.rpc.status import refusal_of
from prometheus_client import CollectorRegistry

SERVICE = recall_service_pb2.DESCRIPTOR.services_by_name["RecallService"]
LIST_CHANGES = f"/{SERVICE.full_name}/ListChanges"
READER, WRITER = "cor_reader", "cor_writer"
SCOPES = {READER: {KeyScope.READ}, WRITER: {KeyScope.WRITE}}
WAIT_SECONDS = 60.0

UNTIL_STOPPED, FOREVER, REFUSED, BROKEN = range(1, 5)


class Keys:
    async def authenticate(self, secret: str) -> Caller:
        return Caller(
            team_id=TeamId("team"),
            profile_id=ProfileId("profile"),
            key_id=KeyId("key"),
            scopes=frozenset(SCOPES[secret]),
        )


class Changes(recall_service_pb2_grpc.RecallServiceServicer):
    """Sends two messages, then does what the asked revision says."""

    def __init__(self) -> None:
        self.closed = asyncio.Event()

    async def ListChanges(self, request: Any, context: Any) -> AsyncIterator[Any]:
        try:
            for revision in (1, 2):
                yield recall_service_pb2.ListChangesResponse(revision=revision)
            if request.after_revision == UNTIL_STOPPED:
                await current_call().stopping.wait()
                yield recall_service_pb2.ListChangesResponse(revision=3)
            elif request.after_revision == FOREVER:
                await asyncio.Event().wait()
            elif request.after_revision == REFUSED:
                raise Refusal(Reason.STORE_UNAVAILABLE, "the database went away")
            elif request.after_revision == BROKEN:
                raise RuntimeError("a defect")
        finally:
            self.closed.set()


class Served:
    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self.changes = Changes()
        self.server = RpcServer(
            services=[
                ServiceBinding(
                    descriptor=SERVICE,
                    register=lambda server: recall_service_pb2_grpc.add_RecallServiceServicer_to_server(
                        self.changes, server
                    ),
                )
            ],
            gate=CallGate(
                methods=methods_of([SERVICE]),
                authenticator=Keys(),
                may_call=may_call_method,
                limiter=RateLimiter(RateLimits()),
                admission=Admission(AdmissionBounds(streams_at_once=4)),
                metrics=CallMetrics(self.registry),
            ),
            checks={},
        )

    def client(self, secret: str = READER) -> Client:
        address = self.server.address
        return Client(Endpoints(ingest=address, conflict=address, recall=address), secret)


@pytest_asyncio.fixture
async def served() -> AsyncIterator[Served]:
    made = Served()
    await made.server.start()
    yield made
    await made.server.stop(drain_seconds=0)


def asked(after_revision: int = 0) -> recall_service_pb2.ListChangesRequest:
    return recall_service_pb2.ListChangesRequest(after_revision=after_revision)


async def read_to_the_end(call: Any) -> list[int]:
    return [message.revision async for message in call]


async def refused(call: Any) -> tuple[list[int], grpc.aio.AioRpcError, Refusal]:
    """What came before the end, and the end."""
    came: list[int] = []

    async def read() -> None:
        async for message in call:
            came.append(message.revision)

    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await read()
    refusal = refusal_of(caught.value)
    assert refusal is not None
    return came, caught.value, refusal


async def test_a_stream_is_one_call_with_one_log_line_and_one_count(served: Served) -> None:
    with structlog.testing.capture_logs() as logs:
        async with served.client() as client:
            call = client.recall.ListChanges(asked())
            assert await read_to_the_end(call) == [1, 2]
            assert "x-request-id" in dict(await call.trailing_metadata())
    assert [(line["event"], line["code"]) for line in logs] == [("rpc", "OK")]
    labels = {"method": LIST_CHANGES, "code": "OK", "reason": ""}
    assert served.registry.get_sample_value("corrigenda_rpc_calls_total", labels) == 1
    assert served.registry.get_sample_value("corrigenda_rpc_in_flight") == 0


async def test_a_stream_passes_the_gate_before_it_begins(served: Served) -> None:
    async with served.client(WRITER) as client:
        came, error, refusal = await refused(client.recall.ListChanges(asked()))
    assert (came, error.code(), refusal.reason) == ([], grpc.StatusCode.PERMISSION_DENIED, Reason.SCOPE_MISSING)
    async with served.client() as client:
        _, _, refusal = await refused(client.recall.ListChanges(asked(-1)))
    assert (refusal.reason, refusal.field) == (Reason.INVALID_FIELD, "after_revision")


@pytest.mark.parametrize(("ending", "reason"), [(REFUSED, Reason.STORE_UNAVAILABLE), (BROKEN, Reason.INTERNAL_ERROR)])
async def test_what_fails_in_the_middle_ends_the_stream_with_its_reason(
    served: Served, ending: int, reason: Reason
) -> None:
    async with served.client() as client:
        came, _, refusal = await refused(client.recall.ListChanges(asked(ending)))
    assert (came, refusal.reason) == ([1, 2], reason)


async def test_a_deadline_is_that_of_the_whole_stream(served: Served) -> None:
    async with served.client() as client:
        call = client.recall.ListChanges(asked(FOREVER), timeout=0.5)
        with pytest.raises(grpc.aio.AioRpcError):
            await read_to_the_end(call)
        async with asyncio.timeout(WAIT_SECONDS):
            await served.changes.closed.wait()


async def test_a_reader_who_leaves_ends_the_handler(served: Served) -> None:
    async with served.client() as client:
        call = client.recall.ListChanges(asked(FOREVER))
        await call.read()
        call.cancel()
        async with asyncio.timeout(WAIT_SECONDS):
            await served.changes.closed.wait()


@pytest.mark.promise("answer.drains")
async def test_a_draining_server_lets_streams_end_in_good_order(served: Served) -> None:
    async with served.client() as client:
        call = client.recall.ListChanges(asked(UNTIL_STOPPED))
        assert (await call.read()).revision == 1
        async with asyncio.timeout(WAIT_SECONDS / 2):
            reading = asyncio.create_task(read_to_the_end(call))
            await served.server.stop(drain_seconds=WAIT_SECONDS)
            assert await reading == [2, 3]
        assert await call.code() is grpc.StatusCode.OK
