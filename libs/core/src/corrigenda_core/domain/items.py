"""Review items: questions to one owner."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from corrigenda_core.domain.ids import DecisionId, FragmentId, IngestId, ItemId, ProfileId, RelationshipId, StatementId
from corrigenda_core.domain.objects import Slot
from corrigenda_core.domain.time import Instant


class ItemKind(StrEnum):
    """What a review item asks about."""

    IDENTITY = "identity"
    PREDICATE = "predicate"
    RELATIONSHIP = "relationship"
    CORRECTION = "correction"
    QUARANTINE = "quarantine"
    WINNER_WITHDRAWN = "winner_withdrawn"


class ItemStatus(StrEnum):
    """A pending item waits for its owner."""

    PENDING = "pending"
    RESOLVED = "resolved"
    CLOSED = "closed"


@dataclass(frozen=True, slots=True, kw_only=True)
class ReviewItem:
    """The current version of a question to ``owner_id``.

    ``incoming`` and ``opposing`` name the sides of a relationship item; ``reason`` is why it is asked or why it closed
    (``overtaken``, ``fewer_than_two_sides``, ...); ``details`` holds what the kind needs: offered candidates,
    closest predicates.
    """

    item_id: ItemId
    version: int
    kind: ItemKind
    status: ItemStatus
    owner_id: ProfileId
    reason: str
    ingest_id: IngestId | None = None
    fragment_id: FragmentId | None = None
    slot: Slot | None = None
    statement_id: StatementId | None = None
    incoming: tuple[RelationshipId, ...] = ()
    opposing: tuple[RelationshipId, ...] = ()
    details: tuple[tuple[str, str], ...] = ()
    decision_id: DecisionId | None = None
    opened_at: Instant
