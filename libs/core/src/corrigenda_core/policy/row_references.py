"""References between one owner's rows: what ended because of what, and what was joined into what."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import count

from corrigenda_core.domain.ids import ReferenceId, RelationshipId, StatementId
from corrigenda_core.domain.relationships import (
    CrossReference,
    ReferenceKind,
    Relationship,
    Statement,
    Status,
)
from corrigenda_core.domain.slots import PlanContext, SlotView
from corrigenda_core.domain.time import Interval
from corrigenda_core.policy.row_diff import Cause, RowChanges
from corrigenda_core.policy.timeline import Timeline


def plan_own_references(
    view: SlotView, timeline: Timeline, changes: RowChanges, context: PlanContext, cause: Cause
) -> tuple[CrossReference, ...]:
    """The references that a change of rows appends, without those that stand already.

    A row whose end moved to the begin of a later one, or to a closing, is named by what ended it (`replaces`), where
    the cause replaces. A row that is left without statements points at the row that carries its oldest one
    now (`merged_into`).

    Args:
        view: the slot of before.
        timeline: the fold that the rows say now.
        changes: the change of rows.
        context: the commit; the ids of part 2 name references.
        cause: why the rows change.
    """
    standing = {(r.kind, r.source_id, r.target_id) for r in view.references if r.active}
    numbers = count()
    planned = []
    for kind, source_id, target_id in (*_replacing(view, timeline, changes, cause), *_joining(view, changes)):
        if source_id == target_id or (kind, source_id, target_id) in standing:
            continue
        standing.add((kind, source_id, target_id))
        planned.append(
            CrossReference(
                reference_id=ReferenceId(context.ids.part(2).nth(next(numbers))),
                kind=kind,
                source_id=source_id,
                target_id=target_id,
                decision_id=cause.decision_id,
            )
        )
    return tuple(planned)


_Named = tuple[ReferenceKind, RelationshipId, RelationshipId]


def _replacing(view: SlotView, timeline: Timeline, changes: RowChanges, cause: Cause) -> Iterator[_Named]:
    if not cause.replacing:
        return
    before = {row.relationship_id: row for row in view.rows}
    changed = {row.relationship_id: row for row in changes.relationships}
    for episode in timeline.episodes:
        row = changed.get(changes.carriers[episode.statement_ids[0]])
        prior = None if row is None else before.get(row.relationship_id)
        if row is None or prior is None or _end_of(prior) == _end_of(row):
            continue
        for successor in _carriers(changes, episode.successors):
            yield ReferenceKind.REPLACES, successor, row.relationship_id
    for closing in cause.closings:
        for winner in _carriers(changes, closing.made_for):
            yield ReferenceKind.REPLACES, winner, closing.relationship_id


def _carriers(changes: RowChanges, statement_ids: Sequence[StatementId]) -> list[RelationshipId]:
    return sorted({changes.carriers[statement_id] for statement_id in statement_ids})


def _end_of(row: Relationship) -> object:
    return row.validity.end if isinstance(row.validity, Interval) else row.validity


def _joining(view: SlotView, changes: RowChanges) -> Iterator[_Named]:
    left_empty = {row.relationship_id for row in changes.relationships if row.status is Status.SUPERSEDED}
    left_empty -= set(changes.carriers.values())
    oldest: dict[RelationshipId, Statement] = {}
    for statement in sorted(view.statements, key=lambda statement: statement.sequence):
        if statement.relationship_id in left_empty:
            oldest.setdefault(statement.relationship_id, statement)
    for relationship_id, statement in sorted(oldest.items()):
        # A statement that has left the slot is carried elsewhere: whoever moved it says where.
        if statement.statement_id in changes.carriers:
            yield ReferenceKind.MERGED_INTO, relationship_id, changes.carriers[statement.statement_id]
