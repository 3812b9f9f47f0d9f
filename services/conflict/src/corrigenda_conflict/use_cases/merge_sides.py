"""The merge of ResolveConflict: the owner's sentence is remembered by the ingest service, which decides with it."""

from __future__ import annotations

from dataclasses import dataclass

from corrigenda.conflict.v1 import conflict_service_pb2 as messages
from corrigenda.ingest.v1 import ingest_service_pb2, submission_pb2
from corrigenda.type.v1 import relationship_pb2
from corrigenda_core.domain.actors import Caller
from corrigenda_core.domain.entities import EntityName
from corrigenda_core.domain.errors import Refusal, missing
from corrigenda_core.domain.ids import EntityId, ItemId, RelationshipId
from corrigenda_core.domain.objects import Slot
from corrigenda_core.domain.views import KnownAtRevision, TemporalSelector
from corrigenda_core.persistence.conflict_store import read_conflicts, read_relationships
from corrigenda_core.persistence.decision_store import slot_of_item, slot_parameters, slots_of
from corrigenda_core.persistence.named_sql import load_sql
from corrigenda_core.persistence.read_transaction import ReadRunner, ReadTransaction
from corrigenda_core.persistence.shown_store import entity_names_of, entity_names_query, profile_names_of
from corrigenda_core.persistence.team_clock import MICROSECOND
from corrigenda_core.persistence.view_store import ReadView, run_in_view
from corrigenda_core.ports.deadline import Deadline
from corrigenda_core.rpc.calls import CallContext
from corrigenda_core.rpc.convert import instant_of

from corrigenda_conflict.decision_responses import MergeReading, merge_response
from corrigenda_conflict.ingest_calls import IngestCalls
from corrigenda_conflict.use_cases.resolve_conflict import may_ask_about

RESERVE_SECONDS = 1.0
"""What is kept of the deadline for reading what the merge did."""

_FIELDS = (
    ("evidence[0].", "merge."),
    ("proposal.entities[1].", "merge.entity."),
    ("proposal.relationships[0].object_value", "merge.value"),
    ("proposal.relationships[0].", "merge."),
    ("resolution_context.", ""),
)
"""What the fields of the remembered request are called in the caller's."""

_SUBJECT, _OBJECT = "subject", "object"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Question:
    """The slot that an item asks about, and how the entities are shown that the sentence is about."""

    slot: Slot
    subject: EntityName
    object: EntityName | None


@dataclass(frozen=True, slots=True, kw_only=True)
class MergeSides:
    """The use case; see `__call__`."""

    reader: ReadRunner
    ingest: IngestCalls

    async def __call__(
        self, call: CallContext, request: messages.ResolveConflictRequest, authorization: str
    ) -> messages.ResolveConflictResponse:
        """Remembers the sentence and ends every side at its start, in one transaction of the ingest service.

        Args:
            call: the call that is served; the other one gets its key, its deadline and its trace.
            request: a validated request with a merge.
            authorization: the caller's credential, as it came.

        Raises:
            Refusal: RESOURCE_NOT_FOUND, NOT_OWNER, INVALID_FIELD for an item without sides; as the ingest service does.
        """
        deadline = Deadline.after(call.remaining_seconds)
        question = await self._question(call.caller, request, deadline)
        try:
            answer = await self.ingest.remember(
                _sentence(request, question),
                authorization=authorization,
                request_id=call.request_id,
                deadline=Deadline.after(max(0.0, deadline.remaining_seconds() - RESERVE_SECONDS)),
            )
        except Refusal as refusal:
            raise _in_callers_words(refusal) from refusal
        return await self._response(call.caller, question.slot, answer, deadline)

    async def _question(
        self, caller: Caller, request: messages.ResolveConflictRequest, deadline: Deadline
    ) -> _Question:
        item_id, entity_id = ItemId(request.item_id), EntityId(request.merge.entity_id)

        async def read(transaction: ReadTransaction) -> _Question:
            rows = transaction.prefetched["slot_of_item"]
            may_ask_about(caller, item_id, rows)
            (slot,) = slots_of(rows)
            wanted = {slot.subject_id, *([entity_id] if entity_id else [])}
            names = entity_names_of(await transaction.fetch(entity_names_query(caller.team_id, wanted)))
            if entity_id and entity_id not in names:
                raise missing("entity", entity_id, field="merge.entity_id")
            return _Question(slot=slot, subject=names[slot.subject_id], object=names.get(entity_id))

        return await self.reader.run(
            caller.team_id, read, prefetch=[slot_of_item(caller.team_id, item_id)], deadline=deadline
        )

    async def _response(
        self, caller: Caller, slot: Slot, answer: ingest_service_pb2.RememberResponse, deadline: Deadline
    ) -> messages.ResolveConflictResponse:
        """What the merge did, as of its revision, however much later it is asked for again."""
        item_id, kept_id = ItemId(answer.resolution.item_id), RelationshipId(answer.resolution.kept_relationship_id)
        before = instant_of(answer.placement.recorded_at) - MICROSECOND
        sql = load_sql("decisions.sql")
        of_slot = slot_parameters(caller.team_id, slot)
        of_decision = {"team_id": caller.team_id, "decision_id": answer.resolution.decision_id}
        revisions = {"first_revision": answer.placement.revision, "last_revision": answer.revision}

        async def read(transaction: ReadTransaction, view: ReadView) -> messages.ResolveConflictResponse:
            decision, changed, cases, names, owners = await transaction.fetch_all(
                sql.query("past_decision", **of_decision),
                sql.query("changed_by_decision", **of_decision),
                sql.query("cases_changed", **of_slot, **revisions),
                sql.query("slot_entity_names", **of_slot),
                sql.query("slot_owner_names", **of_slot),
            )
            rows = {kept_id, *(RelationshipId(row["relationship_id"]) for row in changed)}
            shown = await read_conflicts(transaction, view.recorded_by, conflict_ids=[], item_ids=[item_id])
            reading = MergeReading(
                decision=decision[0],
                before=[one.row for one in (await read_relationships(transaction, before, rows)).values()],
                after=[one.row for one in (await read_relationships(transaction, view.recorded_by, rows)).values()],
                conflict_ids=sorted(row["conflict_id"] for row in cases),
                item=shown.items[item_id],
                names=entity_names_of(names),
                owner_names=profile_names_of(owners),
            )
            return merge_response(caller.team_id, reading)

        return await run_in_view(
            self.reader,
            caller.team_id,
            TemporalSelector(known=KnownAtRevision(revision=answer.revision)),
            read,
            field="item_id",
            deadline=deadline,
        )


def _sentence(request: messages.ResolveConflictRequest, question: _Question) -> ingest_service_pb2.RememberRequest:
    """The sentence as a submission: about the subject, predicate and scope of the question, cited as a whole."""
    merge = request.merge
    proposed = submission_pb2.ProposedRelationship(
        proposal_id="merge",
        subject_ref=_SUBJECT,
        predicate=question.slot.predicate,
        polarity=merge.polarity or relationship_pb2.POLARITY_POSITIVE,
        modality=relationship_pb2.MODALITY_STATEMENT,
        validity=merge.validity if merge.HasField("validity") else None,
        scope=question.slot.scope,
        evidence=[submission_pb2.Citation(evidence_index=0, start=0, end=len(merge.content))],
    )
    entities = [_known(_SUBJECT, question.subject)]
    match merge.WhichOneof("object"):
        case "entity_id" if question.object is not None:
            # The subject of a relationship may be its object too: then one mention stands for both.
            is_subject = question.object.entity_id == question.subject.entity_id
            proposed.object_ref = _SUBJECT if is_subject else _OBJECT
            entities += [] if is_subject else [_known(_OBJECT, question.object)]
        case "entity":
            proposed.object_ref = _OBJECT
            entities.append(
                submission_pb2.ProposedEntity(
                    ref=_OBJECT,
                    name=merge.entity.name,
                    entity_kind=merge.entity.entity_kind,
                    identity_context=merge.entity.identity_context,
                )
            )
        case _:
            proposed.object_value.CopyFrom(merge.value)
    return ingest_service_pb2.RememberRequest(
        idempotency_key=request.idempotency_key,
        evidence=[
            submission_pb2.EvidenceItem(
                content=merge.content,
                source_type=merge.source_type,
                authority=merge.authority,
                source_group=merge.source_group,
                occurred_at=merge.occurred_at if merge.HasField("occurred_at") else None,
                occurred_at_offset_minutes=(
                    merge.occurred_at_offset_minutes if merge.HasField("occurred_at_offset_minutes") else None
                ),
            )
        ],
        proposal=submission_pb2.Proposal(entities=entities, relationships=[proposed]),
        resolution_context=submission_pb2.ResolutionContext(
            item_id=request.item_id, expected_version=request.expected_version, reason=request.reason
        ),
    )


def _known(ref: str, entity: EntityName) -> submission_pb2.ProposedEntity:
    return submission_pb2.ProposedEntity(
        ref=ref, name=entity.name, entity_kind=entity.kind, known_entity_id=entity.entity_id
    )


def _in_callers_words(refusal: Refusal) -> Refusal:
    """The refusal with the fields that the caller knows."""
    field = refusal.field
    for remembered, asked in _FIELDS:
        if field.startswith(remembered):
            field = asked + field.removeprefix(remembered)
            break
    return Refusal(
        refusal.reason,
        refusal.message,
        field=field,
        metadata={**refusal.metadata, **({"field": field} if field else {})},
        retry_after_seconds=refusal.retry_after_seconds,
    )
