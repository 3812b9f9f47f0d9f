"""A registry's numbers as OTLP has them: what lies between two bounds, not below one."""

from __future__ import annotations

from corrigenda_core.otlp_metrics import metrics_data
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, Info


def test_counters_gauges_and_histograms_keep_their_numbers_and_labels() -> None:
    registry = CollectorRegistry()
    calls = Counter("calls", "Calls.", ["code"], registry=registry)
    calls.labels("OK").inc(3)
    calls.labels("INTERNAL").inc()
    Gauge("lag_seconds", "Lag.", registry=registry).set(1.5)
    took = Histogram("took_seconds", "Time.", ["method"], buckets=(0.1, 1.0), registry=registry)
    for seconds in (0.05, 0.5, 0.6, 7.0):
        took.labels("Remember").observe(seconds)
    Info("build", "No number.", registry=registry).info({"version": "1"})

    data = metrics_data(registry.collect(), process="ingest", began_ns=1, now_ns=2)

    (resource,) = data.resource_metrics
    assert resource.resource.attributes["service.name"] == "ingest"
    (scope,) = resource.scope_metrics
    found = {metric.name: metric for metric in scope.metrics}
    assert found.keys() == {"calls", "lag_seconds", "took_seconds"}
    assert {tuple(p.attributes.items()): p.value for p in found["calls"].data.data_points} == {
        (("code", "OK"),): 3.0,
        (("code", "INTERNAL"),): 1.0,
    }
    assert found["calls"].data.is_monotonic
    (lag,) = found["lag_seconds"].data.data_points
    assert (lag.value, lag.start_time_unix_nano, lag.time_unix_nano) == (1.5, 1, 2)
    (histogram,) = found["took_seconds"].data.data_points
    assert histogram.attributes == {"method": "Remember"}
    assert (list(histogram.bucket_counts), list(histogram.explicit_bounds)) == ([1, 2, 1], [0.1, 1.0])
    assert (histogram.count, round(histogram.sum, 2)) == (4, 8.15)
