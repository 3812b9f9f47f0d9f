"""What comparable products get wrong with disagreements (P12 to P14, P38), over the wire."""

import asyncio
import uuid
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from corrigenda.admin.v1 import admin_service_pb2
from corrigenda.conflict.v1 import conflict_case_pb2, conflict_service_pb2, review_run_pb2
from corrigenda.ingest.v1 import ingest_service_pb2, placement_pb2
from corrigenda.recall.v1 import recall_service_pb2, result_pb2
from corrigenda.type.v1 import actor_pb2, relationship_pb2
from corrigenda_core.rpc.convert import timestamp_of
from corrigenda_core.testing.wire_decisions import placed_row, placement, recalled, retracting, traced, value_of
from corrigenda_core.testing.wire_recall import current_recall

pytestmark = pytest.mark.database

NewTeam = Callable[..., Awaitable[Any]]
Request = Callable[..., ingest_service_pb2.RememberRequest]
BEGIN = datetime(2026, 1, 1, tzinfo=UTC)
WAIT_SECONDS = 60.0


async def looked_at(team: Any) -> None:
    """Lets the reviewer look at every live case."""
    await team.admin.conflict.ReviewNow(
        conflict_service_pb2.ReviewNowRequest(idempotency_key=uuid.uuid4().hex, wait_seconds=60)
    )


@pytest.mark.promise("case.shown")
@pytest.mark.rule("R9.2")
async def test_p12_and_p13_an_open_case_hides_nobody_and_everybody_is_told(
    new_team: NewTeam, deploys_from: Request
) -> None:
    team = await new_team(driven_from=BEGIN)
    await placed_row(team["A"], deploys_from("production deploys from main", "main"))
    opened = (await placement(team["B"], deploys_from("production deploys from release", "release"))).conflict
    assert opened.effect == placement_pb2.CONFLICT_EFFECT_OPENS_CASE
    assert (opened.version, opened.HasField("review_due_at")) == (1, True)
    joined = (await placement(team["C"], deploys_from("we saw it: production deploys from main", "main"))).conflict
    assert joined.effect == placement_pb2.CONFLICT_EFFECT_JOINS_CASE
    assert (joined.conflict_id, joined.version, joined.review_due_at) == (opened.conflict_id, 2, opened.review_due_at)
    await looked_at(team)
    request = recall_service_pb2.RecallRequest(query="what does production deploy from")
    answer = await current_recall(team["A"], team["A"].own_writes(request))
    paths = [path for result in answer.results for path in result.paths]
    assert {value_of(path.relationship) for path in paths} == {"main", "release"}
    assert all(result_pb2.PATH_MARK_DISPUTED in path.marks for path in paths)
    assert [conflict.conflict_id for conflict in answer.conflicts] == [opened.conflict_id]


@pytest.mark.rule("R7.10")
async def test_p14_an_owner_takes_a_fact_back_and_all_of_it_is_on_record(
    new_team: NewTeam, deploys_from: Request
) -> None:
    team = await new_team(driven_from=BEGIN)
    wrong = await placed_row(team["A"], deploys_from("production deploys from main", "main"))
    opened = (await placement(team["B"], deploys_from("production deploys from release", "release"))).conflict
    await team["A"].ingest.Forget(retracting(wrong))
    await looked_at(team)
    seen = await team["C"].conflict.GetConflict(conflict_service_pb2.GetConflictRequest(conflict_id=opened.conflict_id))
    assert seen.conflict.status == conflict_case_pb2.CASE_STATUS_DISMISSED
    assert [event.action for event in seen.events] == [
        conflict_case_pb2.CASE_ACTION_OPENED,
        conflict_case_pb2.CASE_ACTION_REFRESHED,
        conflict_case_pb2.CASE_ACTION_DISMISSED,
    ]
    assert [event.actor.kind for event in seen.events] == [
        actor_pb2.ACTOR_KIND_PROFILE,
        actor_pb2.ACTOR_KIND_PROFILE,
        actor_pb2.ACTOR_KIND_REVIEWER,
    ]
    assert seen.events[1].actor.profile.name == "A"
    trace = await traced(team["A"], wrong)
    assert trace.relationship.status == relationship_pb2.RELATIONSHIP_STATUS_RETRACTED
    assert trace.transitions[-1].actor.profile.name == "A"
    assert await recalled(team["A"]) == {"release"}


@pytest.mark.rule("R7.17")
async def test_p38_the_nightly_run_says_what_it_did_with_the_cases_of_its_team(
    new_team: NewTeam, deploys_from: Request
) -> None:
    """One case has a majority at its deadline, the other has none; nobody asks for the run."""
    team = await new_team(driven_from=BEGIN)
    for subject, names in (("production", "ABC"), ("staging", "AB")):
        for name, text, branch in (
            ("A", f"{subject} deploys from main", "main"),
            ("B", f"{subject} deploys from release", "release"),
            ("C", f"our checklist confirms it: {subject} deploys from release", "release"),
        ):
            request = deploys_from(text, branch)
            request.proposal.entities[0].name = subject
            if name in names:
                await placement(team[name], request)
    await team.admin.admin.DriveClock(
        admin_service_pb2.DriveClockRequest(
            idempotency_key="nine days", time=timestamp_of(BEGIN + timedelta(days=8, hours=12))
        )
    )
    looks = await reviewed(team, cases=2)
    # Whoever looks in the moment in which the clock is driven does it in the name of the night before: the sums count.
    assert sum(run.counters.resolved for run in looks) == sum(run.counters.marked_overdue for run in looks) == 1
    for kind in ("dismissed", "left", "failed"):
        assert sum(getattr(run.counters, kind) for run in looks) == 0, kind


async def reviewed(team: Any, *, cases: int) -> list[review_run_pb2.ReviewRun]:
    """The finished runs, once they have changed so many cases together."""
    async with asyncio.timeout(WAIT_SECONDS):
        while True:
            listed = await team.admin.conflict.ListReviewRuns(conflict_service_pb2.ListReviewRunsRequest())
            runs = [run for run in listed.runs if run.status == review_run_pb2.REVIEW_RUN_STATUS_FINISHED]
            # A case that was only just opened has had a look already, which changed nothing.
            if sum(run.counters.resolved + run.counters.marked_overdue for run in runs) >= cases:
                return runs
            await asyncio.sleep(0.02)
