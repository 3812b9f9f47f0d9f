"""What waited for a decision, as a submission again: the same words and texts, bound to what is known of them now."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from corrigenda_core.domain.errors import Reason, Refusal
from corrigenda_core.domain.evidence import ScanVerdict
from corrigenda_core.domain.ids import EntityId, FragmentId, IdempotencyKey, ProposalId
from corrigenda_core.domain.submissions import (
    EntityRef,
    EvidenceInput,
    ProposedEntity,
    ProposedRelationship,
    ProposedValue,
    Submission,
)
from corrigenda_core.domain.time import TextSpan
from corrigenda_core.domain.verification import CitedSpan
from corrigenda_core.persistence.ingest_store import SubmissionFacts
from corrigenda_core.persistence.question_store import CitedFragment, DecidedObservation

from corrigenda_ingest.binding import bound_relationships
from corrigenda_ingest.preparation import prepared_submission
from corrigenda_ingest.submission import (
    BoundRelationship,
    EntityAnswer,
    FragmentAnswer,
    PreparedEvidence,
    PreparedSubmission,
)

_NO_KEY = IdempotencyKey("")


@dataclass(frozen=True, slots=True, kw_only=True)
class Waiting:
    """Observations that can be placed now, in the shape of a submission.

    ``observations`` run parallel to the proposed relationships, whose proposal ids are the observations' ids;
    ``fragments`` run parallel to the evidence.
    """

    observations: tuple[DecidedObservation, ...]
    prepared: PreparedSubmission
    fragments: tuple[FragmentAnswer, ...]
    entities: tuple[EntityAnswer, ...]

    def bound(self, facts: SubmissionFacts) -> tuple[BoundRelationship, ...]:
        """What the observations mean.

        Raises:
            Refusal: INVALID_FIELD or PREDICATE_RETIRED naming ``decision.predicate``, where the predicate does not take
                what they say.
        """
        try:
            bound = bound_relationships(self.prepared, facts, self.entities)
        except Refusal as refusal:
            raise Refusal(
                refusal.reason, refusal.message, field="decision.predicate", metadata=refusal.metadata
            ) from refusal
        return tuple(replace(one, prepared=replace(one.prepared, field="placement_item_id")) for one in bound)

    def as_said(self, facts: SubmissionFacts) -> tuple[BoundRelationship, ...]:
        """The same for the verifier: whoever decides that a phrase means a predicate has the text read with it.

        The phrase means it here and nowhere else; only an administrator gives a predicate another word.
        """
        return tuple(
            _in_the_words_of(one, observation.phrase)
            for one, observation in zip(self.bound(facts), self.observations, strict=True)
        )


def _in_the_words_of(bound: BoundRelationship, phrase: str) -> BoundRelationship:
    predicate = bound.predicate
    if predicate is None:
        return bound
    return replace(bound, predicate=replace(predicate, aliases=(*predicate.aliases, phrase)))


def waiting_submission(
    observations: Sequence[DecidedObservation],
    fragments: Mapping[FragmentId, CitedFragment],
    released: frozenset[FragmentId],
) -> Waiting:
    """The observations as a submission of the texts that they cite.

    Args:
        observations: bound ones, each with a predicate.
        fragments: the texts that they cite.
        released: quarantined texts that an administrator lets be read.

    Raises:
        Refusal: EVIDENCE_ERASED; new evidence can be brought for what an erased text said.
    """
    order = list(dict.fromkeys(cited for one in observations for cited, _ in one.cited))
    for fragment_id in order:
        if fragments[fragment_id].stored.erased:
            raise Refusal(Reason.EVIDENCE_ERASED, "the cited text was erased", metadata={"fragment_id": fragment_id})
    prepared = prepared_submission(
        Submission(
            evidence=tuple(_evidence(fragments[one]) for one in order),
            entities=tuple(entity for number, one in enumerate(observations) for entity in _entities(number, one)),
            relationships=tuple(
                _relationship(number, one, [(order.index(cited), span) for cited, span in one.cited])
                for number, one in enumerate(observations)
            ),
            idempotency_key=_NO_KEY,
        )
    )
    evidence = tuple(
        _let_read(one) if fragment_id in released else one
        for fragment_id, one in zip(order, prepared.evidence, strict=True)
    )
    prepared = replace(prepared, evidence=evidence)
    return Waiting(
        observations=tuple(observations),
        prepared=prepared,
        fragments=tuple(
            _fragment(index, fragments[fragment_id], evidence[index]) for index, fragment_id in enumerate(order)
        ),
        entities=_answers(prepared),
    )


def accepted_submission(
    one: DecidedObservation, evidence: Sequence[PreparedEvidence], fragments: Sequence[FragmentAnswer]
) -> Waiting:
    """What an observation says, as new evidence is to say it: every new text is cited as a whole."""
    given = tuple(item.given for item in evidence)
    cited = [(index, TextSpan(start=0, end=len(item.content))) for index, item in enumerate(given)]
    prepared = prepared_submission(
        Submission(
            evidence=given,
            entities=tuple(_entities(0, one)),
            relationships=(_relationship(0, one, cited),),
            idempotency_key=_NO_KEY,
        )
    )
    return Waiting(observations=(one,), prepared=prepared, fragments=tuple(fragments), entities=_answers(prepared))


def _answers(prepared: PreparedSubmission) -> tuple[EntityAnswer, ...]:
    return tuple(
        EntityAnswer(ref=given.ref, entity_id=given.known_entity_id, kind=mention.kind, name=given.name, known=True)
        for mention, given in zip(prepared.mentions, prepared.given.entities, strict=True)
    )


def _evidence(text: CitedFragment) -> EvidenceInput:
    stored = text.stored
    return EvidenceInput(
        content=text.content,
        source_type=stored.source_type,
        authority=stored.claimed_authority,
        source_group=stored.source_group,
        source_key=stored.source_key,
        source_revision=stored.source_revision,
        derived_from_fragment_ids=stored.derived_from_fragment_ids,
        occurred_at=stored.occurred_at,
        labels=text.labels,
    )


def _let_read(evidence: PreparedEvidence) -> PreparedEvidence:
    """A released text deserves care still, and is read."""
    return replace(evidence, scan=replace(evidence.scan, verdict=ScanVerdict.GUARDED))


def _fragment(index: int, text: CitedFragment, evidence: PreparedEvidence) -> FragmentAnswer:
    stored = text.stored
    return FragmentAnswer(
        index=index,
        fragment_id=stored.fragment_id,
        is_new=False,
        source_type=stored.source_type,
        authority=stored.claimed_authority,
        scan=evidence.scan,
        occurred_at=stored.occurred_at,
        inherited_labels=stored.inherited_labels,
        derived_from_fragment_ids=stored.derived_from_fragment_ids,
        retired=stored.retired is not None,
    )


def _entities(number: int, one: DecidedObservation) -> list[ProposedEntity]:
    """Its mentions under refs of their own: those of two submissions may be called the same."""
    return [
        replace(mention, ref=_ref(number, mention.ref), known_entity_id=_known(one, mention.ref))
        for mention in one.mentions
    ]


def _ref(number: int, ref: str) -> str:
    return f"{number}:{ref}"


def _known(one: DecidedObservation, ref: str) -> EntityId | None:
    return one.subject_id if ref == one.subject_ref else one.object_id


def _relationship(number: int, one: DecidedObservation, cited: Sequence[tuple[int, TextSpan]]) -> ProposedRelationship:
    named: EntityRef | ProposedValue | None = one.value
    if one.object_ref is not None:
        named = EntityRef(ref=_ref(number, one.object_ref))
    if named is None or one.predicate is None:
        raise ValueError("an observation that is placed names its predicate and its object")
    return ProposedRelationship(
        proposal_id=ProposalId(one.observation_id),
        subject_ref=_ref(number, one.subject_ref),
        predicate=one.predicate,
        object=named,
        polarity=one.polarity,
        modality=one.modality,
        valid_from=one.stated_from,
        valid_to=one.stated_to,
        scope=one.scope,
        spans=tuple(CitedSpan(evidence_index=index, span=span) for index, span in cited),
        comment=one.comment,
        correction_target=one.correction_target,
    )
