"""What is loaded for an adoption: the text, the owner's relationship, and the words by which both are compared."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from corrigenda_core.domain.actors import Actor, ActorKind, Caller, KeyScope
from corrigenda_core.domain.errors import Reason, Refusal, missing
from corrigenda_core.domain.evidence import Authority, ScanVerdict
from corrigenda_core.domain.ids import EntityId, FragmentId, ProfileId, ProposalId, RelationshipId, TeamId
from corrigenda_core.domain.objects import EntityObject, ValueObject
from corrigenda_core.domain.predicates import Predicate, RelationshipKind
from corrigenda_core.domain.relationships import Relationship
from corrigenda_core.domain.sources import SourceClaim
from corrigenda_core.domain.time import Instant
from corrigenda_core.domain.verification import CitedSpan
from corrigenda_core.persistence.database import Row
from corrigenda_core.persistence.ingest_store import FactQueries, SubmissionFacts
from corrigenda_core.persistence.named_sql import Query, load_sql
from corrigenda_core.persistence.row_values import spans_of
from corrigenda_core.policy.adoption import CarriedByText
from corrigenda_core.policy.authorization import Verb, may_change
from corrigenda_core.policy.names import decide_evident_names
from corrigenda_core.policy.normalisation import decide_text_form
from corrigenda_core.ports.providers import (
    EvidenceText,
    MentionedEntity,
    PredicateWords,
    ProposalToVerify,
    VerificationRequest,
)

ADOPTED = ProposalId("adopted")


@dataclass(frozen=True, slots=True, kw_only=True)
class AdoptableText:
    """A text of a profile, with what counting witnesses and granting authority read of it."""

    fragment_id: FragmentId
    author_name: str
    content: str
    content_hash: str | None
    claimed: Authority
    claim: SourceClaim
    scopes: frozenset[KeyScope]
    inherited_labels: tuple[str, ...]
    derived_from_fragment_ids: tuple[FragmentId, ...]
    occurred_at: Instant | None

    @property
    def author(self) -> ProfileId:
        """Who wrote it."""
        return self.claim.author


def text_queries(team_id: TeamId, fragment_id: FragmentId) -> list[Query]:
    """The queries for a text and for what its author states on it."""
    sql = load_sql("sources.sql")
    return [
        sql.query("adoptable_fragment", team_id=team_id, fragment_id=fragment_id),
        sql.query("carried_by_text", team_id=team_id, fragment_id=fragment_id),
    ]


def adoptable_text(answers: Mapping[str, list[Row]], fragment_id: FragmentId, *, adopter: ProfileId) -> AdoptableText:
    """The text, if the adopter can see it and may stand on it.

    Raises:
        Refusal: RESOURCE_NOT_FOUND, also for a text that is quarantined; EVIDENCE_ERASED; INVALID_FIELD for the
            adopter's own text and for one that supports nothing any more.
    """
    row = next(iter(answers["adoptable_fragment"]), None)
    if row is None or (ScanVerdict(row["scan_verdict"]) is ScanVerdict.QUARANTINED and not row["released"]):
        raise missing("fragment", fragment_id, field="fragment_id")
    if row["erased"]:
        raise Refusal(
            Reason.EVIDENCE_ERASED, "the text was erased", field="fragment_id", metadata={"fragment_id": fragment_id}
        )
    if row["erased"]:
        raise Refusal(
            Reason.EVIDENCE_ERASED,
            "the evidence was erased",
            field="fragment_id",
            metadata={"fragment_id": fragment_id},
        )
    if row["author_id"] == adopter:
        raise Refusal(Reason.INVALID_FIELD, "an own text is submitted, not adopted", field="fragment_id")
    if row["retired"]:
        raise Refusal(
            Reason.INVALID_FIELD,
            "the text supports nothing any more: its source has left it behind",
            field="fragment_id",
        )
    return AdoptableText(
        fragment_id=fragment_id,
        author_name=row["author_name"],
        content=row["content"],
        content_hash=None if row["normal_sha256"] is None else bytes(row["normal_sha256"]).hex(),
        claimed=Authority(row["claimed_authority"]),
        claim=SourceClaim(
            author=row["author_id"],
            source_group=row["source_group"],
            source_key=row["source_key"],
            source_revision=row["source_revision"],
        ),
        scopes=frozenset({KeyScope.ASSERT_AUTHORITY}) if row["granted_by_key"] else frozenset(),
        inherited_labels=tuple(row["inherited_labels"]),
        derived_from_fragment_ids=tuple(row["derived_from_fragment_ids"]),
        occurred_at=row["occurred_at"],
    )


def carried_by_text(answers: Mapping[str, list[Row]]) -> list[CarriedByText]:
    """What the text's author states on it."""
    return [
        CarriedByText(relationship_id=row["relationship_id"], spans=spans_of(row)) for row in answers["carried_by_text"]
    ]


def own_relationship(facts: SubmissionFacts, relationship_id: RelationshipId, caller: Caller) -> Relationship:
    """The relationship that is to stand on a text, if it is the caller's.

    Raises:
        Refusal: RESOURCE_NOT_FOUND, NOT_OWNER.
    """
    row = facts.targets.get(relationship_id)
    if row is None:
        raise missing("relationship", relationship_id, field="relationship_id")
    actor = Actor(kind=ActorKind.PROFILE, profile_id=caller.profile_id)
    may_change(actor, row.owner_id, Verb.ADOPT_EVIDENCE, resource_type="relationship", resource_id=row.relationship_id)
    return row


def named_facts(caller: Caller, row: Relationship, text: AdoptableText) -> FactQueries:
    """The queries for what a relationship and a text name: the predicate, the entities, the source."""
    return FactQueries(
        team_id=caller.team_id,
        profile_id=caller.profile_id,
        forms={row.slot.predicate},
        known_entity_ids=entity_ids_of(row),
        target_ids={row.relationship_id},
        source_groups={one for one in (text.claim.source_group,) if one is not None},
        source_keys={one for one in (text.claim.source_key,) if one is not None},
    )


def entity_ids_of(row: Relationship) -> set[EntityId]:
    """The entities of a relationship."""
    ends = {row.slot.subject_id}
    return ends | {row.object.entity_id} if isinstance(row.object, EntityObject) else ends


def verification_of(
    row: Relationship, text: AdoptableText, passages: tuple[CitedSpan, ...], facts: SubmissionFacts
) -> VerificationRequest:
    """Asks whether the passages say what the relationship says."""
    predicate = facts.predicates[row.slot.predicate]
    return VerificationRequest(
        evidence=(EvidenceText(content=text.content, occurred_at=text.occurred_at),),
        proposals=(
            ProposalToVerify(
                proposal_id=ADOPTED,
                subject=_mentioned(row.slot.subject_id, text, facts),
                predicate=_words(predicate),
                object=row.object
                if isinstance(row.object, ValueObject)
                else _mentioned(row.object.entity_id, text, facts),
                polarity=row.polarity,
                cited=passages,
            ),
        ),
        time_zone=facts.policy.time_zone,
    )


def _words(predicate: Predicate) -> PredicateWords:
    return PredicateWords(
        key=predicate.key, aliases=predicate.aliases, is_event=predicate.kind is RelationshipKind.EVENT
    )


def _mentioned(entity_id: EntityId, text: AdoptableText, facts: SubmissionFacts) -> MentionedEntity:
    """An entity by the names that the text may call it, as the adopter knows it."""
    entity = next(one for one in facts.entities if one.entity_id == entity_id)
    shown = facts.names[entity_id].name
    others = sorted(entity.names - {decide_text_form(shown)})
    return MentionedEntity(
        names=decide_evident_names(
            (shown, *others), team_names=entity.team_names, texts=[decide_text_form(text.content)]
        ),
        kind=entity.kind,
        known_entity_id=entity_id,
    )
