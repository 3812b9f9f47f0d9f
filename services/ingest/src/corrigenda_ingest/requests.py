"""Requests of the ingest service as domain values; every citation resolved to a span, every time in UTC."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypedDict

from corrigenda.ingest.v1 import ingest_service_pb2, placement_pb2, submission_pb2
from corrigenda_core.domain.entities import MentionRef
from corrigenda_core.domain.errors import Reason, Refusal
from corrigenda_core.domain.evidence import Authority
from corrigenda_core.domain.forgetting import EndRow, Forgetting, RetractFragment, RetractRow
from corrigenda_core.domain.ids import (
    ConflictId,
    EntityId,
    FragmentId,
    IdempotencyKey,
    IngestId,
    ItemId,
    ProposalId,
    RelationshipId,
    StatementId,
)
from corrigenda_core.domain.placement_decisions import PlacementDecision
from corrigenda_core.domain.resolutions import DecisionKind
from corrigenda_core.domain.submissions import (
    ConflictContext,
    CorrectionTarget,
    EntityRef,
    EvidenceInput,
    ProposedEntity,
    ProposedRelationship,
    ProposedValue,
    ResolutionContext,
    Submission,
)
from corrigenda_core.domain.time import Interval
from corrigenda_core.policy.spans import Citation, OffsetCitation, QuoteCitation, decide_cited_span
from corrigenda_core.rpc.convert import instant_of, stated_interval_of
from corrigenda_core.rpc.enums import AUTHORITY, MODALITY, POLARITY, SOURCE_TYPE, VALUE_TYPE

from corrigenda_ingest.identity_look import EntityMerge, Split

_ACTION = "PLACEMENT_ACTION_"
PLACEMENT_ACTIONS = {
    number: DecisionKind[name.removeprefix(_ACTION)]
    for name, number in placement_pb2.PlacementAction.items()
    if number != placement_pb2.PLACEMENT_ACTION_UNSPECIFIED
}
"""What is decided by each action of the wire; each is a kind of decision of the same name."""


def submission_of(
    request: ingest_service_pb2.RememberRequest | ingest_service_pb2.PreflightRememberRequest, *, key: str = ""
) -> Submission:
    """The submission of a validated request, to be stored under an idempotency key if it is.

    Raises:
        Refusal: INVALID_FIELD, QUOTE_NOT_FOUND or QUOTE_AMBIGUOUS, naming the field.
    """
    return Submission(
        **_proposed(request.evidence, request.proposal),
        metadata=tuple(sorted(request.metadata.items())),
        resolution_context=_resolution_context(request),
        idempotency_key=IdempotencyKey(key),
    )


def forgetting_of(request: ingest_service_pb2.ForgetRequest) -> Forgetting:
    """What a validated request forgets."""
    match request.WhichOneof("action"):
        case "retract":
            retract = request.retract
            return RetractRow(
                row_id=RelationshipId(retract.relationship_id),
                expected_version=retract.expected_version if retract.HasField("expected_version") else None,
                revive=retract.revive if retract.HasField("revive") else True,
            )
        case "end":
            end = request.end
            return EndRow(
                row_id=RelationshipId(end.relationship_id),
                expected_version=end.expected_version if end.HasField("expected_version") else None,
                at=instant_of(end.at) if end.HasField("at") else None,
            )
        case "retract_text":
            return RetractFragment(fragment_id=FragmentId(request.retract_text.fragment_id))
        case _:
            raise ValueError("validation lets no request without an action pass")


def evidence_of(request: ingest_service_pb2.ForgetRequest) -> Submission | None:
    """The evidence of a decision as a submission that proposes nothing; ``None`` if it comes with none."""
    if not request.evidence:
        return None
    return Submission(
        evidence=tuple(_evidence(item, f"evidence[{number}]") for number, item in enumerate(request.evidence)),
        idempotency_key=IdempotencyKey(request.idempotency_key),
    )


def placement_decision_of(request: ingest_service_pb2.ResolvePlacementRequest) -> PlacementDecision:
    """The decision of a validated request.

    Raises:
        Refusal: as `submission_of`.
    """
    asked = request.decision
    return PlacementDecision(
        ingest_id=IngestId(request.ingest_id),
        item_id=ItemId(request.placement_item_id) if request.placement_item_id else None,
        action=PLACEMENT_ACTIONS[request.action],
        expected_version=request.expected_version if request.HasField("expected_version") else None,
        mention_ref=MentionRef(asked.mention_ref) if asked.mention_ref else None,
        entity_id=EntityId(asked.entity_id) if asked.entity_id else None,
        predicate=asked.predicate,
        reason=asked.reason,
        valid_from=instant_of(asked.valid_from) if asked.HasField("valid_from") else None,
        submission=Submission(
            **_proposed(request.evidence, request.proposal), idempotency_key=IdempotencyKey(request.idempotency_key)
        ),
    )


def identity_correction_of(request: ingest_service_pb2.CorrectEntityResolutionRequest) -> Split | EntityMerge:
    """What a validated request corrects."""
    if request.WhichOneof("correction") == "merge":
        merge = request.merge
        return EntityMerge(source_id=EntityId(merge.source_entity_id), target_id=EntityId(merge.target_entity_id))
    chosen = frozenset(StatementId(one) for one in request.split.observation_ids)
    return Split(entity_id=EntityId(request.split.entity_id), observation_ids=chosen or None)


class _Proposed(TypedDict):
    evidence: tuple[EvidenceInput, ...]
    entities: tuple[ProposedEntity, ...]
    relationships: tuple[ProposedRelationship, ...]


def _proposed(evidence: Sequence[submission_pb2.EvidenceItem], proposal: submission_pb2.Proposal) -> _Proposed:
    contents = [item.content for item in evidence]
    return _Proposed(
        evidence=tuple(_evidence(item, f"evidence[{number}]") for number, item in enumerate(evidence)),
        entities=tuple(_entity(entity) for entity in proposal.entities),
        relationships=tuple(
            _relationship(relationship, contents, f"proposal.relationships[{number}]")
            for number, relationship in enumerate(proposal.relationships)
        ),
    )


def _evidence(item: submission_pb2.EvidenceItem, field: str) -> EvidenceInput:
    offset = item.occurred_at_offset_minutes if item.HasField("occurred_at_offset_minutes") else None
    if offset is not None and not item.HasField("occurred_at"):
        raise Refusal(
            Reason.INVALID_FIELD, "it is the offset of `occurred_at`", field=f"{field}.occurred_at_offset_minutes"
        )
    return EvidenceInput(
        content=item.content,
        source_type=SOURCE_TYPE.to_domain(item.source_type),
        authority=AUTHORITY.to_domain_or(item.authority, Authority.UNKNOWN),
        source_group=item.source_group or None,
        source_key=item.source_key or None,
        source_revision=item.source_revision or None,
        previous_source_revision=item.previous_source_revision or None,
        supersedes_fragment_ids=tuple(FragmentId(one) for one in item.supersedes_fragment_ids),
        derived_from_fragment_ids=tuple(FragmentId(one) for one in item.derived_from_fragment_ids),
        occurred_at=instant_of(item.occurred_at) if item.HasField("occurred_at") else None,
        labels=tuple(item.labels),
        confidence=item.confidence if item.HasField("confidence") else None,
        occurred_at_offset_minutes=offset,
    )


def _entity(entity: submission_pb2.ProposedEntity) -> ProposedEntity:
    return ProposedEntity(
        ref=entity.ref,
        name=entity.name,
        kind=entity.entity_kind,
        aliases=tuple(entity.aliases),
        context=tuple(sorted(entity.identity_context.items())),
        known_entity_id=EntityId(entity.known_entity_id) if entity.known_entity_id else None,
    )


def _relationship(
    relationship: submission_pb2.ProposedRelationship, contents: Sequence[str], field: str
) -> ProposedRelationship:
    stated = Interval()
    if relationship.HasField("validity"):
        stated = stated_interval_of(relationship.validity, f"{field}.validity")
    return ProposedRelationship(
        proposal_id=ProposalId(relationship.proposal_id),
        subject_ref=relationship.subject_ref,
        predicate=relationship.predicate,
        object=_object(relationship),
        polarity=POLARITY.to_domain(relationship.polarity),
        modality=MODALITY.to_domain(relationship.modality),
        valid_from=stated.start,
        valid_to=stated.end,
        scope=relationship.scope,
        spans=tuple(
            decide_cited_span(contents, citation_of(citation), field=f"{field}.evidence[{number}]")
            for number, citation in enumerate(relationship.evidence)
        ),
        comment=relationship.comment,
        correction_target=_correction_target(relationship),
        conflict_context=_conflict_context(relationship),
    )


def _object(relationship: submission_pb2.ProposedRelationship) -> EntityRef | ProposedValue:
    if relationship.WhichOneof("object") == "object_ref":
        return EntityRef(ref=relationship.object_ref)
    value = relationship.object_value
    return ProposedValue(type=VALUE_TYPE.to_domain(value.type), text=value.text, unit=value.unit)


def citation_of(citation: submission_pb2.Citation) -> Citation:
    """A citation as it was written, not yet resolved."""
    if citation.HasField("quote"):
        return QuoteCitation(evidence_index=citation.evidence_index, quote=citation.quote)
    return OffsetCitation(evidence_index=citation.evidence_index, start=citation.start, end=citation.end)


def _correction_target(relationship: submission_pb2.ProposedRelationship) -> CorrectionTarget | None:
    if not relationship.HasField("correction_target"):
        return None
    target = relationship.correction_target
    return CorrectionTarget(
        relationship_id=RelationshipId(target.relationship_id),
        expected_version=target.expected_version if target.HasField("expected_version") else None,
    )


def _conflict_context(relationship: submission_pb2.ProposedRelationship) -> ConflictContext | None:
    if not relationship.HasField("conflict_context"):
        return None
    context = relationship.conflict_context
    return ConflictContext(
        conflict_id=ConflictId(context.conflict_id),
        expected_version=context.expected_version if context.HasField("expected_version") else None,
    )


def _resolution_context(
    request: ingest_service_pb2.RememberRequest | ingest_service_pb2.PreflightRememberRequest,
) -> ResolutionContext | None:
    if not request.HasField("resolution_context"):
        return None
    context = request.resolution_context
    return ResolutionContext(
        item_id=ItemId(context.item_id),
        expected_version=context.expected_version if context.HasField("expected_version") else None,
        reason=context.reason,
    )
