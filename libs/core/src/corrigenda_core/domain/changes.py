"""What a planner decides and a shell writes: the complete effect of one placement or decision."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

from corrigenda_core.domain.cases import CaseEvent, ConflictCase
from corrigenda_core.domain.decisions import TimelineDecision
from corrigenda_core.domain.evidence import Support, SupportDecision
from corrigenda_core.domain.ids import ConflictId, DecisionId, RelationshipId, StatementId
from corrigenda_core.domain.items import ReviewItem
from corrigenda_core.domain.relationships import Carriage, CrossReference, Relationship, Statement, Transition
from corrigenda_core.domain.resolutions import DecisionRecord


class OutcomeKind(StrEnum):
    """What became of a new statement."""

    INSERTED = "inserted"
    SUPERSEDED = "superseded"
    INSERTED_HISTORICAL = "inserted_historical"
    EPISODE_DIVIDED = "episode_divided"
    CORROBORATED = "corroborated"
    CORRECTED = "corrected"
    HELD = "held"
    COMPETING = "competing"
    CLOSED = "closed"
    COEXISTS = "coexists"
    DUPLICATE = "duplicate"
    PENDING_EVIDENCE = "pending_evidence"
    REJECTED = "rejected"
    OBSERVED = "observed"
    NEEDS_REVIEW = "needs_review"
    QUARANTINED = "quarantined"


class CaseEffect(StrEnum):
    """What a placement did to team cases."""

    NONE = "none"
    OPENS_CASE = "opens_case"
    JOINS_CASE = "joins_case"


@dataclass(frozen=True, slots=True, kw_only=True)
class PlacementOutcome:
    """The answer for one statement: what became of it, the rule that fired, and what it touched."""

    statement_id: StatementId
    kind: OutcomeKind
    rule: str
    relationship_id: RelationshipId | None = None
    opposing: tuple[RelationshipId, ...] = ()
    case_effect: CaseEffect = CaseEffect.NONE
    conflict_id: ConflictId | None = None
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Changes:
    """Everything that one revision writes for relationships, items and cases.

    ``relationships`` holds the new current version of every touched row, ``statements`` the new statements;
    everything else is appended. A row appears at most once, and every row here has its transition. ``decisions`` are
    new ones that shape the timeline; a closing among them also stands on the transition that it makes, if it makes one.
    ``decisions_taken_back`` no longer stand. ``decision_records`` say who decided what: every one of ``decisions`` has
    its record among them.
    """

    statements: tuple[Statement, ...] = ()
    relationships: tuple[Relationship, ...] = ()
    transitions: tuple[Transition, ...] = ()
    carriages: tuple[Carriage, ...] = ()
    decision_records: tuple[DecisionRecord, ...] = ()
    decisions: tuple[TimelineDecision, ...] = ()
    decisions_taken_back: tuple[DecisionId, ...] = ()
    supports: tuple[Support, ...] = ()
    support_decisions: tuple[SupportDecision, ...] = ()
    references: tuple[CrossReference, ...] = ()
    references_switched_off: tuple[CrossReference, ...] = ()
    items: tuple[ReviewItem, ...] = ()
    cases: tuple[ConflictCase, ...] = ()
    case_events: tuple[CaseEvent, ...] = ()
    outcomes: tuple[PlacementOutcome, ...] = field(default=())
