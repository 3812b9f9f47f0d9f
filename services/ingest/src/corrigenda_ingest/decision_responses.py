"""Answers of decisions as messages."""

from __future__ import annotations

from corrigenda.ingest.v1 import ingest_service_pb2
from corrigenda_core.domain.actors import Caller
from corrigenda_core.domain.ids import EntityId
from corrigenda_core.persistence.ingest_store import SubmissionFacts

from corrigenda_ingest.deciding import PlannedDecision
from corrigenda_ingest.responses import PlacementMessages


def resolved_placement(
    planned: PlannedDecision, facts: SubmissionFacts, owner: Caller
) -> ingest_service_pb2.ResolvePlacementResponse:
    """The answer of ResolvePlacement, under the name of whose record was decided about."""
    messages = PlacementMessages(owner, planned.submission, facts)
    item = planned.item
    details = {} if item is None else dict(item.details)
    return ingest_service_pb2.ResolvePlacementResponse(
        decision_id=planned.decision_id or "",
        item=messages.item(
            item,
            closest=details.get("closest_predicates", "").split(),
            candidates=[EntityId(one) for one in details.get("candidates", "").split()],
        ),
        placement=messages.placement(),
        revision=planned.submission.revisions[-1].moment.revision,
    )
