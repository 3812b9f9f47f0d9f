"""References across owners: what a placement says about the relationships of others, which it never changes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import count

from corrigenda_core.domain.ids import ReferenceId, RelationshipId
from corrigenda_core.domain.relationships import CrossReference, ReferenceKind, Relationship
from corrigenda_core.domain.slots import PlanContext, SlotView
from corrigenda_core.domain.time import Instant, Interval, TimeBasis
from corrigenda_core.policy.exclusion import is_common_from, is_excluding_from, is_of_two_days
from corrigenda_core.policy.validity import is_living


def plan_references(
    view: SlotView,
    placed: Iterable[Relationship],
    context: PlanContext,
    targets: Mapping[RelationshipId, Relationship],
) -> tuple[CrossReference, ...]:
    """The references that newly placed rows append to relationships of other owners (R7.2).

    Args:
        view: the slot as the placement leaves it.
        placed: the rows that the placement made or gave a statement to, all of one owner.
        context: the commit; the common instant is looked for from its moment on.
        targets: for a row, the relationship that its statement names as ``correction_target``.

    Returns:
        One reference for each other row that is named or excluded (`corrects` or `challenges`) or says the same
        (`confirms`), without those that stand already.
    """
    standing = {(reference.kind, reference.source_id, reference.target_id) for reference in view.references}
    numbers = count()
    planned: list[CrossReference] = []
    for row in placed:
        target = targets.get(row.relationship_id)
        for other in _others(view, row, target):
            kind = _kind(row, other, named=other is target, now=context.moment.at)
            key = (kind, row.relationship_id, other.relationship_id)
            if kind is None or key in standing:
                continue
            planned.append(
                CrossReference(
                    reference_id=ReferenceId(context.ids.nth(next(numbers))),
                    kind=kind,
                    source_id=row.relationship_id,
                    target_id=other.relationship_id,
                )
            )
    return tuple(planned)


def _others(view: SlotView, row: Relationship, target: Relationship | None) -> list[Relationship]:
    """Living rows of other owners that ``row`` may refer to, the named one first, each once."""
    others = [target] if target is not None and target.owner_id != row.owner_id else []
    others += [
        other
        for other in sorted(view.rows, key=lambda other: other.relationship_id)
        if other.owner_id != row.owner_id
        and is_living(other.status, other.validity)
        and (target is None or other.relationship_id != target.relationship_id)
    ]
    return others


def _kind(row: Relationship, other: Relationship, *, named: bool, now: Instant) -> ReferenceKind | None:
    if named or is_excluding_from(row, other, now):
        return ReferenceKind.CORRECTS if named or _is_later(row, other) else ReferenceKind.CHALLENGES
    same = row.slot == other.slot and row.object.key == other.object.key and row.polarity is other.polarity
    same = same and not is_of_two_days(row, other)
    return ReferenceKind.CONFIRMS if same and is_common_from(row, other, now) else None


def _is_later(row: Relationship, other: Relationship) -> bool:
    """Whether ``row`` starts later than ``other``, or alone has a known start."""
    start, other_start = _known_start(row), _known_start(other)
    return start is not None and (other_start is None or start > other_start)


def _known_start(row: Relationship) -> Instant | None:
    if not isinstance(row.validity, Interval) or row.start_basis is TimeBasis.RECORDED_FALLBACK:
        return None
    return row.validity.start
