"""What decisions say to the fold, as rows and back: entries of their own, and closings on transitions."""

from __future__ import annotations

from collections.abc import Container, Mapping

from corrigenda_core.domain.decisions import (
    Distinction,
    FacetAssignment,
    GivenStart,
    Removal,
    RemovalReason,
    Reopening,
    SameValue,
    TimelineDecision,
)
from corrigenda_core.domain.ids import DecisionId, RelationshipId, StatementId
from corrigenda_core.domain.objects import Polarity
from corrigenda_core.domain.relationships import Closing
from corrigenda_core.domain.time import TimeBasis
from corrigenda_core.persistence.database import Row, Unbounded
from corrigenda_core.persistence.row_values import basis_of

CLOSING_FIELDS = ("at", "facet", "object_key", "polarity", "statement_ids", "made_for", "conditional")
"""The fields of a closing that have a column ``closing_<name>``."""


def closing_of(row: Row) -> Closing:
    """The closing on a transition; one that a case's resolution made is named by the case."""
    return Closing(
        decision_id=DecisionId(row["decision_id"] or row["transition_id"]),
        relationship_id=row["relationship_id"],
        facet=row["closing_facet"],
        object_key=row["closing_object_key"],
        polarity=Polarity(row["closing_polarity"]),
        at=row["closing_at"],
        statement_ids=tuple(row["closing_statement_ids"]),
        made_for=tuple(row["closing_made_for"]),
        conditional=row["closing_conditional"],
        basis=basis_of(row["time_basis"]) or TimeBasis.RECORDED_FALLBACK,
        conflict_id=row["conflict_id"],
    )


def decision_of(row: Row) -> TimelineDecision:
    """What one entry of a decision says to the fold."""
    decision_id, statement_id = DecisionId(row["decision_id"]), StatementId(row["statement_id"])
    match row["kind"]:
        case "removal":
            reason = RemovalReason(row["removal_reason"])
            return Removal(decision_id=decision_id, statement_id=statement_id, reason=reason)
        case "facet":
            return FacetAssignment(decision_id=decision_id, statement_id=statement_id, facet=row["facet"])
        case "start":
            basis = TimeBasis(row["start_basis"])
            return GivenStart(decision_id=decision_id, statement_id=statement_id, at=row["start_at"], basis=basis)
        case "distinction":
            return Distinction(
                decision_id=decision_id, first=statement_id, second=StatementId(row["other_statement_id"])
            )
        case "same":
            same_as = StatementId(row["other_statement_id"])
            return SameValue(decision_id=decision_id, statement_id=statement_id, same_as=same_as)
        case "reopening":
            return Reopening(
                decision_id=decision_id,
                statement_id=statement_id,
                closing_decision_id=DecisionId(row["reopened_decision_id"]),
                relationship_id=RelationshipId(row["reopened_relationship_id"]),
            )
        case _:
            closing = {**row, "relationship_id": row["closing_relationship_id"], "conflict_id": None}
            return closing_of({**closing, "time_basis": row["closing_basis"], "transition_id": None})


def is_carried(decision: TimelineDecision, carried: Container[tuple[DecisionId, RelationshipId]]) -> bool:
    """Whether a closing stands on a transition already."""
    return isinstance(decision, Closing) and (decision.decision_id, decision.relationship_id) in carried


def decision_columns(decision: TimelineDecision) -> Mapping[str, object]:
    """The columns of one entry, its decision and place excepted."""
    match decision:
        case Removal(statement_id=statement_id, reason=reason):
            return {"kind": "removal", "statement_id": statement_id, "removal_reason": reason}
        case FacetAssignment(statement_id=statement_id, facet=facet):
            return {"kind": "facet", "statement_id": statement_id, "facet": facet}
        case GivenStart(statement_id=statement_id, at=at, basis=basis):
            start = at or Unbounded.START
            return {"kind": "start", "statement_id": statement_id, "start_at": start, "start_basis": basis}
        case Distinction(first=first, second=second):
            return {"kind": "distinction", "statement_id": first, "other_statement_id": second}
        case SameValue(statement_id=statement_id, same_as=same_as):
            return {"kind": "same", "statement_id": statement_id, "other_statement_id": same_as}
        case Reopening() as reopening:
            return {
                "kind": "reopening",
                "statement_id": reopening.statement_id,
                "reopened_decision_id": reopening.closing_decision_id,
                "reopened_relationship_id": reopening.relationship_id,
            }
        case Closing() as closing:
            return {
                "kind": "closing",
                "statement_id": (*closing.statement_ids, *closing.made_for)[0],
                "closing_relationship_id": closing.relationship_id,
                **{f"closing_{name}": getattr(closing, name) for name in CLOSING_FIELDS},
                "closing_basis": closing.basis,
            }
