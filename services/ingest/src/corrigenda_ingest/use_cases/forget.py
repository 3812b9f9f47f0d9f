"""Forget: an owner says that something of their own is no longer true, or never was."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import assert_never

from corrigenda.ingest.v1 import forgetting_pb2, ingest_service_pb2
from corrigenda_core.deciding import Decided, Deciding, OwnerDecisions, profile_actor
from corrigenda_core.domain.actors import Caller
from corrigenda_core.domain.changes import Changes
from corrigenda_core.domain.errors import Reason, Refusal, missing
from corrigenda_core.domain.forgetting import EndRow, Forgetting, RetractFragment, RetractRow
from corrigenda_core.domain.ids import IdempotencyKey, IdRange
from corrigenda_core.domain.resolutions import Provenance
from corrigenda_core.domain.slots import PlanContext
from corrigenda_core.domain.submissions import Submission
from corrigenda_core.persistence.database import Row
from corrigenda_core.persistence.decision_store import (
    SlotState,
    slot_of_relationship,
    slots_of_fragment,
)
from corrigenda_core.persistence.named_sql import Query
from corrigenda_core.policy.authorization import Verb, may_change
from corrigenda_core.policy.forgetting import plan_end, plan_fragment_retraction, plan_retract
from corrigenda_core.ports.deadline import Deadline
from corrigenda_core.rpc.decision_messages import decision_message, effects_message
from corrigenda_core.rpc.idempotent import idempotency_of

from corrigenda_ingest.decision_evidence import StoredEvidence, prepared_evidence

FORGOTTEN_SHOWN = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class Forget:
    """The use case; see `__call__`. ``new_ids`` names the evidence."""

    decisions: OwnerDecisions
    new_ids: Callable[[], IdRange]

    async def __call__(
        self,
        caller: Caller,
        request: ingest_service_pb2.ForgetRequest,
        forgetting: Forgetting,
        evidence: Submission | None,
        deadline: Deadline,
    ) -> ingest_service_pb2.ForgetResponse:
        """Takes back or ends what the caller owns, with the evidence for it in the same commit.

        Raises:
            Refusal: as `plan_retract`, `plan_end` and `plan_fragment_retraction` do; nothing is stored then.
        """
        given = await prepared_evidence(caller, evidence, self.new_ids())

        def plan(state: SlotState, context: PlanContext, stored: StoredEvidence) -> Changes:
            key = IdempotencyKey(request.idempotency_key)
            provenance = Provenance(key=key, reason=request.reason, details=stored.details)
            return _plan(state, context, forgetting, provenance)

        committed = await self.decisions.commit(
            caller,
            Deciding(
                change_kind="forget",
                actor=profile_actor(caller),
                slots=_slots(caller, forgetting),
                check=lambda rows: _may_forget(caller, forgetting, rows),
                more=given.queries(),
                beside=given.write,
                plan=plan,
                present=_response,
            ),
            idempotency=idempotency_of(request, caller.profile_id, ingest_service_pb2.ForgetResponse),
            deadline=deadline,
        )
        return committed.value


def _slots(caller: Caller, forgetting: Forgetting) -> Query:
    if isinstance(forgetting, RetractFragment):
        return slots_of_fragment(caller.team_id, caller.profile_id, forgetting.fragment_id)
    return slot_of_relationship(caller.team_id, forgetting.row_id)


def _may_forget(caller: Caller, forgetting: Forgetting, rows: Sequence[Row]) -> None:
    """Refuses what there is not, and a text that says nothing of the caller."""
    if not isinstance(forgetting, RetractFragment):
        if not rows:
            raise missing("relationship", forgetting.row_id, field="relationship_id")
        return
    if not rows:
        raise missing("fragment", forgetting.fragment_id, field="fragment_id")
    if rows[0]["subject_id"] is None:
        may_change(
            profile_actor(caller),
            rows[0]["owner_id"],
            Verb.RETRACT,
            resource_type="fragment",
            resource_id=forgetting.fragment_id,
        )
        raise Refusal(Reason.INVALID_FIELD, "the text supports nothing of the caller", field="fragment_id")


def _plan(state: SlotState, context: PlanContext, forgetting: Forgetting, provenance: Provenance) -> Changes:
    match forgetting:
        case RetractRow(row_id=row_id, expected_version=version, revive=revive):
            return plan_retract(
                state.view, context, row_id, revive=revive, expected_version=version, provenance=provenance
            )
        case EndRow(row_id=row_id, expected_version=version, at=at):
            return plan_end(state.view, context, row_id, at, expected_version=version, provenance=provenance)
        case RetractFragment(fragment_id=fragment_id):
            owner_id = context.actor.profile_id
            if owner_id is None:
                raise ValueError("a profile forgets")
            return plan_fragment_retraction(state.view, context, owner_id, fragment_id, provenance=provenance)
        case _:
            assert_never(forgetting)


def _response(decided: Sequence[Decided], stored: StoredEvidence) -> ingest_service_pb2.ForgetResponse:
    return ingest_service_pb2.ForgetResponse(
        forgotten=[_forgotten(one) for one in decided[:FORGOTTEN_SHOWN]],
        forgotten_total=len(decided),
        forgotten_truncated=len(decided) > FORGOTTEN_SHOWN,
        ingest_id=stored.ingest_id,
        fragments=stored.fragments,
        revision=decided[-1].moment.revision,
    )


def _forgotten(one: Decided) -> forgetting_pb2.Forgotten:
    state, (record,) = one.state, one.changes.decision_records
    return forgetting_pb2.Forgotten(
        decision=decision_message(record, one.moment, state.owner_names),
        effects=effects_message(state.view, one.changes, state.names, state.owner_names),
    )
