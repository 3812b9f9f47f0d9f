"""Believes no extractor: checks every proposal strictly and asks again, with the reason, a bounded number of times."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Mapping
from dataclasses import dataclass

from corrigenda_core.domain.errors import Refusal
from corrigenda_core.domain.objects import Polarity, ValueType
from corrigenda_core.domain.predicates import Predicate
from corrigenda_core.domain.submissions import EntityRef, ProposedEntity, ProposedRelationship, ProposedValue
from corrigenda_core.domain.verification import Modality
from corrigenda_core.policy.kept_text import is_kept_as_it_is
from corrigenda_core.policy.limits import decide_limit, is_within
from corrigenda_core.policy.normalisation import decide_text_form, decide_value
from corrigenda_core.ports.deadline import NO_DEADLINE, Deadline
from corrigenda_core.ports.providers import ExtractionRequest, Extractor, ExtractorAnswer
from corrigenda_core.providers.asking import MAX_PROBLEMS, MAX_RETRIES, NOT_KEPT, Asking, NoAnswer, Patience
from corrigenda_core.providers.metrics import Observe, unobserved

MAX_EXTRACTOR_NAME_CODE_POINTS = 128


@dataclass(frozen=True, slots=True, kw_only=True)
class ExtractorUnavailable:
    """No usable proposal: what was wrong with the last one, and how often the extractor was called."""

    problems: tuple[str, ...]
    calls: int


class ValidatedExtractor:
    """Any extractor, made safe to use: its proposals are checked, its failures are values."""

    def __init__(
        self,
        extractor: Extractor,
        *,
        call_timeout_seconds: float,
        retries: int = MAX_RETRIES,
        observe: Observe = unobserved,
    ) -> None:
        self._extractor = extractor
        self._patience = Patience(call_timeout_seconds=call_timeout_seconds, retries=retries)
        self._observe = observe

    async def extract(
        self, request: ExtractionRequest, deadline: Deadline = NO_DEADLINE
    ) -> ExtractorAnswer | ExtractorUnavailable:
        """One call for the whole submission, and a few more with the reason if a proposal is refused.

        Without a text that may be read, or a predicate to use, there is nothing to propose and no call.
        """
        if not request.predicates or not any(text.content for text in request.evidence):
            return ExtractorAnswer(extractor="")
        asking = Asking(
            call=lambda problems: self._extractor.extract(request, problems=problems),
            check=lambda answer: find_extraction_problems(request, answer),
            patience=self._patience,
            observe=self._observe,
        )
        outcome = await asking.answer(deadline)
        if isinstance(outcome, NoAnswer):
            return ExtractorUnavailable(problems=outcome.problems, calls=outcome.calls)
        return outcome

    async def close(self) -> None:
        """Releases the extractor."""
        await self._extractor.close()


def find_extraction_problems(request: ExtractionRequest, answer: ExtractorAnswer) -> tuple[str, ...]:
    """What is wrong with a proposal, in words that a model can act on; empty if it is valid.

    The words name places and figures and quote nothing of the answer. At most `MAX_PROBLEMS` are listed.
    """
    return tuple(problem for problem, _ in zip(_problems(request, answer), range(MAX_PROBLEMS), strict=False))


def _problems(request: ExtractionRequest, answer: ExtractorAnswer) -> Iterator[str]:
    if not 0 < len(answer.extractor) <= MAX_EXTRACTOR_NAME_CODE_POINTS:
        yield f"extractor must name itself in 1..{MAX_EXTRACTOR_NAME_CODE_POINTS} code points"
    if not is_kept_as_it_is(answer.extractor):
        yield f"the name of the extractor {NOT_KEPT}"
    for name, items in (
        ("entities_per_proposal", answer.entities),
        ("relationships_per_proposal", answer.relationships),
    ):
        if len(items) > decide_limit(name).greatest:
            yield f"at most {decide_limit(name).greatest} {name.partition('_')[0]} are taken, not {len(items)}"
            return
    entities = {entity.ref: entity for entity in answer.entities}
    if len(entities) < len(answer.entities):
        yield "every ref of an entity must be given once"
    if len({one.proposal_id for one in answer.relationships}) < len(answer.relationships):
        yield "every proposal_id must be given once"
    for number, entity in enumerate(answer.entities):
        for problem in _entity_problems(entity):
            yield f"entities[{number}]: {problem}"
    predicates: dict[str, Predicate] = {predicate.key: predicate for predicate in request.predicates}
    for number, relationship in enumerate(answer.relationships):
        for problem in _relationship_problems(request, predicates, entities, relationship):
            yield f"relationships[{number}]: {problem}"
    used = {ref for one in answer.relationships for ref in _refs(one)}
    for number, entity in enumerate(answer.entities):
        if entity.ref not in used:
            yield f"entities[{number}]: no relationship uses it"


def _entity_problems(entity: ProposedEntity) -> Iterator[str]:
    for limit, text in (("reference_name", entity.ref), ("name", entity.name), ("entity_kind", entity.kind)):
        if not is_within(decide_limit(limit), len(text)):
            yield f"{limit} must have 1..{decide_limit(limit).greatest} code points"
        # The normal forms that are compared below have no such characters, and what is stored would.
        if not is_kept_as_it_is(text):
            yield f"{limit} {NOT_KEPT}"
    if not decide_text_form(entity.name) or not decide_text_form(entity.kind):
        yield "name and kind must have something visible in them"
    if entity.aliases or entity.context or entity.known_entity_id is not None:
        yield "only a name and a kind may be given"


def _relationship_problems(
    request: ExtractionRequest,
    predicates: Mapping[str, Predicate],
    entities: Mapping[str, ProposedEntity],
    one: ProposedRelationship,
) -> Iterator[str]:
    if not is_within(decide_limit("reference_name"), len(one.proposal_id)):
        yield f"proposal_id must have 1..{decide_limit('reference_name').greatest} code points"
    if not is_kept_as_it_is(one.proposal_id):
        yield f"proposal_id {NOT_KEPT}"
    if not isinstance(one.polarity, Polarity) or not isinstance(one.modality, Modality):
        yield "polarity and modality must be of the given ones"
    said = (one.scope, one.comment, one.valid_from, one.valid_to, one.correction_target, one.conflict_context)
    if any(said):
        yield "scope, validity, comment, correction and conflict are the author's to state"
    spans_fit = yield from _span_problems(request, one)
    predicate = predicates.get(one.predicate)
    if predicate is None:
        yield "the predicate is none of those offered"
    for ref in _refs(one):
        if ref not in entities:
            yield "a ref names no entity of the proposal"
        elif spans_fit and not _is_named(request, one, entities[ref].name):
            yield "the name of an entity must stand in the cited text"
    if predicate is not None:
        yield from _kind_problems(predicate, entities, one)


def _span_problems(request: ExtractionRequest, one: ProposedRelationship) -> Generator[str, None, bool]:
    """The problems of the cited spans; the generator's own value says whether there are none."""
    fits = True
    if not is_within(decide_limit("evidence_refs_per_relationship"), len(one.spans)):
        fits = False
        yield f"1..{decide_limit('evidence_refs_per_relationship').greatest} passages must be cited"
    for cited in one.spans:
        if cited.evidence_index >= len(request.evidence):
            fits = False
            yield f"evidence_index must be 0..{len(request.evidence) - 1}"
        elif cited.span.end > len(request.evidence[cited.evidence_index].content):
            fits = False
            yield "a cited passage must lie inside its text"
    return fits


def _is_named(request: ExtractionRequest, one: ProposedRelationship, name: str) -> bool:
    form = decide_text_form(name)
    return any(
        form in decide_text_form(request.evidence[cited.evidence_index].content[cited.span.start : cited.span.end])
        for cited in one.spans
    )


def _kind_problems(
    predicate: Predicate, entities: Mapping[str, ProposedEntity], one: ProposedRelationship
) -> Iterator[str]:
    subject = entities.get(one.subject_ref)
    if subject is not None and not _takes(predicate.subject_kinds, subject.kind):
        yield f"the subject must be of kind {' or '.join(predicate.subject_kinds)}"
    match one.object:
        case EntityRef(ref=ref):
            if predicate.value_types and not predicate.object_kinds:
                yield "the predicate takes a value, not an entity"
            elif ref in entities and not _takes(predicate.object_kinds, entities[ref].kind):
                yield f"the object must be of kind {' or '.join(predicate.object_kinds)}"
        case ProposedValue() as value:
            yield from _value_problems(predicate, value)


def _takes(kinds: tuple[str, ...], kind: str) -> bool:
    return not kinds or decide_text_form(kind) in kinds


def _value_problems(predicate: Predicate, value: ProposedValue) -> Iterator[str]:
    if value.type not in predicate.value_types or not isinstance(value.type, ValueType):
        taken = " or ".join(predicate.value_types) or "none: it takes an entity"
        yield f"the type of the value must be {taken}"
        return
    if not is_within(decide_limit("name"), len(value.text)):
        yield f"a value must have 1..{decide_limit('name').greatest} code points"
        return
    if not is_kept_as_it_is(value.text) or not is_kept_as_it_is(value.unit):
        yield f"a value {NOT_KEPT}"
        return
    try:
        decide_value(value, predicate_unit=predicate.unit, field="object_value")
    except Refusal:
        yield f"the value is no {value.type.value}"


def _refs(one: ProposedRelationship) -> tuple[str, ...]:
    return (one.subject_ref, one.object.ref) if isinstance(one.object, EntityRef) else (one.subject_ref,)
