"""Case keys: what a team conflict case is about, and what tells its positions apart."""

from __future__ import annotations

from typing import Literal

from corrigenda_core.domain.cases import CaseKind, SetKey
from corrigenda_core.domain.objects import Object, Polarity, Slot

ReferenceSide = Literal["recorded", "corrected"]
"""The two positions of a reference case: what is pointed at, and what points at it."""


def decide_set_key(kind: CaseKind, slot: Slot, object_: Object) -> SetKey:
    """What the case is about (R7.3): the slot, and for a polarity case its object as well.

    Args:
        kind: the kind of disagreement.
        slot: the slot that the members share; for a reference case that of the target.
        object_: the object of the members; it matters for a polarity case alone.
    """
    object_key = object_.key if kind is CaseKind.POLARITY else ""
    return SetKey(
        kind=kind, subject_id=slot.subject_id, predicate=slot.predicate, scope=slot.scope, object_key=object_key
    )


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
