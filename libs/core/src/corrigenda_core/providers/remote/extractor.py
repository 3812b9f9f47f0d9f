"""The extractor of a model service: one call a submission, its proposals read as hostile input."""

from __future__ import annotations

from typing import Literal

from corrigenda_core.domain.ids import ProposalId
from corrigenda_core.domain.objects import Polarity, ValueType
from corrigenda_core.domain.predicates import Predicate
from corrigenda_core.domain.submissions import EntityRef, ProposedEntity, ProposedRelationship, ProposedValue
from corrigenda_core.domain.verification import CitedSpan, Modality
from corrigenda_core.ports.providers import ExtractionRequest, ExtractorAnswer, UnusableAnswer
from corrigenda_core.providers.remote.chat import StructuredChat, Wire
from corrigenda_core.providers.remote.endpoint import Endpoint
from corrigenda_core.providers.remote.quotes import find_quote

INSTRUCTIONS = """
You list what texts say, in terms of the given predicates and of nothing else. Propose a relationship only if one
passage of one text plainly says it; do not guess, conclude, or add what you know. No relationship is a good answer.
"entities": each entity once, with a ref of your choice, its name as the text writes it, and a kind that the predicate
takes. "relationships": "predicate" is the key of a given predicate; either "object_ref" or "value" is set, the other is
null; "polarity" is "-" if the passage denies it; "modality" says how the passage says it; "quote" is the whole sentence
that says it, copied exactly from the text at "evidence_index", and must stand in that text only once.
"""
NAME = "openai-compatible/1"
MAX_NAME_CODE_POINTS = 96
MAX_OFFERED_PREDICATES = 200


class EntityWire(Wire):
    """An entity that a text names."""

    ref: str
    name: str
    kind: str


class ValueWire(Wire):
    """A value that a text states."""

    type: Literal["text", "number", "boolean", "date", "instant"]
    text: str


class RelationshipWire(Wire):
    """One thing that a text says."""

    subject_ref: str
    predicate: str
    object_ref: str | None
    value: ValueWire | None
    polarity: Literal["+", "-"]
    modality: Literal["statement", "question", "plan", "speculation", "quotation"]
    evidence_index: int
    quote: str


class ExtractorWire(Wire):
    """The extractor's answer."""

    entities: list[EntityWire]
    relationships: list[RelationshipWire]


class RemoteExtractor:
    """Asks a model of an OpenAI-compatible service."""

    def __init__(self, endpoint: Endpoint, *, model: str) -> None:
        self._chat = StructuredChat(endpoint, model=model, instructions=INSTRUCTIONS, answer=ExtractorWire)

    async def extract(self, request: ExtractionRequest, *, problems: tuple[str, ...] = ()) -> ExtractorAnswer:
        """Reads one submission in one call; a team with very many predicates offers the first ones by their keys.

        Raises:
            ProviderFailed: there is no answer; `UnusableAnswer` if it cannot be read.
        """
        answer = await self._chat.ask(_data(request), problems)
        return ExtractorAnswer(
            extractor=f"{NAME} {self._chat.model}"[:MAX_NAME_CODE_POINTS],
            entities=tuple(ProposedEntity(ref=one.ref, name=one.name, kind=one.kind) for one in answer.entities),
            relationships=tuple(_relationship(request, one, number) for number, one in enumerate(answer.relationships)),
        )

    async def close(self) -> None:
        """Closes the connections to the service."""
        await self._chat.close()


def _data(request: ExtractionRequest) -> dict[str, object]:
    offered = sorted(request.predicates, key=lambda predicate: predicate.key)[:MAX_OFFERED_PREDICATES]
    return {
        "time_zone": request.time_zone,
        "predicates": [_predicate(predicate) for predicate in offered],
        "texts": [
            {
                "evidence_index": index,
                "occurred_at": None if text.occurred_at is None else text.occurred_at.isoformat(),
                "content": text.content,
            }
            for index, text in enumerate(request.evidence)
            if text.content
        ],
    }


def _predicate(predicate: Predicate) -> dict[str, object]:
    return {
        "key": predicate.key,
        "aliases": list(predicate.aliases),
        "subject_kinds": list(predicate.subject_kinds),
        "object_kinds": list(predicate.object_kinds),
        "value_types": [one.value for one in predicate.value_types],
        "unit": predicate.unit,
    }


def _relationship(request: ExtractionRequest, wire: RelationshipWire, number: int) -> ProposedRelationship:
    place = f"relationships[{number}]"
    if not 0 <= wire.evidence_index < len(request.evidence):
        raise UnusableAnswer(f"{place}: evidence_index must be 0..{len(request.evidence) - 1}")
    span = find_quote(request.evidence[wire.evidence_index].content, wire.quote)
    if span is None:
        raise UnusableAnswer(f"{place}: quote must stand exactly once in its text")
    if wire.value is not None and wire.object_ref is None:
        found: EntityRef | ProposedValue = ProposedValue(type=ValueType(wire.value.type), text=wire.value.text)
    elif wire.object_ref is not None and wire.value is None:
        found = EntityRef(ref=wire.object_ref)
    else:
        raise UnusableAnswer(f"{place}: either object_ref or value must be set")
    return ProposedRelationship(
        proposal_id=ProposalId(f"x{number + 1}"),
        subject_ref=wire.subject_ref,
        predicate=wire.predicate,
        object=found,
        polarity=Polarity(wire.polarity),
        modality=Modality(wire.modality),
        spans=(CitedSpan(evidence_index=wire.evidence_index, span=span),),
    )
