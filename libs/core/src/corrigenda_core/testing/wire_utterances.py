"""The commands of the team machine as messages."""

from __future__ import annotations

import uuid
from typing import Any

from corrigenda.conflict.v1 import resolution_pb2
from corrigenda.ingest.v1 import ingest_service_pb2, submission_pb2
from corrigenda.type.v1 import evidence_pb2, relationship_pb2, time_pb2

from corrigenda_core.domain.evidence import Authority
from corrigenda_core.domain.resolutions import KeepBoth, KeepExisting, KeepNew, Resolution
from corrigenda_core.rpc.convert import timestamp_of
from corrigenda_core.rpc.enums import AUTHORITY
from corrigenda_core.testing.team_twin import Utterance


def new_key() -> str:
    """An idempotency key that nobody has used."""
    return uuid.uuid4().hex


def request_of(*said: Utterance) -> ingest_service_pb2.RememberRequest:
    """Utterances as one submission, each by a text of its own."""
    names = {f"subject {one.subject}": (one.subject, "service") for one in said}
    names |= {f"object {one.value}": (one.value, "thing") for one in said}
    return ingest_service_pb2.RememberRequest(
        idempotency_key=new_key(),
        evidence=[_item(one) for one in said],
        proposal=submission_pb2.Proposal(
            entities=[
                submission_pb2.ProposedEntity(ref=ref, name=name, entity_kind=kind)
                for ref, (name, kind) in names.items()
            ],
            relationships=[_proposed(number, one) for number, one in enumerate(said)],
        ),
    )


def _proposed(number: int, what: Utterance) -> submission_pb2.ProposedRelationship:
    proposed = submission_pb2.ProposedRelationship(
        proposal_id=f"p{number}",
        subject_ref=f"subject {what.subject}",
        predicate=what.predicate,
        object_ref=f"object {what.value}",
        polarity=relationship_pb2.POLARITY_NEGATIVE if what.denied else relationship_pb2.POLARITY_POSITIVE,
        modality=relationship_pb2.MODALITY_STATEMENT,
        scope=what.scope,
        evidence=[submission_pb2.Citation(evidence_index=number, quote=what.content)],
    )
    for field, at in (("valid_from", what.valid_from), ("valid_to", what.valid_to)):
        if at is not None:
            getattr(proposed.validity, field).CopyFrom(timestamp_of(at))
    if what.target is not None:
        proposed.correction_target.relationship_id = what.target
    if what.answer is not None:
        proposed.conflict_context.conflict_id = what.answer.conflict_id
        proposed.conflict_context.expected_version = what.answer.expected_version or 0
    return proposed


def _item(what: Utterance) -> submission_pb2.EvidenceItem:
    item = submission_pb2.EvidenceItem(
        content=what.content,
        source_type=evidence_pb2.SOURCE_TYPE_CONVERSATION,
        source_group=what.source_group or "",
        source_key=what.source_key or "",
        source_revision=what.source_revision or "",
        previous_source_revision=what.previous_source_revision or "",
    )
    if what.authority is not Authority.UNKNOWN:
        item.authority = AUTHORITY.to_wire(what.authority)
    if what.occurred_at is not None:
        item.occurred_at.CopyFrom(timestamp_of(what.occurred_at))
    return item


def action_of(resolution: Resolution) -> dict[str, Any]:
    """The action of a decision, as a field of its request.

    Raises:
        ValueError: it is no action that the machine takes.
    """
    match resolution:
        case KeepNew(kept_id=kept_id):
            return {"keep_new": resolution_pb2.KeepNew(relationship_id=kept_id)}
        case KeepExisting(kept_id=kept_id):
            return {"keep_existing": resolution_pb2.KeepExisting(relationship_id=kept_id)}
        case KeepBoth():
            return {"keep_both": resolution_pb2.KeepBoth()}
        case _:
            raise ValueError(f"not an action of a person: {resolution}")


def known_of(temporal: time_pb2.TemporalSelector) -> dict[str, Any]:
    """What is known of the same moment, as a field of a request that has no selector."""
    if temporal.HasField("known_at"):
        return {"as_of": temporal.known_at}
    return {"revision": temporal.revision}
