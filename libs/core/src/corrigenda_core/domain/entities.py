"""Entities, the mentions that may name them, and the observations that are bound to them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NewType

from corrigenda_core.domain.ids import EntityId, PredicateKey, ProfileId, RelationshipId, StatementId
from corrigenda_core.domain.objects import EntityObject, Object, Polarity, Slot

MentionRef = NewType("MentionRef", str)
"""The name that a request gives to one of its entities; unique within the request."""


@dataclass(frozen=True, slots=True, kw_only=True)
class IdentityContext:
    """What tells namesakes apart: pairs of a key and a value in normal form, such as ``("repository", "dense-mem")``.

    A mention gives at most one value to a key. An entity holds every value that the mentions bound to it gave, so a
    key of it can have several.
    """

    pairs: frozenset[tuple[str, str]] = frozenset()

    def __post_init__(self) -> None:
        if any(not key for key, _ in self.pairs):
            raise ValueError("a key of an identity context is not empty")

    def joined(self, other: IdentityContext) -> IdentityContext:
        """All pairs of both."""
        return IdentityContext(pairs=self.pairs | other.pairs)


@dataclass(frozen=True, slots=True, kw_only=True)
class Entity:
    """A semantic node as one caller's identity sees it, its names in normal form.

    Attributes:
        names: what the caller may call it: the names that it has for the team, and those that the caller gave.
        team_names: the part of them that it has for the team.
    """

    entity_id: EntityId
    kind: str
    names: frozenset[str]
    team_names: frozenset[str] = frozenset()
    context: IdentityContext = IdentityContext()


@dataclass(frozen=True, slots=True, kw_only=True)
class EntityName:
    """How an entity is shown: its kind and the name it was created with."""

    entity_id: EntityId
    kind: str
    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Mention:
    """An entity as one request names it: ``name`` and ``aliases`` in normal form.

    ``known_entity_id`` is the caller's own word for which entity it is.
    """

    ref: MentionRef
    kind: str
    name: str
    aliases: frozenset[str] = frozenset()
    context: IdentityContext = IdentityContext()
    known_entity_id: EntityId | None = None

    def __post_init__(self) -> None:
        if not self.name:
            raise ValueError(f"the name of mention {self.ref} has an empty normal form")
        keys = [key for key, _ in self.context.pairs]
        if len(set(keys)) < len(keys):
            raise ValueError(f"mention {self.ref} gives two values to one key of its identity context")

    @property
    def names(self) -> frozenset[str]:
        """The name and the aliases."""
        return self.aliases | {self.name}


@dataclass(frozen=True, slots=True, kw_only=True)
class BoundObservation:
    """An observation with the entities that its mentions are bound to.

    ``subject_id`` and ``object`` are ``None`` while an identity item is pending, ``predicate`` while a predicate item
    is; ``relationship_id`` is the row that carries it, where it is a statement.
    """

    observation_id: StatementId
    owner_id: ProfileId
    subject_id: EntityId | None
    object: Object | None
    predicate: PredicateKey | None = None
    scope: str = ""
    polarity: Polarity = Polarity.POSITIVE
    relationship_id: RelationshipId | None = None

    @property
    def slot(self) -> Slot | None:
        """The slot that it speaks of, once subject and predicate are known."""
        if self.subject_id is None or self.predicate is None:
            return None
        return Slot(subject_id=self.subject_id, predicate=self.predicate, scope=self.scope)

    def names_entity(self, entity_id: EntityId) -> bool:
        """Whether the entity is its subject or its object."""
        return self.subject_id == entity_id or self.object == EntityObject(entity_id=entity_id)

    def rebound(self, from_id: EntityId, to_id: EntityId) -> BoundObservation:
        """The same observation with one entity in the place of another."""
        moved_object = self.object == EntityObject(entity_id=from_id)
        return replace(
            self,
            subject_id=to_id if self.subject_id == from_id else self.subject_id,
            object=EntityObject(entity_id=to_id) if moved_object else self.object,
        )
