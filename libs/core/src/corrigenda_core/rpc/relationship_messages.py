"""Relationships, entities and objects as messages: what an id stands for, in words beside it."""

from __future__ import annotations

from collections.abc import Mapping

from corrigenda.type.v1 import actor_pb2, object_pb2, relationship_pb2

from corrigenda_core.domain.entities import EntityName
from corrigenda_core.domain.ids import EntityId
from corrigenda_core.domain.objects import EntityObject, Object
from corrigenda_core.domain.relationships import Relationship
from corrigenda_core.rpc.convert import timestamp_of, validity_message
from corrigenda_core.rpc.enums import POLARITY, RELATIONSHIP_STATUS, TIER, VALUE_TYPE

Names = Mapping[EntityId, EntityName]


def entity_summary(entity_id: EntityId, names: Names) -> object_pb2.EntitySummary:
    """An entity by name; every entity has one, and whoever loads a relationship loads those of its entities."""
    shown = names[entity_id]
    return object_pb2.EntitySummary(entity_id=entity_id, name=shown.name, entity_kind=shown.kind)


def object_message(object_: Object, names: Names) -> object_pb2.Object:
    """An entity by name, or a value as its first author wrote it beside its canonical form."""
    if isinstance(object_, EntityObject):
        return object_pb2.Object(entity=entity_summary(object_.entity_id, names))
    return object_pb2.Object(
        value=object_pb2.CanonicalValue(
            type=VALUE_TYPE.to_wire(object_.type),
            canonical=object_.canonical,
            unit=object_.unit,
            display=object_.display,
        )
    )


def object_words(object_: Object, names: Names) -> str:
    """An object in words, for a question to people."""
    return names[object_.entity_id].name if isinstance(object_, EntityObject) else object_.display


def relationship_message(
    row: Relationship, *, owner: actor_pb2.ProfileSummary, names: Names
) -> relationship_pb2.Relationship:
    """A version of a relationship."""
    return relationship_pb2.Relationship(
        relationship_id=row.relationship_id,
        version=row.version,
        owner=owner,
        subject=entity_summary(row.slot.subject_id, names),
        predicate=row.slot.predicate,
        object=object_message(row.object, names),
        polarity=POLARITY.to_wire(row.polarity),
        scope=row.slot.scope,
        facet=row.facet,
        validity=validity_message(row.validity, row.start_basis, row.end_basis),
        status=RELATIONSHIP_STATUS.to_wire(row.status),
        tier=TIER.to_wire(row.tier),
        record=row.record,
        revision=row.revision,
        recorded_at=timestamp_of(row.recorded_at),
        first_recorded_at=timestamp_of(row.first_recorded_at),
    )
