"""Settlements: what the same-moment policy `close` decides when a statement is placed."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from corrigenda_core.domain.decisions import GivenStart, TimelineDecision
from corrigenda_core.domain.ids import DecisionId, RelationshipId, StatementId
from corrigenda_core.domain.relationships import Closing, Relationship, Statement
from corrigenda_core.domain.slots import SlotView
from corrigenda_core.domain.time import TimeBasis
from corrigenda_core.policy.systems_of_record import may_end_record


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
    carried: defaultdict[RelationshipId | None, list[Statement]] = defaultdict(list)
    for other in view.statements:
        carried[other.relationship_id].append(other)
    ending = sorted(
        {
            other.relationship_id
            for other in view.statements
            if other.statement_id in against
            and other.start is None
            and other.statement_id not in started
            and other.relationship_id in rows
            # R4.13: on any path.
            and may_end_record(statement, carried[other.relationship_id])
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
            statement_ids=tuple(s.statement_id for s in carried[relationship_id]),
            made_for=(statement.statement_id,),
            conditional=True,
            basis=statement.start.basis,
        )
        for relationship_id in ending
    )
