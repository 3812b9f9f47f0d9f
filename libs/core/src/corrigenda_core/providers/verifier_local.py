"""The verifier that needs no model: it reads plain English sentences by rule and doubts everything else.

A proposal is *entailed* if a sentence of the cited passages names subject, predicate and object in an order that
states it, with nothing between and around them that the rules do not understand. It is *contradicted* only if such a
sentence plainly denies it (or, for a denial, plainly states it). Everything else is *insufficient*, which costs the
author better evidence or a model's verdict and never a wrong record: hedges, questions, plans, quotations and reported
speech where a statement is proposed; a sentence that says something about the past and not when it ended; other
languages; and a sentence that states another object for the same predicate, because whether two objects exclude each
other is not the verifier's question.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass

from corrigenda_core.domain.objects import Polarity
from corrigenda_core.domain.time import Side, TextSpan, TimeBound
from corrigenda_core.domain.verification import Modality, VerificationVerdict
from corrigenda_core.ports.providers import (
    CitedBound,
    Finding,
    ProposalToVerify,
    ProviderFailed,
    VerificationRequest,
    VerifierAnswer,
)
from corrigenda_core.providers.local.cues import CLAUSE_BREAKS, CLAUSE_MARKS, GAP_CUES, Cue
from corrigenda_core.providers.local.forms import entity_names, kind_words, object_names, phrases
from corrigenda_core.providers.local.readings import Reading, read_statement
from corrigenda_core.providers.local.sentences import CitedText, Found, Range, Wanted, find_statements, is_anywhere
from corrigenda_core.providers.local.text import ReadText, Word, read_text
from corrigenda_core.providers.local.times import MAX_STEPS, Effort, TextTimes, TimeReader, TooMuchToRead
from corrigenda_core.time_zones import team_zone

NAME = "local-rules/1"

# A submission of at most this many code points is read on the spot; a longer one would hold up the event loop.
MAX_INLINE_CODE_POINTS = 16_384

_PRECEDENCE = (Modality.QUESTION, Modality.QUOTATION, Modality.SPECULATION, Modality.PLAN)


class LocalVerifier:
    """Reads submissions by rule; the same request always gets the same answer."""

    def __init__(self, read_times: TimeReader, *, max_steps: int = MAX_STEPS) -> None:
        self._read_times = read_times
        self._max_steps = max_steps

    async def verify(self, request: VerificationRequest, *, problems: tuple[str, ...] = ()) -> VerifierAnswer:
        """Reads one submission.

        Raises:
            ProviderFailed: it is asked again, and would only give the answer that was refused.
        """
        if problems:
            raise ProviderFailed("rules give the same answer to the same request")
        size = sum(len(text.content) for text in request.evidence)
        if size * max(1, len(request.proposals)) <= MAX_INLINE_CODE_POINTS:
            return self.read(request)
        return await asyncio.to_thread(self.read, request)

    async def close(self) -> None:
        """Nothing to release."""

    def read(self, request: VerificationRequest) -> VerifierAnswer:
        """The answer, computed on the calling thread."""
        zone = team_zone(request.time_zone)
        texts = tuple(read_text(evidence.content) for evidence in request.evidence)
        effort = Effort(self._max_steps)
        times = tuple(TextTimes(text, self._read_times, zone, effort) for text in texts)
        return VerifierAnswer(
            verifier=NAME,
            findings=tuple(_finding(proposal, texts, times, effort) for proposal in request.proposals),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Place:
    """A reading, the evidence text that it stands in, and the times that belong to it."""

    evidence_index: int
    reading: Reading
    bounds: tuple[TimeBound, ...]
    problem: str


def _finding(
    proposal: ProposalToVerify, texts: tuple[ReadText, ...], times: tuple[TextTimes, ...], effort: Effort
) -> Finding:
    wanted = Wanted(
        subject_names=_affirmative(entity_names(proposal.subject)),
        subject_kind=kind_words(proposal.subject),
        phrases=phrases(proposal.predicate),
        object_names=object_names(proposal.object),
        object_kind=kind_words(proposal.object),
    )
    sources = {
        index: CitedText(
            text=texts[index],
            times=times[index],
            cited=tuple(cited.span for cited in proposal.cited if cited.evidence_index == index),
            effort=effort,
        )
        for index in sorted({cited.evidence_index for cited in proposal.cited})
    }
    try:
        places = tuple(
            _place(index, source, read_statement(source, wanted, found), is_event=proposal.predicate.is_event)
            for index, source in sources.items()
            for found in find_statements(source, wanted)
        )
        if not places:
            return _insufficient(proposal, _what_is_missing(tuple(sources.values()), wanted))
    except TooMuchToRead:
        return _insufficient(proposal, "the submission is too long to be read by rule")
    usable = tuple(place for place in places if not place.problem)
    return _verdict(proposal, usable) if usable else _insufficient(proposal, places[0].problem)


def _affirmative(names: tuple[tuple[str, ...], ...]) -> tuple[tuple[str, ...], ...]:
    """The names without those that would swallow a negation ("production does not")."""
    return tuple(name for name in names if {"not", "n't", "never", "cannot"}.isdisjoint(name))


def _verdict(proposal: ProposalToVerify, usable: tuple[_Place, ...]) -> Finding:
    fitting = tuple(place for place in usable if _has_modality(place.reading, proposal.modality))
    if not fitting:
        found = _modality(usable[0].reading)
        reason = f"the text reads as a {found}, not as a {proposal.modality}"
        return _insufficient(proposal, reason, found_modality=found)
    polarities = {place.reading.polarity for place in fitting}
    if len(polarities) > 1:
        return _insufficient(proposal, "the cited text both states and denies it")
    if proposal.polarity not in polarities:
        return Finding(
            proposal_id=proposal.proposal_id,
            verdict=VerificationVerdict.CONTRADICTED,
            reason="the cited text denies it" if proposal.polarity is Polarity.POSITIVE else "the cited text states it",
            found_polarity=fitting[0].reading.polarity,
        )
    bounds = tuple(_distinct_bounds(fitting))
    if problem := _times_problem(bounds):
        return _insufficient(proposal, problem)
    return Finding(
        proposal_id=proposal.proposal_id,
        verdict=VerificationVerdict.ENTAILED,
        reason="the cited text states it" if proposal.polarity is Polarity.POSITIVE else "the cited text denies it",
        bounds=bounds,
    )


def _insufficient(proposal: ProposalToVerify, reason: str, *, found_modality: Modality | None = None) -> Finding:
    return Finding(
        proposal_id=proposal.proposal_id,
        verdict=VerificationVerdict.INSUFFICIENT,
        reason=reason,
        found_modality=found_modality,
    )


def _what_is_missing(sources: tuple[CitedText, ...], wanted: Wanted) -> str:
    for part, names in (
        ("subject", wanted.subject_names),
        ("predicate", tuple(phrase.words for phrase in wanted.phrases)),
        ("object", wanted.object_names),
    ):
        if not any(is_anywhere(source, names) for source in sources):
            return f"the cited text does not name the {part}"
    return "the cited text does not state subject, predicate and object together"


def _has_modality(reading: Reading, modality: Modality) -> bool:
    return not reading.modalities if modality is Modality.STATEMENT else modality in reading.modalities


def _modality(reading: Reading) -> Modality:
    return next((modality for modality in _PRECEDENCE if modality in reading.modalities), Modality.STATEMENT)


def _place(index: int, source: CitedText, reading: Reading, *, is_event: bool) -> _Place:
    bounds = tuple(_bounds_of(source, reading.found))
    cited = tuple(bound for bound in bounds if source.is_span_cited(bound.span))
    problem = reading.problem
    if not problem and any(bound.side is Side.END for bound in bounds if bound not in cited):
        problem = "the words that say when it ended are not cited"
    if not problem and reading.is_past and not is_event and not any(bound.side is Side.END for bound in cited):
        problem = "the text speaks of the past and does not say when it ended"
    return _Place(evidence_index=index, reading=reading, bounds=cited, problem=problem)


def _bounds_of(source: CitedText, found: Found) -> Iterator[TimeBound]:
    """The bounds of the statement's own clause; those behind an "and", a "but" or the like may be of another."""
    hull = Range(
        first=found.first,
        last=max(found.subject.last, found.phrase.last, found.object.last),
    )
    words = source.text.words
    mentions = tuple(
        TextSpan(start=words[part.first].start, end=words[part.last - 1].end) for part in (found.subject, found.object)
    )
    for bound in source.times.bounds(source.sentence_at(found.first), mentions):
        at = source.times.words_of(bound)
        between = (*range(at.stop, hull.first), *range(hull.last, at.start))
        if not _parts_clauses([words[place] for place in between if not source.times.is_time(place)]):
            yield bound


def _parts_clauses(between: list[Word]) -> bool:
    """Whether what stands between a statement and words of time gives the two to different clauses."""
    meaning = [word for word in between if not word.is_mark and GAP_CUES.get(word.norm) is not Cue.LIGHT]
    return any(word.norm in CLAUSE_BREAKS for word in between) or (
        bool(meaning) and any(word.norm in CLAUSE_MARKS for word in between)
    )


def _distinct_bounds(places: tuple[_Place, ...]) -> Iterator[CitedBound]:
    """The bounds of all places, one for each text, side and time."""
    seen = set()
    for place in places:
        for bound in place.bounds:
            key = (place.evidence_index, bound.side, bound.whole, bound.at)
            if key not in seen:
                seen.add(key)
                yield CitedBound(evidence_index=place.evidence_index, bound=bound)


def _times_problem(bounds: tuple[CitedBound, ...]) -> str:
    """Whether the times of one text fit each other; nothing is guessed where they do not."""
    for index in {bound.evidence_index for bound in bounds}:
        own = [cited.bound for cited in bounds if cited.evidence_index == index]
        starts = [bound for bound in own if bound.side is Side.START]
        ends = [bound for bound in own if bound.side is Side.END]
        if len(starts) > 1 or len(ends) > 1:
            return "the cited text gives more than one time for the same end"
        if starts and ends and ends[0].at <= starts[0].at:
            return "the cited text lets it end before it starts"
    return ""
