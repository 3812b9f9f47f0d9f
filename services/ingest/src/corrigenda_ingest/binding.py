"""Binds a submission to what the team knows: which entities, predicates and values its words mean."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from corrigenda_core.domain.entities import Mention, MentionRef
from corrigenda_core.domain.errors import Reason, Refusal
from corrigenda_core.domain.ids import EntityId, IdRange, IngestId, ItemId, ProfileId
from corrigenda_core.domain.items import ItemKind, ItemStatus, ReviewItem
from corrigenda_core.domain.objects import EntityObject, Object
from corrigenda_core.domain.predicates import Predicate, PredicateLifecycle
from corrigenda_core.domain.submissions import EntityRef, ProposedEntity, ProposedValue
from corrigenda_core.domain.time import Instant
from corrigenda_core.persistence.ingest_store import SubmissionFacts
from corrigenda_core.persistence.question_store import kept_mentions
from corrigenda_core.policy.identity import (
    IdentityDecision,
    IdentityQuestion,
    NewEntity,
    ReusedEntity,
    decide_identities,
)
from corrigenda_core.policy.normalisation import decide_value

from corrigenda_ingest.submission import BoundRelationship, EntityAnswer, PreparedRelationship, PreparedSubmission


def bound_entities(
    prepared: PreparedSubmission,
    facts: SubmissionFacts,
    *,
    owner_id: ProfileId,
    ingest_id: IngestId,
    ids: IdRange,
    at: Instant,
) -> tuple[EntityAnswer, ...]:
    """What every mention means, in the order of the proposal; a question gets an item for its owner.

    Raises:
        Refusal: RESOURCE_NOT_FOUND or INVALID_FIELD for a known entity that cannot be meant.
    """
    mentions = {mention.ref: mention for mention in prepared.mentions}
    written = {entity.ref: entity.name for entity in prepared.given.entities}
    answers: dict[str, EntityAnswer] = {}
    decisions = decide_identities(prepared.mentions, facts.entities_of(prepared.mentions))
    meant = dict(_meant(decisions, ids))
    for number, decision in enumerate(decisions):
        new_id = ids.nth(number)
        item = None
        if isinstance(decision, IdentityQuestion):
            decision = _offering(decision, meant)
            asked = [one for one in prepared.given.entities if one.ref in decision.refs]
            item = _question(decision, asked, ItemId(new_id), owner_id=owner_id, ingest_id=ingest_id, at=at)
        for ref in decision.refs:
            answers[ref] = _answer(mentions[ref], written[ref], decision, facts, EntityId(new_id), item)
    return tuple(answers[mention.ref] for mention in prepared.mentions)


def _meant(decisions: Sequence[IdentityDecision], ids: IdRange) -> Iterator[tuple[MentionRef, EntityId]]:
    """The entity of every mention that is not asked about; new ones are there once the submission is."""
    for number, decision in enumerate(decisions):
        match decision:
            case NewEntity(refs=refs):
                yield from ((ref, EntityId(ids.nth(number))) for ref in refs)
            case ReusedEntity(refs=refs, entity_id=entity_id):
                yield from ((ref, entity_id) for ref in refs)
            case IdentityQuestion():
                pass


def _offering(question: IdentityQuestion, meant: Mapping[MentionRef, EntityId]) -> IdentityQuestion:
    """The question with the entities of the same request on offer that the mention may mean."""
    beside = {meant[ref] for ref in question.candidate_refs if ref in meant}
    return replace(question, candidates=tuple(sorted({*question.candidates, *beside})))


def _answer(
    mention: Mention,
    name: str,
    decision: NewEntity | ReusedEntity | IdentityQuestion,
    facts: SubmissionFacts,
    new_id: EntityId,
    item: ReviewItem | None,
) -> EntityAnswer:
    ref = mention.ref
    match decision:
        case NewEntity():
            return EntityAnswer(ref=ref, entity_id=new_id, kind=decision.kind, name=name, created=True)
        case ReusedEntity(entity_id=entity_id):
            shown = facts.names[entity_id]
            known = mention.known_entity_id is not None
            return EntityAnswer(ref=ref, entity_id=entity_id, kind=shown.kind, name=shown.name, known=known)
        case IdentityQuestion(candidates=candidates):
            return EntityAnswer(ref=ref, entity_id=None, kind=mention.kind, name=name, item=item, candidates=candidates)


def _question(
    decision: IdentityQuestion,
    mentions: Sequence[ProposedEntity],
    item_id: ItemId,
    *,
    owner_id: ProfileId,
    ingest_id: IngestId,
    at: Instant,
) -> ReviewItem:
    return ReviewItem(
        item_id=item_id,
        version=1,
        kind=ItemKind.IDENTITY,
        status=ItemStatus.PENDING,
        owner_id=owner_id,
        reason=decision.reason.value,
        ingest_id=ingest_id,
        details=(("candidates", " ".join(decision.candidates)), ("mentions", kept_mentions(mentions))),
        opened_at=at,
    )


def bound_relationships(
    prepared: PreparedSubmission, facts: SubmissionFacts, entities: tuple[EntityAnswer, ...]
) -> tuple[BoundRelationship, ...]:
    """Every proposed relationship with the predicate, subject and object that it means, as far as they are known.

    Raises:
        Refusal: PREDICATE_RETIRED; INVALID_FIELD for a kind or value type that the predicate does not take, and for a
            value without a normal form.
    """
    by_ref = {answer.ref: answer for answer in entities}
    return tuple(_bound(relationship, facts, by_ref) for relationship in prepared.relationships)


def _bound(
    relationship: PreparedRelationship, facts: SubmissionFacts, entities: Mapping[str, EntityAnswer]
) -> BoundRelationship:
    given, field = relationship.given, relationship.field
    predicate = facts.predicates.get(relationship.form)
    subject = entities[given.subject_ref]
    if predicate is not None:
        _require_usable(predicate, field)
        _require_kind(subject.kind, predicate.subject_kinds, f"{field}.subject_ref")
    bound_object: Object | None
    match given.object:
        case EntityRef(ref=ref):
            entity = entities[ref]
            if predicate is not None:
                _require_entity_object(entity.kind, predicate, f"{field}.object_ref")
            bound_object = None if entity.entity_id is None else EntityObject(entity_id=entity.entity_id)
        case ProposedValue() as value:
            if predicate is not None:
                _require_value_type(value, predicate, f"{field}.object_value")
            unit = predicate.unit if predicate is not None else ""
            bound_object = decide_value(value, predicate_unit=unit, field=f"{field}.object_value")
    return BoundRelationship(
        prepared=relationship, predicate=predicate, subject_id=subject.entity_id, object=bound_object
    )


def _require_usable(predicate: Predicate, field: str) -> None:
    if predicate.lifecycle is PredicateLifecycle.RETIRED:
        raise Refusal(
            Reason.PREDICATE_RETIRED,
            f"{predicate.key} takes no new statements",
            field=f"{field}.predicate",
            metadata={"predicate": predicate.key, "version": str(predicate.version)},
        )


def _require_kind(kind: str, allowed: tuple[str, ...], field: str) -> None:
    if allowed and kind not in allowed:
        raise Refusal(
            Reason.INVALID_FIELD,
            f"{field} is of kind {kind}, the predicate takes {', '.join(allowed)}",
            field=field,
            metadata={"offered": kind, "allowed": ", ".join(allowed)},
        )


def _require_entity_object(kind: str, predicate: Predicate, field: str) -> None:
    if predicate.value_types and not predicate.object_kinds:
        raise Refusal(Reason.INVALID_FIELD, f"{predicate.key} takes a value, not an entity", field=field)
    _require_kind(kind, predicate.object_kinds, field)


def _require_value_type(value: ProposedValue, predicate: Predicate, field: str) -> None:
    if not predicate.value_types:
        raise Refusal(Reason.INVALID_FIELD, f"{predicate.key} takes an entity, not a value", field=field)
    _require_kind(value.type.value, tuple(one.value for one in predicate.value_types), f"{field}.type")
