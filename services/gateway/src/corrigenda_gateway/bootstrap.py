"""Builds the gateway: the only place that makes its objects."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass

import grpc
from corrigenda_core.observability import configure_logging, make_registry, open_tracing, serve_metrics, trace_with
from corrigenda_core.otlp_metrics import start_metrics_export
from corrigenda_core.rpc.channels import ServiceChannel
from corrigenda_core.rpc.wire_methods import MethodCalls
from grpc_health.v1 import health_pb2, health_pb2_grpc
from mcp.server.stdio import stdio_server
from prometheus_client import CollectorRegistry

from corrigenda_gateway.config import GatewaySettings
from corrigenda_gateway.http import http_app, serve_http
from corrigenda_gateway.metrics import ToolMetrics
from corrigenda_gateway.server import KeyOf, MemoryServer, key_of_header, key_of_setting
from corrigenda_gateway.tools import agent_tools

HEALTH_TIMEOUT_SECONDS = 2.0

Channels = dict[str, ServiceChannel]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Opened:
    """What a gateway is built on."""

    channels: Channels
    registry: CollectorRegistry
    ready_facts: Mapping[str, str]


async def run_http(settings: GatewaySettings) -> None:
    """Serves streamable HTTP until the process is told to stop."""
    async with _open(settings) as opened:
        channels = opened.channels

        async def ready() -> dict[str, bool]:
            answers = await asyncio.gather(*(_is_serving(channel) for channel in channels.values()))
            return dict(zip(channels, answers, strict=True))

        server = _memory_server(settings, opened, key_of_header)
        await serve_http(http_app(server.server(), settings, ready), settings, ready_facts=opened.ready_facts)


async def run_stdio(settings: GatewaySettings) -> None:
    """Serves one agent over standard input and output until it leaves."""
    async with _open(settings) as opened:
        key = None if settings.key is None else settings.key.get_secret_value()
        server = _memory_server(settings, opened, key_of_setting(key)).server()
        async with stdio_server() as (read_stream, write_stream):
            await server.run(read_stream, write_stream, server.create_initialization_options())


def _memory_server(settings: GatewaySettings, opened: _Opened, key_of: KeyOf) -> MemoryServer:
    calls = MethodCalls(opened.channels, timeout_seconds=settings.call_timeout_seconds)
    return MemoryServer(tools=agent_tools(), calls=calls, key_of=key_of, metrics=ToolMetrics(opened.registry))


def service_channels(settings: GatewaySettings) -> Channels:
    """The channel to each service, by its name."""
    addresses = {
        "ingest": settings.ingest_address,
        "conflict": settings.conflict_address,
        "recall": settings.recall_address,
    }
    return {name: ServiceChannel(address, settings.client_tls(address)) for name, address in addresses.items()}


@asynccontextmanager
async def _open(settings: GatewaySettings) -> AsyncIterator[_Opened]:
    """The channels, with logging, tracing and metrics around them."""
    configure_logging(level=settings.log_level, format=settings.log_format, process="gateway")
    tracing = open_tracing(
        process="gateway", otlp_endpoint=settings.otlp_endpoint, sample_ratio=settings.trace_sample_ratio
    )
    trace_with(tracing)
    registry = make_registry()
    stop_export = start_metrics_export(registry, process="gateway", otlp_endpoint=settings.otlp_endpoint)
    metrics = None if settings.metrics_listen is None else serve_metrics(settings.metrics_listen, registry)
    channels = service_channels(settings)
    try:
        facts = {} if metrics is None else {"metrics": metrics.address}
        yield _Opened(channels=channels, registry=registry, ready_facts=facts)
    finally:
        for channel in channels.values():
            await channel.close()
        if metrics is not None:
            metrics.close()
        stop_export()
        tracing.close()


async def _is_serving(channel: ServiceChannel) -> bool:
    """Whether the service behind a channel says that it serves."""
    stub = health_pb2_grpc.HealthStub(channel.current())
    try:
        answer = await stub.Check(health_pb2.HealthCheckRequest(), timeout=HEALTH_TIMEOUT_SECONDS)
    except grpc.aio.AioRpcError:
        return False
    return bool(answer.status == health_pb2.HealthCheckResponse.SERVING)
