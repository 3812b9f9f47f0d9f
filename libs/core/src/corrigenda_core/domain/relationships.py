"""Relationships: one owner's episodes, the statements that carry them, and the record of every change."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from corrigenda_core.domain.actors import Actor
from corrigenda_core.domain.ids import (
    ConflictId,
    DecisionId,
    ProfileId,
    ReferenceId,
    RelationshipId,
    StatementId,
    TransitionId,
)
from corrigenda_core.domain.objects import Object, Polarity, Slot
from corrigenda_core.domain.time import Instant, KnownBound, TimeBasis, Validity, require_instant


class Status(StrEnum):
    """The lifecycle status of a relationship."""

    PENDING_EVIDENCE = "pending_evidence"
    NEEDS_REVIEW = "needs_review"
    ACTIVE = "active"
    COMPETING = "competing"
    SUPERSEDED = "superseded"
    RETRACTED = "retracted"
    REJECTED = "rejected"
    QUARANTINED = "quarantined"


LIVING_STATUSES = frozenset({Status.ACTIVE, Status.COMPETING, Status.SUPERSEDED})


class Tier(StrEnum):
    """How well supported a relationship is; it follows from supports, nothing sets it."""

    CANDIDATE = "candidate"
    VALIDATED_CLAIM = "validated_claim"
    FACT = "fact"


@dataclass(frozen=True, slots=True, kw_only=True)
class Statement:
    """An entailed observation of modality ``statement``: the input of its owner's timeline of one slot.

    ``start`` and ``end`` are the bounds known under the predicate's basis when it was recorded (already on calendar
    days where the predicate's granularity says so). ``stated_start`` is the owner's own ``valid_from``, which a
    decision may use. ``witness_at`` is the latest ``occurred_at`` of its effective supports, else ``recorded_at``.
    ``effective`` says whether it has an effective support: without one it is not part of the timeline.
    ``sequence`` is its place in the team's order of recording; ``relationship_id`` the row that carries it now.
    """

    statement_id: StatementId
    owner_id: ProfileId
    slot: Slot
    object: Object
    polarity: Polarity = Polarity.POSITIVE
    start: KnownBound | None = None
    end: KnownBound | None = None
    stated_start: Instant | None = None
    witness_at: Instant
    recorded_at: Instant
    sequence: int
    effective: bool = True
    record: bool = False
    source: str | None = None
    relationship_id: RelationshipId | None = None

    def __post_init__(self) -> None:
        for name in ("stated_start", "witness_at", "recorded_at"):
            require_instant(name, getattr(self, name))


@dataclass(frozen=True, slots=True, kw_only=True)
class Relationship:
    """The current version of one owner's episode.

    ``recorded_at`` and ``revision`` are those of this version; ``first_recorded_at`` is that of the row.
    ``record`` marks a system of record. ``slot_exclusive`` says whether two values may not be in force in its slot at
    once (a cardinality-one state): the database's exclusion constraint reads it. ``event`` says that the row tells of
    what happened on the day of its start, and of no other day.
    """

    relationship_id: RelationshipId
    version: int
    owner_id: ProfileId
    slot: Slot
    facet: int = 0
    object: Object
    polarity: Polarity = Polarity.POSITIVE
    validity: Validity
    start_basis: TimeBasis | None = None
    end_basis: TimeBasis | None = None
    status: Status
    tier: Tier = Tier.CANDIDATE
    record: bool = False
    slot_exclusive: bool = True
    event: bool = False
    revision: int
    recorded_at: Instant
    first_recorded_at: Instant


@dataclass(frozen=True, slots=True, kw_only=True)
class Closing:
    """A decision that ends a value: facet, object, instant and the statements that carried the row it was made for.

    ``conditional`` closings (of `keep_new`, `merge` and `close`) hold only while one of ``made_for`` is in the
    timeline; the others hold until reverted, a case's (``conflict_id``) for good. ``basis`` is that of ``at``.
    """

    decision_id: DecisionId
    relationship_id: RelationshipId
    facet: int
    object_key: str
    polarity: Polarity
    at: Instant
    statement_ids: tuple[StatementId, ...]
    made_for: tuple[StatementId, ...] = ()
    conditional: bool = False
    basis: TimeBasis = TimeBasis.RECORDED_FALLBACK
    conflict_id: ConflictId | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RowState:
    """What a transition changes: status, tier, facet and validity of a row."""

    status: Status
    tier: Tier
    facet: int
    validity: Validity
    start_basis: TimeBasis | None = None
    end_basis: TimeBasis | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Transition:
    """One lifecycle change of one relationship; ``prior`` is ``None`` for a new row.

    ``reason`` is a reason code. A closing stands on the transition that it makes. ``decision_id`` names the decision
    behind it, ``conflict_id`` the case whose resolution it is.
    """

    transition_id: TransitionId
    relationship_id: RelationshipId
    version: int
    prior: RowState | None
    resulting: RowState
    actor: Actor
    reason: str
    time_basis: TimeBasis | None = None
    decision_id: DecisionId | None = None
    conflict_id: ConflictId | None = None
    closing: Closing | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Carriage:
    """From now on this statement is carried by this row (append-only; the last one counts)."""

    statement_id: StatementId
    relationship_id: RelationshipId


class ReferenceKind(StrEnum):
    """What one relationship says about another."""

    CONFIRMS = "confirms"
    CORRECTS = "corrects"
    CHALLENGES = "challenges"
    ADOPTS_EVIDENCE_FROM = "adopts_evidence_from"
    REPLACES = "replaces"
    DISTINCT_FROM = "distinct_from"
    MERGED_INTO = "merged_into"
    SPLIT_FROM = "split_from"


@dataclass(frozen=True, slots=True, kw_only=True)
class CrossReference:
    """An append-only link from one relationship to another; a decision switches it off, nothing deletes it."""

    reference_id: ReferenceId
    kind: ReferenceKind
    source_id: RelationshipId
    target_id: RelationshipId
    decision_id: DecisionId | None = None
    active: bool = True
