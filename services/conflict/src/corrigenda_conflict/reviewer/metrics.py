"""What is measured of reviews; no label holds a team or a profile."""

from __future__ import annotations

from prometheus_client import CollectorRegistry, Counter


class ReviewMetrics:
    """Counters of one reviewer process."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self.looks = Counter("corrigenda_review_looks", "Looks by outcome.", ["outcome"], registry=registry)
        self.failed_looks = Counter(
            "corrigenda_review_failed_looks", "Looks that failed, by reason.", ["reason"], registry=registry
        )
        self.exhausted_attempts = Counter(
            "corrigenda_review_exhausted_attempts", "Cases given up for a night.", registry=registry
        )
        self.failed_rounds = Counter(
            "corrigenda_review_failed_rounds", "Rounds of the worker that an error ended.", registry=registry
        )
