"""What a process tells its operators: log lines, traces and metrics, never payload text or secrets.

A log line carries facts under short keys. The processors between the code and the output trust neither: keys whose
name suggests payload or a secret are dropped, and what remains must be a short scalar. Exceptions are logged as their
type and where they were raised, because their messages may quote what a caller sent; so are the lines of libraries.
"""

from __future__ import annotations

import logging
import re
import sys
import threading
import traceback
from collections.abc import Callable, Iterable, MutableMapping
from dataclasses import dataclass
from datetime import datetime
from enum import Enum
from socketserver import ThreadingMixIn
from types import TracebackType
from typing import Any, TextIO
from uuid import UUID
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer, make_server
from wsgiref.types import StartResponse, WSGIApplication

import structlog
from opentelemetry import trace
from prometheus_client import CollectorRegistry, GCCollector, PlatformCollector, ProcessCollector, make_wsgi_app

from corrigenda_core.config import LogFormat, LogLevel
from corrigenda_core.process_health import ProcessHealth

EventDict = MutableMapping[str, Any]

MAX_LOGGED_CODE_POINTS = 200
MAX_LOGGED_ITEMS = 20
MAX_LOGGED_FRAMES = 8

_PAYLOAD = """
    alias aliases answer auth authorization body comment content contents credential credentials display dsn embedding
    embeddings evidence excerpt excerpts header headers label labels message metadata name names object password
    passwords payload pepper phrase prompt proposal query quote quotes request response secret secrets statement
    statements subject text texts token tokens url value values vector vectors
"""
_PAYLOAD_WORDS = frozenset(_PAYLOAD.split())
# Facts whose names hold one of those words and say nothing of what a caller sent.
_HARMLESS_KEYS = frozenset({"request_id", "evidence_count", "relationship_count"})
_API_KEY = re.compile(r"cor_[0-9a-z]{8,}(?:_[0-9a-z]+)*", re.IGNORECASE)


def configure_logging(*, level: LogLevel, format: LogFormat, process: str, stream: TextIO | None = None) -> None:
    """Sets up structlog and the standard library's logging for this process.

    Args:
        level: the least important lines that are written.
        format: JSON lines, or columns for people.
        process: the name of the process, in every line.
        stream: where lines go; default: standard error.
    """
    output = stream if stream is not None else sys.stderr
    threshold = logging.getLevelNamesMapping()[level.upper()]
    renderer: structlog.typing.Processor = (
        structlog.processors.JSONRenderer(sort_keys=True)
        if format is LogFormat.JSON
        else structlog.dev.ConsoleRenderer(colors=output.isatty())
    )

    def add_process(_logger: object, _method: str, event: EventDict) -> EventDict:
        event["process"] = process
        return event

    structlog.configure(
        processors=[
            structlog.contextvars.merge_contextvars,
            describe_exception,
            drop_payload,
            add_process,
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            renderer,
        ],
        wrapper_class=structlog.make_filtering_bound_logger(threshold),
        logger_factory=structlog.WriteLoggerFactory(output),
        cache_logger_on_first_use=False,
    )
    root = logging.getLogger()
    root.handlers = [_LibraryHandler()]
    root.setLevel(max(threshold, logging.WARNING))
    sys.excepthook = _log_uncaught
    threading.excepthook = lambda hook: _log_uncaught(hook.exc_type, hook.exc_value, hook.exc_traceback)


def _log_uncaught(kind: type[BaseException], error: BaseException | None, trace_back: TracebackType | None) -> None:
    structlog.get_logger().critical("uncaught_exception", exc_info=(kind, error, trace_back))


def describe_exception(_logger: object, _method: str, event: EventDict) -> EventDict:
    """Replaces an exception by its type and the places it came through, innermost last."""
    found = event.pop("exc_info", None)
    error = sys.exc_info()[1] if found is True else found[1] if isinstance(found, tuple) else found
    if isinstance(error, BaseException):
        frames = traceback.extract_tb(error.__traceback__)[-MAX_LOGGED_FRAMES:]
        event["exception_type"] = type(error).__qualname__
        event["exception_at"] = [f"{frame.filename.rpartition('/')[2]}:{frame.lineno}" for frame in frames]
    return event


def drop_payload(_logger: object, _method: str, event: EventDict) -> EventDict:
    """Drops what may be payload or a secret, and says how many facts that were."""
    kept = {key: _scalar(value) for key, value in event.items() if not _suggests_payload(key)}
    if len(kept) < len(event):
        kept["dropped_count"] = len(event) - len(kept)
    return kept


def _suggests_payload(key: str) -> bool:
    return key not in _HARMLESS_KEYS and not _PAYLOAD_WORDS.isdisjoint(key.lower().split("_"))


def _scalar(value: object) -> object:
    """A short scalar, or a list of some; anything else becomes the name of its type."""
    match value:
        case None | bool() | int() | float():
            return value
        case Enum():
            return _scalar(value.value)
        case str():
            return _API_KEY.sub("[key]", value[:MAX_LOGGED_CODE_POINTS])
        case UUID() | datetime():
            return str(value)
        case list() | tuple():
            return [item if isinstance(item, int | float) else _flat(item) for item in value[:MAX_LOGGED_ITEMS]]
    return f"<{type(value).__name__}>"


def _flat(value: object) -> object:
    return f"<{type(value).__name__}>" if isinstance(value, list | tuple) else _scalar(value)


class _LibraryHandler(logging.Handler):
    """Passes a library's line on as its place, logger and exception; its text may hold anything."""

    def emit(self, record: logging.LogRecord) -> None:
        log = structlog.get_logger()
        log.log(
            record.levelno,
            "library_log",
            logger=record.name,
            at=f"{record.filename}:{record.lineno}",
            exc_info=record.exc_info,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Tracing:
    """Where spans are made; ``provider`` records nothing unless a collector was named.

    ``close`` sends what is waiting; it takes as long as the exporter's time limit at most.
    """

    provider: trace.TracerProvider
    close: Callable[[], None]

    def tracer(self, area: str) -> trace.Tracer:
        """The tracer of an area of the code, such as ``corrigenda.rpc``."""
        return self.provider.get_tracer(area)


def open_tracing(*, process: str, otlp_endpoint: str | None, sample_ratio: float) -> Tracing:
    """Sets up tracing; `trace_with` makes it that of the process.

    Args:
        process: the name of the process (``service.name``).
        otlp_endpoint: URL of a collector that speaks OTLP over gRPC, or ``None``: nothing is recorded.
        sample_ratio: share of the traces that start here; a caller's own decision is kept.
    """
    if otlp_endpoint is None:
        return Tracing(provider=trace.NoOpTracerProvider(), close=lambda: None)
    # The SDK and its exporter are a tenth of what a process imports, and most run without a collector.
    from opentelemetry.exporter.otlp.proto.grpc.trace_exporter import OTLPSpanExporter
    from opentelemetry.sdk.resources import Resource
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import BatchSpanProcessor
    from opentelemetry.sdk.trace.sampling import ParentBased, TraceIdRatioBased

    provider = TracerProvider(
        resource=Resource.create({"service.name": process}),
        sampler=ParentBased(TraceIdRatioBased(sample_ratio)),
        shutdown_on_exit=False,
    )
    exporter = OTLPSpanExporter(endpoint=otlp_endpoint, insecure=otlp_endpoint.startswith("http://"))
    provider.add_span_processor(BatchSpanProcessor(exporter))
    return Tracing(provider=provider, close=provider.shutdown)


def trace_with(tracing: Tracing) -> None:
    """Lets all code of this process make its spans there, once for all; does nothing without a collector."""
    if not isinstance(tracing.provider, trace.NoOpTracerProvider):
        trace.set_tracer_provider(tracing.provider)


def make_registry() -> CollectorRegistry:
    """A registry with the facts of this process (memory, CPU, open files, garbage collection)."""
    registry = CollectorRegistry()
    ProcessCollector(registry=registry)
    PlatformCollector(registry=registry)
    GCCollector(registry=registry)
    return registry


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricsEndpoint:
    """A running Prometheus endpoint on ``port``."""

    address: str
    port: int
    server: WSGIServer
    thread: threading.Thread

    def close(self) -> None:
        """Stops serving."""
        self.server.shutdown()
        self.server.server_close()
        self.thread.join()


def serve_metrics(address: str, registry: CollectorRegistry, health: ProcessHealth | None = None) -> MetricsEndpoint:
    """Serves the registry over HTTP at ``host:port`` on a thread of its own; port 0 lets the system choose.

    ``/healthz`` answers 200 while ``health`` says that the process does its work, ``/readyz`` while calls should come
    here, else 503.

    Raises:
        OSError: the address is taken or does not exist.
    """
    host, _, port = address.rpartition(":")
    health = health or ProcessHealth()
    metrics: WSGIApplication = make_wsgi_app(registry)

    def application(environ: dict[str, Any], start_response: StartResponse) -> Iterable[bytes]:
        match environ.get("PATH_INFO"):
            case "/healthz":
                is_well, says = health.is_healthy, f"silent for {health.silent_seconds:.1f} s\n"
            case "/readyz":
                is_well, says = health.is_ready, "takes calls\n" if health.is_ready else "takes no calls\n"
            case _:
                return metrics(environ, start_response)
        status = "200 OK" if is_well else "503 Service Unavailable"
        start_response(status, [("Content-Type", "text/plain; charset=utf-8")])
        return [says.encode()]

    server = make_server(host.strip("[]"), int(port), application, _ThreadingServer, handler_class=_SilentHandler)
    thread = threading.Thread(target=server.serve_forever, name="metrics", daemon=True)
    thread.start()
    return MetricsEndpoint(
        address=f"{host}:{server.server_port}", port=server.server_port, server=server, thread=thread
    )


class _ThreadingServer(ThreadingMixIn, WSGIServer):
    """A probe does not wait for a scrape that somebody reads slowly."""

    daemon_threads = True


class _SilentHandler(WSGIRequestHandler):
    """Probes and scrapes are no events."""

    def log_message(self, format: str, *args: object) -> None:
        """Logs nothing."""
