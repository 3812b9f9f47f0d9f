"""The judge of a model service: one call a pair; what it answers is worth what the policy makes of it."""

from __future__ import annotations

from corrigenda_core.domain.judging import JudgeAnswer, JudgedSide, JudgeQuestion
from corrigenda_core.domain.time import Instant, KnownBound
from corrigenda_core.providers.remote.chat import StructuredChat, Wire
from corrigenda_core.providers.remote.endpoint import Endpoint

INSTRUCTIONS = """
Two statements of one author about one subject exclude each other. Say how they relate:
- "same": both say the same in other words.
- "keep_new": one of them plainly replaced the other at a later time; "kept" names the one that holds now.
- "keep_existing": what came in is plainly wrong and the opposing statement stays; "kept" is "opposing".
- "keep_both": they are about different things and do not exclude each other.
- "contradicts": they cannot both be right, and the texts do not decide.
- "unsure": anything else. When in doubt, answer "unsure".
"kept" is "incoming", "opposing" or null. "excerpt" is the words of a shown text that decide, copied exactly, or null;
where both have the same start, nothing else can decide. "reason" is one short sentence for people.
"""
NAME = "openai-compatible/1"
_INCOMING, _OPPOSING = "incoming", "opposing"


class JudgeWire(Wire):
    """The judge's answer; its words are judged by the policy, not by the schema."""

    verdict: str
    kept: str | None
    excerpt: str | None
    reason: str


class RemoteJudge:
    """Asks a model of an OpenAI-compatible service."""

    def __init__(self, endpoint: Endpoint, *, model: str) -> None:
        self._chat = StructuredChat(endpoint, model=model, instructions=INSTRUCTIONS, answer=JudgeWire)

    async def judge(self, question: JudgeQuestion, *, problems: tuple[str, ...] = ()) -> JudgeAnswer:
        """Looks at one pair in one call.

        Raises:
            ProviderFailed: there is no answer; `UnusableAnswer` if it cannot be read.
        """
        answer = await self._chat.ask(_data(question), problems)
        sides = {_INCOMING: question.incoming.relationship_id, _OPPOSING: question.opposing.relationship_id}
        return JudgeAnswer(
            verdict=answer.verdict,
            judge=NAME,
            model=self._chat.model,
            reason=answer.reason,
            # What is none of the two stays as it is: the policy says that there is no such side.
            kept_id=None if answer.kept is None else sides.get(answer.kept, answer.kept),
            excerpt=answer.excerpt,
        )

    async def close(self) -> None:
        """Closes the connections to the service."""
        await self._chat.close()


def _data(question: JudgeQuestion) -> dict[str, object]:
    return {
        "subject": question.subject,
        "predicate": question.predicate,
        "scope": question.scope,
        _INCOMING: _side(question.incoming),
        _OPPOSING: _side(question.opposing),
        "other_statements": list(question.others),
    }


def _side(side: JudgedSide) -> dict[str, object]:
    return {
        "value": side.value,
        "polarity": side.polarity.value,
        "start": _bound(side.start),
        "end": _bound(side.end),
        "start_stated_by_author": _time(side.stated_start),
        "witnessed_at": _time(side.witness_at),
        "recorded_at": _time(side.recorded_at),
        "sources": list(side.sources),
        "texts": list(side.excerpts),
    }


def _bound(bound: KnownBound | None) -> dict[str, object] | None:
    if bound is None:
        return None
    return {"from": _time(bound.whole.start), "to": _time(bound.whole.end), "basis": bound.basis.value}


def _time(instant: Instant | None) -> str | None:
    return None if instant is None else instant.isoformat()
