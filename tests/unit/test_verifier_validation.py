"""What makes an answer of a verifier unusable, and how often it is asked again."""

import asyncio
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any, cast

import pytest
from corrigenda_core.domain.ids import PredicateKey, ProposalId
from corrigenda_core.domain.time import Side, TextSpan, TimeBound, WholeInterval
from corrigenda_core.domain.verification import CitedSpan, VerificationVerdict
from corrigenda_core.ports.providers import (
    CitedBound,
    EvidenceText,
    Finding,
    MentionedEntity,
    PredicateWords,
    ProposalToVerify,
    ProviderFailed,
    VerificationRequest,
    VerifierAnswer,
)
from corrigenda_core.providers.validation import (
    MAX_PROBLEMS,
    MAX_REASON_CODE_POINTS,
    ValidatedVerifier,
    VerifierUnavailable,
    find_problems,
)
from corrigenda_core.providers.validation import MAX_VERIFIER_NAME_CODE_POINTS as MAX_NAME

MARCH, APRIL, MAY = (datetime(2026, month, 1, tzinfo=UTC) for month in (3, 4, 5))
CONTENT = "since March 2026 until April 2026 production deployed from main. Yes."


def wanted(number: int = 1) -> ProposalToVerify:
    return ProposalToVerify(
        proposal_id=ProposalId(f"p{number}"),
        subject=MentionedEntity(names=("production",)),
        predicate=PredicateWords(key=PredicateKey("deploys_from")),
        object=MentionedEntity(names=("main",)),
        cited=(
            CitedSpan(evidence_index=0, span=TextSpan(start=0, end=16)),
            CitedSpan(evidence_index=0, span=TextSpan(start=17, end=64)),
        ),
    )


REQUEST = VerificationRequest(
    evidence=(EvidenceText(content=CONTENT), EvidenceText(content="x" * 64)), proposals=(wanted(1), wanted(2))
)


def bound(
    side: Side = Side.START, start: datetime = MARCH, *, at: datetime | None = None, span: tuple[int, int] = (0, 16)
) -> TimeBound:
    whole = WholeInterval(start=start, end=start.replace(month=start.month + 1))
    return TimeBound(side=side, whole=whole, at=at or start, span=TextSpan(start=span[0], end=span[1]))


def cited(evidence_index: int = 0, **values: Any) -> CitedBound:
    return CitedBound(evidence_index=evidence_index, bound=bound(**values))


START = cited()
END = cited(side=Side.END, start=APRIL, span=(17, 33))


def finding(number: int = 1, **values: Any) -> Finding:
    values = {"verdict": VerificationVerdict.ENTAILED, "reason": "it says so", **values}
    return Finding(proposal_id=ProposalId(f"p{number}"), **values)


def answer(*findings: Finding, verifier: str = "test/1") -> VerifierAnswer:
    return VerifierAnswer(verifier=verifier, findings=findings)


@pytest.mark.rule("R3.2")
@pytest.mark.parametrize(
    "bounds",
    [
        (),
        (START,),
        (END,),
        (START, END),
        (END, START),
        (cited(side=Side.END, start=APRIL, at=MAY, span=(17, 33)),),
        (cited(span=(17, 64)),),
    ],
)
def test_valid_answers(bounds: tuple[CitedBound, ...]) -> None:
    assert find_problems(REQUEST, answer(finding(2), finding(1, bounds=bounds))) == ()


@pytest.mark.rule("R3.2")
@pytest.mark.parametrize(
    ("findings", "problem"),
    [
        ((), "proposal 'p1' must be answered exactly once, not 0 times"),
        ((finding(1), finding(1)), "proposal 'p1' must be answered exactly once, not 2 times"),
        ((finding(1), finding(9)), "1 findings name a proposal that was not asked about"),
        ((finding(1, verdict=cast("VerificationVerdict", "entailed?")),), "verdict must be"),
        ((finding(1, reason=""),), "reason must have"),
        ((finding(1, reason="r" * (MAX_REASON_CODE_POINTS + 1)),), "reason must have"),
        ((finding(1, found_polarity="*"),), "found_polarity"),
        ((finding(1, found_modality="rumour"),), "found_modality"),
        ((finding(1, bounds=(cited(2),)),), "bounds[0]: evidence_index must be 0..1, not 2"),
        ((finding(1, bounds=(cited(-1),)),), "evidence_index must be"),
        ((finding(1, bounds=(cited(span=(60, len(CONTENT) + 1)),)),), "span must end within"),
        ((finding(1, bounds=(cited(span=(15, 18)),)),), "inside a cited passage"),
        ((finding(1, bounds=(cited(1),)),), "inside a cited passage"),
        ((finding(1, bounds=(START, cited(at=APRIL))),), "bounds[1]: at must be the start"),
        ((finding(1, bounds=(START, cited(start=APRIL))),), "at most one start"),
        ((finding(1, bounds=(END, END)),), "at most one start and one end"),
        ((finding(1, bounds=(cited(start=APRIL), END)),), "later than the start"),
    ],
)  # fmt: skip
def test_invalid_answers(findings: tuple[Finding, ...], problem: str) -> None:
    request = replace(REQUEST, proposals=REQUEST.proposals[:1])
    assert problem in "\n".join(find_problems(request, answer(*findings)))


@pytest.mark.parametrize(("length", "valid"), [(0, False), (1, True), (MAX_NAME, True), (MAX_NAME + 1, False)])
def test_a_verifier_names_itself(length: int, valid: bool) -> None:
    assert (find_problems(REQUEST, answer(finding(1), finding(2), verifier="v" * length)) == ()) is valid


def test_a_reason_may_be_as_long_as_its_bound() -> None:
    assert find_problems(REQUEST, answer(finding(1), finding(2, reason="r" * MAX_REASON_CODE_POINTS))) == ()


@pytest.mark.parametrize("text", ["a\x00b", "a\ud800b"])
def test_no_text_of_an_answer_is_one_that_cannot_be_kept(text: str) -> None:
    assert "reason must have no NUL" in "\n".join(find_problems(REQUEST, answer(finding(1), finding(2, reason=text))))
    assert "name of the verifier" in "\n".join(find_problems(REQUEST, answer(finding(1), finding(2), verifier=text)))


def test_problems_are_bounded_and_quote_nothing_of_the_answer() -> None:
    request = replace(REQUEST, proposals=tuple(wanted(n) for n in range(MAX_PROBLEMS + 5)))
    problems = find_problems(request, answer(finding(99, reason="secret payload")))
    assert len(problems) == MAX_PROBLEMS
    assert "secret" not in "\n".join(problems)


Step = Callable[[VerificationRequest], VerifierAnswer]


class ScriptedVerifier:
    """Does one step a call and remembers with which problems it was asked."""

    def __init__(self, *steps: Step) -> None:
        self._steps = list(steps)
        self.asked: list[tuple[str, ...]] = []

    async def verify(self, request: VerificationRequest, *, problems: tuple[str, ...] = ()) -> VerifierAnswer:
        self.asked.append(problems)
        return self._steps.pop(0)(request)


def good(request: VerificationRequest) -> VerifierAnswer:
    return answer(*(replace(finding(1), proposal_id=proposal.proposal_id) for proposal in request.proposals))


def bad(request: VerificationRequest) -> VerifierAnswer:
    return answer()


def broken(request: VerificationRequest) -> VerifierAnswer:
    raise ProviderFailed("connection refused")


MISSING = ("proposal 'p1' must be answered exactly once, not 0 times",
           "proposal 'p2' must be answered exactly once, not 0 times")  # fmt: skip


@pytest.mark.rule("R3.2")
@pytest.mark.parametrize(
    ("steps", "asked"),
    [
        ([good], [()]),
        ([bad, good], [(), MISSING]),
        ([bad, bad, bad, good], [(), MISSING, MISSING, MISSING]),
        ([broken, good], [(), ("connection refused",)]),
        ([bad, broken, good], [(), MISSING, MISSING]),
    ],
)
async def test_an_answer_is_asked_for_again_with_the_reason(steps: list[Step], asked: list[tuple[str, ...]]) -> None:
    verifier = ScriptedVerifier(*steps)
    result = await ValidatedVerifier(verifier, call_timeout_seconds=5).verify(REQUEST)
    assert result == good(REQUEST)
    assert verifier.asked == asked


@pytest.mark.rule("R3.2")
@pytest.mark.parametrize(
    ("steps", "retries", "problems"),
    [
        ([bad] * 4 + [good], 3, MISSING),
        ([broken] * 4 + [good], 3, ("connection refused",)),
        ([bad, good], 0, MISSING),
        ([bad, bad, good], 1, MISSING),
    ],
)
async def test_after_its_retries_it_is_unavailable(steps: list[Step], retries: int, problems: tuple[str, ...]) -> None:
    verifier = ScriptedVerifier(*steps)
    result = await ValidatedVerifier(verifier, call_timeout_seconds=5, retries=retries).verify(REQUEST)
    assert result == VerifierUnavailable(problems=problems, calls=retries + 1)


async def test_a_verifier_that_hangs_is_unavailable() -> None:
    class Hanging:
        async def verify(self, request: VerificationRequest, *, problems: tuple[str, ...] = ()) -> VerifierAnswer:
            await asyncio.Event().wait()
            raise AssertionError

    result = await ValidatedVerifier(Hanging(), call_timeout_seconds=0.01, retries=1).verify(REQUEST)
    assert result == VerifierUnavailable(problems=("no answer in time",), calls=2)


async def test_nothing_proposed_is_nothing_asked() -> None:
    verifier = ScriptedVerifier()
    result = await ValidatedVerifier(verifier, call_timeout_seconds=5).verify(replace(REQUEST, proposals=()))
    assert (result, verifier.asked) == (VerifierAnswer(verifier="", findings=()), [])


@pytest.mark.parametrize("retries", [-1, 4])
def test_more_than_three_retries_cannot_be_set_up(retries: int) -> None:
    with pytest.raises(ValueError, match="retries"):
        ValidatedVerifier(ScriptedVerifier(), call_timeout_seconds=5, retries=retries)
