"""Same values: statements that a decision reads as saying what another one says, in other words."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from corrigenda_core.domain.decisions import SameValue, TimelineDecision
from corrigenda_core.domain.ids import StatementId
from corrigenda_core.domain.relationships import Statement


def apply_same_values(statements: Iterable[Statement], decisions: Iterable[TimelineDecision]) -> tuple[Statement, ...]:
    """The statements as they are read: with the object and polarity of the one that each is the same as.

    Decisions may chain; a chain that comes back to its beginning says nothing.
    """
    same_as = {decision.statement_id: decision.same_as for decision in decisions if isinstance(decision, SameValue)}
    if not same_as:
        return tuple(statements)
    given = tuple(statements)
    by_id = {statement.statement_id: statement for statement in given}
    return tuple(_read(statement, same_as, by_id) for statement in given)


def _read(
    statement: Statement, same_as: dict[StatementId, StatementId], by_id: dict[StatementId, Statement]
) -> Statement:
    seen = {statement.statement_id}
    last = statement.statement_id
    while last in same_as:
        last = same_as[last]
        if last in seen or last not in by_id:
            return statement
        seen.add(last)
    return replace(statement, object=by_id[last].object, polarity=by_id[last].polarity)
