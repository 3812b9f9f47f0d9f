"""Sends what the Prometheus endpoint shows to a collector that speaks OTLP: the same numbers, one registry.

Counters and histograms are cumulative since the start of the process, so a lost export is made good by the next one.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from prometheus_client import CollectorRegistry
from prometheus_client.metrics_core import Metric as Family

if TYPE_CHECKING:
    from opentelemetry.sdk.metrics.export import Metric, MetricExporter, MetricsData

EVERY_SECONDS = 15.0
_SCOPE = "corrigenda"


@dataclass(slots=True)
class _Series:
    """A histogram's samples under one set of labels; ``below`` counts by upper bound, as Prometheus does."""

    below: dict[float, float] = field(default_factory=dict)
    total: float = 0.0
    count: float = 0.0


def start_metrics_export(
    registry: CollectorRegistry, *, process: str, otlp_endpoint: str | None, every_seconds: float = EVERY_SECONDS
) -> Callable[[], None]:
    """Begins to send on a thread of its own.

    Args:
        registry: what is sent.
        process: the name of the process (``service.name``).
        otlp_endpoint: URL of a collector that speaks OTLP over gRPC, or ``None``: nothing is sent.
        every_seconds: how often.

    Returns:
        What ends it, after it has sent once more.
    """
    if otlp_endpoint is None:
        return lambda: None
    from opentelemetry.exporter.otlp.proto.grpc.metric_exporter import OTLPMetricExporter

    exporter = OTLPMetricExporter(endpoint=otlp_endpoint, insecure=otlp_endpoint.startswith("http://"))
    stopping = threading.Event()
    began_ns = time.time_ns()

    def send() -> None:
        while not stopping.wait(every_seconds):
            _export(exporter, registry, process, began_ns)
        _export(exporter, registry, process, began_ns)
        exporter.shutdown()

    thread = threading.Thread(target=send, name="metrics export", daemon=True)
    thread.start()

    def close() -> None:
        stopping.set()
        thread.join()

    return close


def _export(exporter: MetricExporter, registry: CollectorRegistry, process: str, began_ns: int) -> None:
    # The exporter logs what it cannot send; the next export carries it.
    exporter.export(metrics_data(registry.collect(), process=process, began_ns=began_ns, now_ns=time.time_ns()))


def metrics_data(families: Iterable[Family], *, process: str, began_ns: int, now_ns: int) -> MetricsData:
    """The families of a registry as one message of the SDK.

    Args:
        families: what the registry collected.
        process: the name of the process.
        began_ns: since when counters count, in nanoseconds since 1970.
        now_ns: when they were collected.
    """
    from opentelemetry.sdk.metrics.export import MetricsData, ResourceMetrics, ScopeMetrics
    from opentelemetry.sdk.resources import Resource
    from opentelemetry.sdk.util.instrumentation import InstrumentationScope

    made = [_metric(family, began_ns, now_ns) for family in families]
    scope = ScopeMetrics(
        scope=InstrumentationScope(_SCOPE), metrics=[one for one in made if one is not None], schema_url=""
    )
    resource = Resource.create({"service.name": process})
    return MetricsData(resource_metrics=[ResourceMetrics(resource=resource, scope_metrics=[scope], schema_url="")])


def _metric(family: Family, began_ns: int, now_ns: int) -> Metric | None:
    """A family, or ``None`` for a kind that OTLP does not have."""
    from opentelemetry.sdk.metrics.export import AggregationTemporality, Gauge, Histogram, Metric, Sum

    data: Any
    match family.type:
        case "counter":
            points = _points(family, f"{family.name}_total", began_ns, now_ns)
            data = Sum(data_points=points, aggregation_temporality=AggregationTemporality.CUMULATIVE, is_monotonic=True)
        case "gauge":
            data = Gauge(data_points=_points(family, family.name, began_ns, now_ns))
        case "histogram":
            data = Histogram(
                data_points=_histogram_points(family, began_ns, now_ns),
                aggregation_temporality=AggregationTemporality.CUMULATIVE,
            )
        case _:
            return None
    return Metric(name=family.name, description=family.documentation, unit="", data=data)


def _points(family: Family, name: str, began_ns: int, now_ns: int) -> list[Any]:
    from opentelemetry.sdk.metrics.export import NumberDataPoint

    return [
        NumberDataPoint(
            attributes=dict(sample.labels), start_time_unix_nano=began_ns, time_unix_nano=now_ns, value=sample.value
        )
        for sample in family.samples
        if sample.name == name
    ]


def _histogram_points(family: Family, began_ns: int, now_ns: int) -> list[Any]:
    from opentelemetry.sdk.metrics.export import HistogramDataPoint

    found: dict[tuple[tuple[str, str], ...], _Series] = {}
    for sample in family.samples:
        series = found.setdefault(_labels(sample.labels), _Series())
        match sample.name.removeprefix(family.name):
            case "_bucket":
                series.below[float(sample.labels["le"])] = sample.value
            case "_sum":
                series.total = sample.value
            case "_count":
                series.count = sample.value
    points = []
    for labels, series in found.items():
        bounds = sorted(series.below)
        counts = [series.below[bound] for bound in bounds]
        points.append(
            HistogramDataPoint(
                attributes=dict(labels),
                start_time_unix_nano=began_ns,
                time_unix_nano=now_ns,
                count=int(series.count),
                sum=series.total,
                # Ours count what lies between two bounds; the last one is infinite and has no bound of its own.
                bucket_counts=[int(b - a) for a, b in zip([0.0, *counts], counts, strict=False)],
                explicit_bounds=bounds[:-1],
                # A bucket does not know them. The wire lets them be absent, the data class does not say so.
                min=None,  # type: ignore[arg-type]
                max=None,  # type: ignore[arg-type]
            )
        )
    return points


def _labels(labels: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    return tuple(sorted((name, value) for name, value in labels.items() if name != "le"))
