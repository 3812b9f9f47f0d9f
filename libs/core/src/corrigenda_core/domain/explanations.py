"""Explanations of a case: what each rule compared, what it missed, and what would change the decision."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum

from corrigenda_core.domain.ids import PositionId
from corrigenda_core.domain.snapshots import CaseDecision, DecisionReason, Evaluation, Resolve
from corrigenda_core.domain.time import Instant


class Quantity(StrEnum):
    """What a condition measures; those of a position are about the one that the rule is read for."""

    LIVE_POSITIONS = "live_positions"
    LIVE_OWNERS = "live_owners"
    NOW = "now"
    WITNESSES = "witnesses"
    TWICE_WITNESSES = "twice_witnesses"
    FOUR_TIMES_WITNESSES = "four_times_witnesses"
    AUTHORITATIVE_WITNESSES = "authoritative_witnesses"
    OTHER_POSITIONS_WITH_AUTHORITY = "other_positions_with_authority"
    OTHER_POSITIONS_OVERRIDING = "other_positions_overriding"
    OTHER_POSITIONS_OF_RECORD = "other_positions_of_record"
    TIME_BEGINS = "time_begins"
    OPPONENT_KNOWN_STARTS = "opponent_known_starts"


class Relation(StrEnum):
    """How the measured side must stand to the required one."""

    AT_LEAST = ">="
    MORE_THAN = ">"
    AT_MOST = "<="


_HOLDS: Mapping[Relation, Callable[[int, int], bool]] = {
    Relation.AT_LEAST: operator.ge,
    Relation.MORE_THAN: operator.gt,
    Relation.AT_MOST: operator.le,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class CountCondition:
    """A comparison of numbers; ``opponent`` names the other position that it is about, where it is about one."""

    quantity: Quantity
    measured: int
    relation: Relation
    required: int
    opponent: PositionId | None = None

    @property
    def met(self) -> bool:
        """Whether the comparison holds."""
        return _HOLDS[self.relation](self.measured, self.required)


@dataclass(frozen=True, slots=True, kw_only=True)
class TimeCondition:
    """A comparison of instants: ``measured`` must be later, or (``inclusive``) not earlier, than ``required``.

    ``measured`` is ``None`` where no time is known; without ``required`` any known time will do.
    """

    quantity: Quantity
    measured: Instant | None
    inclusive: bool = True
    required: Instant | None = None
    opponent: PositionId | None = None

    @property
    def met(self) -> bool:
        """Whether the comparison holds."""
        if self.measured is None or self.required is None:
            return self.measured is not None
        return self.measured > self.required or (self.inclusive and self.measured == self.required)


Condition = CountCondition | TimeCondition


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleReading:
    """One rule read for one position: it names the position the winner if every condition is met."""

    rule: DecisionReason
    position_id: PositionId
    conditions: tuple[Condition, ...]

    @property
    def missing(self) -> tuple[Condition, ...]:
        """The conditions that are not met."""
        return tuple(condition for condition in self.conditions if not condition.met)


@dataclass(frozen=True, slots=True, kw_only=True)
class OneMoreWitness:
    """What the policy decides with one more independent, plain witness for a position: now, and at the deadline."""

    position_id: PositionId
    now: CaseDecision
    at_deadline: CaseDecision


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation:
    """A decision made comprehensible.

    ``disagreement`` are the conditions of having anything to decide. ``readings`` stand in the order in which the rules
    are asked, and are empty for a dismissed case; the first with all conditions met decides. ``at_deadline`` is the
    decision on the same evidence when the deadline has come.
    """

    evaluation: Evaluation
    disagreement: tuple[Condition, ...]
    readings: tuple[RuleReading, ...]
    at_deadline: CaseDecision
    one_more: tuple[OneMoreWitness, ...]


def is_same_result(decision: CaseDecision, other: CaseDecision) -> bool:
    """Whether two decisions have the same outcome, reason and winner; ends of losers do not matter."""
    return (decision.outcome, decision.reason, winner_of(decision)) == (other.outcome, other.reason, winner_of(other))


def winner_of(decision: CaseDecision) -> PositionId | None:
    """The winning position of a resolution."""
    return decision.winner if isinstance(decision, Resolve) else None
