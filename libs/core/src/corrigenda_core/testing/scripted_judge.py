"""A judge that answers what a test tells it to, and notes what it was asked."""

from __future__ import annotations

import uuid
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field

from corrigenda_core.domain.judging import JudgeAnswer, JudgeQuestion
from corrigenda_core.ports.providers import ProviderFailed

Answer = Callable[[JudgeQuestion], Awaitable[JudgeAnswer]]


@dataclass(slots=True)
class ScriptedJudge:
    """Answers by the scope that it is asked about.

    Attributes:
        answers: how it answers, by scope.
        asked: the scopes that it was asked about, in this order.
    """

    answers: Mapping[str, Answer]
    asked: list[str] = field(default_factory=list)

    async def judge(self, question: JudgeQuestion, *, problems: tuple[str, ...] = ()) -> JudgeAnswer:
        """Answers as it was told to."""
        del problems  # it would answer the same again
        self.asked.append(question.scope)
        return await self.answers[question.scope](question)

    async def close(self) -> None:
        """Nothing to release."""


async def keeps_new(question: JudgeQuestion) -> JudgeAnswer:
    """What came in holds."""
    return JudgeAnswer(
        verdict="keep_new", judge="scripted", model="m/1", reason="so", kept_id=question.incoming.relationship_id
    )


async def keeps_a_stranger(question: JudgeQuestion) -> JudgeAnswer:
    """A side holds that does not exist."""
    del question
    return JudgeAnswer(verdict="keep_new", judge="scripted", reason="so", kept_id=str(uuid.uuid4()))


async def is_unsure(question: JudgeQuestion) -> JudgeAnswer:
    """Nobody can tell."""
    del question
    return JudgeAnswer(verdict="unsure", judge="scripted", reason="nobody can tell")


async def fails(question: JudgeQuestion) -> JudgeAnswer:
    """The model does not answer."""
    del question
    raise ProviderFailed("the model is not there")
