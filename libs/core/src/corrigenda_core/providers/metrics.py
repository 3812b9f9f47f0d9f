"""What is measured of providers: how many answers each gave, and what they were worth; no label holds a team."""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum

from prometheus_client import CollectorRegistry, Counter


class Worth(StrEnum):
    """What became of one call."""

    USABLE = "usable"
    REFUSED = "refused"
    FAILED = "failed"
    LATE = "late"


Observe = Callable[[Worth], None]


def unobserved(_: Worth) -> None:
    """Counts nothing."""


class ProviderMetrics:
    """The counter of one process."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._calls = Counter(
            "corrigenda_provider_calls",
            "Calls of providers: usable answers, refused ones, failures, and none in time.",
            ["provider", "worth"],
            registry=registry,
        )

    def of(self, provider: str) -> Observe:
        """Counts the calls of one provider."""

        def observe(worth: Worth) -> None:
            self._calls.labels(provider, worth.value).inc()

        return observe
