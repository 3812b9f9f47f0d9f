"""RevertResolution: an owner takes one of their decisions back."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from corrigenda.conflict.v1 import conflict_service_pb2 as messages
from corrigenda_core.deciding import Decided, Deciding, OwnerDecisions, nothing_beside, profile_actor
from corrigenda_core.domain.actors import Caller
from corrigenda_core.domain.changes import Changes
from corrigenda_core.domain.errors import missing
from corrigenda_core.domain.ids import DecisionId, IdempotencyKey, ProfileId
from corrigenda_core.domain.resolutions import Provenance
from corrigenda_core.domain.slots import PlanContext
from corrigenda_core.persistence.database import Row
from corrigenda_core.persistence.decision_store import SlotState
from corrigenda_core.persistence.past_decisions import (
    not_reverted,
    past_decision_in,
    past_decision_queries,
    slots_of_decision,
)
from corrigenda_core.policy.authorization import Verb, may_change
from corrigenda_core.policy.revert import plan_revert
from corrigenda_core.ports.deadline import Deadline
from corrigenda_core.rpc.idempotent import idempotency_of

from corrigenda_conflict.decision_responses import revert_response


@dataclass(frozen=True, slots=True, kw_only=True)
class RevertResolution:
    """The use case; see `__call__`."""

    decisions: OwnerDecisions

    async def __call__(
        self, caller: Caller, request: messages.RevertResolutionRequest, deadline: Deadline
    ) -> messages.RevertResolutionResponse:
        """Takes a decision out of the timeline, unless something stands on it.

        Raises:
            Refusal: RESOURCE_NOT_FOUND, and as `plan_revert` does; nothing is changed then.
        """
        decision_id = DecisionId(request.decision_id)
        provenance = Provenance(key=IdempotencyKey(request.idempotency_key), reason=request.reason)

        def plan(state: SlotState, context: PlanContext, _: None) -> Changes:
            past = past_decision_in(state)
            owner_id = past.record.actor.profile_id or caller.profile_id
            return plan_revert(state.view, context, owner_id, past, provenance)

        def present(decided: Sequence[Decided], _: None) -> messages.RevertResolutionResponse:
            return revert_response(caller.team_id, decided[0])

        def check(rows: Sequence[Row]) -> None:
            _may_take_back(caller, decision_id, rows)

        committed = await self.decisions.commit(
            caller,
            Deciding(
                change_kind="revert_resolution",
                actor=profile_actor(caller),
                slots=slots_of_decision(caller.team_id, decision_id),
                check=check,
                of_slot=lambda slot: past_decision_queries(caller.team_id, slot, decision_id),
                beside=nothing_beside,
                plan=plan,
                present=present,
            ),
            idempotency=idempotency_of(request, caller.profile_id, messages.RevertResolutionResponse),
            deadline=deadline,
        )
        return committed.value


def _may_take_back(caller: Caller, decision_id: DecisionId, rows: Sequence[Row]) -> None:
    if not rows:
        raise missing("decision", decision_id, field="decision_id")
    may_change(
        profile_actor(caller),
        # What no profile decided is nobody's to take back.
        ProfileId(rows[0]["owner_id"] or ""),
        Verb.REVERT_RESOLUTION,
        resource_type="decision",
        resource_id=decision_id,
    )
    if len(rows) > 1 or rows[0]["subject_id"] is None:
        raise not_reverted(rows[0]["kind"])
