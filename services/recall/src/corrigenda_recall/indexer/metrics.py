"""What is measured of indexing; no label holds a team."""

from __future__ import annotations

from prometheus_client import CollectorRegistry, Counter, Gauge


class IndexMetrics:
    """Counters and gauges of one indexer process."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self.lag_seconds = Gauge(
            "corrigenda_search_lag_seconds",
            "How long the oldest waiting request of any team has waited. A team with a driven clock counts from when "
            "this process first saw it waiting.",
            registry=registry,
        )
        self.stale_teams = Gauge(
            "corrigenda_search_stale_teams", "Teams whose search documents are behind.", registry=registry
        )
        self.documents = Counter(
            "corrigenda_search_documents", "Written search documents.", ["embedded"], registry=registry
        )
        self.embedding_failures = Counter(
            "corrigenda_search_embedding_failures", "Batches that could not be embedded.", registry=registry
        )
        self.respaced = Counter(
            "corrigenda_search_respaced", "Documents that got a vector of the present model.", registry=registry
        )
        self.other_space_teams = Gauge(
            "corrigenda_search_other_space_teams",
            "Teams with documents that another model embedded, at most as many as one look counts.",
            registry=registry,
        )
        self.given_up = Counter(
            "corrigenda_search_given_up", "Texts that are found by their words alone for good.", registry=registry
        )
        self.failed_batches = Counter(
            "corrigenda_search_failed_batches",
            "Batches that were not written, by reason.",
            ["reason"],
            registry=registry,
        )
        self.failed_rounds = Counter(
            "corrigenda_search_failed_rounds", "Rounds of the worker that an error ended.", registry=registry
        )
