"""Factories for statements and predicates of one slot: tests say what matters and get the rest."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

from corrigenda_core.domain.ids import EntityId, PredicateKey, ProfileId, StatementId
from corrigenda_core.domain.objects import Polarity, Slot, ValueObject, ValueType
from corrigenda_core.domain.predicates import Cardinality, Predicate, RelationshipKind, SameMomentPolicy
from corrigenda_core.domain.relationships import Statement
from corrigenda_core.domain.time import (
    ClosedToNothing,
    Instant,
    Interval,
    KnownBound,
    TimeBasis,
    Validity,
    WholeInterval,
)
from corrigenda_core.policy.extents import decide_exact_bound

SLOT = Slot(subject_id=EntityId("account"), predicate=PredicateKey("tier"))
OWNER = ProfileId("ann")


def day(text: str) -> Instant:
    """Midnight (UTC) of a day of 2026 written like ``1 Mar``; a year may follow."""
    parts = text.split()
    return datetime.strptime(" ".join(parts if len(parts) == 3 else [*parts, "2026"]), "%d %b %Y").replace(tzinfo=UTC)


def month(text: str) -> KnownBound:
    """A start somewhere in a month of 2026 written like ``Mar``."""
    first = day(f"1 {text}")
    following = (first + timedelta(days=32)).replace(day=1)
    return KnownBound(at=first, whole=WholeInterval(start=first, end=following), basis=TimeBasis.EVIDENCE_TIME)


def exactly(text: str, basis: TimeBasis = TimeBasis.EVIDENCE_TIME) -> KnownBound:
    """A bound at midnight of a day."""
    return decide_exact_bound(day(text), basis)


def text_value(text: str) -> ValueObject:
    """A text value."""
    return ValueObject(type=ValueType.TEXT, canonical=text, display=text)


def predicate(
    *,
    kind: RelationshipKind = RelationshipKind.STATE,
    cardinality: Cardinality = Cardinality.ONE,
    same_moment: SameMomentPolicy = SameMomentPolicy.HOLD,
) -> Predicate:
    """The predicate of `SLOT`."""
    return Predicate(key=SLOT.predicate, kind=kind, cardinality=cardinality, same_moment=same_moment)


_LINE = re.compile(
    r"(?P<polarity>-?)(?P<value>\w+)(?: (?P<start>(?:\d+ )?[A-Z][a-z]{2})(?!\S*@))?(?:\.\.(?P<end>\d+ [A-Z][a-z]{2}))?"
    r"(?: @(?P<witness>\d+ [A-Z][a-z]{2}))?(?: !(?P<record>\w+))?"
)


def said(*lines: str, owner: ProfileId = OWNER, first: int = 0) -> list[Statement]:
    """Statements of `SLOT` in the order of recording, named ``s0``, ``s1``, ... from ``first`` on.

    A line reads ``value start..end @witness !record``, all but the value optional: ``gold 1 Mar..1 May``,
    ``gold Mar`` (some time in March), ``gold @1 Apr`` (no start, witnessed then), ``-gold 1 Mar`` (denied),
    ``gold 1 Mar !crm`` (a system of record says so). A witness time that is not given is 1 June.
    """
    return [_said(line, number, owner) for number, line in enumerate(lines, first)]


def _said(line: str, sequence: int, owner: ProfileId) -> Statement:
    found = _LINE.fullmatch(line)
    if found is None:
        raise ValueError(f"not a line of the notation: {line}")
    start = found["start"]
    return Statement(
        statement_id=StatementId(f"s{sequence}"),
        owner_id=owner,
        slot=SLOT,
        object=text_value(found["value"]),
        polarity=Polarity.NEGATIVE if found["polarity"] else Polarity.POSITIVE,
        start=None if start is None else exactly(start) if " " in start else month(start),
        end=None if found["end"] is None else exactly(found["end"]),
        witness_at=day(found["witness"] or "1 Jun"),
        recorded_at=day("1 Jun") + timedelta(minutes=sequence),
        sequence=sequence,
        record=found["record"] is not None,
        source=found["record"],
    )


def shown(validity: Validity) -> str:
    """A validity as ``1 Mar..1 May``, an unknown end left out."""
    match validity:
        case Interval(start=start, end=end):
            return "..".join("" if at is None else f"{at:%-d %b}" for at in (start, end))
        case ClosedToNothing(at=at):
            return "nothing" if at is None else f"nothing at {at:%-d %b}"
