"""Decisions over the wire in few words: tests say what is decided, and read what came of it."""

from __future__ import annotations

import uuid
from collections.abc import Awaitable, Iterable, Sequence
from typing import Any

import grpc
from corrigenda.admin.v1 import admin_service_pb2
from corrigenda.conflict.v1 import conflict_service_pb2, resolution_pb2, review_item_pb2
from corrigenda.ingest.v1 import forgetting_pb2, ingest_service_pb2, placement_pb2
from corrigenda.recall.v1 import recall_service_pb2
from corrigenda.type.v1 import decision_pb2, predicate_pb2, relationship_pb2

from corrigenda_core.domain.actors import Caller, KeyScope
from corrigenda_core.domain.errors import Reason, Refusal
from corrigenda_core.domain.ids import KeyId, ProfileId, TeamId
from corrigenda_core.rpc.status import refusal_of

Row = relationship_pb2.Relationship
Item = review_item_pb2.ReviewItem

_IN_FORCE = frozenset({relationship_pb2.RELATIONSHIP_STATUS_ACTIVE, relationship_pb2.RELATIONSHIP_STATUS_COMPETING})


async def refused(call: Awaitable[Any]) -> Refusal:
    """The refusal that a call answers.

    Raises:
        AssertionError: if it is answered, or fails otherwise.
    """
    try:
        answer = await call
    except grpc.aio.AioRpcError as error:
        refusal = refusal_of(error)
        if refusal is None:
            raise AssertionError(f"no refusal of ours: {error}") from error
        return refusal
    raise AssertionError(f"not refused: {answer}")


async def refused_for(call: Awaitable[Any]) -> tuple[Reason, str]:
    """Why a call is refused, and the field that it is refused for; raises as `refused` does."""
    refusal = await refused(call)
    return refusal.reason, refusal.field


async def placement(client: Any, request: ingest_service_pb2.RememberRequest) -> placement_pb2.RelationshipPlacement:
    """What became of the one statement of a request, which its text entails."""
    placed: placement_pb2.RelationshipPlacement
    (placed,) = (await client.ingest.Remember(request)).placement.relationships
    if placed.verdict != relationship_pb2.VERDICT_ENTAILED:
        raise AssertionError(f"not entailed: {placed.verdict_reason}")
    return placed


async def placed_row(client: Any, request: ingest_service_pb2.RememberRequest) -> Row:
    """The row that carries the one statement of a request."""
    return (await placement(client, request)).relationship


async def items_of(client: Any, *statuses: review_item_pb2.ItemStatus.ValueType) -> Sequence[Item]:
    """The client's questions, pending ones if no status is given."""
    request = conflict_service_pb2.ListReviewItemsRequest(statuses=statuses)
    answer = await client.conflict.ListReviewItems(client.own_writes(request))
    items: Sequence[Item] = answer.items
    return items


def deciding(item: Item, **action: Any) -> conflict_service_pb2.ResolveConflictRequest:
    """A decision about an item as it was read; anything else of the request can be given."""
    asked: dict[str, Any] = {
        "idempotency_key": uuid.uuid4().hex,
        "item_id": item.item_id,
        "expected_version": item.version,
    }
    return conflict_service_pb2.ResolveConflictRequest(**{**asked, **action})


def keep_new(row: Row) -> resolution_pb2.KeepNew:
    """This side holds."""
    return resolution_pb2.KeepNew(relationship_id=row.relationship_id)


def keep_existing(row: Row) -> resolution_pb2.KeepExisting:
    """This opposing side stays."""
    return resolution_pb2.KeepExisting(relationship_id=row.relationship_id)


def reverting(decision: decision_pb2.Decision, **more: Any) -> conflict_service_pb2.RevertResolutionRequest:
    """Takes a decision back."""
    asked: dict[str, Any] = {"idempotency_key": uuid.uuid4().hex, "decision_id": decision.decision_id}
    return conflict_service_pb2.RevertResolutionRequest(**{**asked, **more})


def forgetting(**action: Any) -> ingest_service_pb2.ForgetRequest:
    """A request to forget; the action is given by its name."""
    return ingest_service_pb2.ForgetRequest(**{"idempotency_key": uuid.uuid4().hex, **action})


def retracting(row: Row, **more: Any) -> ingest_service_pb2.ForgetRequest:
    """This relationship never was true."""
    return forgetting(retract=forgetting_pb2.Retract(relationship_id=row.relationship_id, **more))


def ending(row: Row, **more: Any) -> ingest_service_pb2.ForgetRequest:
    """This relationship is no longer true."""
    return forgetting(end=forgetting_pb2.End(relationship_id=row.relationship_id, **more))


def value_of(row: Row) -> str:
    """What a row says, by name."""
    return row.object.entity.name or row.object.value.display


def status_of(row: Row) -> str:
    """The status of a row in a word."""
    return relationship_pb2.RelationshipStatus.Name(row.status).removeprefix("RELATIONSHIP_STATUS_").lower()


def states(changes: Iterable[decision_pb2.RelationshipChange]) -> dict[str, tuple[str, str]]:
    """Status before and after a decision, by the name of the value."""
    return {value_of(change.after): (status_of(change.before), status_of(change.after)) for change in changes}


def sides(item: Item) -> set[str]:
    """What an item asks to choose from, by name."""
    return {value_of(row) for row in (*item.incoming, *item.opposing)}


async def recalled(client: Any, query: str = "what does production deploy from", **view: Any) -> set[str]:
    """The values that a recall shows as in force, by name."""
    request = recall_service_pb2.RecallRequest(query=query, **view)
    answer = await client.recall.Recall(client.own_writes(request))
    rows = [path.relationship for result in answer.results for path in result.paths]
    return {value_of(row) for row in rows if row.status in _IN_FORCE}


async def traced(client: Any, row: Row, **more: Any) -> recall_service_pb2.TraceResponse:
    """Everything about a row, with its lifecycle changes."""
    request = recall_service_pb2.TraceRequest(
        relationship_id=row.relationship_id, include_transitions=True, page_size=200, **more
    )
    answer: recall_service_pb2.TraceResponse = await client.recall.Trace(client.own_writes(request))
    return answer


def owner_of(team_id: str, row: Row) -> Caller:
    """The owner of a row, as a service finds them by their key."""
    return Caller(
        team_id=TeamId(team_id),
        profile_id=ProfileId(row.owner.profile_id),
        key_id=KeyId("-"),
        scopes=frozenset({KeyScope.READ, KeyScope.WRITE}),
    )


async def set_same_moment(team: Any, policy: predicate_pb2.SameMomentPolicy.ValueType) -> None:
    """Registers the next version of ``deploys_from``, with another policy for what cannot be ordered."""
    await team.admin.admin.RegisterPredicate(
        admin_service_pb2.RegisterPredicateRequest(
            idempotency_key=f"policy {policy}",
            definition=predicate_pb2.PredicateDefinition(
                key="deploys_from",
                aliases=["deploys from"],
                relationship_kind=predicate_pb2.RELATIONSHIP_KIND_STATE,
                current_cardinality=predicate_pb2.CARDINALITY_ONE,
                same_moment_policy=policy,
            ),
        )
    )
