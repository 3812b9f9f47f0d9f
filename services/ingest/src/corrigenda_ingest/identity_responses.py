"""Answers of corrections of identity as messages."""

from __future__ import annotations

from corrigenda.ingest.v1 import identity_correction_pb2, ingest_service_pb2
from corrigenda.type.v1 import decision_pb2, object_pb2
from corrigenda_core.domain.entities import BoundObservation
from corrigenda_core.domain.time import Instant
from corrigenda_core.policy.identity_correction import Move
from corrigenda_core.rpc.convert import timestamp_or_none
from corrigenda_core.rpc.decision_messages import change_messages, with_conflicts
from corrigenda_core.rpc.relationship_messages import entity_summary, object_message

from corrigenda_ingest.identity_look import PlannedCorrection

MOVES_SHOWN = 200
MARKED_SHOWN = 50


def corrected_identity(
    planned: PlannedCorrection, revision: int, *, token: str = "", expires_at: Instant | None = None
) -> ingest_service_pb2.CorrectEntityResolutionResponse:
    """The answer: of a dry run with its token, else of the correction."""
    correction = planned.correction
    owners = {correction.owner_id: planned.facts.profile_name}
    own = [row for row in planned.rows if row.owner_id == correction.owner_id]
    shown, total = change_messages(own, planned.changes.relationships, planned.names, owners)
    return ingest_service_pb2.CorrectEntityResolutionResponse(
        moves=[_move(planned, move) for move in correction.moves[:MOVES_SHOWN]],
        divided=[
            identity_correction_pb2.DividedRelationship(
                relationship_id=one.relationship_id,
                moving_observation_ids=one.moving[:MOVES_SHOWN],
                staying_observation_ids=one.staying[:MOVES_SHOWN],
            )
            for one in correction.divided_rows
        ],
        effects=with_conflicts(
            decision_pb2.DecisionEffects(changes=shown, changes_total=total, changes_truncated=total > len(shown)),
            sorted(case.conflict_id for case in planned.changes.cases),
        ),
        marked_relationship_ids=correction.marked_rows[:MARKED_SHOWN],
        marked_total=len(correction.marked_rows),
        marked_truncated=len(correction.marked_rows) > MARKED_SHOWN,
        entity=entity_summary(correction.to_id, planned.names),
        impact_token=token,
        impact_expires_at=timestamp_or_none(expires_at),
        decision_id="" if token else planned.record.decision_id,
        revision=revision,
    )


def _move(planned: PlannedCorrection, move: Move) -> identity_correction_pb2.ObservationMove:
    return identity_correction_pb2.ObservationMove(
        observation_id=move.before.observation_id,
        relationship_id=move.before.relationship_id or "",
        subject_before=_subject(planned, move.before),
        subject_after=_subject(planned, move.after),
        object_before=_object(planned, move.before),
        object_after=_object(planned, move.after),
    )


def _subject(planned: PlannedCorrection, one: BoundObservation) -> object_pb2.EntitySummary | None:
    return None if one.subject_id is None else entity_summary(one.subject_id, planned.names)


def _object(planned: PlannedCorrection, one: BoundObservation) -> object_pb2.Object | None:
    return None if one.object is None else object_message(one.object, planned.names)
