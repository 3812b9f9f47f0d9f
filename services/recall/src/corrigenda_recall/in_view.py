"""Relationships in a view as messages: what holds, what counts, what a reader must know."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from corrigenda.recall.v1 import relationship_in_view_pb2
from corrigenda.type.v1 import actor_pb2, relationship_pb2
from corrigenda_core.domain.cases import ConflictCase
from corrigenda_core.domain.entities import EntityName
from corrigenda_core.domain.ids import ConflictId, EntityId, ProfileId
from corrigenda_core.domain.objects import EntityObject
from corrigenda_core.domain.relationships import Relationship
from corrigenda_core.domain.time import Interval, TimeBasis, Validity
from corrigenda_core.persistence.read_transaction import ReadTransaction
from corrigenda_core.persistence.shown_store import (
    entity_names_of,
    entity_names_query,
    profile_names_of,
    profile_names_query,
)
from corrigenda_core.persistence.surroundings_store import KnownRows
from corrigenda_core.persistence.view_store import ReadView
from corrigenda_core.policy.result_paths import decide_marks, decide_surroundings, decide_touched
from corrigenda_core.policy.visibility import decide_counted_validity, decide_known_picture
from corrigenda_core.rpc.convert import validity_message
from corrigenda_core.rpc.enums import PATH_MARK
from corrigenda_core.rpc.relationship_messages import relationship_message

CONFLICTS_SHOWN = 20


class RelationshipsInView:
    """The messages of relationships that one view knows."""

    def __init__(
        self,
        view: ReadView,
        known: KnownRows,
        names: Mapping[EntityId, EntityName],
        profiles: Mapping[ProfileId, str],
    ) -> None:
        picture = decide_known_picture(view.valid_at, known.all_rows, known.cases)
        self._around = decide_surroundings(picture, known.cases, known.held_against)
        self._in_force = {edge.relationship.relationship_id for edge in picture.edges}
        self._names, self._profiles = names, profiles

    def relationship(self, row: Relationship) -> relationship_pb2.Relationship:
        """The relationship itself."""
        owner = actor_pb2.ProfileSummary(profile_id=row.owner_id, name=self._profiles[row.owner_id])
        return relationship_message(row, owner=owner, names=self._names)

    def message(self, row: Relationship) -> relationship_in_view_pb2.RelationshipInView:
        """The relationship with what a reader must know of it."""
        counted = decide_counted_validity(row, self._around.resolved)
        live = _ids(decide_touched(self._around.live, {row.relationship_id}))
        resolved = _ids(decide_touched(self._around.resolved, {row.relationship_id}))
        return relationship_in_view_pb2.RelationshipInView(
            relationship=self.relationship(row),
            counted_validity=validity_message(counted, self._start_basis(row, counted), row.end_basis),
            in_force=row.relationship_id in self._in_force,
            event=row.event,
            marks=[PATH_MARK.to_wire(mark) for mark in decide_marks(row, self._around)],
            conflict_ids=live[:CONFLICTS_SHOWN],
            conflicts_total=len(live),
            conflicts_truncated=len(live) > CONFLICTS_SHOWN,
            resolved_conflict_ids=resolved[:CONFLICTS_SHOWN],
            resolved_total=len(resolved),
            resolved_truncated=len(resolved) > CONFLICTS_SHOWN,
        )

    def _start_basis(self, row: Relationship, counted: Validity) -> TimeBasis | None:
        """Where the start comes from; one that is not the row's own is the cutoff of the case that it won."""
        if counted == row.validity or not isinstance(counted, Interval):
            return row.start_basis
        cutoffs = {case.effective_at: case.effective_time_basis for case in self._around.resolved}
        return cutoffs.get(counted.start, row.start_basis)


def _ids(cases: Iterable[ConflictCase]) -> list[ConflictId]:
    return [case.conflict_id for case in cases]


async def relationships_in_view(transaction: ReadTransaction, view: ReadView, known: KnownRows) -> RelationshipsInView:
    """The messages of the rows that were asked for, with the names that stand in them; one round trip."""
    names, profiles = await transaction.fetch_all(
        entity_names_query(transaction.team_id, entities_of(known.rows)),
        profile_names_query(transaction.team_id, {row.owner_id for row in known.rows}),
    )
    return RelationshipsInView(view, known, entity_names_of(names), profile_names_of(profiles))


def entities_of(rows: Iterable[Relationship]) -> set[EntityId]:
    """The entities that rows name."""
    found: set[EntityId] = set()
    for row in rows:
        found.add(row.slot.subject_id)
        if isinstance(row.object, EntityObject):
            found.add(row.object.entity_id)
    return found
