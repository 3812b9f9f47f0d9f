"""What is measured of agents' calls; no label holds anything that a caller chooses."""

from __future__ import annotations

from prometheus_client import CollectorRegistry, Counter, Histogram

_DURATION_BUCKETS_SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)


class ToolMetrics:
    """The counters of one gateway process."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._calls = Counter(
            "corrigenda_gateway_tool_calls",
            "Calls of tools, and of the reads behind resources and prompts, by error reason (empty: none).",
            ["tool", "reason"],
            registry=registry,
        )
        self._duration = Histogram(
            "corrigenda_gateway_tool_duration_seconds",
            "Time from a tool's call to its answer.",
            ["tool"],
            buckets=_DURATION_BUCKETS_SECONDS,
            registry=registry,
        )

    def finished(self, *, tool: str, reason: str, duration_seconds: float) -> None:
        """A tool was answered or refused."""
        self._calls.labels(tool, reason).inc()
        self._duration.labels(tool).observe(duration_seconds)
