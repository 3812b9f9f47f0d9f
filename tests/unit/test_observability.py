"""Log lines carry facts and never payload; traces and metrics leave the process only where they are asked for."""

import io
import json
import logging
import sys
import threading
import urllib.error
import urllib.request
import uuid
from collections.abc import Iterator
from concurrent import futures
from datetime import UTC, datetime
from enum import Enum
from typing import Any

import grpc
import pytest
import structlog
from corrigenda_core.config import LogFormat, LogLevel
from corrigenda_core.domain.actors import KeyScope
from corrigenda_core.observability import (
    MAX_LOGGED_CODE_POINTS,
    MAX_LOGGED_ITEMS,
    MetricsEndpoint,
    configure_logging,
    make_registry,
    open_tracing,
    serve_metrics,
)
from corrigenda_core.process_health import ProcessHealth
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTraceServiceRequest,
    ExportTraceServiceResponse,
)
from prometheus_client import Counter

CANARY = "canary-4711"


@pytest.fixture
def lines() -> Iterator[io.StringIO]:
    root = logging.getLogger()
    kept = (root.handlers, root.level, sys.excepthook, threading.excepthook)
    output = io.StringIO()
    configure_logging(level=LogLevel.INFO, format=LogFormat.JSON, process="test", stream=output)
    yield output
    root.handlers, sys.excepthook, threading.excepthook = kept[0], kept[2], kept[3]
    root.setLevel(kept[1])
    structlog.reset_defaults()
    structlog.contextvars.clear_contextvars()


def written(output: io.StringIO) -> list[dict[str, Any]]:
    return [json.loads(line) for line in output.getvalue().splitlines()]


def test_a_line_is_one_json_object_with_its_facts(lines: io.StringIO) -> None:
    structlog.contextvars.bind_contextvars(request_id="r1")
    structlog.get_logger().info("rpc_finished", method="/x/Remember", code="OK", duration_ms=1.5, retried=False)
    structlog.get_logger().debug("not_written")
    (line,) = written(lines)
    assert datetime.fromisoformat(line.pop("timestamp")).utcoffset() is not None
    assert line == {
        "event": "rpc_finished",
        "level": "info",
        "process": "test",
        "request_id": "r1",
        "method": "/x/Remember",
        "code": "OK",
        "duration_ms": 1.5,
        "retried": False,
    }


DROPPED = """
    content evidence_text quote object_value key_pepper database_url page_token authorization names query Password
    team_name request metadata
"""


@pytest.mark.parametrize("key", DROPPED.split())
def test_keys_that_suggest_payload_are_dropped_and_counted(lines: io.StringIO, key: str) -> None:
    structlog.get_logger().info("event", **{key: CANARY}, count=1)
    (line,) = written(lines)
    assert (line["count"], line["dropped_count"]) == (1, 1)
    assert CANARY not in lines.getvalue()


class Level(Enum):
    ONE = 1


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        ({"a": CANARY}, "<dict>"),
        (object(), "<object>"),
        (b"bytes", "<bytes>"),
        ("x" * 500, "x" * MAX_LOGGED_CODE_POINTS),
        (list(range(50)), list(range(MAX_LOGGED_ITEMS))),
        (["a", None, ["b"], {"c"}], ["a", None, "<list>", "<set>"]),
        (Level.ONE, 1),
        (KeyScope.READ, "read"),
        (None, None),
        (uuid.UUID(int=1), "00000000-0000-0000-0000-000000000001"),
        (datetime(2026, 3, 1, tzinfo=UTC), "2026-03-01 00:00:00+00:00"),
        (f"key is cor_{'0' * 32}_{'a' * 52}_01234567.", "key is [key]."),
    ],
)
def test_only_short_scalars_are_written(lines: io.StringIO, value: object, shown: object) -> None:
    structlog.get_logger().info("event", fact=value)
    (line,) = written(lines)
    assert line["fact"] == shown


def test_an_exception_is_its_type_and_place(lines: io.StringIO) -> None:
    try:
        raise ValueError(CANARY)
    except ValueError as error:
        structlog.get_logger().exception("failed")
        structlog.get_logger().error("failed", exc_info=error)
    structlog.get_logger().error("failed", exc_info=None)
    first, second, third = written(lines)
    assert first["exception_type"] == second["exception_type"] == "ValueError"
    assert first["exception_at"][-1].startswith("test_observability.py:")
    assert "exception_type" not in third
    assert CANARY not in lines.getvalue()


def test_lines_of_libraries_keep_their_place_and_lose_their_words(lines: io.StringIO) -> None:
    logging.getLogger("library").info("not written: %s", CANARY)
    logging.getLogger("library").warning("value %s" + CANARY, CANARY)
    try:
        raise KeyError(CANARY)
    except KeyError:
        logging.getLogger("library").exception(CANARY)
    warning, error = written(lines)
    assert (warning["event"], warning["logger"], warning["level"]) == ("library_log", "library", "warning")
    assert warning["at"].startswith("test_observability.py:")
    assert error["exception_type"] == "KeyError"
    assert CANARY not in lines.getvalue()


def test_what_nobody_caught_is_logged_without_its_words(lines: io.StringIO) -> None:
    def fails() -> None:
        raise RuntimeError(CANARY)

    thread = threading.Thread(target=fails)
    thread.start()
    thread.join()
    try:
        fails()
    except RuntimeError as error:
        sys.excepthook(type(error), error, error.__traceback__)
    assert [(line["event"], line["exception_type"]) for line in written(lines)] == [
        ("uncaught_exception", "RuntimeError")
    ] * 2
    assert CANARY not in lines.getvalue()


def test_console_lines_are_for_people(lines: io.StringIO) -> None:
    output = io.StringIO()
    configure_logging(level=LogLevel.DEBUG, format=LogFormat.CONSOLE, process="test", stream=output)
    structlog.get_logger().debug("ready", address="127.0.0.1:1", content=CANARY)
    assert "ready" in output.getvalue()
    assert CANARY not in output.getvalue()


def test_without_a_collector_nothing_is_recorded() -> None:
    tracing = open_tracing(process="test", otlp_endpoint=None, sample_ratio=1.0)
    with tracing.tracer("area").start_as_current_span("call") as span:
        assert not span.is_recording()
    tracing.close()


class Collector:
    """A collector on loopback that keeps what it is sent."""

    def __init__(self) -> None:
        self.received: list[ExportTraceServiceRequest] = []
        self._server = grpc.server(futures.ThreadPoolExecutor(max_workers=1))
        handler = grpc.unary_unary_rpc_method_handler(
            self._export,
            request_deserializer=ExportTraceServiceRequest.FromString,
            response_serializer=ExportTraceServiceResponse.SerializeToString,
        )
        service = "opentelemetry.proto.collector.trace.v1.TraceService"
        self._server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler(service, {"Export": handler}),))
        self.endpoint = f"http://127.0.0.1:{self._server.add_insecure_port('127.0.0.1:0')}"
        self._server.start()

    def _export(self, request: ExportTraceServiceRequest, _: object) -> ExportTraceServiceResponse:
        self.received.append(request)
        return ExportTraceServiceResponse()

    def close(self) -> None:
        self._server.stop(grace=None).wait()


@pytest.mark.parametrize(("ratio", "recorded"), [(1.0, True), (0.0, False)])
def test_spans_reach_the_collector_that_is_named(ratio: float, recorded: bool) -> None:
    collector = Collector()
    tracing = open_tracing(process="test", otlp_endpoint=collector.endpoint, sample_ratio=ratio)
    with tracing.tracer("area").start_as_current_span("call") as span:
        assert span.is_recording() is recorded
    tracing.close()
    collector.close()
    names = [
        span.name
        for request in collector.received
        for resource in request.resource_spans
        for scope in resource.scope_spans
        for span in scope.spans
    ]
    assert names == (["call"] if recorded else [])


def test_metrics_are_served_until_closed() -> None:
    registry = make_registry()
    Counter("corrigenda_test_calls", "Calls of this test.", registry=registry).inc()
    endpoint = serve_metrics("127.0.0.1:0", registry)
    with urllib.request.urlopen(f"http://127.0.0.1:{endpoint.port}/metrics", timeout=5) as answer:
        text = answer.read().decode()
    assert "corrigenda_test_calls_total 1.0" in text
    assert "process_resident_memory_bytes" in text
    endpoint.close()
    with pytest.raises(OSError, match="refused"):
        urllib.request.urlopen(f"http://127.0.0.1:{endpoint.port}/metrics", timeout=5)


def probe(endpoint: MetricsEndpoint, path: str) -> int:
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{endpoint.port}{path}", timeout=5) as answer:
            return int(answer.status)
    except urllib.error.HTTPError as refused:
        refused.close()
        return refused.code


def test_a_process_that_takes_no_calls_says_so_and_is_not_restarted_for_it() -> None:
    health = ProcessHealth()
    endpoint = serve_metrics("127.0.0.1:0", make_registry(), health)
    assert probe(endpoint, "/readyz") == 200
    health.is_ready = False
    assert (probe(endpoint, "/readyz"), probe(endpoint, "/healthz")) == (503, 200)
    endpoint.close()


def test_a_worker_that_has_gone_silent_is_ill() -> None:
    seconds = [0.0]
    health = ProcessHealth(monotonic_seconds=lambda: seconds[0])
    endpoint = serve_metrics("127.0.0.1:0", make_registry(), health)

    def status() -> int:
        return probe(endpoint, "/healthz")

    seconds[0] = 1_000.0
    # A process that serves calls beats for nobody: its health is told by its server.
    assert status() == 200
    health.expect_beats(silent_seconds_max=60.0)
    seconds[0] += 60.0
    assert status() == 200
    seconds[0] += 0.5
    assert status() == 503
    health.beat()
    assert status() == 200
    endpoint.close()
