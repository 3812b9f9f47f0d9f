"""Believes no verifier: checks every answer strictly and asks again, with the reason, a bounded number of times."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from corrigenda_core.domain.objects import Polarity
from corrigenda_core.domain.time import Side, TimeBound
from corrigenda_core.domain.verification import Modality, VerificationVerdict
from corrigenda_core.policy.kept_text import is_kept_as_it_is
from corrigenda_core.ports.deadline import NO_DEADLINE, Deadline
from corrigenda_core.ports.providers import (
    CitedBound,
    Finding,
    ProposalToVerify,
    VerificationRequest,
    Verifier,
    VerifierAnswer,
)
from corrigenda_core.providers.asking import MAX_PROBLEMS, MAX_RETRIES, NOT_KEPT, Asking, NoAnswer, Patience
from corrigenda_core.providers.metrics import Observe, unobserved

MAX_REASON_CODE_POINTS = 1024
MAX_VERIFIER_NAME_CODE_POINTS = 128


@dataclass(frozen=True, slots=True, kw_only=True)
class VerifierUnavailable:
    """No usable answer: what was wrong with the last one, and how often the verifier was called."""

    problems: tuple[str, ...]
    calls: int


class ValidatedVerifier:
    """Any verifier, made safe to use: its answers are checked, its failures are values."""

    def __init__(
        self,
        verifier: Verifier,
        *,
        call_timeout_seconds: float,
        retries: int = MAX_RETRIES,
        observe: Observe = unobserved,
    ) -> None:
        self._verifier = verifier
        self._patience = Patience(call_timeout_seconds=call_timeout_seconds, retries=retries)
        self._observe = observe

    async def verify(
        self, request: VerificationRequest, deadline: Deadline = NO_DEADLINE
    ) -> VerifierAnswer | VerifierUnavailable:
        """One call for the whole submission, and at most three more with the reason if an answer is refused (R3.2).

        A submission without proposals needs no call. All calls together leave time for the commit before the deadline.
        """
        if not request.proposals:
            return VerifierAnswer(verifier="", findings=())
        asking = Asking(
            call=lambda problems: self._verifier.verify(request, problems=problems),
            check=lambda answer: find_problems(request, answer),
            patience=self._patience,
            observe=self._observe,
        )
        outcome = await asking.answer(deadline)
        if isinstance(outcome, NoAnswer):
            return VerifierUnavailable(problems=outcome.problems, calls=outcome.calls)
        return outcome

    async def close(self) -> None:
        """Releases the verifier."""
        await self._verifier.close()


def find_problems(request: VerificationRequest, answer: VerifierAnswer) -> tuple[str, ...]:
    """What is wrong with an answer, in words that a model can act on; empty if it is valid.

    The words name proposals, fields and figures and quote nothing of the answer. At most `MAX_PROBLEMS` are listed.
    """
    problems = list(_problems(request, answer))
    return tuple(problems[:MAX_PROBLEMS])


def _problems(request: VerificationRequest, answer: VerifierAnswer) -> Iterator[str]:
    if not 0 < len(answer.verifier) <= MAX_VERIFIER_NAME_CODE_POINTS:
        yield f"verifier must name itself in 1..{MAX_VERIFIER_NAME_CODE_POINTS} code points"
    if not is_kept_as_it_is(answer.verifier):
        yield f"the name of the verifier {NOT_KEPT}"
    proposals = {proposal.proposal_id: proposal for proposal in request.proposals}
    answered = Counter(finding.proposal_id for finding in answer.findings)
    for proposal_id in proposals:
        if answered[proposal_id] != 1:
            yield f"proposal {proposal_id!r} must be answered exactly once, not {answered[proposal_id]} times"
    unknown = sum(count for proposal_id, count in answered.items() if proposal_id not in proposals)
    if unknown:
        yield f"{unknown} findings name a proposal that was not asked about"
    for finding in answer.findings:
        if finding.proposal_id in proposals:
            proposal = proposals[finding.proposal_id]
            for problem in _finding_problems(request, proposal, finding):
                yield f"proposal {proposal.proposal_id!r}: {problem}"


def _finding_problems(request: VerificationRequest, proposal: ProposalToVerify, finding: Finding) -> Iterator[str]:
    if not isinstance(finding.verdict, VerificationVerdict):
        yield "verdict must be entailed, contradicted or insufficient"
    if not 0 < len(finding.reason) <= MAX_REASON_CODE_POINTS:
        yield f"reason must have 1..{MAX_REASON_CODE_POINTS} code points"
    if not is_kept_as_it_is(finding.reason):
        yield f"reason {NOT_KEPT}"
    if not isinstance(finding.found_polarity, Polarity | None):
        yield "found_polarity must be + or -"
    if not isinstance(finding.found_modality, Modality | None):
        yield "found_modality must be one of the modalities"
    well_placed = True
    for number, cited in enumerate(finding.bounds):
        for problem in _bound_problems(request, proposal, cited):
            well_placed = False
            yield f"bounds[{number}]: {problem}"
    if well_placed:
        yield from _order_problems(finding.bounds)


def _bound_problems(request: VerificationRequest, proposal: ProposalToVerify, cited: CitedBound) -> Iterator[str]:
    bound = cited.bound
    if not 0 <= cited.evidence_index < len(request.evidence):
        yield f"evidence_index must be 0..{len(request.evidence) - 1}, not {cited.evidence_index}"
        return
    length = len(request.evidence[cited.evidence_index].content)
    if bound.span.end > length:
        yield f"span must end within the text's {length} code points, not at {bound.span.end}"
    elif not _is_cited(proposal, cited):
        yield "span must lie inside a cited passage"
    if bound.at not in _possible_instants(bound):
        yield "at must be the start of the whole interval, or for an end its end"


def _possible_instants(bound: TimeBound) -> tuple[object, ...]:
    """An end named by "until" takes effect at the start of its interval, one named by "to" at the end of it."""
    return (bound.whole.start, bound.whole.end) if bound.side is Side.END else (bound.whole.start,)


def _is_cited(proposal: ProposalToVerify, cited: CitedBound) -> bool:
    return any(
        passage.evidence_index == cited.evidence_index
        and passage.span.start <= cited.bound.span.start
        and cited.bound.span.end <= passage.span.end
        for passage in proposal.cited
    )


def _order_problems(bounds: tuple[CitedBound, ...]) -> Iterator[str]:
    """At most one start and one end for each text, the start before the end."""
    for index in sorted({cited.evidence_index for cited in bounds}):
        own = [cited.bound for cited in bounds if cited.evidence_index == index]
        starts = [bound.at for bound in own if bound.side is Side.START]
        ends = [bound.at for bound in own if bound.side is Side.END]
        if len(starts) > 1 or len(ends) > 1:
            yield f"evidence {index}: at most one start and one end"
        elif starts and ends and ends[0] <= starts[0]:
            yield f"evidence {index}: the end must be later than the start"
