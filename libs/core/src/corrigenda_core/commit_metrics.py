"""Counts what happened to conflicts, as it is committed; no label holds a team or a profile."""

from __future__ import annotations

from collections.abc import Sequence

from prometheus_client import CollectorRegistry, Counter

from corrigenda_core.domain.cases import CaseAction
from corrigenda_core.domain.items import ItemKind
from corrigenda_core.domain.notices import NOTICED_ACTIONS, NOTICED_ITEMS, NoticeKind
from corrigenda_core.persistence import tables
from corrigenda_core.persistence.transaction import WrittenRow


class NoticeMetrics:
    """The counter of one process."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._events = Counter(
            "corrigenda_conflict_events",
            "What happened to conflicts by commits of this process, by kind.",
            ["event"],
            registry=registry,
        )
        for kind in NoticeKind:
            # A series that is there from the start: a rate sees the first event, too.
            self._events.labels(kind.value)

    def committed(self, rows: Sequence[WrittenRow]) -> None:
        """Counts what the rows of a commit tell."""
        for written in rows:
            kind = _kind_of(written)
            if kind is not None:
                self._events.labels(kind.value).inc()


def _kind_of(written: WrittenRow) -> NoticeKind | None:
    table, row = written
    if table is tables.case_events:
        return NOTICED_ACTIONS.get(CaseAction(str(row["action"])))
    if table is tables.review_items and row["version"] == 1:
        return NOTICED_ITEMS.get(ItemKind(str(row["kind"])))
    return None
