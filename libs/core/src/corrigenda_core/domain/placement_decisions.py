"""Decisions on placements: what an owner says about what waits, and what that says of an observation."""

from __future__ import annotations

from dataclasses import dataclass

from corrigenda_core.domain.entities import MentionRef
from corrigenda_core.domain.ids import DecisionId, EntityId, IngestId, ItemId, PredicateKey, StatementId
from corrigenda_core.domain.resolutions import DecisionKind
from corrigenda_core.domain.submissions import Submission
from corrigenda_core.domain.time import Instant, require_instant


@dataclass(frozen=True, slots=True, kw_only=True)
class PlacementDecision:
    """One decision: about an item, or about the placement of a submission itself.

    ``expected_version`` is the version of the item that its author saw; ``None`` means the current one. ``submission``
    holds the evidence that comes with it and, for a correction, what that says.
    """

    ingest_id: IngestId
    action: DecisionKind
    item_id: ItemId | None = None
    expected_version: int | None = None
    mention_ref: MentionRef | None = None
    entity_id: EntityId | None = None
    predicate: str = ""
    reason: str = ""
    valid_from: Instant | None = None
    submission: Submission

    def __post_init__(self) -> None:
        require_instant("valid_from", self.valid_from)


@dataclass(frozen=True, slots=True, kw_only=True)
class ObservationBinding:
    """What a decision says that a waiting observation names: everything that is known of it by now.

    ``given_up`` says that nothing is placed from it any more.
    """

    observation_id: StatementId
    decision_id: DecisionId
    subject_id: EntityId | None = None
    object_id: EntityId | None = None
    predicate: PredicateKey | None = None
    given_up: bool = False
