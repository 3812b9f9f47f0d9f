"""Believes no judge: checks every answer, asks again with the reason, and tells an invalid answer from none."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, replace

from corrigenda_core.domain.judging import JudgeAnswer, Judgement, JudgeQuestion, Verdict
from corrigenda_core.policy.judging import decide_verdict
from corrigenda_core.policy.kept_text import apply_kept_characters
from corrigenda_core.ports.deadline import NO_DEADLINE, Deadline
from corrigenda_core.ports.providers import Judge, ProviderFailed, UnusableAnswer
from corrigenda_core.providers.asking import MAX_RETRIES, Patience
from corrigenda_core.providers.metrics import Observe, Worth, unobserved

MAX_REASON_CODE_POINTS = 1024
MAX_NAME_CODE_POINTS = 128
MAX_VERDICT_CODE_POINTS = 40
MAX_EXCERPT_CODE_POINTS = 4096
NOT_READ = "unreadable"
"""The verdict that is recorded of an answer that could not be read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeUnavailable:
    """No answer: what was wrong, in words without payload text, and how often the judge was called."""

    problem: str
    calls: int


class ValidatedJudge:
    """Any judge, made safe to use: what it answers is a judgement, and its failures are values."""

    def __init__(
        self,
        judge: Judge,
        *,
        call_timeout_seconds: float,
        retries: int = MAX_RETRIES,
        observe: Observe = unobserved,
    ) -> None:
        self._judge = judge
        self._patience = Patience(call_timeout_seconds=call_timeout_seconds, retries=retries)
        self._observe = observe

    async def ask(self, question: JudgeQuestion, deadline: Deadline = NO_DEADLINE) -> Judgement | JudgeUnavailable:
        """What the answer to a question is worth; an answer that stays invalid counts as unsure and says why.

        Without any answer there is nothing to record: the pair is left for another time.
        """
        judgement: Judgement | None = None
        problem = ""
        calls = 0
        while calls <= self._patience.retries:
            calls += 1
            try:
                judgement = await self._call(question, judgement, deadline)
            except TimeoutError:
                self._observe(Worth.LATE)
                problem = "no answer in time"
            except ProviderFailed as failure:
                self._observe(Worth.FAILED)
                problem = str(failure)
                if judgement is not None:
                    break
            else:
                self._observe(Worth.REFUSED if judgement.problem else Worth.USABLE)
                if not judgement.problem:
                    return judgement
        return judgement or JudgeUnavailable(problem=problem, calls=calls)

    async def close(self) -> None:
        """Releases the judge."""
        await self._judge.close()

    async def _call(self, question: JudgeQuestion, last: Judgement | None, deadline: Deadline) -> Judgement:
        problems = () if last is None else (last.problem,)
        try:
            async with asyncio.timeout(self._patience.timeout_seconds(deadline)):
                answer = await self._judge.judge(question, problems=problems)
        except UnusableAnswer as unusable:
            return Judgement(
                verdict=Verdict.UNSURE,
                answer=JudgeAnswer(verdict=NOT_READ, judge="unknown"),
                problem="; ".join(unusable.problems)[:MAX_REASON_CODE_POINTS],
            )
        return _bounded(question, answer)


def _bounded(question: JudgeQuestion, answer: JudgeAnswer) -> Judgement:
    """The judgement, what is recorded of it cut to what a record may hold."""
    judgement = decide_verdict(question, answer)
    cut = replace(
        answer,
        verdict=_kept(answer.verdict, MAX_VERDICT_CODE_POINTS),
        judge=_kept(answer.judge, MAX_NAME_CODE_POINTS),
        model=_kept(answer.model, MAX_NAME_CODE_POINTS),
        reason=_kept(answer.reason, MAX_REASON_CODE_POINTS),
        kept_id=None if answer.kept_id is None else _kept(answer.kept_id, MAX_NAME_CODE_POINTS),
        excerpt=None if answer.excerpt is None else _kept(answer.excerpt, MAX_EXCERPT_CODE_POINTS),
    )
    return replace(judgement, answer=cut, problem=apply_kept_characters(judgement.problem))


def _kept(text: str, code_points_max: int) -> str:
    return apply_kept_characters(text[:code_points_max])
