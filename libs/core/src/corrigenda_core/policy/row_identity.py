"""Row identity: which relationship carries which part of a timeline, so that ids survive whatever is learned later."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from corrigenda_core.domain.ids import RelationshipId, StatementId
from corrigenda_core.domain.relationships import Relationship, Statement
from corrigenda_core.policy.lanes import value_of
from corrigenda_core.policy.timeline import Episode, HeldStatement, Timeline


@dataclass(frozen=True, slots=True, kw_only=True)
class OutsideStatement:
    """A statement that is not in the timeline and that no row carries yet."""

    statement_id: StatementId


Part = Episode | HeldStatement | OutsideStatement
"""What has a row of its own."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RowOfPart:
    """A part, the statements in it, and the row that it keeps, if there is one."""

    part: Part
    statement_ids: tuple[StatementId, ...]
    row: Relationship | None


def decide_row_identity(
    timeline: Timeline, rows: Iterable[Relationship], statements: Sequence[Statement]
) -> tuple[RowOfPart, ...]:
    """Gives each part of a timeline its row.

    Rows choose in the order in which they were first recorded: each takes, among the parts that no older row took, the
    one with its oldest statement. A part that no row takes gets a new one; a row that finds no part is left without.
    """
    carried: dict[RelationshipId, list[Statement]] = {}
    for statement in sorted(statements, key=lambda statement: statement.sequence):
        if statement.relationship_id is not None:
            carried.setdefault(statement.relationship_id, []).append(statement)
    parts = list(_parts(timeline, statements))
    free = {statement_id: number for number, (_, ids) in enumerate(parts) for statement_id in ids}
    taken: dict[int, Relationship] = {}
    for row in sorted(rows, key=lambda row: (row.first_recorded_at, row.relationship_id)):
        value = value_of(row.object, row.polarity)
        for statement in carried.get(row.relationship_id, ()):
            number = free.get(statement.statement_id)
            if number is not None and number not in taken and value_of(statement.object, statement.polarity) == value:
                taken[number] = row
                break
    return tuple(
        RowOfPart(part=part, statement_ids=ids, row=taken.get(number)) for number, (part, ids) in enumerate(parts)
    )


def _parts(timeline: Timeline, statements: Iterable[Statement]) -> Iterator[tuple[Part, tuple[StatementId, ...]]]:
    placed: set[StatementId] = set()
    for episode in timeline.episodes:
        placed.update(episode.statement_ids)
        yield episode, episode.statement_ids
    for held in timeline.held:
        placed.add(held.statement_id)
        yield held, (held.statement_id,)
    for statement in sorted(statements, key=lambda statement: statement.sequence):
        if statement.statement_id not in placed and statement.relationship_id is None:
            yield OutsideStatement(statement_id=statement.statement_id), (statement.statement_id,)
