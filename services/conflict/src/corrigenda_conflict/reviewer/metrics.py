"""What is measured of reviews; no label holds a team or a profile."""

from __future__ import annotations

from collections.abc import Iterable

from corrigenda_core.persistence.review_store import ReviewGauge
from prometheus_client import CollectorRegistry, Counter, Gauge

_CASES, _LEASES = "cases", "leases"
_STATES = {_CASES: ("open", "overdue"), _LEASES: ("waiting", "due", "held", "abandoned")}


class ReviewMetrics:
    """Counters of one reviewer process, and gauges of all teams that every reviewer process shows alike."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self.looks = Counter("corrigenda_review_looks", "Looks by outcome.", ["outcome"], registry=registry)
        self.failed_looks = Counter(
            "corrigenda_review_failed_looks", "Looks that failed, by reason.", ["reason"], registry=registry
        )
        self.lost_leases = Counter(
            "corrigenda_review_lost_leases",
            "Looks that wrote nothing because the case had changed or another reviewer had claimed it.",
            registry=registry,
        )
        self.exhausted_attempts = Counter(
            "corrigenda_review_exhausted_attempts", "Cases given up for a night.", registry=registry
        )
        self.given_up_runs = Counter(
            "corrigenda_review_given_up_runs", "Runs that several reviewers did not bring to an end.", registry=registry
        )
        self.failed_rounds = Counter(
            "corrigenda_review_failed_rounds", "Rounds of the worker that an error ended.", registry=registry
        )
        self._cases = Gauge("corrigenda_review_cases", "Live cases by status.", ["status"], registry=registry)
        self._oldest_case = Gauge(
            "corrigenda_review_oldest_case_seconds",
            "Age of the oldest live case by status, on its team's clock.",
            ["status"],
            registry=registry,
        )
        self._leases = Gauge(
            "corrigenda_review_leases",
            "Leases of live cases: waiting for their time, due, held (or resting after a failed look), or abandoned by "
            "a reviewer that did not give them back in time.",
            ["state"],
            registry=registry,
        )
        self._longest_due = Gauge(
            "corrigenda_review_longest_due_seconds",
            "How long the case that is due for the longest time has been due, on its team's clock.",
            registry=registry,
        )

    def show(self, gauges: Iterable[ReviewGauge]) -> None:
        """Sets the gauges; what is not among them is none."""
        found = {(one.gauge, one.state): one for one in gauges}
        for status in _STATES[_CASES]:
            one = found.get((_CASES, status))
            self._cases.labels(status).set(one.number if one else 0)
            self._oldest_case.labels(status).set(one.oldest_seconds if one else 0.0)
        for state in _STATES[_LEASES]:
            one = found.get((_LEASES, state))
            self._leases.labels(state).set(one.number if one else 0)
        overdue = [
            one.oldest_seconds for (gauge, state), one in found.items() if gauge == _LEASES and state != "waiting"
        ]
        self._longest_due.set(max(overdue, default=0.0))
