"""The extractor that needs no model: simple sentences over registered predicates and their aliases.

It proposes a statement only if a sentence names a subject, a registered phrase and an object in this order, if the
predicate leaves no doubt of which kind the two are, and if the verifier by rule reads the sentence the same way.
Pronouns, "our" and "a" name nothing by themselves; questions, plans, hedges, quotations and reports state nothing.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from corrigenda_core.domain.errors import Refusal
from corrigenda_core.domain.ids import ProposalId
from corrigenda_core.domain.objects import Polarity, ValueObject, ValueType
from corrigenda_core.domain.predicates import Predicate, RelationshipKind
from corrigenda_core.domain.submissions import EntityRef, ProposedEntity, ProposedRelationship, ProposedValue
from corrigenda_core.domain.time import TextSpan
from corrigenda_core.domain.verification import CitedSpan, VerificationVerdict
from corrigenda_core.policy.limits import decide_limit
from corrigenda_core.policy.normalisation import decide_text_form, decide_value
from corrigenda_core.ports.providers import (
    ExtractionRequest,
    ExtractorAnswer,
    MentionedEntity,
    PredicateWords,
    ProposalToVerify,
    ProviderFailed,
    VerificationRequest,
)
from corrigenda_core.providers.local.forms import kind_words, phrases
from corrigenda_core.providers.local.mentions import Passage, object_behind, subject_before, values_behind
from corrigenda_core.providers.local.sentences import Range
from corrigenda_core.providers.local.text import read_text
from corrigenda_core.providers.local.times import MAX_STEPS, Effort, TextTimes, TimeReader, TooMuchToRead
from corrigenda_core.providers.verifier_local import MAX_INLINE_CODE_POINTS, LocalVerifier
from corrigenda_core.time_zones import team_zone

NAME = "local-rules/1"
MAX_PROPOSALS = 100
MAX_SENTENCE_WORDS = 96
"""A longer sentence is not read."""


class LocalExtractor:
    """Reads submissions by rule; the same request always gets the same answer."""

    def __init__(self, read_times: TimeReader, *, max_steps: int = MAX_STEPS) -> None:
        self._read_times = read_times
        self._max_steps = max_steps
        self._verifier = LocalVerifier(read_times, max_steps=max_steps)

    async def extract(self, request: ExtractionRequest, *, problems: tuple[str, ...] = ()) -> ExtractorAnswer:
        """Reads one submission.

        Raises:
            ProviderFailed: it is asked again, and would only give the answer that was refused.
        """
        if problems:
            raise ProviderFailed("rules give the same answer to the same request")
        size = sum(len(text.content) for text in request.evidence)
        if size * max(1, len(request.predicates)) <= MAX_INLINE_CODE_POINTS:
            return self.read(request)
        return await asyncio.to_thread(self.read, request)

    async def close(self) -> None:
        """Nothing to release."""

    def read(self, request: ExtractionRequest) -> ExtractorAnswer:
        """The answer, computed on the calling thread."""
        candidates: list[_Candidate] = []
        try:
            for candidate in self._candidates(request):
                candidates.append(candidate)
                if len(candidates) == MAX_PROPOSALS:
                    break
        except TooMuchToRead:
            # What was found so far stands by itself.
            pass
        return _answer(self._entailed(request, _longest(candidates)))

    def _candidates(self, request: ExtractionRequest) -> Iterator[_Candidate]:
        usable = [predicate for predicate in request.predicates if _is_plain(predicate)]
        forms = [(predicate, phrases(_words_of(predicate))) for predicate in usable]
        effort = Effort(self._max_steps)
        zone = team_zone(request.time_zone)
        for index, evidence in enumerate(request.evidence):
            text = read_text(evidence.content)
            times = TextTimes(text, self._read_times, zone, effort)
            for predicate, known in forms:
                for phrase in known:
                    for at in text.places.get(phrase.words[0], ()):
                        effort.spend(1)
                        place = Range(first=at, last=at + len(phrase.words))
                        if not text.matches(phrase.words, at):
                            continue
                        passage = Passage(text=text, times=times, sentence=text.sentences[text.sentence_of[at]])
                        yield from _read(passage, index, predicate, place)

    def _entailed(self, request: ExtractionRequest, candidates: Sequence[_Candidate]) -> list[_Candidate]:
        """Those that the verifier reads the same way; what it reads as denied is proposed as a denial."""
        read = self._verified(request, candidates)
        kept: list[_Candidate | None] = [
            one if verdict is VerificationVerdict.ENTAILED else None
            for one, verdict in zip(candidates, read, strict=True)
        ]
        denied = {
            number: replace(one, polarity=Polarity.NEGATIVE)
            for number, (one, verdict) in enumerate(zip(candidates, read, strict=True))
            if verdict is VerificationVerdict.CONTRADICTED
        }
        again = self._verified(request, list(denied.values()))
        for (number, one), verdict in zip(denied.items(), again, strict=True):
            if verdict is VerificationVerdict.ENTAILED:
                kept[number] = one
        return [one for one in kept if one is not None]

    def _verified(self, request: ExtractionRequest, candidates: Sequence[_Candidate]) -> list[VerificationVerdict]:
        answer = self._verifier.read(
            VerificationRequest(
                evidence=request.evidence,
                proposals=tuple(one.to_verify(number) for number, one in enumerate(candidates)),
                time_zone=request.time_zone,
            )
        )
        return [finding.verdict for finding in answer.findings]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Candidate:
    """What one sentence may state; ``phrase`` are the words of the predicate in the text."""

    evidence_index: int
    span: TextSpan
    phrase: Range
    predicate: Predicate
    subject: str
    object: str | ValueObject
    polarity: Polarity = Polarity.POSITIVE

    def to_verify(self, number: int) -> ProposalToVerify:
        """The same as the verifier is asked about it."""
        return ProposalToVerify(
            proposal_id=ProposalId(str(number)),
            subject=MentionedEntity(names=(self.subject,), kind=self.predicate.subject_kinds[0]),
            predicate=_words_of(self.predicate),
            object=self.object
            if isinstance(self.object, ValueObject)
            else MentionedEntity(names=(self.object,), kind=self.predicate.object_kinds[0]),
            polarity=self.polarity,
            cited=(CitedSpan(evidence_index=self.evidence_index, span=self.span),),
        )


def _is_plain(predicate: Predicate) -> bool:
    """Whether a predicate says of which kind its subject and its object are; nothing is guessed where it does not."""
    objects = len(predicate.object_kinds) + len(predicate.value_types)
    return len(predicate.subject_kinds) == 1 and objects == 1


def _words_of(predicate: Predicate) -> PredicateWords:
    return PredicateWords(
        key=predicate.key, aliases=predicate.aliases, is_event=predicate.kind is RelationshipKind.EVENT
    )


def _read(passage: Passage, index: int, predicate: Predicate, phrase: Range) -> Iterator[_Candidate]:
    sentence, words = passage.sentence, passage.text.words
    if phrase.last >= sentence.last or sentence.last - sentence.first > MAX_SENTENCE_WORDS or sentence.is_question:
        return
    subject = subject_before(passage, phrase.first, _kind(predicate.subject_kinds[0]))
    if subject is None:
        return
    candidate = _Candidate(
        evidence_index=index,
        span=TextSpan(start=words[sentence.first].start, end=words[sentence.last - 1].end),
        phrase=phrase,
        predicate=predicate,
        subject=subject,
        object="",
    )
    if predicate.object_kinds:
        name = object_behind(passage, phrase.last, _kind(predicate.object_kinds[0]))
        if name is not None:
            yield replace(candidate, object=name)
        return
    value = _value(passage, phrase, predicate)
    if value is not None:
        yield replace(candidate, object=value)


def _kind(kind: str) -> frozenset[str]:
    return kind_words(MentionedEntity(names=(), kind=kind))


def _value(passage: Passage, phrase: Range, predicate: Predicate) -> ValueObject | None:
    """The longest run of words behind the predicate that is a value of its type."""
    (value_type,) = predicate.value_types
    with_times = value_type in (ValueType.DATE, ValueType.INSTANT)
    for text in values_behind(passage, phrase.last, with_times=with_times):
        if len(text) > decide_limit("name").greatest:
            continue
        try:
            return decide_value(
                ProposedValue(type=value_type, text=text), predicate_unit=predicate.unit, field="object_value"
            )
        except Refusal:
            continue
    return None


def _longest(candidates: Sequence[_Candidate]) -> list[_Candidate]:
    """Without those whose predicate is a part of a longer one at the same place: "deploys" of "deploys from"."""
    return [
        one
        for one in candidates
        if not any(
            other.evidence_index == one.evidence_index
            and other.phrase != one.phrase
            and other.phrase.first <= one.phrase.first
            and one.phrase.last <= other.phrase.last
            for other in candidates
        )
    ]


def _answer(stated: Sequence[_Candidate]) -> ExtractorAnswer:
    """The proposal: every entity once by kind and normal form, every statement of a text once."""
    entities: dict[tuple[str, str], ProposedEntity] = {}
    relationships: dict[tuple[object, ...], ProposedRelationship] = {}
    limit = decide_limit("entities_per_proposal").greatest

    def ref(name: str, kind: str) -> str:
        known = entities.setdefault(
            (kind, decide_text_form(name)), ProposedEntity(ref=f"e{len(entities) + 1}", name=name, kind=kind)
        )
        return known.ref

    for one in sorted(stated, key=lambda each: (each.evidence_index, each.span.start, each.phrase.first)):
        if len(entities) + 2 > limit:
            break
        subject_ref = ref(one.subject, one.predicate.subject_kinds[0])
        found: EntityRef | ProposedValue
        if isinstance(one.object, ValueObject):
            found = ProposedValue(type=one.object.type, text=one.object.display)
        else:
            found = EntityRef(ref=ref(one.object, one.predicate.object_kinds[0]))
        key = (one.evidence_index, one.span, subject_ref, one.predicate.key, found, one.polarity)
        relationships.setdefault(
            key,
            ProposedRelationship(
                proposal_id=ProposalId(f"x{len(relationships) + 1}"),
                subject_ref=subject_ref,
                predicate=one.predicate.key,
                object=found,
                polarity=one.polarity,
                spans=(CitedSpan(evidence_index=one.evidence_index, span=one.span),),
            ),
        )
    return ExtractorAnswer(
        extractor=NAME, entities=tuple(entities.values()), relationships=tuple(relationships.values())
    )
