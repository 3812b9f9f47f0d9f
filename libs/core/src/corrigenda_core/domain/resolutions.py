"""Resolutions: what an owner decides about an own record, and the record that every such decision leaves."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from corrigenda_core.domain.actors import Actor
from corrigenda_core.domain.errors import Reason
from corrigenda_core.domain.evidence import Support, SupportDecision
from corrigenda_core.domain.ids import DecisionId, IdempotencyKey, ItemId, ReferenceId, RelationshipId, StatementId
from corrigenda_core.domain.items import ReviewItem
from corrigenda_core.domain.relationships import Carriage, Relationship, Transition
from corrigenda_core.domain.time import Instant, require_instant

EVIDENCE = "evidence"
"""The detail of a decision that names a fragment which was given with it."""


class DecisionKind(StrEnum):
    """What was decided; `settle` is what the same-moment policy `close` does, `revert` takes another decision back."""

    KEEP_NEW = "keep_new"
    KEEP_EXISTING = "keep_existing"
    KEEP_BOTH = "keep_both"
    MERGE = "merge"
    SAME = "same"
    CONTRADICTS = "contradicts"
    UNSURE = "unsure"
    END = "end"
    RETRACT = "retract"
    CORRECT = "correct"
    SETTLE = "settle"
    ACKNOWLEDGE = "acknowledge"
    SELECT_ENTITY = "select_entity"
    CONFIRM_NEW_ENTITY = "confirm_new_entity"
    SELECT_PREDICATE = "select_predicate"
    PROPOSE_PREDICATE = "propose_predicate"
    ACCEPT = "accept"
    REJECT = "reject"
    RETRY_VERIFICATION = "retry_verification"
    RELEASE_QUARANTINE = "release_quarantine"
    REVERT = "revert"
    SPLIT_ENTITY = "split_entity"
    MERGE_ENTITIES = "merge_entities"


@dataclass(frozen=True, slots=True, kw_only=True)
class DecisionRecord:
    """One decision as it is kept for good; its time is that of its revision.

    ``target_ids`` name every relationship, fragment or entity that it is about, ``kept_id`` the relationship that it
    keeps. ``statement_ids`` are the statements that were placed with it: a revert takes them out of the timeline.
    ``item_version`` is the version of the item that it answered; ``details`` hold its provenance: the evidence that
    came with it, or the judge, its model and its words.
    """

    decision_id: DecisionId
    kind: DecisionKind
    actor: Actor
    item_id: ItemId | None = None
    item_version: int | None = None
    target_ids: tuple[str, ...] = ()
    kept_id: RelationshipId | None = None
    statement_ids: tuple[StatementId, ...] = ()
    reverts: DecisionId | None = None
    key: IdempotencyKey | None = None
    reason: str = ""
    details: tuple[tuple[str, str], ...] = ()

    def __post_init__(self) -> None:
        if (self.item_id is None) != (self.item_version is None):
            raise ValueError("a decision answers an item at a version")
        if (self.kind is DecisionKind.REVERT) != (self.reverts is not None):
            raise ValueError("a revert, and nothing else, names the decision that it takes back")


@dataclass(frozen=True, slots=True, kw_only=True)
class Provenance:
    """Where a decision comes from beside its actor: the caller's idempotency key, the words given, and details."""

    key: IdempotencyKey | None = None
    reason: str = ""
    details: tuple[tuple[str, str], ...] = ()


NO_PROVENANCE = Provenance()


@dataclass(frozen=True, slots=True, kw_only=True)
class KeepNew:
    """One side holds, whichever, and the others end at its start.

    ``start`` is stated for a side that has no known start.
    """

    kept_id: RelationshipId
    start: Instant | None = None

    def __post_init__(self) -> None:
        require_instant("start", self.start)


@dataclass(frozen=True, slots=True, kw_only=True)
class KeepExisting:
    """An opposing side stays as it is, and what came in is rejected."""

    kept_id: RelationshipId


@dataclass(frozen=True, slots=True, kw_only=True)
class KeepBoth:
    """Every side holds, each in a facet of its own; ``starts`` are stated for sides that have no known start."""

    starts: tuple[tuple[RelationshipId, Instant], ...] = ()

    def __post_init__(self) -> None:
        for _, start in self.starts:
            require_instant("starts", start)


@dataclass(frozen=True, slots=True, kw_only=True)
class Merge:
    """The owner's sentence holds, which was placed before as a statement of its own, and all sides end at its start."""

    statement_id: StatementId


@dataclass(frozen=True, slots=True, kw_only=True)
class Same:
    """What came in says what the other side says, in other words."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Accept:
    """What came in holds, verified again with new evidence: the supports of that, and what was granted to them."""

    supports: tuple[Support, ...]
    grants: tuple[SupportDecision, ...]
    start: Instant | None = None

    def __post_init__(self) -> None:
        require_instant("start", self.start)


@dataclass(frozen=True, slots=True, kw_only=True)
class Reject:
    """What came in is rejected, whatever stays."""


Resolution = KeepNew | KeepExisting | KeepBoth | Merge | Same | Accept | Reject


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What is decided about an item, at the version that its owner saw.

    ``current`` is the item after a merge's sentence was placed, which may have changed or closed it already.
    """

    item: ReviewItem
    current: ReviewItem | None = None
    expected_version: int
    resolution: Resolution
    provenance: Provenance = NO_PROVENANCE


@dataclass(frozen=True, slots=True, kw_only=True)
class Preview:
    """What an action on an item would change: the rows that it touches, before and after.

    ``kept_id`` is the side that the action would name. ``refused`` is why it would be refused; nothing changes then.
    """

    kind: DecisionKind
    kept_id: RelationshipId | None = None
    before: tuple[Relationship, ...] = ()
    after: tuple[Relationship, ...] = ()
    refused: Reason | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PastDecision:
    """A decision with what a revert needs to know of the time before it and since.

    What was placed with it, a merge's sentence, is part of it. ``transitions`` are those that it made, ``later`` all
    later ones of the same rows, both in the order of recording, and ``reference_ids`` the references that it wrote.
    ``carriers`` say which row carried each statement of the slot before it. ``items`` are those that it answered,
    changed or closed, each as it was before and as it is now; ``left_items`` are the pending ones of the slot with
    their versions as it left them. ``reverted_by`` is the decision that has taken it back.
    """

    record: DecisionRecord
    transitions: tuple[Transition, ...] = ()
    later: tuple[Transition, ...] = ()
    reference_ids: tuple[ReferenceId, ...] = ()
    carriers: tuple[Carriage, ...] = ()
    items: tuple[tuple[ReviewItem, ReviewItem], ...] = ()
    left_items: tuple[tuple[ItemId, int], ...] = ()
    reverted_by: DecisionId | None = None
