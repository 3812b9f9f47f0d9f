"""No judge is believed: invalid answers are asked for again, then count as unsure; no answer is told from that."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field

import pytest
from corrigenda_core.domain.ids import ItemId, RelationshipId
from corrigenda_core.domain.judging import JudgeAnswer, JudgedSide, Judgement, JudgeQuestion, Verdict
from corrigenda_core.domain.objects import Polarity
from corrigenda_core.domain.resolutions import KeepNew
from corrigenda_core.ports.providers import ProviderFailed, UnusableAnswer
from corrigenda_core.providers.judge_validation import JudgeUnavailable, ValidatedJudge
from corrigenda_core.testing.slots import day

SIDES = [
    JudgedSide(
        relationship_id=RelationshipId(name),
        value=name,
        polarity=Polarity.POSITIVE,
        start=None,
        end=None,
        stated_start=None,
        witness_at=day("1 Jun"),
        recorded_at=day("1 Jun"),
    )
    for name in ("new", "old")
]
QUESTION = JudgeQuestion(item_id=ItemId("i"), item_version=1, incoming=SIDES[0], opposing=SIDES[1])


@dataclass
class Scripted:
    """A judge that answers what it is told to, one after the other, and keeps what it was asked with."""

    script: Sequence[JudgeAnswer | Exception | None]
    problems: list[tuple[str, ...]] = field(default_factory=list)
    closed: bool = False

    async def judge(self, question: JudgeQuestion, *, problems: tuple[str, ...] = ()) -> JudgeAnswer:
        self.problems.append(problems)
        answer = self.script[len(self.problems) - 1]
        if isinstance(answer, Exception):
            raise answer
        if answer is None:
            await asyncio.Event().wait()
        assert answer is not None
        return answer

    async def close(self) -> None:
        self.closed = True


def answer(verdict: str, kept: str | None = None, **more: str) -> JudgeAnswer:
    return JudgeAnswer(verdict=verdict, judge="a model", kept_id=kept, **more)


GOOD = answer("keep_new", "new")
FOREIGN = answer("keep_new", "third")


async def asked(script: Sequence[JudgeAnswer | Exception | None], retries: int = 3) -> tuple[Scripted, object]:
    judge = Scripted(script)
    return judge, await ValidatedJudge(judge, call_timeout_seconds=0.05, retries=retries).ask(QUESTION)


async def test_a_valid_answer_is_asked_for_once() -> None:
    judge, judgement = await asked([GOOD])
    assert isinstance(judgement, Judgement)
    assert judgement.resolution == KeepNew(kept_id=RelationshipId("new"))
    assert judge.problems == [()]


@pytest.mark.rule("R4.18")
async def test_a_side_that_does_not_exist_is_recorded_as_an_invalid_answer() -> None:
    """S15 of the cases of same-owner resolution."""
    judge, judgement = await asked([FOREIGN] * 4)
    assert isinstance(judgement, Judgement)
    assert (judgement.verdict, judgement.resolution) == (Verdict.UNSURE, None)
    assert "side that does not exist" in judgement.problem
    assert judgement.answer == FOREIGN
    assert len(judge.problems) == 4
    assert judge.problems[1] == (judgement.problem,)


async def test_an_answer_that_becomes_valid_counts() -> None:
    _, judgement = await asked([FOREIGN, UnusableAnswer("no JSON"), GOOD])
    assert isinstance(judgement, Judgement)
    assert judgement.verdict is Verdict.KEEP_NEW


async def test_what_cannot_be_read_is_unsure() -> None:
    judge, judgement = await asked([UnusableAnswer("no JSON")] * 4)
    assert isinstance(judgement, Judgement)
    assert (judgement.verdict, judgement.problem, judgement.answer.verdict) == (Verdict.UNSURE, "no JSON", "unreadable")
    assert judge.problems[1] == ("no JSON",)


@pytest.mark.parametrize(
    ("script", "problem"), [([ProviderFailed("busy")] * 4, "busy"), ([None] * 4, "no answer in time")]
)
async def test_without_an_answer_there_is_no_judgement(
    script: Sequence[JudgeAnswer | Exception | None], problem: str
) -> None:
    assert (await asked(script))[1] == JudgeUnavailable(problem=problem, calls=4)


async def test_a_failure_behind_an_invalid_answer_leaves_that() -> None:
    judge, judgement = await asked([FOREIGN, ProviderFailed("busy"), GOOD])
    assert isinstance(judgement, Judgement)
    assert judgement.verdict is Verdict.UNSURE
    assert len(judge.problems) == 2


async def test_what_is_recorded_can_be_kept() -> None:
    """A record is text and JSON of the database, and neither takes NUL."""
    _, judgement = await asked([answer("a\x00b", "\ud800", reason="c\x00", model="d\x00", excerpt="\x00")], retries=0)
    assert isinstance(judgement, Judgement)
    kept = judgement.answer
    assert (kept.verdict, kept.kept_id, kept.reason, kept.model) == ("a\ufffdb", "\ufffd", "c\ufffd", "d\ufffd")
    assert (kept.excerpt, judgement.problem) == ("\ufffd", "no such verdict: a\ufffdb")


async def test_what_is_recorded_is_bounded() -> None:
    _, judgement = await asked([answer("v" * 9_999, "k" * 9_999, reason="r" * 9_999, model="m" * 9_999)], retries=0)
    assert isinstance(judgement, Judgement)
    kept = judgement.answer
    assert [len(text or "") for text in (kept.verdict, kept.kept_id, kept.reason, kept.model)] == [40, 128, 1024, 128]


async def test_closing_releases_the_judge() -> None:
    judge = Scripted([])
    await ValidatedJudge(judge, call_timeout_seconds=1.0).close()
    assert judge.closed


def test_more_retries_than_the_rules_allow_are_refused() -> None:
    with pytest.raises(ValueError, match="retries"):
        ValidatedJudge(Scripted([]), call_timeout_seconds=1.0, retries=4)
