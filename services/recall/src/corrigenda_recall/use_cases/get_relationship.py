"""GetRelationship: one relationship as it stands at a point of both time axes."""

from __future__ import annotations

from dataclasses import dataclass

from corrigenda.recall.v1 import recall_service_pb2 as messages
from corrigenda_core.domain.actors import Caller
from corrigenda_core.domain.errors import missing
from corrigenda_core.domain.ids import RelationshipId
from corrigenda_core.persistence.read_transaction import ReadRunner, ReadTransaction
from corrigenda_core.persistence.surroundings_store import read_known_rows
from corrigenda_core.persistence.view_store import ReadView, run_in_view
from corrigenda_core.ports.deadline import Deadline
from corrigenda_core.rpc.convert import temporal_selector_of, timestamp_of, timestamp_or_none

from corrigenda_recall.in_view import relationships_in_view


@dataclass(frozen=True, slots=True, kw_only=True)
class GetRelationship:
    """The use case."""

    reader: ReadRunner

    async def __call__(
        self, caller: Caller, request: messages.GetRelationshipRequest, deadline: Deadline
    ) -> messages.GetRelationshipResponse:
        """The relationship at the version that the view knows, and whether it holds there.

        Raises:
            Refusal: RESOURCE_NOT_FOUND, also for one that was not known then; INVALID_FIELD for a view of the future;
                REVISION_NOT_REPLICATED.
        """

        async def read(transaction: ReadTransaction, view: ReadView) -> messages.GetRelationshipResponse:
            known = await read_known_rows(transaction, view, [RelationshipId(request.relationship_id)])
            if not known.rows:
                raise missing("relationship", request.relationship_id, field="relationship_id")
            in_view = await relationships_in_view(transaction, view, known)
            return messages.GetRelationshipResponse(
                relationship=in_view.message(known.rows[0]),
                valid_at=timestamp_of(view.valid_at),
                known_at=timestamp_or_none(view.known_at),
                revision=view.revision,
            )

        return await run_in_view(
            self.reader,
            caller.team_id,
            temporal_selector_of(request.temporal),
            read,
            field="temporal",
            min_revision=request.min_revision,
            deadline=deadline,
        )
