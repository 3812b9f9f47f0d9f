"""Decisions that shape one owner's timeline: what the fold reads beside the statements themselves."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from corrigenda_core.domain.ids import DecisionId, RelationshipId, StatementId
from corrigenda_core.domain.relationships import Closing
from corrigenda_core.domain.time import Instant, TimeBasis


class RemovalReason(StrEnum):
    """Why a statement has left the timeline."""

    REJECTED = "rejected"
    RETRACTED = "retracted"
    CORRECTED = "corrected"
    MERGED = "merged"


@dataclass(frozen=True, slots=True, kw_only=True)
class Removal:
    """A statement is out of the timeline while this decision stands."""

    decision_id: DecisionId
    statement_id: StatementId
    reason: RemovalReason


@dataclass(frozen=True, slots=True, kw_only=True)
class FacetAssignment:
    """A statement stands in this facet of its slot; without one the fold finds its facet."""

    decision_id: DecisionId
    statement_id: StatementId
    facet: int


@dataclass(frozen=True, slots=True, kw_only=True)
class GivenStart:
    """The start that a decision settled for a statement: its own, or one that it was given where it knows none.

    What was settled goes before what nobody has decided about, where the two cannot be ordered. ``at`` is ``None``
    where a correction takes over the unbounded start of its target.
    """

    decision_id: DecisionId
    statement_id: StatementId
    at: Instant | None
    basis: TimeBasis


@dataclass(frozen=True, slots=True, kw_only=True)
class Distinction:
    """Two statements were told apart by keep_both: the pair is never asked about again."""

    decision_id: DecisionId
    first: StatementId
    second: StatementId


@dataclass(frozen=True, slots=True, kw_only=True)
class SameValue:
    """A statement says what another one says, in other words: the fold reads it with that one's object and polarity."""

    decision_id: DecisionId
    statement_id: StatementId
    same_as: StatementId


@dataclass(frozen=True, slots=True, kw_only=True)
class Reopening:
    """A closing says nothing while this decision stands: the relationship that it had ended was retracted.

    A closing is named by the decision that made it and the relationship that it ended; ``statement_id`` is one that
    carries the relationship.
    """

    decision_id: DecisionId
    statement_id: StatementId
    closing_decision_id: DecisionId
    relationship_id: RelationshipId


TimelineDecision = Removal | FacetAssignment | GivenStart | Distinction | SameValue | Reopening | Closing
