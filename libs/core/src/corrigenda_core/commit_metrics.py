"""Counts what commits of this process did: what became of statements, and what happened to conflicts.

Counted from the rows, once they are committed: every way to write is counted, a repeated request is not, and neither is
a commit whose answer was lost on the way. No label holds a team or a profile.
"""

from __future__ import annotations

from collections.abc import Sequence

from corrigenda.ingest.v1.ingest_service_pb2 import RememberResponse
from prometheus_client import CollectorRegistry, Counter

from corrigenda_core.domain.cases import CaseAction
from corrigenda_core.domain.changes import OutcomeKind
from corrigenda_core.domain.items import ItemKind
from corrigenda_core.domain.notices import NOTICED_ACTIONS, NOTICED_ITEMS, NoticeKind
from corrigenda_core.persistence import tables
from corrigenda_core.persistence.transaction import WrittenRow
from corrigenda_core.rpc.enums import OUTCOME

_OUTCOMES = {OUTCOME.to_wire(outcome): outcome for outcome in OutcomeKind}


class CommitMetrics:
    """The counters of one process."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._events = Counter(
            "corrigenda_conflict_events",
            "What happened to conflicts by commits of this process, by kind.",
            ["event"],
            registry=registry,
        )
        self._placements = Counter(
            "corrigenda_placements",
            "Statements that this process placed, by what became of them.",
            ["outcome"],
            registry=registry,
        )
        # Series that are there from the start: a rate sees the first one, too.
        for kind in NoticeKind:
            self._events.labels(kind.value)
        for outcome in OutcomeKind:
            self._placements.labels(outcome.value)

    def committed(self, rows: Sequence[WrittenRow]) -> None:
        """Counts what the rows of a commit tell."""
        for table, row in rows:
            if table is tables.case_events:
                self._happened(NOTICED_ACTIONS.get(CaseAction(str(row["action"]))))
            elif table is tables.review_items and row["version"] == 1:
                self._happened(NOTICED_ITEMS.get(ItemKind(str(row["kind"]))))
            elif table is tables.ingests:
                self._placed(row["result"])

    def _happened(self, kind: NoticeKind | None) -> None:
        if kind is not None:
            self._events.labels(kind.value).inc()

    def _placed(self, result: object) -> None:
        """Counts the statements of a submission, by the answer that is kept with it."""
        if isinstance(result, bytes):
            for placed in RememberResponse.FromString(result).placement.relationships:
                # What is committed must not fail for what it is counted as.
                outcome = _OUTCOMES.get(placed.outcome)
                if outcome is not None:
                    self._placements.labels(outcome.value).inc()
