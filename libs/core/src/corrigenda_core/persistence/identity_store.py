"""Reads what was said of entities, as it is bound now, for corrections of identity."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from corrigenda_core.domain.entities import BoundObservation
from corrigenda_core.domain.ids import EntityId, PredicateKey, TeamId
from corrigenda_core.domain.objects import Object, Polarity
from corrigenda_core.domain.submissions import ProposedEntity
from corrigenda_core.persistence.database import Row
from corrigenda_core.persistence.named_sql import Query, load_sql
from corrigenda_core.persistence.question_store import mention_of
from corrigenda_core.persistence.row_values import object_of
from corrigenda_core.policy.limits import decide_limit

OBSERVATIONS_MAX = decide_limit("observations_per_identity_correction").greatest


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedObservation:
    """An observation that names an entity, with how it called its subject and its object.

    ``relationship_version`` is that of the row that carries it; ``given_up`` says that nothing is placed from it.
    """

    bound: BoundObservation
    subject: ProposedEntity | None
    object: ProposedEntity | None
    relationship_version: int | None
    given_up: bool

    def mentions_of(self, entity_id: EntityId) -> list[ProposedEntity]:
        """How it called the entity."""
        ends = ((self.bound.subject_id, self.subject), (_entity_of(self.bound.object), self.object))
        return [mention for named, mention in ends if named == entity_id and mention is not None]


def observations_of_entities(team_id: TeamId, entity_ids: Iterable[EntityId]) -> Query:
    """Everything that was said of entities; `named_observation_of` reads the rows."""
    return load_sql("identity.sql").query(
        "observations_of_entities",
        team_id=team_id,
        entity_ids=sorted(set(entity_ids)),
        limit=OBSERVATIONS_MAX + 1,
    )


def named_observation_of(row: Row) -> NamedObservation:
    """The observation in a row of `observations_of_entities`."""
    mentions = {mention.ref: mention for mention in map(mention_of, row["mentions"])}
    has_object = row["object_entity_id"] is not None or row["value_type"] is not None
    return NamedObservation(
        bound=BoundObservation(
            observation_id=row["observation_id"],
            owner_id=row["author_id"],
            subject_id=row["subject_id"],
            object=object_of(row) if has_object else None,
            predicate=None if row["predicate"] is None else PredicateKey(row["predicate"]),
            scope=row["scope"],
            polarity=Polarity(row["polarity"]),
            relationship_id=row["relationship_id"],
        ),
        subject=mentions.get(row["subject_ref"]),
        object=mentions.get(row["object_ref"]),
        relationship_version=row["relationship_version"],
        given_up=row["given_up"],
    )


def _entity_of(named: Object | None) -> EntityId | None:
    return getattr(named, "entity_id", None)
