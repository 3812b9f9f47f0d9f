"""The rows of same-owner resolution that have a judge in them, at once (S15, S19, S20): a judge looks outside any
transaction, so that whatever it is asked about may be decided, changed or looked at by the time that it answers.

Every judge here is held while it looks. What it says then meets another act at the team's lock, where both are seen to
wait; the same two are done one after the other as well, in either order.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import pytest
from corrigenda.conflict.v1 import auto_resolution_pb2, review_item_pb2
from corrigenda.ingest.v1 import ingest_service_pb2, submission_pb2
from corrigenda.type.v1 import decision_pb2
from corrigenda_cli.stack import Stack
from corrigenda_core.domain.actors import Caller
from corrigenda_core.domain.judging import JudgeAnswer, JudgeQuestion
from corrigenda_core.testing.effort import examples
from corrigenda_core.testing.judging_runs import NOT_ASKED, RECORDED, REFUSED, RESOLVED, SKIPPED, Run, asking, run_of
from corrigenda_core.testing.meeting import TeamLock
from corrigenda_core.testing.scripted_judge import (
    Answer,
    ScriptedJudge,
    fails,
    is_unsure,
    keeps_a_stranger,
    keeps_new,
)
from corrigenda_core.testing.wire_decisions import (
    Item,
    Row,
    deciding,
    items_of,
    keep_existing,
    owner_of,
    placed_row,
    sides,
    status_of,
    traced,
)

pytestmark = pytest.mark.database

NewTeam = Callable[..., Awaitable[Any]]
Request = Callable[..., ingest_service_pb2.RememberRequest]
Verifies = Callable[[str], Awaitable[bool]]

ROUNDS = examples(fast=1, full=20)
WAIT_SECONDS = 20.0
ORDERS = ("judge first", "judge last", "together")
UNSURE = auto_resolution_pb2.JUDGE_VERDICT_UNSURE


@dataclass(frozen=True, slots=True, kw_only=True)
class Pairs:
    """An owner with main in force and release held in each scope, and two services that ask a judge about them."""

    team_id: str
    client: Any
    benches: Any
    lock: TeamLock
    deploys_from: Request
    scopes: dict[str, str] = field(default_factory=dict)
    rows: dict[str, dict[str, Row]] = field(default_factory=dict)

    @property
    def owner(self) -> Caller:
        return owner_of(self.team_id, next(iter(self.rows.values()))["main"])

    async def say(self, source: str, branch: str, pair: str, **more: Any) -> Row:
        scope = self.scopes[pair]
        text = f"{source}production deploys from {branch} ({scope})"
        return await placed_row(self.client, self.deploys_from(text, branch, scope=scope, **more))

    async def say_both(self, pair: str, scope: str) -> None:
        self.scopes[pair] = scope
        said = {"main": "", "release": "the log: "}
        self.rows[pair] = {branch: await self.say(source, branch, pair) for branch, source in said.items()}

    async def item(self, pair: str) -> Item:
        (item,) = [one for one in await items_of(self.client) if one.incoming[0].scope == self.scopes[pair]]
        return item

    async def keep_main(self, pair: str, item: Item) -> Any:
        request = deciding(item, keep_existing=keep_existing(self.rows[pair]["main"]))
        return (await self.client.conflict.ResolveConflict(request)).decision

    async def states(self, pair: str) -> dict[str, str]:
        traces = {branch: await traced(self.client, row) for branch, row in self.rows[pair].items()}
        return {branch: status_of(trace.relationship) for branch, trace in traces.items()}

    def run(self, answers: Mapping[str, Answer], *, service: int = 0) -> tuple[Awaitable[Run], list[str]]:
        """A run of a judge that answers by pair, and the pairs that it is asked about."""
        names = {scope: pair for pair, scope in self.scopes.items()}
        asked: list[str] = []

        async def answer(question: JudgeQuestion) -> JudgeAnswer:
            asked.append(names[question.scope])
            return await answers[names[question.scope]](question)

        judge = ScriptedJudge(dict.fromkeys(names, answer))
        return run_of(self.benches[service].run(self.owner, judge, asking())), asked

    async def judged_again(self) -> tuple[Run, list[str]]:
        """One more run over what waits."""
        run, asked = self.run(dict.fromkeys(self.scopes, is_unsure))
        return await run, asked


EachWithPairs = Callable[..., AsyncGenerator[tuple[Any, Pairs], None]]


@pytest.fixture
def each_with_pairs(
    stack: Stack, new_team: NewTeam, benches: Any, deploys_from: Request, ledger_verifies: Verifies
) -> EachWithPairs:
    """Every case with an owner of its own, and a pair of theirs in each scope; the ledger of it all is verified."""

    async def each(cases: Sequence[Any], *scopes: str) -> AsyncGenerator[tuple[Any, Pairs], None]:
        for _ in range(ROUNDS):
            team = await new_team(profiles=[f"owner {number}" for number in range(len(cases))])
            lock = TeamLock(
                holder_url=stack.url("corrigenda_migrator"),
                watcher_url=stack.url("corrigenda_auditor"),
                team_id=team.team_id,
            )
            for case, (name, client) in zip(cases, team.profiles.items(), strict=True):
                made = Pairs(team_id=team.team_id, client=client, benches=benches, lock=lock, deploys_from=deploys_from)
                for scope in scopes:
                    # Of each owner in a scope of their own: there is no case between them.
                    await made.say_both(scope, f"{scope} of {name}")
                yield case, made
            assert await ledger_verifies(team.team_id)

    return each


@asynccontextmanager
async def looking(
    made: Pairs, pair: str, answer: Answer, *, service: int = 0, elsewhere: Answer = keeps_new
) -> AsyncIterator[Callable[[], Awaitable[Run]]]:
    """A run whose judge has been asked about a pair, and answers when what is given is called.

    Args:
        made: whose questions.
        pair: which one the judge dwells on.
        answer: what it says of it.
        service: in which of the two services.
        elsewhere: what it says of the others.
    """
    asked, let_go = asyncio.Event(), asyncio.Event()

    async def dwells(question: JudgeQuestion) -> JudgeAnswer:
        asked.set()
        await let_go.wait()
        return await answer(question)

    answers: dict[str, Answer] = dict.fromkeys(made.scopes, elsewhere)
    run, _ = made.run({**answers, pair: dwells}, service=service)
    running = asyncio.ensure_future(run)

    async def finish() -> Run:
        let_go.set()
        return await running

    try:
        await asyncio.wait_for(asked.wait(), WAIT_SECONDS)
        yield finish
    finally:
        running.cancel()
        await asyncio.wait([running])


def only(run: Run) -> auto_resolution_pb2.AutoResolvedItem:
    (item,) = run.items
    return item


async def together(made: Pairs, *calls: Awaitable[Any]) -> list[Any]:
    """What each call comes to; every one of them is seen to wait for the team's lock."""
    met = await made.lock.meet(len(calls), calls)
    failed = [one for one in met if isinstance(one, BaseException)]
    assert not failed, failed
    return met


async def both(made: Pairs, order: str, judge: Callable[[], Awaitable[Run]], act: Awaitable[Any]) -> tuple[Run, Any]:
    """A judge's answer and another act, in one of the orders."""
    if order == "judge first":
        return await judge(), await act
    if order == "judge last":
        done = await act
        return await judge(), done
    run, done = await together(made, judge(), act)
    return run, done


def may_come_of(order: str, *, first: tuple[Any, str], last: tuple[Any, str]) -> set[tuple[Any, str]]:
    """What may come of the judge's answer."""
    return {"judge first": {first}, "judge last": {last}, "together": {first, last}}[order]


@pytest.mark.rule("R4.18", "R5.1")
async def test_s15_a_judge_that_names_no_side_while_the_owner_decides(each_with_pairs: EachWithPairs) -> None:
    """Its answer is on record as invalid, or came too late to be recorded; the owner alone picks a side."""
    async for order, made in each_with_pairs(ORDERS, "one"):
        item = await made.item("one")
        async with looking(made, "one", keeps_a_stranger) as judge:
            run, decision = await both(made, order, judge, made.keep_main("one", item))
        judged = only(run)
        assert judged.verdict == UNSURE
        assert (judged.outcome, judged.problem) in may_come_of(
            order,
            first=(RECORDED, "the answer names a side that does not exist"),
            last=(REFUSED, "ITEM_NOT_PENDING"),
        )
        assert judged.HasField("decision") is (judged.outcome == RECORDED)
        assert decision.kind == decision_pb2.DECISION_KIND_KEEP_EXISTING
        (answered,) = await items_of(made.client, review_item_pb2.ITEM_STATUS_RESOLVED)
        assert (answered.item_id, answered.version) == (item.item_id, item.version + 1)
        assert await made.states("one") == {"main": "active", "release": "rejected"}


@pytest.mark.rule("R4.18")
async def test_s19_of_two_runs_that_look_at_once_one_is_remembered(each_with_pairs: EachWithPairs) -> None:
    """A question at one version has one look: what another judge says of it meanwhile neither acts nor is recorded."""
    cases = [
        (is_unsure, is_unsure, "together"),
        (is_unsure, keeps_a_stranger, "together"),
        (is_unsure, keeps_new, "together"),
        (is_unsure, keeps_new, "one after the other"),
        (keeps_new, is_unsure, "one after the other"),
    ]
    async for (one, other, order), made in each_with_pairs(cases, "one"):
        item = await made.item("one")
        async with looking(made, "one", one) as judge, looking(made, "one", other, service=1) as second:
            if order == "together":
                runs = await together(made, judge(), second())
            else:
                runs = [await judge(), await second()]
        (first,) = [only(run) for run in runs if only(run).outcome != REFUSED]
        (late,) = [only(run) for run in runs if only(run).outcome == REFUSED]
        assert not late.HasField("decision")
        if first.outcome == RESOLVED:
            assert keeps_new in {one, other}
            assert late.problem == "ITEM_NOT_PENDING"
            assert await made.states("one") == {"main": "superseded", "release": "active"}
            continue
        assert (first.outcome, first.verdict, late.problem) == (RECORDED, UNSURE, "asked_before")
        # Nobody pays for it again, and nothing has changed.
        again, asked = await made.judged_again()
        assert (only(again).outcome, only(again).reason, asked) == (NOT_ASKED, "asked_before", [])
        assert (await made.item("one")).version == item.version
        assert await made.states("one") == {"main": "active", "release": "needs_review"}


@pytest.mark.rule("R4.18", "R4.16b")
async def test_s19_a_side_that_is_corrected_while_the_judge_is_unsure_is_asked_about_again(
    each_with_pairs: EachWithPairs,
) -> None:
    async for order, made in each_with_pairs(ORDERS, "one"):
        item = await made.item("one")
        target = submission_pb2.CorrectionTarget(relationship_id=made.rows["one"]["main"].relationship_id)
        async with looking(made, "one", is_unsure) as judge:
            correction = made.say("the report: ", "trunk", "one", correction_target=target)
            run, _ = await both(made, order, judge, correction)
        judged = only(run)
        assert (judged.outcome, judged.problem) in may_come_of(
            order, first=(RECORDED, ""), last=(REFUSED, "STALE_VERSION")
        )
        changed = await made.item("one")
        assert (sides(changed), changed.version) == ({"trunk", "release"}, item.version + 1)
        # The look was at another pair.
        again, asked = await made.judged_again()
        assert (only(again).outcome, asked) == (RECORDED, ["one"])


@pytest.mark.rule("R4.18", "R5.1")
async def test_s20_a_run_goes_on_past_a_failing_judge_while_the_owner_decides(each_with_pairs: EachWithPairs) -> None:
    """What the judge fails at is what the owner decides: the run skips it, and what it decides next meets the owner."""
    async for order, made in each_with_pairs(ORDERS, "fails", "answers"):
        item = await made.item("fails")
        async with looking(made, "fails", fails) as judge:
            run, decision = await both(made, order, judge, made.keep_main("fails", item))
        assert [(one.item_id == item.item_id, one.outcome) for one in run.items] == [(True, SKIPPED), (False, RESOLVED)]
        assert run.items[0].reason == "the model is not there"
        assert run.report == auto_resolution_pb2.AutoResolveReport(items_total=2, resolved=1, skipped=1)
        assert decision.revision != run.items[1].decision.revision
        assert await made.states("fails") == {"main": "active", "release": "rejected"}
        assert await made.states("answers") == {"main": "superseded", "release": "active"}
        assert not await items_of(made.client)


@pytest.mark.rule("R4.18", "R5.1")
async def test_s20_a_run_whose_judge_fails_in_the_middle_and_another_over_the_same_questions(
    each_with_pairs: EachWithPairs,
) -> None:
    """Every question is decided once, by whichever run comes first, and by the other if this one's judge fails."""

    async def fails_in_the_middle(question: JudgeQuestion) -> JudgeAnswer:
        return await (fails if question.scope.startswith("fails") else keeps_new)(question)

    async for _, made in each_with_pairs(["together"], "first", "fails", "last"):
        async with (
            looking(made, "first", keeps_new, elsewhere=fails_in_the_middle) as failing,
            looking(made, "first", keeps_new, service=1) as working,
        ):
            runs = await together(made, failing(), working())
        for number, answers in enumerate(zip(*(run.items for run in runs), strict=True)):
            outcomes = [one.outcome for one in answers]
            assert outcomes.count(RESOLVED) == 1, answers
            (left,) = [one for one in answers if one.outcome != RESOLVED]
            # It was too late, found the question answered, or is the one that the judge failed at.
            allowed = {(REFUSED, "ITEM_NOT_PENDING"), (NOT_ASKED, "not_pending")}
            if number == 1:
                allowed.add((SKIPPED, "the model is not there"))
            assert (left.outcome, left.problem or left.reason) in allowed
        reports = [run.report for run in runs]
        assert [(one.items_total, one.stopped_early) for one in reports] == [(3, False)] * 2
        assert sum(one.resolved for one in reports) == 3
        assert not await items_of(made.client)
