"""A gRPC server of one process: our services behind the gate, health per service and dependency, reflection, drain.

A server listens on one address, tells the port that it got (port 0 works), serves until a stop event is set, and then
drains: health turns to NOT_SERVING, no new call is taken, and those in flight have some time to end.
"""

from __future__ import annotations

import asyncio
import contextlib
import sys
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import grpc
from google.protobuf.descriptor import ServiceDescriptor
from grpc_health.v1 import health, health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection

from corrigenda_core.policy.limits import decide_limit
from corrigenda_core.process_health import ProcessHealth
from corrigenda_core.rpc.interceptors import CallGate

MESSAGE_BYTES_MAX = decide_limit("message").greatest
CONNECTION_AGE_SECONDS = 1800
DRAIN_SECONDS = 20.0
CHECK_INTERVAL_SECONDS = 5.0
CHECK_TIMEOUT_SECONDS = 2.0

DependencyCheck = Callable[[], Awaitable[None]]
"""Returns if the dependency answers; anything that it raises means that it does not."""

Result = TypeVar("Result")


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceBinding:
    """A service to serve: its descriptor, and what registers its handlers with a server."""

    descriptor: ServiceDescriptor
    register: Callable[[grpc.aio.Server], None]


class RpcServer:
    """One listening server. `start` it, then `serve_until` an event is set.

    Args:
        services: what to serve.
        gate: what every call to these services passes.
        checks: the dependencies by name; each service is SERVING while all of them answer. The health of a dependency
            itself is asked for under ``dependency/<name>``.
        address: host and port; port 0 takes a free one.
        credentials: for TLS; without them the connection is plain.
        process_health: is told, too, whether calls should come here.
    """

    def __init__(
        self,
        *,
        services: Sequence[ServiceBinding],
        gate: CallGate,
        checks: Mapping[str, DependencyCheck],
        address: str = "127.0.0.1:0",
        credentials: grpc.ServerCredentials | None = None,
        check_interval_seconds: float = CHECK_INTERVAL_SECONDS,
        process_health: ProcessHealth | None = None,
    ) -> None:
        self._process_health = process_health or ProcessHealth()
        self._names = [service.descriptor.full_name for service in services]
        self._checks = checks
        self._check_interval_seconds = check_interval_seconds
        self._health = health.aio.HealthServicer()
        self._stopping = gate.stopping
        self._checking: asyncio.Task[None] | None = None
        self._server = grpc.aio.server(
            interceptors=[gate],
            options=[
                ("grpc.max_receive_message_length", MESSAGE_BYTES_MAX),
                ("grpc.max_send_message_length", MESSAGE_BYTES_MAX),
                # Two servers never share a port: the second one fails to start instead.
                ("grpc.so_reuseport", 0),
                # A connection is made anew now and then: with the certificates of then, and to new replicas as well.
                ("grpc.max_connection_age_ms", CONNECTION_AGE_SECONDS * 1000),
            ],
        )
        for service in services:
            service.register(self._server)
        health_pb2_grpc.add_HealthServicer_to_server(self._health, self._server)
        reflection.enable_server_reflection([*self._names, health.SERVICE_NAME, reflection.SERVICE_NAME], self._server)
        host = address.rpartition(":")[0]
        if credentials is None:
            self.port = self._server.add_insecure_port(address)
        else:
            self.port = self._server.add_secure_port(address, credentials)
        self.address = f"{host}:{self.port}"

    async def start(self) -> str:
        """Begins to serve, after a first look at the dependencies; returns the bound address."""
        await self._look()
        await self._server.start()
        self._checking = asyncio.create_task(self._keep_looking(), name="health checks")
        return self.address

    async def serve_until(self, stop: asyncio.Event, *, drain_seconds: float = DRAIN_SECONDS) -> None:
        """Serves until the event is set, then drains."""
        await stop.wait()
        await self.stop(drain_seconds=drain_seconds)

    async def stop(self, *, drain_seconds: float = DRAIN_SECONDS) -> None:
        """Takes no new call, and ends those in flight that are not done after ``drain_seconds``.

        A stream that waits for more ends at once, in good order.
        """
        self._stopping.set()
        self._process_health.is_ready = False
        if self._checking is not None:
            self._checking.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._checking
        await self._health.enter_graceful_shutdown()
        await self._server.stop(drain_seconds)

    async def _keep_looking(self) -> None:
        while True:
            await asyncio.sleep(self._check_interval_seconds)
            await self._look()

    async def _look(self) -> None:
        """Asks every dependency once and publishes what that means."""
        answers = await asyncio.gather(*(_answers(check) for check in self._checks.values()))
        for name, answered in zip(self._checks, answers, strict=True):
            await self._health.set(f"dependency/{name}", _status(answered))
        self._process_health.is_ready = all(answers)
        for name in ["", *self._names]:
            await self._health.set(name, _status(all(answers)))


async def _answers(check: DependencyCheck) -> bool:
    try:
        async with asyncio.timeout(CHECK_TIMEOUT_SECONDS):
            await check()
    except Exception:  # noqa: BLE001 - whatever a check raises means the same: the dependency does not answer
        return False
    return True


def _status(answered: bool) -> health_pb2.HealthCheckResponse.ServingStatus:
    response = health_pb2.HealthCheckResponse
    return response.SERVING if answered else response.NOT_SERVING


def run(main: Coroutine[Any, Any, Result]) -> Result:
    """Runs a process's main coroutine, on the faster event loop where there is one."""
    if sys.platform == "win32":
        return asyncio.run(main)
    import uvloop

    return uvloop.run(main)
