"""Readings of one lane: what an undated entry says against it, and where it begins again."""

from __future__ import annotations

import pytest
from corrigenda_core.domain.ids import DecisionId, RelationshipId, StatementId
from corrigenda_core.domain.relationships import Closing, Statement
from corrigenda_core.policy.lane_reading import decide_opponents, decide_reading
from corrigenda_core.policy.lanes import Entry
from corrigenda_core.testing.slots import day, said


def entry(statement: Statement) -> Entry:
    """A statement that no decision has touched."""
    return Entry(statement=statement, start=statement.start, end=statement.end, witness_at=statement.witness_at)


def closing(statement: Statement, at: str) -> Closing:
    """An owner's end of what a statement says."""
    return Closing(
        decision_id=DecisionId("d"),
        relationship_id=RelationshipId("r"),
        facet=0,
        object_key=statement.object.key,
        polarity=statement.polarity,
        at=day(at),
        statement_ids=(StatementId(statement.statement_id),),
    )


@pytest.mark.parametrize(
    ("lines", "said_last", "against"),
    [
        (["x 1 Jan"], "x @1 Feb", []),
        (["x 1 Jan"], "y @1 Feb", ["s0"]),
        (["x 1 Mar"], "y @1 Feb", []),
        (["x 1 Jan", "y 1 Mar"], "x @1 Apr", ["s1"]),
        (["x 1 Jan"], "y 1 Jan", ["s0"]),
        (["x 1 Jan"], "y 1 Mar", []),
    ],
)
def test_what_an_entry_plainly_stands_against(lines: list[str], said_last: str, against: list[str]) -> None:
    *admitted, last = [entry(statement) for statement in said(*lines, said_last)]
    reading = decide_reading(admitted, (), exclusive=True)
    found = decide_opponents(last, admitted, reading, exclusive=True)
    assert [one.statement_id for one in found] == against


@pytest.mark.parametrize("ended", [[0], [0, 1], [1, 0]])
def test_an_undated_entry_begins_again_unless_a_closing_lists_it(ended: list[int]) -> None:
    statements = said("x 1 Jan..1 Mar", "x @1 May")
    closings = [closing(statements[number], "1 Apr") for number in ended]
    reading = decide_reading([entry(statement) for statement in statements], closings, exclusive=True)
    assert ("s1" in reading.left) is (1 in ended)
