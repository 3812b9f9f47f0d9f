"""Cases in words: the question that a case asks, and what each of its positions says."""

from __future__ import annotations

from collections.abc import Mapping

from corrigenda_core.domain.cases import CaseKind, CasePosition, ConflictCase
from corrigenda_core.domain.ids import RelationshipId
from corrigenda_core.domain.objects import Object, Polarity
from corrigenda_core.domain.relationships import Relationship
from corrigenda_core.policy.case_questions import decide_question
from corrigenda_core.rpc.relationship_messages import Names, object_words

Members = Mapping[RelationshipId, Relationship]
"""The rows of a case's members."""


def case_question(case: ConflictCase, members: Members, names: Names) -> str:
    """The question of a case, with names."""
    sides = [position for position in case.positions if position.members]
    disputed = next((position_object(side, members) for side in sides), None)
    return decide_question(
        case.set_key.kind,
        subject=names[case.set_key.subject_id].name,
        predicate=case.set_key.predicate,
        scope=case.set_key.scope,
        positions=[_says(side, members, names) for side in sides],
        object_name="" if disputed is None else object_words(disputed, names),
    )


def position_label(case: ConflictCase, position: CasePosition, members: Members, names: Names) -> str:
    """What a position is: the name of its object, ``+`` or ``-``, ``recorded`` or ``corrected``."""
    return _says(position, members, names) if case.set_key.kind is CaseKind.CURRENT_STATE else position.key


def position_object(position: CasePosition, members: Members) -> Object | None:
    """The object that the members of a position point at, as the one recorded first wrote it."""
    rows = [members[member.relationship_id] for member in position.members]
    if not rows:
        return None
    return min(rows, key=lambda row: (row.first_recorded_at, row.relationship_id)).object


def position_polarity(case: ConflictCase, position: CasePosition) -> Polarity | None:
    """The polarity that a position stands for; ``None`` where the case is about a reference."""
    match case.set_key.kind:
        case CaseKind.CURRENT_STATE:
            return Polarity.POSITIVE
        case CaseKind.POLARITY:
            return Polarity(position.key)
        case CaseKind.REFERENCE:
            return None


def _says(position: CasePosition, members: Members, names: Names) -> str:
    named = position_object(position, members)
    return position.key if named is None else object_words(named, names)
