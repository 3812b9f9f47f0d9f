"""Reads everything that is recorded about one relationship, as one view knows it, section by section."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from corrigenda_core.domain.ids import ConflictId, ReferenceId, RelationshipId, SupportId
from corrigenda_core.domain.objects import EntityObject
from corrigenda_core.domain.relationships import ReferenceKind, Relationship
from corrigenda_core.persistence.database import Row
from corrigenda_core.persistence.named_sql import Query, load_sql
from corrigenda_core.persistence.read_transaction import ReadTransaction
from corrigenda_core.persistence.row_values import relationship_of
from corrigenda_core.persistence.view_store import ReadView

DECISIONS_SHOWN = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class TraceHead:
    """The row as the view knows it, and how many records its sections hold (``evidence``, ``observations``, ...)."""

    row: Relationship
    totals: Mapping[str, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class LineageEdge:
    """A reference on the way from the traced row to another one; ``further`` is the end that is further away."""

    depth: int
    kind: ReferenceKind
    source_id: RelationshipId
    target_id: RelationshipId
    further: RelationshipId


@dataclass(frozen=True, slots=True, kw_only=True)
class Lineage:
    """The references within reach, nearest first; ``truncated`` if there are more."""

    edges: tuple[LineageEdge, ...] = ()
    truncated: bool = False


class TraceStore:
    """The reads of one trace, in one snapshot and one view."""

    def __init__(self, transaction: ReadTransaction, view: ReadView, relationship_id: RelationshipId) -> None:
        self._transaction = transaction
        self._sql = load_sql("trace.sql")
        self._known = {"team_id": transaction.team_id, "known_at": view.recorded_by}
        self._traced = {**self._known, "relationship_id": relationship_id}
        self._relationship_id = relationship_id

    async def head(self) -> TraceHead | None:
        """The row, or ``None`` if the view does not know it."""
        rows = await self._transaction.fetch(self._sql.query("trace_head", **self._traced))
        if not rows:
            return None
        totals = {name.removesuffix("_total"): rows[0][name] for name in rows[0] if name.endswith("_total")}
        return TraceHead(row=relationship_of(rows[0]), totals=totals)

    async def lineage(self, *, max_depth: int, max_edges: int) -> Lineage:
        """The references that can be reached in at most ``max_depth`` steps, either way; one round trip a step."""
        edges: list[LineageEdge] = []
        followed: list[ReferenceId] = []
        reached = {self._relationship_id}
        frontier = {self._relationship_id}
        for depth in range(1, max_depth + 1):
            # One more than may be shown says whether some are left out.
            rows = await self._references_of(frontier, followed, limit=max_edges - len(edges) + 1)
            step = [_lineage_edge(row, depth, frontier, reached) for row in rows]
            if len(edges) + len(step) > max_edges:
                return Lineage(edges=tuple([*edges, *step][:max_edges]), truncated=True)
            edges += step
            followed += [row["reference_id"] for row in rows]
            frontier = {edge.further for edge in step} - reached
            reached |= frontier
            if not frontier:
                return Lineage(edges=tuple(edges))
        beyond = await self._references_of(frontier, followed, limit=1) if max_depth else []
        return Lineage(edges=tuple(edges), truncated=bool(beyond))

    async def _references_of(
        self, rows: Collection[RelationshipId], followed: Sequence[ReferenceId], *, limit: int
    ) -> list[Row]:
        return await self._transaction.fetch(
            self._sql.query(
                "trace_lineage", **self._known, relationship_ids=sorted(rows), followed=followed, limit=limit
            )
        )

    def section(self, name: str, *, offset: int, limit: int, **parameters: object) -> Query:
        """A slice of a section (``evidence``, ``observations``, ...)."""
        return self._sql.query(f"trace_{name}", **self._traced, **parameters, limit=limit, offset=offset)

    def support_decisions(self, support_ids: Iterable[SupportId]) -> Query:
        """The latest decisions of supports."""
        return self._sql.query(
            "trace_support_decisions", **self._known, support_ids=sorted(support_ids), shown=DECISIONS_SHOWN
        )

    def rows(self, relationship_ids: Iterable[RelationshipId]) -> Query:
        """Other rows; `relationship_of` reads them."""
        return self._sql.query("rows_in_view", **self._known, relationship_ids=sorted(set(relationship_ids)))

    def merges(self, row: Relationship) -> Query:
        """Who has merged an entity of a row that is not theirs."""
        named = {row.slot.subject_id}
        if isinstance(row.object, EntityObject):
            named.add(row.object.entity_id)
        return self._sql.query("trace_merges", **self._known, owner_id=row.owner_id, entity_ids=sorted(named))

    def positions(self, conflict_ids: Iterable[ConflictId]) -> Query:
        """The positions of cases that somebody stands on."""
        return load_sql("recall.sql").query("positions_of_cases", **self._known, conflict_ids=sorted(conflict_ids))

    def members(self, conflict_ids: Iterable[ConflictId]) -> Query:
        """The members of cases with their rows."""
        return load_sql("recall.sql").query("members_of_cases", **self._known, conflict_ids=sorted(conflict_ids))


def _lineage_edge(
    row: Row, depth: int, frontier: Collection[RelationshipId], reached: Collection[RelationshipId]
) -> LineageEdge:
    source, target = row["source_id"], row["target_id"]
    # The end that is new; of two known ones the one that the step did not come from, of two of the step the target.
    further = target
    if source not in reached or (target in reached and target in frontier and source not in frontier):
        further = source
    return LineageEdge(
        depth=depth, kind=ReferenceKind(row["kind"]), source_id=source, target_id=target, further=further
    )
