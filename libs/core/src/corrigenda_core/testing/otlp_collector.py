"""A collector of traces and metrics on loopback that keeps what it is sent."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from concurrent import futures
from typing import Any

import grpc
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import (
    ExportMetricsServiceRequest,
    ExportMetricsServiceResponse,
)
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTraceServiceRequest,
    ExportTraceServiceResponse,
)
from opentelemetry.proto.trace.v1.trace_pb2 import Span

_POLL_SECONDS = 0.02


class OtlpCollector:
    """A running collector.

    Attributes:
        endpoint: its URL.
        spans: what came, each with the name of the process that sent it.
        metrics: the names of the metrics that came, by process.
    """

    def __init__(self) -> None:
        self.spans: list[tuple[str, Span]] = []
        self.metrics: dict[str, set[str]] = {}
        self._server = grpc.server(futures.ThreadPoolExecutor(max_workers=2))
        self._serve("trace", "Trace", self._take_spans, ExportTraceServiceRequest, ExportTraceServiceResponse)
        self._serve("metrics", "Metrics", self._take_metrics, ExportMetricsServiceRequest, ExportMetricsServiceResponse)
        self.endpoint = f"http://127.0.0.1:{self._server.add_insecure_port('127.0.0.1:0')}"
        self._server.start()

    def close(self) -> None:
        """Stops it."""
        self._server.stop(grace=None).wait()

    async def spans_of(self, trace_id: str, *, until: Callable[[list[tuple[str, Span]]], bool], seconds: float) -> Any:
        """The spans of a trace, once there are those that are waited for, or when the time is over."""
        ends = time.monotonic() + seconds
        while True:
            found = [(process, span) for process, span in list(self.spans) if span.trace_id.hex() == trace_id]
            if until(found) or time.monotonic() > ends:
                return found
            await asyncio.sleep(_POLL_SECONDS)

    def _serve(self, area: str, name: str, take: Callable[[Any], None], request: Any, response: Any) -> None:
        def export(message: Any, _: object) -> Any:
            take(message)
            return response()

        handler = grpc.unary_unary_rpc_method_handler(
            export, request_deserializer=request.FromString, response_serializer=response.SerializeToString
        )
        service = f"opentelemetry.proto.collector.{area}.v1.{name}Service"
        self._server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler(service, {"Export": handler}),))

    def _take_spans(self, request: ExportTraceServiceRequest) -> None:
        for resource in request.resource_spans:
            process = _process_of(resource.resource)
            self.spans += [(process, span) for scope in resource.scope_spans for span in scope.spans]

    def _take_metrics(self, request: ExportMetricsServiceRequest) -> None:
        for resource in request.resource_metrics:
            names = self.metrics.setdefault(_process_of(resource.resource), set())
            names |= {metric.name for scope in resource.scope_metrics for metric in scope.metrics}


def _process_of(resource: Any) -> str:
    return next(str(one.value.string_value) for one in resource.attributes if one.key == "service.name")
