"""What is measured of webhooks; no label holds a team or an endpoint."""

from __future__ import annotations

from collections import Counter as Counts
from collections.abc import Hashable, Iterable
from enum import StrEnum

from prometheus_client import CollectorRegistry, Counter, Gauge


class Standing(StrEnum):
    """How an endpoint stands."""

    DELIVERING = "delivering"
    FAILING = "failing"
    PARKED = "parked"
    UNKNOWN_TEAM = "unknown_team"


class NotifierMetrics:
    """Counters of one notifier process, and how its endpoints stand as it last saw them."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self.deliveries = Counter(
            "corrigenda_webhook_deliveries", "Attempts to deliver a message.", ["outcome"], registry=registry
        )
        self.parked = Counter(
            "corrigenda_webhook_parked", "Endpoints that were given up until an operator looks.", registry=registry
        )
        self.lost_leases = Counter(
            "corrigenda_webhook_lost_leases", "Endpoints that another notifier had taken meanwhile.", registry=registry
        )
        self.failed_rounds = Counter(
            "corrigenda_webhook_failed_rounds", "Rounds of the worker that an error ended.", registry=registry
        )
        self._endpoints = Gauge(
            "corrigenda_webhook_endpoints",
            "Endpoints of the configuration: delivering, failing (the next message was refused at least once), parked, "
            "or of a team that there is not.",
            ["standing"],
            registry=registry,
        )
        self._oldest = Gauge(
            "corrigenda_webhook_longest_failing_seconds",
            "For how long the endpoint that has failed for the longest time has, as this process saw it.",
            registry=registry,
        )
        self._standings: dict[Hashable, Standing] = {}
        self._failing_since: dict[Hashable, float] = {}

    def stands(self, endpoint: Hashable, standing: Standing, *, at_seconds: float) -> None:
        """Notes how an endpoint stands."""
        self._standings[endpoint] = standing
        if standing in (Standing.FAILING, Standing.PARKED):
            self._failing_since.setdefault(endpoint, at_seconds)
        else:
            self._failing_since.pop(endpoint, None)
        counts = Counts(self._standings.values())
        for one in Standing:
            self._endpoints.labels(one.value).set(counts[one])
        self._oldest.set(_longest(self._failing_since.values(), at_seconds))


def _longest(begun: Iterable[float], at_seconds: float) -> float:
    return max((at_seconds - one for one in begun), default=0.0)
