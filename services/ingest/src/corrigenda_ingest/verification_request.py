"""What the verifier sees of a submission: its texts, its proposals with known predicates, and offered candidates."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from corrigenda_core.domain.evidence import ScanVerdict
from corrigenda_core.domain.objects import ValueObject
from corrigenda_core.domain.predicates import Predicate, RelationshipKind
from corrigenda_core.domain.submissions import EntityRef
from corrigenda_core.domain.verification import Modality
from corrigenda_core.persistence.ingest_store import SubmissionFacts
from corrigenda_core.policy.names import decide_evident_names
from corrigenda_core.ports.providers import (
    EvidenceText,
    MentionedEntity,
    OfferedCandidate,
    PredicateWords,
    ProposalToVerify,
    VerificationRequest,
)

from corrigenda_ingest.submission import BoundRelationship, EntityAnswer, PreparedSubmission


def verification_request(
    prepared: PreparedSubmission,
    entities: Sequence[EntityAnswer],
    bound: Sequence[BoundRelationship],
    facts: SubmissionFacts,
    *,
    told: Sequence[str] = (),
) -> VerificationRequest:
    """The one request of a submission; ``entities`` are its mentions in their order, bound.

    ``told`` are texts in normal form that came later, with a decision which says who is meant: the verifier does not
    see them, and they too may tell that two names are one entity's.

    Proposals of another modality stay observations, those with an unknown predicate or quarantined text wait: none of
    them is verified.
    """
    mentions = {
        answer.ref: _mentioned(number, entities, facts, prepared, told) for number, answer in enumerate(entities)
    }
    return VerificationRequest(
        evidence=tuple(
            EvidenceText(content=item.given.content, occurred_at=item.given.occurred_at) for item in prepared.evidence
        ),
        proposals=tuple(
            _proposal(one, one.predicate, mentions)
            for one in bound
            if one.predicate is not None and _is_verified(one, prepared, facts)
        ),
        time_zone=facts.policy.time_zone,
    )


def _is_verified(bound: BoundRelationship, prepared: PreparedSubmission, facts: SubmissionFacts) -> bool:
    released = {(one.content_sha256, one.source_group) for one in facts.own_fragments if one.released}
    cited = [prepared.evidence[index] for index in bound.cited_indexes]
    quarantined = any(
        one.scan.verdict is ScanVerdict.QUARANTINED and (one.content_sha256, one.given.source_group) not in released
        for one in cited
    )
    return bound.prepared.given.modality is Modality.STATEMENT and not quarantined


def _proposal(
    bound: BoundRelationship, predicate: Predicate, mentions: Mapping[str, MentionedEntity]
) -> ProposalToVerify:
    given = bound.prepared.given
    return ProposalToVerify(
        proposal_id=given.proposal_id,
        subject=mentions[given.subject_ref],
        predicate=PredicateWords(
            key=predicate.key, aliases=predicate.aliases, is_event=predicate.kind is RelationshipKind.EVENT
        ),
        object=_object(bound, mentions),
        polarity=given.polarity,
        modality=given.modality,
        cited=given.spans,
    )


def _object(bound: BoundRelationship, mentions: Mapping[str, MentionedEntity]) -> MentionedEntity | ValueObject:
    given = bound.prepared.given.object
    if isinstance(given, EntityRef):
        return mentions[given.ref]
    if not isinstance(bound.object, ValueObject):
        raise TypeError("a proposed value is bound to a value")
    return bound.object


def _mentioned(
    number: int,
    entities: Sequence[EntityAnswer],
    facts: SubmissionFacts,
    prepared: PreparedSubmission,
    told: Sequence[str],
) -> MentionedEntity:
    mention, given, answer = prepared.mentions[number], prepared.given.entities[number], entities[number]
    stored = facts.entity(answer.entity_id)
    # A new entity is created with the name of its first mention.
    creating = next(
        (place for place, other in enumerate(entities) if answer.created and other.entity_id == answer.entity_id),
        number,
    )
    team_names = frozenset({prepared.mentions[creating].name}) if stored is None else stored.team_names
    return MentionedEntity(
        names=decide_evident_names(
            (given.name, *given.aliases),
            team_names=team_names,
            texts=[*(one.normal_text for one in prepared.evidence), *told],
        ),
        kind=given.kind,
        known_entity_id=given.known_entity_id,
        candidates=tuple(
            OfferedCandidate(entity_id=one.entity_id, names=tuple(sorted(one.team_names)))
            for one in facts.entities_of([mention])
            if one.kind == mention.kind and not one.names.isdisjoint(mention.names)
        ),
    )
