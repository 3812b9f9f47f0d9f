"""What an author submits: evidence, and optionally what it proposes that the evidence says."""

from __future__ import annotations

from dataclasses import dataclass

from corrigenda_core.domain.evidence import Authority, SourceType
from corrigenda_core.domain.ids import (
    ConflictId,
    EntityId,
    FragmentId,
    IdempotencyKey,
    ItemId,
    ProposalId,
    RelationshipId,
)
from corrigenda_core.domain.objects import Polarity, ValueType
from corrigenda_core.domain.time import Instant
from corrigenda_core.domain.verification import CitedSpan, Modality


@dataclass(frozen=True, slots=True, kw_only=True)
class EvidenceInput:
    """One piece of evidence as submitted (R2.2); ``authority`` is what the author claims.

    ``source_key`` and ``source_revision`` stand together or not at all. ``confidence`` is stored and shown, and counts
    for nothing. ``occurred_at_offset_minutes`` is how far east of UTC the author wrote ``occurred_at``.
    """

    content: str
    source_type: SourceType
    authority: Authority
    source_group: str | None = None
    source_key: str | None = None
    source_revision: str | None = None
    previous_source_revision: str | None = None
    supersedes_fragment_ids: tuple[FragmentId, ...] = ()
    derived_from_fragment_ids: tuple[FragmentId, ...] = ()
    occurred_at: Instant | None = None
    labels: tuple[str, ...] = ()
    confidence: float | None = None
    occurred_at_offset_minutes: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ProposedEntity:
    """An entity that a proposal mentions under ``ref``."""

    ref: str
    name: str
    kind: str
    aliases: tuple[str, ...] = ()
    context: tuple[tuple[str, str], ...] = ()
    known_entity_id: EntityId | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ProposedValue:
    """A typed value as its author wrote it, before normalisation."""

    type: ValueType
    text: str
    unit: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class EntityRef:
    """An object that is an entity of the same proposal."""

    ref: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CorrectionTarget:
    """The relationship that a statement says was wrong; no expected version means the current one."""

    relationship_id: RelationshipId
    expected_version: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ConflictContext:
    """The live case that a statement answers, at the version its author saw; none means the current one."""

    conflict_id: ConflictId
    expected_version: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ResolutionContext:
    """The owner's question that a submission answers by a merge; no expected version means the current one."""

    item_id: ItemId
    expected_version: int | None = None
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProposedRelationship:
    """One relationship that the author proposes, its quotes already resolved to spans."""

    proposal_id: ProposalId
    subject_ref: str
    predicate: str
    object: EntityRef | ProposedValue
    polarity: Polarity = Polarity.POSITIVE
    modality: Modality = Modality.STATEMENT
    valid_from: Instant | None = None
    valid_to: Instant | None = None
    scope: str = ""
    spans: tuple[CitedSpan, ...]
    comment: str = ""
    correction_target: CorrectionTarget | None = None
    conflict_context: ConflictContext | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Submission:
    """One call of Remember: evidence, what it is proposed to say, and the caller's idempotency key.

    ``extractor`` names what made the proposal, where its author gave none; ``extractor_failed`` says that it should
    have made one and could not.
    """

    evidence: tuple[EvidenceInput, ...]
    entities: tuple[ProposedEntity, ...] = ()
    relationships: tuple[ProposedRelationship, ...] = ()
    metadata: tuple[tuple[str, str], ...] = ()
    resolution_context: ResolutionContext | None = None
    extractor: str = ""
    extractor_failed: bool = False
    idempotency_key: IdempotencyKey
