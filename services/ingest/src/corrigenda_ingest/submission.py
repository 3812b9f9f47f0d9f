"""A submission on its way: what preparing it, looking up what it names, and planning it add to what was asked."""

from __future__ import annotations

from dataclasses import dataclass, field

from corrigenda_core.domain.changes import CaseEffect, Changes, OutcomeKind
from corrigenda_core.domain.entities import Mention
from corrigenda_core.domain.evidence import Authority, ScanVerdict, SourceType
from corrigenda_core.domain.ids import (
    ConflictId,
    DecisionId,
    EntityId,
    FragmentId,
    IngestId,
    PredicateKey,
    ProfileId,
    ProposalId,
    RelationshipId,
    StatementId,
)
from corrigenda_core.domain.items import ReviewItem
from corrigenda_core.domain.objects import Object, Slot
from corrigenda_core.domain.placement_decisions import ObservationBinding
from corrigenda_core.domain.predicates import Predicate
from corrigenda_core.domain.relationships import CrossReference, Relationship
from corrigenda_core.domain.slots import SlotView
from corrigenda_core.domain.sources import RetiredFragment, SourceClaim, SourceState
from corrigenda_core.domain.submissions import EvidenceInput, ProposedRelationship, Submission
from corrigenda_core.domain.time import Instant, Moment
from corrigenda_core.policy.scanning import ScanResult
from corrigenda_core.ports.providers import CitedBound, Finding

from corrigenda_ingest.touched_slots import SlotChange


@dataclass(frozen=True, slots=True, kw_only=True)
class PreparedEvidence:
    """An evidence item with its hashes and what the scan found.

    ``normal_text`` is what copies are recognised by, and ``bands`` are what they are looked for by.
    """

    given: EvidenceInput
    content_sha256: bytes
    normal_sha256: bytes
    normal_text: str
    bands: tuple[int, ...]
    scan: ScanResult

    def claim(self, author: ProfileId) -> SourceClaim:
        """Where its author says that it comes from."""
        return SourceClaim(
            author=author,
            source_group=self.given.source_group,
            source_key=self.given.source_key,
            source_revision=self.given.source_revision,
            previous_source_revision=self.given.previous_source_revision,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class PreparedRelationship:
    """A proposed relationship with the form of its predicate phrase and of its scope."""

    given: ProposedRelationship
    field: str
    form: PredicateKey
    scope: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PreparedSubmission:
    """A submission in normal form: everything that needs no look-up."""

    given: Submission
    evidence: tuple[PreparedEvidence, ...]
    mentions: tuple[Mention, ...]
    relationships: tuple[PreparedRelationship, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class EntityAnswer:
    """What a mention turned out to mean; ``entity_id`` is ``None`` while nobody knows, and ``item`` asks."""

    ref: str
    entity_id: EntityId | None
    kind: str
    name: str
    created: bool = False
    known: bool = False
    item: ReviewItem | None = None
    candidates: tuple[EntityId, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class BoundRelationship:
    """A proposed relationship bound to what it names, as far as that is known.

    ``slot`` and ``object`` are known if its subject, its predicate and its object are.
    """

    prepared: PreparedRelationship
    predicate: Predicate | None
    subject_id: EntityId | None
    object: Object | None

    @property
    def cited_indexes(self) -> list[int]:
        """The evidence items that it cites, each once, in order."""
        return sorted({cited.evidence_index for cited in self.prepared.given.spans})

    @property
    def slot(self) -> Slot | None:
        """The slot that it speaks of."""
        if self.predicate is None or self.subject_id is None or self.object is None:
            return None
        return Slot(subject_id=self.subject_id, predicate=self.predicate.key, scope=self.prepared.scope)


@dataclass(frozen=True, slots=True, kw_only=True)
class FragmentAnswer:
    """What became of an evidence item: a new fragment, or another occurrence of one that was there.

    ``authority`` (the claimed one), ``occurred_at``, ``inherited_labels`` and ``derived_from_fragment_ids`` are the
    fragment's, not the item's: what counts is what the next reader finds. A ``retired`` fragment supports nothing any
    more, whoever submits its text again.
    """

    index: int
    fragment_id: FragmentId
    is_new: bool
    source_type: SourceType
    authority: Authority
    scan: ScanResult
    occurred_at: Instant | None = None
    inherited_labels: tuple[str, ...] = ()
    derived_from_fragment_ids: tuple[FragmentId, ...] = ()
    released: bool = False
    retired: bool = False
    notes: tuple[str, ...] = ()
    item: ReviewItem | None = None

    @property
    def quarantined(self) -> bool:
        """Whether its text supports nothing until it is released."""
        return self.scan.verdict is ScanVerdict.QUARANTINED and not self.released


@dataclass(frozen=True, slots=True, kw_only=True)
class RelationshipAnswer:
    """What became of a proposed relationship: ``rule`` decided it, ``reason`` is why it is not placed, as a code.

    A repeat says nothing that its owner is not asked about already. ``cited_fragment_ids`` are the texts that its
    bounds point into, if they are not those of its submission.
    """

    proposal_id: ProposalId
    observation_id: StatementId
    outcome: OutcomeKind
    rule: str
    reason: str = ""
    predicate: Predicate | None = None
    relationship: Relationship | None = None
    object: Object | None = None
    granted_authority: Authority | None = None
    finding: Finding | None = None
    bounds: tuple[CitedBound, ...] = ()
    cited_fragment_ids: tuple[FragmentId, ...] = ()
    opposing: tuple[RelationshipId, ...] = ()
    references: tuple[CrossReference, ...] = ()
    case_effect: CaseEffect = CaseEffect.NONE
    conflict_id: ConflictId | None = None
    conflict_version: int = 0
    review_due_at: Instant | None = None
    item: ReviewItem | None = None
    closest_predicates: tuple[str, ...] = ()
    is_repeat: bool = False
    retry_verification: bool = False
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ResolutionAnswer:
    """What a merge did: the decision, the question as it left it, and the rows that it kept and ended."""

    decision_id: DecisionId
    item: ReviewItem
    kept_id: RelationshipId
    merged_ids: tuple[RelationshipId, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class LaterVerdict:
    """What the verifier said of an observation that was recorded before; ``fragment_ids`` are the texts that it saw."""

    observation_id: StatementId
    finding: Finding
    fragment_ids: tuple[FragmentId, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedState:
    """Where a source key stands after the submission.

    ``prior_version`` is the version of its row before, ``None`` if there is none; ``is_new`` says whether this
    submission made its revision current.
    """

    state: SourceState
    prior_version: int | None
    is_new: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedRevision:
    """One revision of the commit: its moment, and what it changes of the slot that it was planned on.

    ``change_kind`` is what the ledger calls it. ``bindings`` say what waiting observations turned out to name,
    ``verdicts`` what the verifier said of them, ``released`` which texts may be found from now on. ``retired`` are the
    fragments that support nothing any more, and ``beside`` what that changes, slot by slot.
    """

    moment: Moment
    change_kind: str = "remember"
    before: SlotView | None = None
    changes: Changes = field(default_factory=Changes)
    items: tuple[ReviewItem, ...] = ()
    bindings: tuple[ObservationBinding, ...] = ()
    verdicts: tuple[LaterVerdict, ...] = ()
    released: tuple[FragmentId, ...] = ()
    retired: tuple[RetiredFragment, ...] = ()
    beside: tuple[SlotChange, ...] = ()

    @property
    def slot_changes(self) -> tuple[SlotChange, ...]:
        """What it changes, slot by slot."""
        placed = () if self.before is None else (SlotChange(before=self.before, changes=self.changes),)
        return (*placed, *self.beside)


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedSubmission:
    """Everything that a submission writes, and its answer.

    ``bound`` and ``answers`` run parallel to the proposed relationships.
    """

    ingest_id: IngestId
    prepared: PreparedSubmission
    fragments: tuple[FragmentAnswer, ...]
    entities: tuple[EntityAnswer, ...]
    bound: tuple[BoundRelationship, ...]
    answers: tuple[RelationshipAnswer, ...]
    verifier: str
    revisions: tuple[PlannedRevision, ...]
    sources: tuple[PlannedState, ...] = ()
    resolution: ResolutionAnswer | None = None
