"""What is measured of calls. No label holds a team, a profile or anything else that a caller chooses."""

from __future__ import annotations

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

from corrigenda_core.rpc.admission import Admission

_DURATION_BUCKETS_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 180.0)


class CallMetrics:
    """Counters of one process, registered in ``registry``."""

    def __init__(self, registry: CollectorRegistry, admission: Admission | None = None) -> None:
        self._finished = Counter(
            "corrigenda_rpc_calls",
            "Finished calls by method, gRPC code and error reason (empty: none).",
            ["method", "code", "reason"],
            registry=registry,
        )
        self._duration = Histogram(
            "corrigenda_rpc_duration_seconds",
            "Time from the arrival of a call to its answer.",
            ["method"],
            buckets=_DURATION_BUCKETS_SECONDS,
            registry=registry,
        )
        self._in_flight = Gauge("corrigenda_rpc_in_flight", "Calls that are being served.", registry=registry)
        if admission is not None:
            places = Gauge("corrigenda_rpc_places", "How many calls may work at once, as found out.", registry=registry)
            places.set_function(lambda: admission.places)
            waiting = Gauge("corrigenda_rpc_waiting", "Calls that wait for a place.", registry=registry)
            waiting.set_function(lambda: admission.waiting)

    def began(self) -> None:
        """A call arrived."""
        self._in_flight.inc()

    def finished(self, *, method: str, code: str, reason: str, duration_seconds: float) -> None:
        """A call was answered, or its caller went away."""
        self._in_flight.dec()
        self._finished.labels(method, code, reason).inc()
        self._duration.labels(method).observe(duration_seconds)
