"""Builds the gateway: the only place that makes its objects."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import grpc
from corrigenda_core.observed import Observed, open_observation
from corrigenda_core.rpc.channels import ServiceChannel
from corrigenda_core.rpc.wire_methods import MethodCalls
from grpc_health.v1 import health_pb2, health_pb2_grpc
from mcp.server.stdio import stdio_server

from corrigenda_gateway.config import GatewaySettings
from corrigenda_gateway.http import http_app, serve_http
from corrigenda_gateway.metrics import ToolMetrics
from corrigenda_gateway.server import KeyOf, MemoryServer, key_of_header, key_of_setting
from corrigenda_gateway.tools import agent_tools

PROCESS = "gateway"
HEALTH_TIMEOUT_SECONDS = 2.0

Channels = dict[str, ServiceChannel]


async def run_http(settings: GatewaySettings) -> None:
    """Serves streamable HTTP until the process is told to stop."""
    with open_observation(settings, PROCESS) as observed:
        async with _open_channels(settings) as channels:

            async def ready() -> dict[str, bool]:
                answers = await asyncio.gather(*(_is_serving(channel) for channel in channels.values()))
                return dict(zip(channels, answers, strict=True))

            server = _memory_server(settings, channels, observed, key_of_header)
            app = http_app(server.server(), settings, ready)
            await serve_http(app, settings, ready_facts=observed.ready_facts)


async def run_stdio(settings: GatewaySettings) -> None:
    """Serves one agent over standard input and output until it leaves."""
    with open_observation(settings, PROCESS) as observed:
        async with _open_channels(settings) as channels:
            key = None if settings.key is None else settings.key.get_secret_value()
            server = _memory_server(settings, channels, observed, key_of_setting(key)).server()
            async with stdio_server() as (read_stream, write_stream):
                await server.run(read_stream, write_stream, server.create_initialization_options())


def _memory_server(settings: GatewaySettings, channels: Channels, observed: Observed, key_of: KeyOf) -> MemoryServer:
    calls = MethodCalls(channels, timeout_seconds=settings.call_timeout_seconds)
    return MemoryServer(tools=agent_tools(), calls=calls, key_of=key_of, metrics=ToolMetrics(observed.registry))


def service_channels(settings: GatewaySettings) -> Channels:
    """The channel to each service, by its name."""
    addresses = {
        "ingest": settings.ingest_address,
        "conflict": settings.conflict_address,
        "recall": settings.recall_address,
    }
    return {name: ServiceChannel(address, settings.client_tls(address)) for name, address in addresses.items()}


@asynccontextmanager
async def _open_channels(settings: GatewaySettings) -> AsyncIterator[Channels]:
    """The channels, for as long as they are used."""
    channels = service_channels(settings)
    try:
        yield channels
    finally:
        for channel in channels.values():
            await channel.close()


async def _is_serving(channel: ServiceChannel) -> bool:
    """Whether the service behind a channel says that it serves."""
    stub = health_pb2_grpc.HealthStub(channel.current())
    try:
        answer = await stub.Check(health_pb2.HealthCheckRequest(), timeout=HEALTH_TIMEOUT_SECONDS)
    except grpc.aio.AioRpcError:
        return False
    return bool(answer.status == health_pb2.HealthCheckResponse.SERVING)
