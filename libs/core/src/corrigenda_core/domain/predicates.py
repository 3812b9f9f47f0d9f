"""Registered predicates: what a key means and how its values replace each other."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from corrigenda_core.domain.ids import PredicateKey
from corrigenda_core.domain.objects import ValueType


class RelationshipKind(StrEnum):
    """A state holds over an interval; an event happens."""

    STATE = "state"
    EVENT = "event"


class Cardinality(StrEnum):
    """How many values a slot may have in force at one instant."""

    ONE = "one"
    MANY = "many"


class SupersessionBasis(StrEnum):
    """Which times count as a known start, each including those before it."""

    EVIDENCE_TIME = "evidence_time"
    STATED_TIME = "stated_time"
    OBSERVED_TIME = "observed_time"


class SameMomentPolicy(StrEnum):
    """What happens to values of one owner that cannot be ordered."""

    HOLD = "hold"
    COMPETE = "compete"
    CLOSE = "close"


class StartGranularity(StrEnum):
    """Whether starts are instants or calendar days of the team's zone."""

    INSTANT = "instant"
    DAY = "day"


class PredicateLifecycle(StrEnum):
    """A retired predicate takes no new statements."""

    ACTIVE = "active"
    RETIRED = "retired"


@dataclass(frozen=True, slots=True, kw_only=True)
class Predicate:
    """One version of a registered predicate."""

    key: PredicateKey
    version: int = 1
    aliases: tuple[str, ...] = ()
    subject_kinds: tuple[str, ...] = ()
    object_kinds: tuple[str, ...] = ()
    value_types: tuple[ValueType, ...] = ()
    unit: str = ""
    kind: RelationshipKind = RelationshipKind.STATE
    cardinality: Cardinality = Cardinality.ONE
    basis: SupersessionBasis = SupersessionBasis.EVIDENCE_TIME
    same_moment: SameMomentPolicy = SameMomentPolicy.HOLD
    granularity: StartGranularity = StartGranularity.INSTANT
    pii_class: str = ""
    review_after_days: int | None = None
    lifecycle: PredicateLifecycle = PredicateLifecycle.ACTIVE
