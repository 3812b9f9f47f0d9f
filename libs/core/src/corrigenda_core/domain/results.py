"""What a search finds: the supports that make a fragment eligible, and what a reader must know of them."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from corrigenda_core.domain.evidence import Authority
from corrigenda_core.domain.ids import EntityId, FragmentId, ProfileId, RelationshipId, SupportId
from corrigenda_core.domain.objects import Polarity
from corrigenda_core.domain.relationships import Relationship, Status, Tier
from corrigenda_core.domain.time import TextSpan


class Mark(StrEnum):
    """What a reader must know before relying on a relationship."""

    COMPETING = "competing"
    HELD_AGAINST = "held_against"
    DISPUTED = "disputed"
    PREFERRED = "preferred"
    OVERRULED_LATER = "overruled_later"
    NEGATIVE = "negative"


class Degradation(StrEnum):
    """What did not work as usual while searching."""

    NO_EMBEDDING = "no_embedding"
    APPROXIMATE_VECTORS = "approximate_vectors"
    SEARCH_BEHIND = "search_behind"
    OTHER_EMBEDDING_SPACE = "other_embedding_space"


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundEdge:
    """An effective support of a found fragment, with the row that carries its statement in the view."""

    fragment_id: FragmentId
    support_id: SupportId
    relationship: Relationship
    authority: Authority
    spans: tuple[TextSpan, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class EdgeOutline:
    """An effective support of a hit in few words: what ranks the hit, and whose names its row shows.

    ``entity_ids`` are the subject and, unless the object is a value, the object.
    """

    relationship_id: RelationshipId
    owner_id: ProfileId
    entity_ids: tuple[EntityId, ...]
    status: Status
    tier: Tier
    polarity: Polarity
    authority: Authority
