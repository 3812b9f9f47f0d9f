"""Methods as their descriptors declare them, and the loop that a process runs on."""

from __future__ import annotations

import asyncio

import pytest
from corrigenda.ingest.v1 import ingest_service_pb2
from corrigenda_core.domain.actors import KeyScope
from corrigenda_core.rpc.methods import MethodAccess, methods_of
from corrigenda_core.rpc.server import run
from grpc_health.v1 import health_pb2


def test_a_method_says_who_may_call_it_and_whether_it_mutates() -> None:
    service = ingest_service_pb2.DESCRIPTOR.services_by_name["IngestService"]
    assert methods_of([service])["/corrigenda.ingest.v1.IngestService/Remember"] == MethodAccess(
        path="/corrigenda.ingest.v1.IngestService/Remember",
        service="corrigenda.ingest.v1.IngestService",
        name="Remember",
        any_of=frozenset({KeyScope.WRITE}),
        mutates=True,
    )


def test_a_service_with_a_method_that_does_not_say_it_is_not_served() -> None:
    with pytest.raises(ValueError, match="does not say who may call it"):
        methods_of([health_pb2.DESCRIPTOR.services_by_name["Health"]])


def test_a_process_runs_on_the_faster_loop() -> None:
    async def loop_module() -> str:
        return type(asyncio.get_running_loop()).__module__

    assert run(loop_module()) == "uvloop"
