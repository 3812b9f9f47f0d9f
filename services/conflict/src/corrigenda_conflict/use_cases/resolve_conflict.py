"""ResolveConflict: an owner decides which of their own statements that exclude each other hold."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from corrigenda.conflict.v1 import conflict_service_pb2 as messages
from corrigenda_core.deciding import Decided, Deciding, OwnerDecisions, nothing_beside, profile_actor
from corrigenda_core.domain.actors import Caller
from corrigenda_core.domain.changes import Changes
from corrigenda_core.domain.errors import Reason, Refusal, missing
from corrigenda_core.domain.ids import IdempotencyKey, ItemId
from corrigenda_core.domain.resolutions import Answer, Provenance, Resolution
from corrigenda_core.domain.slots import PlanContext
from corrigenda_core.persistence.database import Row
from corrigenda_core.persistence.decision_store import SlotState, item_by_id, item_in, slot_of_item
from corrigenda_core.policy.authorization import Verb, may_change
from corrigenda_core.policy.resolution import plan_resolution
from corrigenda_core.ports.deadline import Deadline
from corrigenda_core.rpc.idempotent import idempotency_of

from corrigenda_conflict.decision_responses import resolution_response


@dataclass(frozen=True, slots=True, kw_only=True)
class ResolveConflict:
    """The use case; see `__call__`."""

    decisions: OwnerDecisions

    async def __call__(
        self,
        caller: Caller,
        request: messages.ResolveConflictRequest,
        resolution: Resolution,
        deadline: Deadline,
    ) -> messages.ResolveConflictResponse:
        """Answers one of the caller's questions about relationships, at the version that they saw.

        Raises:
            Refusal: as `plan_resolution` does; RESOURCE_NOT_FOUND; nothing is changed then.
        """
        item_id = ItemId(request.item_id)
        provenance = Provenance(key=IdempotencyKey(request.idempotency_key), reason=request.reason)

        def plan(state: SlotState, context: PlanContext, _: None) -> Changes:
            answer = Answer(
                item=item_in(state),
                expected_version=request.expected_version,
                resolution=resolution,
                provenance=provenance,
            )
            return plan_resolution(state.view, context, answer)

        def check(rows: Sequence[Row]) -> None:
            may_ask_about(caller, item_id, rows)

        def present(decided: Sequence[Decided], _: None) -> messages.ResolveConflictResponse:
            return resolution_response(caller.team_id, decided[0], item_in(decided[0].state))

        committed = await self.decisions.commit(
            caller,
            Deciding(
                change_kind="resolve_conflict",
                actor=profile_actor(caller),
                slots=slot_of_item(caller.team_id, item_id),
                check=check,
                of_slot=lambda _: [item_by_id(caller.team_id, item_id)],
                beside=nothing_beside,
                plan=plan,
                present=present,
            ),
            idempotency=idempotency_of(request, caller.profile_id, messages.ResolveConflictResponse),
            deadline=deadline,
        )
        return committed.value


def may_ask_about(caller: Caller, item_id: ItemId, rows: Sequence[Row]) -> None:
    """Checks that an item is the caller's and asks about a slot; `rows` are those of `slot_of_item`.

    Raises:
        Refusal: RESOURCE_NOT_FOUND, NOT_OWNER; INVALID_FIELD for an item without sides.
    """
    if not rows:
        raise missing("review_item", item_id, field="item_id")
    may_change(
        profile_actor(caller),
        rows[0]["owner_id"],
        Verb.RESOLVE_CONFLICT,
        resource_type="review_item",
        resource_id=item_id,
    )
    if rows[0]["subject_id"] is None:
        raise Refusal(
            Reason.INVALID_FIELD, f"an item of kind {rows[0]['kind']} has no sides to decide about", field="item_id"
        )
