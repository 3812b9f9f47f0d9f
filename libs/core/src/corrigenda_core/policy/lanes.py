"""Lanes: which statements of one owner's slot share a timeline, and what each brings into it."""

from __future__ import annotations

from dataclasses import dataclass, field

from corrigenda_core.domain.ids import StatementId
from corrigenda_core.domain.objects import Object, Polarity
from corrigenda_core.domain.predicates import Cardinality, Predicate, RelationshipKind
from corrigenda_core.domain.relationships import Statement
from corrigenda_core.domain.time import EARLIEST, Instant, KnownBound

Value = tuple[str, Polarity]
"""What a statement says of its slot: the key of its object, and whether it asserts or denies it."""

LaneKey = tuple[str, str]
"""Equal for statements that share a timeline; its parts are an object key and a day, either may be empty."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """A statement with the times that count for it once decisions are read.

    ``start`` is its known or given start; ``unbounded`` marks a given start that is unbounded. Without either it is
    placed by ``witness_at``, which lies before its own ``end`` and before every closing that lists it. ``closed_at`` is
    the first closing after its start that lists it: what ended then began before.
    """

    statement: Statement
    start: KnownBound | None
    unbounded: bool = False
    end: KnownBound | None = None
    closed_at: Instant | None = None
    witness_at: Instant
    value: Value = field(init=False)

    def __post_init__(self) -> None:
        # Read many times in one fold, and put together from text: kept, because it never changes.
        object.__setattr__(self, "value", value_of(self.statement.object, self.statement.polarity))

    @property
    def statement_id(self) -> StatementId:
        """The id of the statement."""
        return self.statement.statement_id

    @property
    def sequence(self) -> int:
        """Its place in the team's order of recording."""
        return self.statement.sequence

    @property
    def placed_by_witness(self) -> bool:
        """Whether it has no start of its own."""
        return self.start is None and not self.unbounded

    @property
    def reach(self) -> tuple[Instant, Instant]:
        """Between which instants its start lies, end exclusive: the whole interval of its words, before it ended."""
        if self.start is None:
            return EARLIEST, EARLIEST
        ends = [self.start.whole.end, None if self.end is None else self.end.at, self.closed_at]
        return self.start.at, min(end for end in ends if end is not None)


def value_of(object_: Object, polarity: Polarity) -> Value:
    """The value of an object and a polarity."""
    return object_.key, polarity


def is_slot_exclusive(predicate: Predicate) -> bool:
    """Whether two values of the slot may not be in force at once: a state of cardinality one."""
    return predicate.kind is RelationshipKind.STATE and predicate.cardinality is Cardinality.ONE


def is_excluding_value(first: Value, second: Value, *, exclusive: bool) -> bool:
    """Whether two values contradict each other: one object with both polarities, or two ``+`` where one may be."""
    if first[0] == second[0]:
        return first[1] is not second[1]
    return exclusive and first[1] is second[1] is Polarity.POSITIVE


def decide_lane(entry: Entry, predicate: Predicate) -> LaneKey:
    """The lane of an entry (R4.11).

    Events meet on their object and calendar day, undated ones on their object alone; their starts are whole calendar
    days of the team's zone. Of a predicate with many values every object has a lane of its own. A state with one value
    is one lane: what a ``-`` says there is no value of the slot, but it contradicts the ``+`` of its object.
    """
    object_key = entry.value[0]
    if predicate.kind is RelationshipKind.EVENT:
        return object_key, "" if entry.start is None else entry.start.at.isoformat()
    return ("", "") if is_slot_exclusive(predicate) else (object_key, "")
