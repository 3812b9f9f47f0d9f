"""Case keys: what a team conflict case is about, and what tells its positions apart."""

from __future__ import annotations

from typing import Literal

from corrigenda_core.domain.cases import CaseKind, SetKey
from corrigenda_core.domain.objects import Object, Polarity, Slot, occurrence_key
from corrigenda_core.domain.relationships import Relationship
from corrigenda_core.domain.time import ClosedToNothing, Instant

ReferenceSide = Literal["recorded", "corrected"]
"""The two positions of a reference case: what is pointed at, and what points at it."""


def decide_set_key(kind: CaseKind, slot: Slot, object_: Object, occurred: Instant | None = None) -> SetKey:
    """What the case is about (R7.3): the slot, and for a polarity case its object as well.

    Whether something happened on Monday is another question than whether it happened on Tuesday: the object of a
    dispute about an event is what happened on its day.

    Args:
        kind: the kind of disagreement.
        slot: the slot that the members share; for a reference case that of the target.
        object_: the object of the members; it matters for a polarity case alone.
        occurred: the start of the day of an event, if it is known; ``None`` for a state.
    """
    object_key = ""
    if kind is CaseKind.POLARITY:
        object_key = object_.key if occurred is None else occurrence_key(object_, occurred)
    return SetKey(
        kind=kind, subject_id=slot.subject_id, predicate=slot.predicate, scope=slot.scope, object_key=object_key
    )


def decide_row_set_key(kind: CaseKind, row: Relationship) -> SetKey:
    """What a case is about that a row is a member of; for a reference case the row is the target."""
    start = row.validity.at if isinstance(row.validity, ClosedToNothing) else row.validity.start
    return decide_set_key(kind, row.slot, row.object, start if row.event else None)


def decide_position_key(kind: CaseKind, object_: Object, polarity: Polarity, side: ReferenceSide) -> str:
    """Which position of its case a relationship stands on (R7.4).

    Args:
        kind: the kind of the case.
        object_: the object of the relationship.
        polarity: its polarity.
        side: whether it is pointed at or points at another; it matters for a reference case alone.
    """
    return {
        CaseKind.CURRENT_STATE: object_.key,
        CaseKind.POLARITY: polarity.value,
        CaseKind.REFERENCE: side,
    }[kind]
