"""Competing facts: which disagreements about an entity are live in a view, within an owner and between owners."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence

from corrigenda_core.domain.cases import CaseKind, ConflictCase, SetKey
from corrigenda_core.domain.competing import CompetingFacts, CompetingSide, CompetingSlot
from corrigenda_core.domain.ids import EntityId, RelationshipId
from corrigenda_core.domain.items import ItemKind, ItemStatus, ReviewItem
from corrigenda_core.domain.objects import EntityObject
from corrigenda_core.domain.relationships import Relationship, Status
from corrigenda_core.domain.time import Instant
from corrigenda_core.policy.case_keys import decide_position_key, decide_row_set_key
from corrigenda_core.policy.exclusion import is_excluding
from corrigenda_core.policy.validity import is_holding_at
from corrigenda_core.policy.visibility import decide_known_picture

_UNSETTLED = frozenset({Status.COMPETING, Status.NEEDS_REVIEW})

_Sides = dict[str, dict[RelationshipId, Relationship]]


def decide_competing(
    entity_id: EntityId,
    valid_at: Instant,
    rows: Sequence[Relationship],
    cases: Sequence[ConflictCase],
    items: Iterable[ReviewItem] = (),
) -> tuple[CompetingSlot, ...]:
    """The live disagreements about an entity, grouped by slot (R9.5).

    Between owners that is a live case two of whose positions are in force at the asked instant. Within an owner it is a
    statement that competes there, or waits for its owner, and what excludes it. Both about one thing are one
    disagreement with the sides of both. What is settled, by its owner or by a resolution, is none.

    Args:
        entity_id: the entity, as subject or as object of a side.
        valid_at: the instant of the world.
        rows: the rows of the slots in question and the members of their cases, at the versions that the view knows.
        cases: the cases of those rows as the view knows them, closed ones too.
        items: the questions as the view knows them; pending ones are named where they ask about a side.

    Returns:
        The slots by subject, predicate and scope; in each the disagreements by kind and object.
    """
    picture = decide_known_picture(valid_at, rows, cases)
    in_force = {edge.relationship.relationship_id: edge.relationship for edge in picture.edges}
    waiting = [r for r in rows if r.status is Status.NEEDS_REVIEW and is_holding_at(r.validity, valid_at)]
    found: dict[SetKey, _Sides] = defaultdict(dict)
    for set_key, position_key, row in _within_owners([*in_force.values(), *waiting]):
        found[set_key].setdefault(position_key, {})[row.relationship_id] = row
    live = {case.set_key: case for case in picture.live_cases}
    for case in picture.live_cases:
        for position in case.positions:
            for member in position.members:
                if member.relationship_id in in_force:
                    side = found[case.set_key].setdefault(position.key, {})
                    side[member.relationship_id] = in_force[member.relationship_id]
    pending = [item for item in items if item.status is ItemStatus.PENDING and item.kind is ItemKind.RELATIONSHIP]
    slots: dict[tuple[str, str, str], list[CompetingFacts]] = defaultdict(list)
    for set_key in sorted(found, key=lambda key: (key.kind.value, key.object_key)):
        if _is_about(entity_id, set_key, found[set_key]):
            facts = _facts(set_key, found[set_key], live.get(set_key), pending)
            slots[set_key.subject_id, set_key.predicate, set_key.scope].append(facts)
    return tuple(CompetingSlot(slot=slots[key][0].set_key.slot, facts=tuple(slots[key])) for key in sorted(slots))


def _within_owners(claims: Iterable[Relationship]) -> Iterator[tuple[SetKey, str, Relationship]]:
    """Both rows of every pair that one owner has not settled, with what it is about and the side of each."""
    own: dict[object, list[Relationship]] = defaultdict(list)
    for row in claims:
        own[row.owner_id, row.slot].append(row)
    for rows in own.values():
        for row in (one for one in rows if one.status in _UNSETTLED):
            for other in (one for one in rows if _is_unsettled(row, one)):
                kind = CaseKind.POLARITY if row.object.key == other.object.key else CaseKind.CURRENT_STATE
                set_key = decide_row_set_key(kind, row)
                for side in (row, other):
                    yield set_key, decide_position_key(kind, side.object, side.polarity, "recorded"), side


def _is_unsettled(row: Relationship, other: Relationship) -> bool:
    """Whether another row of the owner excludes one that competes, or waits for its owner.

    A row that waits has no facet yet: it is held against every one. Rows that compete do so in their facet.
    """
    return is_excluding(row, other) and (row.status is Status.NEEDS_REVIEW or row.facet == other.facet)


def _is_about(entity_id: EntityId, set_key: SetKey, sides: _Sides) -> bool:
    return set_key.subject_id == entity_id or any(
        entity_id == row.slot.subject_id or row.object == EntityObject(entity_id=entity_id)
        for side in sides.values()
        for row in side.values()
    )


def _facts(set_key: SetKey, sides: _Sides, case: ConflictCase | None, pending: Iterable[ReviewItem]) -> CompetingFacts:
    ordered = [CompetingSide(key=key, rows=tuple(sorted(side.values(), key=_recorded))) for key, side in sides.items()]
    named = {relationship_id for side in sides.values() for relationship_id in side}
    return CompetingFacts(
        set_key=set_key,
        sides=tuple(sorted(ordered, key=lambda side: (*_recorded(side.rows[0]), side.key))),
        conflict_id=None if case is None else case.conflict_id,
        item_ids=tuple(sorted(item.item_id for item in pending if len(named.intersection(_sides_of(item))) > 1)),
    )


def _recorded(row: Relationship) -> tuple[Instant, RelationshipId]:
    return row.first_recorded_at, row.relationship_id


def _sides_of(item: ReviewItem) -> tuple[RelationshipId, ...]:
    return (*item.incoming, *item.opposing)
