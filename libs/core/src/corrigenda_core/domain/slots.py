"""What a planner reads of one slot: all owners' rows, statements, supports, decisions, and its live cases."""

from __future__ import annotations

from dataclasses import dataclass

from corrigenda_core.domain.actors import Actor
from corrigenda_core.domain.cases import ConflictCase, SetKey
from corrigenda_core.domain.decisions import TimelineDecision
from corrigenda_core.domain.evidence import Support
from corrigenda_core.domain.ids import ConflictId, IdRange, RelationshipId, StatementId
from corrigenda_core.domain.items import ReviewItem
from corrigenda_core.domain.objects import Slot
from corrigenda_core.domain.predicates import Predicate
from corrigenda_core.domain.relationships import CrossReference, Relationship, Statement
from corrigenda_core.domain.team import TeamPolicy
from corrigenda_core.domain.time import Moment


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanContext:
    """The commit that a plan is made for: its moment, the ids it may hand out, who acts, and the team's policy."""

    moment: Moment
    ids: IdRange
    actor: Actor
    policy: TeamPolicy


@dataclass(frozen=True, slots=True, kw_only=True)
class SlotView:
    """The state of one slot, all owners together, as the commit's transaction sees it.

    ``rows`` are the current versions; ``statements`` all statements ever recorded in the slot with the row that
    carries each; ``supports`` all supports of those rows with their current effect; ``decisions`` those that stand
    (a reverted one is not here); ``items`` the pending ones; ``cases`` the live ones whose set key lies in the slot,
    and those reference cases of other slots in which a row of this one is a member; ``rows_beside`` are the rows of
    other slots that are members of these cases, with their supports; ``closed_cases`` the last closed case of a set
    key, which the next one names; ``resolved_cases`` those that were resolved, with their positions as they were then.
    """

    slot: Slot
    predicate: Predicate
    rows: tuple[Relationship, ...] = ()
    statements: tuple[Statement, ...] = ()
    supports: tuple[Support, ...] = ()
    decisions: tuple[TimelineDecision, ...] = ()
    references: tuple[CrossReference, ...] = ()
    items: tuple[ReviewItem, ...] = ()
    cases: tuple[ConflictCase, ...] = ()
    closed_cases: tuple[tuple[SetKey, ConflictId], ...] = ()
    resolved_cases: tuple[ConflictCase, ...] = ()
    rows_beside: tuple[Relationship, ...] = ()
    supports_beside: tuple[Support, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseView:
    """What a review reads of one live case: its members' current rows and supports, and no text.

    ``carried`` says which statements each row carries. ``beside`` are rows of the members' owners that are no members
    and in force beside a competing one.
    """

    case: ConflictCase
    rows: tuple[Relationship, ...] = ()
    beside: tuple[Relationship, ...] = ()
    supports: tuple[Support, ...] = ()
    carried: tuple[tuple[RelationshipId, StatementId], ...] = ()
