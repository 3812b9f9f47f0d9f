"""Members of a case: which relationships of a slot stand on which position now."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import combinations

from corrigenda_core.domain.cases import CaseKind, ConflictCase, SetKey
from corrigenda_core.domain.ids import RelationshipId
from corrigenda_core.domain.relationships import ReferenceKind, Relationship, Status
from corrigenda_core.domain.slots import SlotView
from corrigenda_core.domain.time import Instant, Interval
from corrigenda_core.policy.case_keys import ReferenceSide, decide_position_key, decide_row_set_key
from corrigenda_core.policy.exclusion import is_excluding_from

_TAKING_PART = frozenset({Status.ACTIVE, Status.COMPETING})
_DISPUTING = frozenset({ReferenceKind.CORRECTS, ReferenceKind.CHALLENGES})


@dataclass(frozen=True, slots=True, kw_only=True)
class Disagreement:
    """The members of one set key by position key; ``across_owners`` says whether two owners exclude each other."""

    set_key: SetKey
    members: tuple[tuple[str, Relationship], ...]
    across_owners: bool


def is_taking_part(row: Relationship, now: Instant) -> bool:
    """Whether a row can be a member: active or competing, and not ended at ``now``."""
    return (
        row.status in _TAKING_PART
        and isinstance(row.validity, Interval)
        and (row.validity.end is None or row.validity.end > now)
    )


def decide_disagreements(view: SlotView, now: Instant) -> tuple[Disagreement, ...]:
    """Every disagreement that a slot holds at or after ``now``, ordered by set key.

    A row is a member if it is supported, takes part, and some other row excludes it at a common instant from ``now``
    on, or a reference that excludes nothing by itself disputes it. A member of a live case stays while it takes part.
    """
    supports = (*view.supports, *view.supports_beside)
    supported = {support.relationship_id for support in supports if support.effective}
    taking_part = [row for row in (*view.rows, *view.rows_beside) if is_taking_part(row, now)]
    able = [row for row in taking_part if row.relationship_id in supported]
    found: dict[SetKey, dict[RelationshipId, tuple[str, Relationship]]] = {}
    across: set[SetKey] = set()
    for set_key, sides in _disputes(view, able, now):
        for position_key, row in sides:
            found.setdefault(set_key, {})[row.relationship_id] = (position_key, row)
        if len({row.owner_id for _, row in sides}) > 1:
            across.add(set_key)
    for case in view.cases:
        members = found.setdefault(case.set_key, {})
        for position_key, row in _staying(case, taking_part):
            members.setdefault(row.relationship_id, (position_key, row))
    return tuple(
        Disagreement(
            set_key=key,
            members=tuple(found[key][relationship_id] for relationship_id in sorted(found[key])),
            across_owners=key in across,
        )
        for key in sorted(found, key=lambda key: (key.kind.value, key.subject_id, key.predicate, key.object_key))
    )


def _disputes(
    view: SlotView, able: list[Relationship], now: Instant
) -> Iterator[tuple[SetKey, tuple[tuple[str, Relationship], tuple[str, Relationship]]]]:
    """Each pair that disputes: the set key, and both rows with their position keys."""
    of_slot = [row for row in able if row.slot == view.slot]
    for p, q in combinations(of_slot, 2):
        if is_excluding_from(p, q, now):
            kind = CaseKind.POLARITY if p.object.key == q.object.key else CaseKind.CURRENT_STATE
            yield (
                decide_row_set_key(kind, p),
                (_sided(kind, p, side="recorded"), _sided(kind, q, side="recorded")),
            )
    rows = {row.relationship_id: row for row in able}
    for reference in view.references:
        source, target = rows.get(reference.source_id), rows.get(reference.target_id)
        if source is None or target is None or not reference.active or reference.kind not in _DISPUTING:
            continue
        if source.owner_id != target.owner_id and not is_excluding_from(source, target, now):
            yield (
                decide_row_set_key(CaseKind.REFERENCE, target),
                (
                    _sided(CaseKind.REFERENCE, target, side="recorded"),
                    _sided(CaseKind.REFERENCE, source, side="corrected"),
                ),
            )


def _sided(kind: CaseKind, row: Relationship, *, side: ReferenceSide) -> tuple[str, Relationship]:
    return decide_position_key(kind, row.object, row.polarity, side), row


def _staying(case: ConflictCase, taking_part: Iterable[Relationship]) -> Iterator[tuple[str, Relationship]]:
    """The members of a live case that still take part, each on the position that it has."""
    rows = {row.relationship_id: row for row in taking_part}
    for position in case.positions:
        for member in position.members:
            row = rows.get(member.relationship_id)
            if row is not None:
                yield position.key, row
