"""GetSourceHistory: how what a source said has fared, as advice to people."""

from __future__ import annotations

from dataclasses import dataclass

from corrigenda.recall.v1 import recall_service_pb2 as messages
from corrigenda.recall.v1 import source_history_pb2
from corrigenda_core.domain.actors import Caller
from corrigenda_core.domain.decisions import RemovalReason
from corrigenda_core.domain.errors import missing
from corrigenda_core.domain.fates import CarriedBy, SourcedObservation, SourceHistory
from corrigenda_core.domain.ids import ProfileId
from corrigenda_core.domain.relationships import Status
from corrigenda_core.domain.verification import Modality, VerificationVerdict
from corrigenda_core.domain.views import TemporalSelector
from corrigenda_core.persistence.database import Row
from corrigenda_core.persistence.named_sql import load_sql
from corrigenda_core.persistence.read_transaction import ReadRunner, ReadTransaction
from corrigenda_core.persistence.shown_store import profile_names_query
from corrigenda_core.persistence.view_store import ReadView, run_in_view
from corrigenda_core.policy.source_history import decide_source_history
from corrigenda_core.ports.deadline import Deadline
from corrigenda_core.rpc.convert import known_of
from corrigenda_core.rpc.enums import FATE


@dataclass(frozen=True, slots=True, kw_only=True)
class GetSourceHistory:
    """The use case."""

    reader: ReadRunner

    async def __call__(
        self, caller: Caller, request: messages.GetSourceHistoryRequest, deadline: Deadline
    ) -> messages.GetSourceHistoryResponse:
        """The fates of what the source said, counted; what has ended had done so by the time of the view's revision.

        Raises:
            Refusal: RESOURCE_NOT_FOUND for a profile that is not one of the team; INVALID_FIELD for a view of the
                future; REVISION_NOT_REPLICATED.
        """

        async def read(transaction: ReadTransaction, view: ReadView) -> messages.GetSourceHistoryResponse:
            source = {
                "team_id": transaction.team_id,
                "known_at": view.recorded_by,
                "source_group": request.source_group or None,
                "source_key": request.source_key or None,
                "profile_id": request.profile_id or None,
            }
            sql = load_sql("source_history.sql")
            fragments, said, profiles = await transaction.fetch_all(
                sql.query("fragments_of_source", **source),
                sql.query("observations_of_source", **source, predicate=request.predicate or None),
                profile_names_query(transaction.team_id, [ProfileId(request.profile_id)] if request.profile_id else []),
            )
            if request.profile_id and not profiles:
                raise missing("profile", request.profile_id, field="profile_id")
            history = decide_source_history((_observation(row), row["times"]) for row in said)
            return messages.GetSourceHistoryResponse(
                history=_message(history, fragments[0]["total"]), revision=view.revision
            )

        return await run_in_view(
            self.reader,
            caller.team_id,
            TemporalSelector(known=known_of(request.known)),
            read,
            field="known",
            min_revision=request.min_revision,
            deadline=deadline,
        )


def _observation(row: Row) -> SourcedObservation:
    carried = None
    if row["status"] is not None:
        carried = CarriedBy(
            status=Status(row["status"]),
            living=row["living"],
            ended=row["ended"],
            asked=row["asked"],
            won=row["won"],
            lost=row["lost"],
            disputed=row["disputed"],
        )
    return SourcedObservation(
        modality=Modality(row["modality"]),
        verdict=None if row["verdict"] is None else VerificationVerdict(row["verdict"]),
        effective=row["effective"],
        removal=None if row["removal_reason"] is None else RemovalReason(row["removal_reason"]),
        row=carried,
    )


def _message(history: SourceHistory, fragments_total: int) -> source_history_pb2.SourceHistory:
    met = sorted(((count, fate) for fate, count in history.fates.items() if count), key=lambda one: (-one[0], one[1]))
    return source_history_pb2.SourceHistory(
        fragments_total=fragments_total,
        observations_total=history.total,
        fates=[source_history_pb2.FateCount(fate=FATE.to_wire(fate), count=count) for count, fate in met],
        won=history.won,
        lost=history.lost,
        disputed=history.disputed,
    )
