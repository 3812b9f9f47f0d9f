"""GetPlacement: the answer that an earlier submission got."""

from __future__ import annotations

from dataclasses import dataclass

from corrigenda.ingest.v1 import ingest_service_pb2
from corrigenda_core.domain.actors import Caller
from corrigenda_core.domain.ids import IngestId
from corrigenda_core.persistence.ingest_store import placement_of_ingest
from corrigenda_core.persistence.read_transaction import ReadRunner, ReadTransaction
from corrigenda_core.ports.deadline import Deadline

from corrigenda_ingest.use_cases.administration import the_one


@dataclass(frozen=True, slots=True, kw_only=True)
class GetPlacement:
    """The use case; see `__call__`."""

    reader: ReadRunner

    async def __call__(
        self, caller: Caller, request: ingest_service_pb2.GetPlacementRequest, deadline: Deadline
    ) -> ingest_service_pb2.GetPlacementResponse:
        """The placement as it was answered then; what has changed since is in the trace.

        Raises:
            Refusal: RESOURCE_NOT_FOUND.
        """

        def read(transaction: ReadTransaction) -> ingest_service_pb2.GetPlacementResponse:
            row = the_one(
                transaction.prefetched["placement_of_ingest"],
                resource_type="ingest",
                resource_id=request.ingest_id,
                field="ingest_id",
            )
            answered = ingest_service_pb2.RememberResponse()
            answered.ParseFromString(bytes(row["result"]))
            return ingest_service_pb2.GetPlacementResponse(
                placement=answered.placement, revision=transaction.reading.revision
            )

        return await self.reader.run(
            caller.team_id,
            read,
            prefetch=[placement_of_ingest(caller.team_id, IngestId(request.ingest_id))],
            min_revision=request.min_revision,
            deadline=deadline,
        )
