"""What operators see of a process, opened together and closed in the reverse order: its logs, traces and metrics."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass

from prometheus_client import CollectorRegistry

from corrigenda_core.config import ObservedSettings
from corrigenda_core.observability import configure_logging, make_registry, open_tracing, serve_metrics, trace_with
from corrigenda_core.otlp_metrics import start_metrics_export
from corrigenda_core.process_health import ProcessHealth


@dataclass(frozen=True, slots=True, kw_only=True)
class Observed:
    """Where a process counts and tells how it is; ``ready_facts`` are told with its ready line."""

    registry: CollectorRegistry
    health: ProcessHealth
    ready_facts: Mapping[str, str]


@contextmanager
def open_observation(settings: ObservedSettings, process: str) -> Iterator[Observed]:
    """Begins to log, to trace and to serve and send metrics.

    Args:
        settings: of the process.
        process: its name.

    Raises:
        OSError: the address for metrics is taken or does not exist.
    """
    configure_logging(level=settings.log_level, format=settings.log_format, process=process)
    with ExitStack() as opened:
        tracing = open_tracing(
            process=process, otlp_endpoint=settings.otlp_endpoint, sample_ratio=settings.trace_sample_ratio
        )
        opened.callback(tracing.close)
        trace_with(tracing)
        registry, health = make_registry(), ProcessHealth()
        opened.callback(start_metrics_export(registry, process=process, otlp_endpoint=settings.otlp_endpoint))
        ready_facts = {}
        if settings.metrics_listen is not None:
            metrics = serve_metrics(settings.metrics_listen, registry, health)
            opened.callback(metrics.close)
            ready_facts["metrics"] = metrics.address
        yield Observed(registry=registry, health=health, ready_facts=ready_facts)
