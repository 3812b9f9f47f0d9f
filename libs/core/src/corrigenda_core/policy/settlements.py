"""Settlements: what the same-moment policy `close` decides when a statement is placed."""

from __future__ import annotations

from collections.abc import Sequence

from corrigenda_core.domain.decisions import GivenStart, TimelineDecision
from corrigenda_core.domain.ids import DecisionId, RelationshipId, StatementId
from corrigenda_core.domain.relationships import Closing, Relationship, Statement
from corrigenda_core.domain.slots import SlotView
from corrigenda_core.domain.time import TimeBasis


def decide_settlement(
    view: SlotView, statement: Statement, against: Sequence[StatementId], decision_id: DecisionId
) -> tuple[TimelineDecision, ...]:
    """What the policy `close` decides about a statement that cannot be ordered against others.

    Without a known start it starts when it was recorded, unless it ends before that. With one, every value against it
    that has none ends there, a system of record by its own source alone. What remains, such as two equal known starts,
    competes.
    """
    started = {decision.statement_id for decision in view.decisions if isinstance(decision, GivenStart)}
    if statement.statement_id in started:
        return ()
    if statement.start is None:
        if statement.end is not None and statement.end.at <= statement.recorded_at:
            return ()
        return (
            GivenStart(
                decision_id=decision_id,
                statement_id=statement.statement_id,
                at=statement.recorded_at,
                basis=TimeBasis.RECORDED_FALLBACK,
            ),
        )
    rows: dict[RelationshipId, Relationship] = {row.relationship_id: row for row in view.rows}
    ending = sorted(
        {
            other.relationship_id
            for other in view.statements
            if other.statement_id in against
            and other.start is None
            and other.statement_id not in started
            and other.relationship_id in rows
            and _may_end(statement, other.relationship_id, view)
        }
    )
    return tuple(
        Closing(
            decision_id=decision_id,
            relationship_id=relationship_id,
            facet=rows[relationship_id].facet,
            object_key=rows[relationship_id].object.key,
            polarity=rows[relationship_id].polarity,
            at=statement.start.at,
            statement_ids=tuple(s.statement_id for s in view.statements if s.relationship_id == relationship_id),
            made_for=(statement.statement_id,),
            conditional=True,
            basis=statement.start.basis,
        )
        for relationship_id in ending
    )


def _may_end(statement: Statement, row_id: RelationshipId, view: SlotView) -> bool:
    """Whether a statement may end a row: of a system of record, only a newer record of the same source may."""
    # R4.13: on any path.
    sources = {other.source for other in view.statements if other.relationship_id == row_id and other.record}
    return not sources or (statement.record and sources == {statement.source})
