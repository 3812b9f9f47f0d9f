"""Corrections: a statement that takes the place of one of its owner's own relationships."""

from __future__ import annotations

from collections.abc import Sequence

from corrigenda_core.domain.decisions import FacetAssignment, GivenStart, Removal, RemovalReason, TimelineDecision
from corrigenda_core.domain.errors import Reason, Refusal, stale
from corrigenda_core.domain.ids import DecisionId, StatementId
from corrigenda_core.domain.relationships import LIVING_STATUSES, Closing, Relationship, Statement, Status
from corrigenda_core.domain.slots import SlotView
from corrigenda_core.domain.submissions import CorrectionTarget
from corrigenda_core.domain.time import EARLIEST, Instant, Interval, TimeBasis
from corrigenda_core.policy.lanes import is_excluding_value, is_slot_exclusive, value_of
from corrigenda_core.policy.systems_of_record import may_end_record
from corrigenda_core.policy.timeline import Timeline

_FIELD = "correction_target"
_CORRECTABLE = LIVING_STATUSES | {Status.NEEDS_REVIEW}


def may_correct(statement: Statement, row: Relationship, target: CorrectionTarget) -> Interval:
    """Checks that a statement may take the place of an own relationship, and returns what the relationship held for.

    Raises:
        Refusal: NOT_OWNER for another owner's, STALE_VERSION for another version than the expected one, INVALID_FIELD
            where the relationship is not living or has no instant in common with the statement, SYSTEM_OF_RECORD where
            a record says it and the statement is no record of the same source.
    """
    if row.owner_id != statement.owner_id:
        raise Refusal(
            Reason.NOT_OWNER,
            "another owner's relationship is not corrected in place",
            field=_FIELD,
            metadata={"resource_type": "relationship", "resource_id": row.relationship_id},
        )
    if target.expected_version not in (None, row.version):
        raise _stale(row, target)
    if row.status not in _CORRECTABLE or not isinstance(row.validity, Interval):
        raise Refusal(Reason.INVALID_FIELD, "the relationship holds at no time", field=_FIELD)
    start = row.validity.start if statement.start is None else statement.start.at
    is_before = statement.end is not None and row.validity.start is not None and statement.end.at <= row.validity.start
    is_after = start is not None and row.validity.end is not None and row.validity.end <= start
    if is_before or is_after:
        raise Refusal(Reason.INVALID_FIELD, "it has no time in common with the statement", field=_FIELD)
    return row.validity


def may_address(statement: Statement, row: Relationship, target: CorrectionTarget) -> None:
    """Checks that a statement may name another owner's relationship as what it corrects.

    Raises:
        Refusal: STALE_VERSION for another version than the expected one, INVALID_FIELD where the two share neither
            subject nor object, or not the predicate.
    """
    if target.expected_version not in (None, row.version):
        raise _stale(row, target)
    same_end = statement.slot.subject_id == row.slot.subject_id or statement.object.key == row.object.key
    if statement.slot.predicate != row.slot.predicate or not same_end:
        raise Refusal(Reason.INVALID_FIELD, "it is about something else than the statement", field=_FIELD)


def plan_correction(
    view: SlotView, statement: Statement, row: Relationship, held: Interval, timeline: Timeline, decision_id: DecisionId
) -> tuple[TimelineDecision, ...]:
    """The decisions by which a statement takes the place of a relationship (R4.16b).

    It gets the facet of the relationship and, if it has none of its own, its start. Where another value starts later
    than the relationship, that is closed at the statement's start; else all its statements leave the timeline. Either
    holds whatever becomes of the statement later.

    Args:
        view: the slot without the statement.
        statement: the correcting one.
        row: the relationship that it corrects.
        held: what the relationship held for.
        timeline: the owner's timeline without the statement.
        decision_id: the correction.
    """
    carried = [s for s in view.statements if s.relationship_id == row.relationship_id]
    _may_overrule(statement, carried, row)
    decisions: list[TimelineDecision] = []
    own = {other.statement_id for other in view.statements if other.owner_id == row.owner_id}
    if row.facet or any(isinstance(d, FacetAssignment) and d.statement_id in own for d in view.decisions):
        decisions.append(FacetAssignment(decision_id=decision_id, statement_id=statement.statement_id, facet=row.facet))
    start, basis = held.start, row.start_basis
    if statement.start is not None:
        start, basis = statement.start.at, statement.start.basis
    decisions.append(
        GivenStart(
            decision_id=decision_id,
            statement_id=statement.statement_id,
            at=start,
            basis=basis or TimeBasis.RECORDED_FALLBACK,
        )
    )
    statement_ids = tuple(s.statement_id for s in carried)
    if start is not None and _is_followed(view, row, held, timeline):
        decisions.append(_closing(row, start, basis, statement_ids, decision_id))
        return tuple(decisions)
    decisions += [
        Removal(decision_id=decision_id, statement_id=statement_id, reason=RemovalReason.CORRECTED)
        for statement_id in statement_ids
    ]
    return tuple(decisions)


def _may_overrule(statement: Statement, carried: Sequence[Statement], row: Relationship) -> None:
    if not may_end_record(statement, carried):
        raise Refusal(
            Reason.SYSTEM_OF_RECORD,
            "only its source corrects a system of record",
            field=_FIELD,
            metadata={"relationship_id": row.relationship_id},
        )


def _is_followed(view: SlotView, row: Relationship, held: Interval, timeline: Timeline) -> bool:
    """Whether another value of the relationship's timeline starts later than it."""
    value, exclusive = value_of(row.object, row.polarity), is_slot_exclusive(view.predicate)
    return any(
        episode.facet == row.facet
        and is_excluding_value(value_of(episode.object, episode.polarity), value, exclusive=exclusive)
        and episode.validity.start is not None
        and episode.validity.start > (held.start or EARLIEST)
        for episode in timeline.episodes
    )


def _closing(
    row: Relationship,
    at: Instant,
    basis: TimeBasis | None,
    statement_ids: tuple[StatementId, ...],
    decision_id: DecisionId,
) -> Closing:
    return Closing(
        decision_id=decision_id,
        relationship_id=row.relationship_id,
        facet=row.facet,
        object_key=row.object.key,
        polarity=row.polarity,
        at=at,
        statement_ids=statement_ids,
        basis=basis or TimeBasis.RECORDED_FALLBACK,
    )


def _stale(row: Relationship, target: CorrectionTarget) -> Refusal:
    return stale(
        f"the relationship is at version {row.version}",
        resource_type="relationship",
        resource_id=row.relationship_id,
        expected=target.expected_version,
        current=row.version,
        field=_FIELD,
    )
