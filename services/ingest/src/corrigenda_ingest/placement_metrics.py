"""What becomes of statements when they are placed; no label holds a team or a profile."""

from __future__ import annotations

from corrigenda.ingest.v1 import ingest_service_pb2 as ingest
from corrigenda_core.domain.changes import OutcomeKind
from corrigenda_core.persistence.transaction import Committed
from corrigenda_core.rpc.enums import OUTCOME
from prometheus_client import CollectorRegistry, Counter


class PlacementMetrics:
    """The counters of one process."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._outcomes = Counter(
            "corrigenda_placements", "Placed statements by outcome.", ["outcome"], registry=registry
        )
        for outcome in OutcomeKind:
            # A series that is there from the start: a rate sees the first one, too.
            self._outcomes.labels(outcome.value)

    def placed(self, committed: Committed[ingest.RememberResponse]) -> ingest.RememberResponse:
        """Counts what a submission came to, once; gives its response."""
        if not committed.replayed:
            for one in committed.value.placement.relationships:
                self._outcomes.labels(OUTCOME.to_domain(one.outcome).value).inc()
        return committed.value
