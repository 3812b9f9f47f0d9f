"""Cases in words: the question that a case asks, and what each of its positions says."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from corrigenda_core.domain.cases import CaseKind, CasePosition, ConflictCase
from corrigenda_core.domain.ids import RelationshipId
from corrigenda_core.domain.objects import Object, Polarity, object_of_key
from corrigenda_core.domain.relationships import Relationship
from corrigenda_core.policy.case_questions import decide_question
from corrigenda_core.policy.snapshot_codec import write_instant
from corrigenda_core.rpc.relationship_messages import Names, object_words

Members = Mapping[RelationshipId, Relationship]
"""The rows of a case's members."""


def case_question(case: ConflictCase, members: Members, names: Names) -> str:
    """The question of a case, with names."""
    disputed = case_object(case, members)
    return decide_question(
        case.set_key.kind,
        subject=names[case.set_key.subject_id].name,
        predicate=case.set_key.predicate,
        scope=case.set_key.scope,
        positions=[_says(case, side, members, names) for side in positions_in_order(case) if side.members],
        object_name="" if disputed is None else _of_its_day(case, object_words(disputed, names)),
    )


def _of_its_day(case: ConflictCase, words: str) -> str:
    """The object of a dispute about an event with the day in question, which begins where the team's day does."""
    occurred = case.set_key.occurred
    return words if occurred is None else f"{words} on the day from {write_instant(occurred)}"


def positions_in_order(case: ConflictCase) -> list[CasePosition]:
    """The positions of a case in the order in which they were taken, wherever they are shown."""
    return sorted(case.positions, key=lambda position: (position.first_seen_at, position.key))


def case_object(case: ConflictCase, members: Members) -> Object | None:
    """The object whose polarity is in dispute; ``None`` for a case of another kind."""
    if case.set_key.kind is not CaseKind.POLARITY:
        return None
    rows = [row for side in case.positions for row in _rows(side, members)]
    return _as_first_written(rows) or object_of_key(case.set_key.of_any_day.object_key)


def position_label(case: ConflictCase, position: CasePosition, members: Members, names: Names) -> str:
    """What a position is: the name of its object, ``+`` or ``-``, ``recorded`` or ``corrected``."""
    return _says(case, position, members, names) if case.set_key.kind is CaseKind.CURRENT_STATE else position.key


def key_label(case: ConflictCase, key: str, names: Names) -> str:
    """What a position with this key is, where nobody stands on it and nothing but its key is known."""
    return object_words(object_of_key(key), names) if case.set_key.kind is CaseKind.CURRENT_STATE else key


def position_object(case: ConflictCase, position: CasePosition, members: Members) -> Object | None:
    """The object that a position stands for, as the one recorded first wrote it; ``None`` in a case about references.

    A position that everybody has left still stands for what its key says.
    """
    match case.set_key.kind:
        case CaseKind.CURRENT_STATE:
            return _as_first_written(_rows(position, members)) or object_of_key(position.key)
        case CaseKind.POLARITY:
            return case_object(case, members)
        case CaseKind.REFERENCE:
            return None


def position_polarity(case: ConflictCase, position: CasePosition) -> Polarity | None:
    """The polarity that a position stands for; ``None`` where the case is about a reference."""
    match case.set_key.kind:
        case CaseKind.CURRENT_STATE:
            return Polarity.POSITIVE
        case CaseKind.POLARITY:
            return Polarity(position.key)
        case CaseKind.REFERENCE:
            return None


def _says(case: ConflictCase, position: CasePosition, members: Members, names: Names) -> str:
    named = position_object(case, position, members) or _as_first_written(_rows(position, members))
    return position.key if named is None else object_words(named, names)


def _rows(position: CasePosition, members: Members) -> list[Relationship]:
    return [members[one.relationship_id] for one in position.members if one.relationship_id in members]


def _as_first_written(rows: Sequence[Relationship]) -> Object | None:
    return min(rows, key=lambda row: (row.first_recorded_at, row.relationship_id)).object if rows else None
