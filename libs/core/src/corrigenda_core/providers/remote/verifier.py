"""The verifier of a model service: one call a submission, its answer read as hostile input.

A model that has been talked into an answer can still not make a record of nothing: where the cited texts name neither
the subject nor the object, its "entailed" counts as insufficient.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from corrigenda_core.domain.errors import Refusal
from corrigenda_core.domain.ids import ProposalId
from corrigenda_core.domain.objects import Polarity, ValueObject
from corrigenda_core.domain.time import Side, TimeBound, WholeInterval
from corrigenda_core.domain.verification import Modality, VerificationVerdict
from corrigenda_core.policy.instants import decide_instant
from corrigenda_core.policy.normalisation import decide_text_form
from corrigenda_core.ports.providers import (
    CitedBound,
    Finding,
    MentionedEntity,
    ProposalToVerify,
    UnusableAnswer,
    VerificationRequest,
    VerifierAnswer,
)
from corrigenda_core.providers.remote.chat import StructuredChat, Wire
from corrigenda_core.providers.remote.endpoint import Endpoint
from corrigenda_core.providers.remote.quotes import find_quote

INSTRUCTIONS = """
You verify proposals against texts. For each proposal decide whether its cited passages say exactly what it proposes:
- "entailed": they state it; with polarity "-" they state that it is not so.
- "contradicted": they plainly state the very opposite. Another object for the same predicate is no contradiction.
- "insufficient": everything else, and hedges, questions, plans, quotations and reports where a statement is proposed.
Use the passages alone, never what you know. You do not decide which of several texts is right.
Answer every proposal once. "reason" is one short sentence for people. "found_polarity" and "found_modality" say how the
text reads where that differs from the proposal, else null. "bounds" lists the times at which the texts say that it
began or ended, at most one start and one end for each text: "quote" is copied exactly from a cited passage; "begin" and
"end" are the whole interval that the words name, in RFC 3339 with an offset, the end exclusive ("March 2026" is all of
that month, in the given time zone if the words name none); "at" is "begin" for a start, and for an end "begin" if the
words mean "until" and "end" if they mean "from ... to ...".
"""
NAME = "openai-compatible/1"
MAX_REASON_CODE_POINTS = 512
MAX_NAME_CODE_POINTS = 96


class BoundWire(Wire):
    """A time in a cited passage."""

    evidence_index: int
    side: Literal["start", "end"]
    quote: str
    begin: str
    end: str
    at: Literal["begin", "end"]


class FindingWire(Wire):
    """The verdict on one proposal."""

    proposal_id: str
    verdict: Literal["entailed", "contradicted", "insufficient"]
    reason: str
    found_polarity: Literal["+", "-"] | None
    found_modality: Literal["statement", "question", "plan", "speculation", "quotation"] | None
    bounds: list[BoundWire]


class VerifierWire(Wire):
    """The verifier's answer."""

    findings: list[FindingWire]


class RemoteVerifier:
    """Asks a model of an OpenAI-compatible service."""

    def __init__(self, endpoint: Endpoint, *, model: str) -> None:
        self._chat = StructuredChat(endpoint, model=model, instructions=INSTRUCTIONS, answer=VerifierWire)

    async def verify(self, request: VerificationRequest, *, problems: tuple[str, ...] = ()) -> VerifierAnswer:
        """Reads one submission in one call.

        Raises:
            ProviderFailed: there is no answer; `UnusableAnswer` if it cannot be read.
        """
        answer = await self._chat.ask(_data(request), problems)
        proposals = {proposal.proposal_id: proposal for proposal in request.proposals}
        return VerifierAnswer(
            verifier=f"{NAME} {self._chat.model}"[:MAX_NAME_CODE_POINTS],
            findings=tuple(
                _finding(request, proposals, finding, f"findings[{number}]")
                for number, finding in enumerate(answer.findings)
            ),
        )

    async def close(self) -> None:
        """Closes the connections to the service."""
        await self._chat.close()


def _data(request: VerificationRequest) -> dict[str, object]:
    return {
        "time_zone": request.time_zone,
        "texts": [
            {
                "evidence_index": index,
                "occurred_at": None if text.occurred_at is None else text.occurred_at.isoformat(),
                "content": text.content,
            }
            for index, text in enumerate(request.evidence)
            if any(cited.evidence_index == index for proposal in request.proposals for cited in proposal.cited)
        ],
        "proposals": [_proposal(request, proposal) for proposal in request.proposals],
    }


def _proposal(request: VerificationRequest, proposal: ProposalToVerify) -> dict[str, object]:
    return {
        "proposal_id": proposal.proposal_id,
        "subject": _mentioned(proposal.subject),
        "predicate": {
            "key": proposal.predicate.key,
            "aliases": list(proposal.predicate.aliases),
            "is_event": proposal.predicate.is_event,
        },
        "object": _object(proposal.object),
        "polarity": proposal.polarity.value,
        "modality": proposal.modality.value,
        "cited_passages": [
            {
                "evidence_index": cited.evidence_index,
                "text": request.evidence[cited.evidence_index].content[cited.span.start : cited.span.end],
            }
            for cited in proposal.cited
        ],
    }


def _mentioned(entity: MentionedEntity) -> dict[str, object]:
    return {
        "names": list(entity.names),
        "kind": entity.kind,
        "known_as": [list(candidate.names) for candidate in entity.candidates],
    }


def _object(object_: MentionedEntity | ValueObject) -> dict[str, object]:
    if isinstance(object_, ValueObject):
        return {"value": object_.display or object_.canonical, "type": object_.type.value, "unit": object_.unit}
    return _mentioned(object_)


def _finding(
    request: VerificationRequest, proposals: Mapping[ProposalId, ProposalToVerify], wire: FindingWire, place: str
) -> Finding:
    proposal = proposals.get(ProposalId(wire.proposal_id))
    verdict = VerificationVerdict(wire.verdict)
    reason = wire.reason[:MAX_REASON_CODE_POINTS]
    bounds: tuple[CitedBound, ...] = ()
    if proposal is not None:
        bounds = tuple(
            _bound(request, proposal, bound, f"{place}.bounds[{number}]") for number, bound in enumerate(wire.bounds)
        )
        if verdict is VerificationVerdict.ENTAILED and not _names_both(request, proposal):
            verdict, reason, bounds = (
                VerificationVerdict.INSUFFICIENT,
                "the cited texts do not name what it is about",
                (),
            )
    return Finding(
        proposal_id=ProposalId(wire.proposal_id),
        verdict=verdict,
        reason=reason or "no reason was given",
        bounds=bounds if verdict is VerificationVerdict.ENTAILED else (),
        found_polarity=None if wire.found_polarity is None else Polarity(wire.found_polarity),
        found_modality=None if wire.found_modality is None else Modality(wire.found_modality),
    )


def _bound(request: VerificationRequest, proposal: ProposalToVerify, wire: BoundWire, place: str) -> CitedBound:
    if not 0 <= wire.evidence_index < len(request.evidence):
        raise UnusableAnswer(f"{place}: evidence_index must be 0..{len(request.evidence) - 1}")
    passages = [cited.span for cited in proposal.cited if cited.evidence_index == wire.evidence_index]
    span = find_quote(request.evidence[wire.evidence_index].content, wire.quote, passages)
    if span is None:
        raise UnusableAnswer(f"{place}: quote must stand exactly once in the cited passages of its text")
    try:
        whole = WholeInterval(
            start=decide_instant(wire.begin, field="begin"),
            end=decide_instant(wire.end, field="end"),
        )
    except (Refusal, ValueError):
        raise UnusableAnswer(f"{place}: begin and end must be RFC 3339 times, begin before end") from None
    bound = TimeBound(side=Side(wire.side), whole=whole, at=whole.start if wire.at == "begin" else whole.end, span=span)
    return CitedBound(evidence_index=wire.evidence_index, bound=bound)


def _names_both(request: VerificationRequest, proposal: ProposalToVerify) -> bool:
    texts = [
        decide_text_form(request.evidence[index].content)
        for index in sorted({cited.evidence_index for cited in proposal.cited})
    ]
    ends = [proposal.subject, *([proposal.object] if isinstance(proposal.object, MentionedEntity) else [])]
    return all(any(form in text for form in _forms(entity) for text in texts) for entity in ends)


def _forms(entity: MentionedEntity) -> list[str]:
    """The names by which a text may call an entity: those of the proposal, and those of the entity that it names."""
    known = [
        name
        for candidate in entity.candidates
        if candidate.entity_id == entity.known_entity_id
        for name in candidate.names
    ]
    return [form for name in (*entity.names, *known) if (form := decide_text_form(name))]
