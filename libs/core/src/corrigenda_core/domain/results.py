"""What a search finds: the supports that make a fragment eligible, and what a reader must know of them."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from corrigenda_core.domain.evidence import Authority
from corrigenda_core.domain.ids import FragmentId, SupportId
from corrigenda_core.domain.relationships import Relationship
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
