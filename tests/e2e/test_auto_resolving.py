"""A judge goes over an owner's questions: over the wire with the local one, and judges that fail, lie and dawdle."""

from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import aclosing
from typing import Any

import pytest
from corrigenda.conflict.v1 import auto_resolution_pb2, review_item_pb2
from corrigenda.conflict.v1 import conflict_service_pb2 as messages
from corrigenda.ingest.v1 import ingest_service_pb2
from corrigenda.type.v1 import actor_pb2, decision_pb2
from corrigenda_core.domain.actors import Caller
from corrigenda_core.domain.errors import Reason
from corrigenda_core.domain.judging import JudgeAnswer, JudgeQuestion
from corrigenda_core.testing.judging_runs import NOT_ASKED, RECORDED, REFUSED, RESOLVED, SKIPPED, asking, run_of
from corrigenda_core.testing.scripted_judge import ScriptedJudge, fails, keeps_a_stranger, keeps_new
from corrigenda_core.testing.wire_decisions import (
    Row,
    deciding,
    items_of,
    keep_new,
    owner_of,
    placed_row,
    recalled,
    refused,
    reverting,
    states,
)

pytestmark = pytest.mark.database

NewTeam = Callable[..., Awaitable[Any]]
Request = Callable[..., ingest_service_pb2.RememberRequest]
Verifies = Callable[[str], Awaitable[bool]]

MAIN, UNCLEAR = "production deploys from main", "the log: production deploys from release"
CHANGED = "production now deploys from release"


async def pair(team: Any, deploys_from: Request, second: str = CHANGED, **more: Any) -> tuple[Row, Row]:
    """Main, then release, which are not ordered by any known start."""
    main = await placed_row(team["A"], deploys_from(MAIN, "main", **more))
    release = await placed_row(team["A"], deploys_from(second, "release", **more))
    return main, release


@pytest.mark.promise("asked.judge")
@pytest.mark.rule("R4.18")
async def test_a_decisive_verdict_acts_is_recorded_and_is_reverted_like_any_other(
    new_team: NewTeam, deploys_from: Request, ledger_verifies: Verifies
) -> None:
    team = await new_team()
    a = team["A"]
    main, release = await pair(team, deploys_from)
    (asked,) = await items_of(a)
    foreseen = await run_of(a.conflict.AutoResolve(asking(dry_run=True)))
    assert [(one.item_id, one.version) for one in await items_of(a)] == [(asked.item_id, asked.version)]
    request = asking()
    run = await run_of(a.conflict.AutoResolve(request))
    (item,) = run.items
    assert run.report == auto_resolution_pb2.AutoResolveReport(items_total=1, resolved=1)
    assert (item.outcome, item.verdict, item.kept_relationship_id) == (
        RESOLVED,
        auto_resolution_pb2.JUDGE_VERDICT_KEEP_NEW,
        release.relationship_id,
    )
    assert (item.judge, bool(item.reason), item.problem) == ("local-rules/1", True, "")
    assert states(item.effects.changes) == {"main": ("active", "superseded"), "release": ("needs_review", "active")}
    # A dry run says the same, and stores nothing.
    (shown,) = foreseen.items
    assert (shown.outcome, shown.verdict, shown.reason) == (item.outcome, item.verdict, item.reason)
    assert states(shown.effects.changes) == states(item.effects.changes)
    assert not shown.HasField("decision")
    assert item.decision.kind == decision_pb2.DECISION_KIND_KEEP_NEW
    assert (item.decision.actor.kind, item.decision.actor.profile.name) == (actor_pb2.ACTOR_KIND_JUDGE, "A")
    assert await recalled(a, min_revision=item.decision.revision) == {"release"}
    # The same call goes over the same questions, and what was decided answers what it answered.
    assert (await run_of(a.conflict.AutoResolve(request))).items == run.items
    other = asking(idempotency_key=request.idempotency_key, limit=3)
    assert (await refused(run_of(a.conflict.AutoResolve(other)))).reason is Reason.IDEMPOTENCY_CONFLICT
    await a.conflict.RevertResolution(reverting(item.decision))
    assert await recalled(a) == {"main"}
    (again,) = await items_of(a)
    assert again.item_id == asked.item_id
    assert main.relationship_id in {row.relationship_id for row in again.opposing}
    assert await ledger_verifies(team.team_id)


@pytest.mark.rule("R4.18")
async def test_s19_an_unsure_judge_is_not_asked_again_before_something_changes(
    new_team: NewTeam, deploys_from: Request
) -> None:
    team = await new_team()
    a = team["A"]
    await pair(team, deploys_from, UNCLEAR)
    (asked,) = await items_of(a)
    first = await run_of(a.conflict.AutoResolve(asking()))
    (item,) = first.items
    assert (item.outcome, item.verdict) == (RECORDED, auto_resolution_pb2.JUDGE_VERDICT_UNSURE)
    assert item.decision.kind == decision_pb2.DECISION_KIND_UNSURE
    assert [(one.item_id, one.version) for one in await items_of(a)] == [(asked.item_id, asked.version)]
    second = await run_of(a.conflict.AutoResolve(asking()))
    assert [(one.outcome, one.reason) for one in second.items] == [(NOT_ASKED, "asked_before")]
    # The quiet period is over, and it is asked again.
    third = await run_of(a.conflict.AutoResolve(asking(quiet_period_seconds=0)))
    assert third.outcomes == [RECORDED]
    # A third value makes it a question for people, whatever else was said.
    await placed_row(a, deploys_from("the wiki: production deploys from trunk", "trunk"))
    fourth = await run_of(a.conflict.AutoResolve(asking(quiet_period_seconds=0)))
    assert [(one.outcome, one.reason) for one in fourth.items] == [(NOT_ASKED, "for_people")]
    assert not (await run_of(team["B"].conflict.AutoResolve(asking()))).items


@pytest.mark.rule("R4.18")
async def test_a_pair_that_is_too_young_waits(new_team: NewTeam, deploys_from: Request) -> None:
    team = await new_team(profiles=["A"])
    a = team["A"]
    await pair(team, deploys_from)
    young = await run_of(a.conflict.AutoResolve(messages.AutoResolveRequest(idempotency_key="young")))
    assert [(one.outcome, one.problem) for one in young.items] == [(RECORDED, "too_young")]
    assert [(one.outcome, one.verdict) for one in young.items] == [
        (RECORDED, auto_resolution_pb2.JUDGE_VERDICT_KEEP_NEW)
    ]
    assert await recalled(a) == {"main"}
    # Of age, it is asked again in spite of the quiet period.
    of_age = await run_of(a.conflict.AutoResolve(asking()))
    assert of_age.outcomes == [RESOLVED]


Bench = Callable[..., AsyncGenerator[messages.AutoResolveResponse, None]]


@pytest.fixture
def bench(benches: Any) -> Bench:
    """Runs any judge beside the running service."""
    run: Bench = benches[0].run
    return run


async def pairs(team: Any, deploys_from: Request, scopes: Sequence[str]) -> Caller:
    """One pair for each scope, in this order."""
    for scope in scopes:
        main, _ = await pair(team, deploys_from, UNCLEAR, scope=scope)
    return owner_of(team.team_id, main)


@pytest.mark.promise("asked.judge")
@pytest.mark.rule("R4.18")
async def test_s15_and_s20_a_judge_that_lies_or_fails_stops_nothing(
    bench: Bench, new_team: NewTeam, deploys_from: Request
) -> None:
    team = await new_team(profiles=["A"])
    caller = await pairs(team, deploys_from, ["lies", "fails", "answers"])
    judge = ScriptedJudge({"lies": keeps_a_stranger, "fails": fails, "answers": keeps_new})
    request = asking()
    run = await run_of(bench(caller, judge, request))
    assert judge.asked == ["lies", "fails", "answers"]
    lies, failed, answered = run.items
    assert (lies.outcome, lies.verdict) == (RECORDED, auto_resolution_pb2.JUDGE_VERDICT_UNSURE)
    assert lies.problem == "the answer names a side that does not exist"
    assert (failed.outcome, failed.reason, failed.verdict) == (SKIPPED, "the model is not there", 0)
    assert (answered.outcome, answered.judge, answered.model) == (RESOLVED, "scripted", "m/1")
    assert run.report == auto_resolution_pb2.AutoResolveReport(items_total=3, resolved=1, recorded=1, skipped=1)
    # Nothing half done: the pair that was skipped is as it was, and the same call takes it up alone.
    waiting = await items_of(team["A"])
    assert [one.version for one in waiting] == [1, 1]
    again = ScriptedJudge({"fails": keeps_new})
    rest = await run_of(bench(caller, again, request))
    assert again.asked == ["fails"]
    assert rest.items[0] == lies
    assert rest.items[1].outcome == RESOLVED
    assert rest.items[2] == answered


@pytest.mark.rule("R4.18", "R5.1")
async def test_a_question_that_changes_while_the_judge_looks_is_left_alone(
    bench: Bench, new_team: NewTeam, deploys_from: Request
) -> None:
    team = await new_team(profiles=["A"])
    caller = await pairs(team, deploys_from, ["decided", "changed"])
    by_scope = {one.incoming[0].scope: one for one in await items_of(team["A"])}

    async def decided_meanwhile(question: JudgeQuestion) -> JudgeAnswer:
        item = by_scope["decided"]
        await team["A"].conflict.ResolveConflict(deciding(item, keep_new=keep_new(item.opposing[0])))
        return await keeps_new(question)

    async def changed_meanwhile(question: JudgeQuestion) -> JudgeAnswer:
        await placed_row(team["A"], deploys_from("the wiki: production deploys from trunk", "trunk", scope="changed"))
        return await keeps_new(question)

    judge = ScriptedJudge({"decided": decided_meanwhile, "changed": changed_meanwhile})
    run = await run_of(bench(caller, judge, asking()))
    assert [(one.outcome, one.problem) for one in run.items] == [
        (REFUSED, Reason.ITEM_NOT_PENDING),
        (REFUSED, Reason.STALE_VERSION),
    ]
    (left,) = await items_of(team["A"])
    assert len(left.opposing) == 2
    (owned,) = await items_of(team["A"], review_item_pb2.ITEM_STATUS_RESOLVED)
    assert owned.item_id == by_scope["decided"].item_id


@pytest.mark.rule("R4.18", "R5.1")
async def test_who_hangs_up_loses_nothing_and_leaves_nothing_half_done(
    bench: Bench, new_team: NewTeam, deploys_from: Request, ledger_verifies: Verifies
) -> None:
    team = await new_team(profiles=["A"])
    caller = await pairs(team, deploys_from, ["first", "second", "third"])
    judge = ScriptedJudge({"first": keeps_new, "second": keeps_new, "third": keeps_new})
    request = asking()
    async with aclosing(bench(caller, judge, request)) as answers:
        first = await anext(answers)
    assert (first.done, first.total, first.item.outcome) == (1, 3, RESOLVED)
    assert len(await items_of(team["A"])) == 2
    rest = await run_of(bench(caller, judge, request))
    assert rest.items[0] == first.item
    assert rest.outcomes == [RESOLVED] * 3
    assert judge.asked == ["first", "second", "third"]
    assert not await items_of(team["A"])
    assert await ledger_verifies(team.team_id)


async def test_a_run_ends_in_good_order_before_its_deadline(
    bench: Bench, new_team: NewTeam, deploys_from: Request
) -> None:
    team = await new_team(profiles=["A"])
    caller = await pairs(team, deploys_from, ["first"])
    run = await run_of(bench(caller, ScriptedJudge({"first": keeps_new}), asking(), seconds=1.0))
    assert not run.items
    assert run.report == auto_resolution_pb2.AutoResolveReport(items_total=1, stopped_early=True)
