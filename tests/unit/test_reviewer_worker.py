"""The reviewer's loop: what fails costs nobody else their look, and attempts are bounded."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, date, datetime

import pytest
from corrigenda_conflict.reviewer.look import Looked
from corrigenda_conflict.reviewer.metrics import ReviewMetrics
from corrigenda_conflict.reviewer.worker import Pace, Reviewer
from corrigenda_core.domain.errors import Reason, Refusal
from corrigenda_core.domain.ids import ConflictId, TeamId
from corrigenda_core.domain.snapshots import Outcome
from corrigenda_core.domain.team import TeamPolicy
from corrigenda_core.domain.time import Instant
from corrigenda_core.persistence.review_cases import CaseRows
from corrigenda_core.persistence.review_store import Claim, ClaimedCases, RunClaim, RunCounters, TeamNow
from corrigenda_core.serving import new_ids
from prometheus_client import CollectorRegistry

NOW = datetime(2026, 6, 1, 12, tzinfo=UTC)
# While a team is being reviewed its cases are not due; after so many polls without a due team, none is under way.
IDLE_POLLS = 5
PACE = Pace(batch_cases=2, attempts_per_night=3, poll_seconds=0.001)


@dataclass
class Queue:
    """Due cases by team, as the database keeps them: claiming counts an attempt, giving back makes a case due.

    ``stop`` is set when nothing is due any more, or after ``rounds_max`` looks for due teams.
    """

    due: dict[str, list[str]]
    runs: dict[str, list[str]] = field(default_factory=dict)
    broken_teams: frozenset[str] = frozenset()
    attempts: Counter[str] = field(default_factory=Counter)
    alerts: list[str] = field(default_factory=list)
    given_back_until: dict[str, Instant] = field(default_factory=dict)
    renewed: int = 0
    left: list[RunCounters] = field(default_factory=list)
    idle_polls: int = 0
    rests: list[float] = field(default_factory=list)
    run_token: int = 1
    given_up: int = 0
    finished: list[RunCounters] = field(default_factory=list)
    rounds: int = 0
    rounds_max: int = 20
    stop: asyncio.Event = field(default_factory=asyncio.Event)

    async def due_teams(self, limit: int) -> list[TeamId]:
        self.rounds += 1
        waiting = {*(team for team, cases in self.due.items() if cases), *(t for t, runs in self.runs.items() if runs)}
        found = sorted({*waiting, *self.broken_teams})[:limit] if self.rounds <= self.rounds_max else []
        self.idle_polls = 0 if found else self.idle_polls + 1
        if self.idle_polls == IDLE_POLLS:
            self.stop.set()
        return [TeamId(team) for team in found]

    async def team_now(self, team_id: TeamId) -> TeamNow:
        if team_id in self.broken_teams:
            raise OverflowError("a clock that nobody foresaw")
        return TeamNow(team_id=team_id, policy=TeamPolicy(), now=NOW)

    async def reserve_night(self, team: TeamNow, *, run_id: str, night: date, policy_version: str) -> None:
        return None

    async def claim_run(self, team: TeamNow) -> RunClaim | None:
        waiting = self.runs.get(team.team_id)
        return RunClaim(run_id=waiting.pop(), token=self.run_token, counters=RunCounters()) if waiting else None

    async def renew_run(self, team: TeamNow, run: RunClaim, counters: RunCounters) -> None:
        self.renewed += 1

    async def leave_run(self, team: TeamNow, run: RunClaim, counters: RunCounters) -> None:
        self.left.append(counters)

    async def claim_cases(self, team: TeamNow, *, night: date, batch: int) -> ClaimedCases:
        claimed, self.due[team.team_id] = self.due[team.team_id][:batch], self.due[team.team_id][batch:]
        self.attempts.update(claimed)
        claims = [Claim(conflict_id=ConflictId(one), token=1, attempt=self.attempts[one]) for one in claimed]
        return ClaimedCases(claims=claims, rows={one.conflict_id: CaseRows(found={}) for one in claims})

    async def give_back(
        self, team: TeamNow, claim: Claim, next_review_at: Instant, *, rest_seconds: float = 0.0
    ) -> None:
        self.given_back_until[claim.conflict_id] = next_review_at
        self.rests.append(rest_seconds)
        if next_review_at <= team.now:
            self.due[team.team_id].append(claim.conflict_id)

    async def raise_alert(
        self,
        team: TeamNow,
        *,
        alert_id: str,
        kind: str,
        reason: str,
        conflict_id: ConflictId | None = None,
        details: Mapping[str, object] | None = None,
    ) -> None:
        self.alerts.append(f"{kind} of {conflict_id or (details or {})['run_id']}: {reason}")

    async def finish_run(self, team: TeamNow, run: RunClaim, counters: RunCounters, *, given_up: bool = False) -> None:
        self.finished.append(counters)
        self.given_up += given_up

    async def record_due_run(self, team: TeamNow, *, run_id: str, policy_version: str, counters: RunCounters) -> None:
        return None


@dataclass
class Looks:
    """Looks at cases; those that are bad fail each time, and ``after`` is told of every look."""

    bad: dict[str, Exception] = field(default_factory=dict)
    seen: list[str] = field(default_factory=list)
    told: list[str] = field(default_factory=list)
    mute: bool = False
    outcome: Outcome = Outcome.KEEP_OPEN
    changed: bool = False
    after: Callable[[str], None] = lambda _: None

    async def alert(self, team: TeamNow, claim: Claim, rows: CaseRows) -> None:
        self.told.append(claim.conflict_id)
        if self.mute:
            raise Refusal(Reason.STORE_UNAVAILABLE, "not now")

    async def at(self, team: TeamNow, claim: Claim, rows: CaseRows) -> Looked:
        self.seen.append(claim.conflict_id)
        self.after(claim.conflict_id)
        if claim.conflict_id in self.bad:
            raise self.bad[claim.conflict_id]
        return Looked(outcome=self.outcome, changed=self.changed)


async def worked_off(queue: Queue, looks: Looks) -> CollectorRegistry:
    """Lets a reviewer work until nothing is due any more, at most the queue's rounds."""
    registry = CollectorRegistry()
    reviewer = Reviewer(store=queue, look=looks, pace=PACE, metrics=ReviewMetrics(registry), new_ids=new_ids)
    async with asyncio.timeout(60):
        await reviewer.run_until(queue.stop)
    return registry


@pytest.mark.rule("R7.18")
@pytest.mark.parametrize(
    "failure",
    [
        pytest.param(Refusal(Reason.INTERNAL_ERROR, "a constraint refused it"), id="refused"),
        pytest.param(KeyError("a row that is not there"), id="a defect"),
    ],
)
@pytest.mark.parametrize("mute", [False, True])
async def test_a_case_that_cannot_be_looked_at_costs_the_others_nothing(failure: Exception, mute: bool) -> None:
    queue = Queue(due={"t": ["bad", "good", "better", "best"]})
    looks = Looks(bad={"bad": failure}, mute=mute)
    registry = await worked_off(queue, looks)
    assert Counter(looks.seen) == {"bad": PACE.attempts_per_night, "good": 1, "better": 1, "best": 1}
    assert queue.alerts == ["attempts_exhausted of bad: 3 attempts failed tonight"]
    assert [rest for rest in queue.rests if rest] == [0.1, 0.2, 0.4]
    assert looks.told == ["bad"]
    assert queue.given_back_until["bad"] > NOW
    assert registry.get_sample_value("corrigenda_review_exhausted_attempts_total") == 1
    labels = {"reason": "INTERNAL_ERROR"}
    assert registry.get_sample_value("corrigenda_review_failed_looks_total", labels) == PACE.attempts_per_night


@pytest.mark.rule("R7.17")
async def test_a_team_that_cannot_be_reviewed_costs_the_others_nothing() -> None:
    queue = Queue(due={"z": ["one", "two"]}, broken_teams=frozenset({"a"}), rounds_max=3)
    looks = Looks()
    registry = await worked_off(queue, looks)
    assert sorted(looks.seen) == ["one", "two"]
    assert registry.get_sample_value("corrigenda_review_failed_rounds_total") == 3


@pytest.mark.rule("R7.18")
async def test_a_long_run_keeps_its_lease_and_counts_all_of_its_cases() -> None:
    queue = Queue(due={"t": ["a", "b", "c", "d", "e"]}, runs={"t": ["run"]})
    await worked_off(queue, Looks())
    assert queue.renewed == 2
    assert [counters.examined for counters in queue.finished] == [5]


async def test_a_run_that_was_told_to_stop_is_left_to_whoever_takes_it_over() -> None:
    queue = Queue(due={"t": ["a", "b", "c"]}, runs={"t": ["run"]})
    await worked_off(queue, Looks(after=lambda _: queue.stop.set()))
    assert queue.due["t"] == ["c"]
    assert not queue.finished
    assert [counters.examined for counters in queue.left] == [2]


async def test_a_run_that_nobody_brings_to_its_end_is_given_up_and_told_of() -> None:
    queue = Queue(due={"t": []}, runs={"t": ["run"]}, run_token=PACE.claims_per_run + 1)
    registry = await worked_off(queue, Looks())
    assert queue.given_up == 1
    assert queue.alerts == ["run_given_up of run: 5 reviewers did not come to the end of a run"]
    assert registry.get_sample_value("corrigenda_review_given_up_runs_total") == 1


@pytest.mark.parametrize(
    ("outcome", "changed", "counter"),
    [
        (Outcome.RESOLVE, True, "resolved"),
        (Outcome.DISMISS, True, "dismissed"),
        (Outcome.OVERDUE, True, "marked_overdue"),
        (Outcome.OVERDUE, False, "kept"),
        (Outcome.KEEP_OPEN, False, "kept"),
    ],
)
async def test_p38_a_run_says_what_it_did_with_every_case(outcome: Outcome, changed: bool, counter: str) -> None:
    """An overdue case that stays overdue was left as it was."""
    queue = Queue(due={"t": ["one", "two", "three"]}, runs={"t": ["run"]})
    await worked_off(queue, Looks(outcome=outcome, changed=changed))
    (counters,) = queue.finished
    assert {name: number for name, number in counters.columns().items() if number} == {"examined": 3, counter: 3}


async def test_p38_what_another_reviewer_took_is_left_and_what_fails_is_failed() -> None:
    lost = Refusal(Reason.LEASE_LOST, "another reviewer has claimed the case, or it has changed")
    queue = Queue(due={"t": ["taken", "broken", "good"]}, runs={"t": ["run"]})
    registry = await worked_off(queue, Looks(bad={"taken": lost, "broken": KeyError("a row that is not there")}))
    (counters,) = queue.finished
    assert counters.left == 1
    assert counters.kept == 1
    assert counters.failed == PACE.attempts_per_night
    assert counters.examined == counters.left + counters.kept + counters.failed
    assert registry.get_sample_value("corrigenda_review_lost_leases_total") == 1


async def test_a_team_with_much_to_do_keeps_no_other_team_waiting() -> None:
    """While one look takes long, other teams are due, reviewed and done."""
    small_is_done, looked = asyncio.Event(), []

    class Slow(Looks):
        async def at(self, team: TeamNow, claim: Claim, rows: CaseRows) -> Looked:
            if team.team_id == "large":
                await asyncio.wait_for(small_is_done.wait(), 30)
            looked.append(claim.conflict_id)
            if team.team_id == "small":
                small_is_done.set()
            return await Looks.at(self, team, claim, rows)

    await worked_off(Queue(due={"large": ["a", "b", "c"], "small": ["d"]}), Slow())
    assert looked == ["d", "a", "b", "c"]


async def test_two_cases_of_a_team_are_looked_at_together_in_the_order_of_their_claims() -> None:
    under_way, most, begun = 0, 0, []

    class Counted(Looks):
        async def at(self, team: TeamNow, claim: Claim, rows: CaseRows) -> Looked:
            nonlocal under_way, most
            begun.append(claim.conflict_id)
            under_way += 1
            most = max(most, under_way)
            await asyncio.sleep(0)
            under_way -= 1
            return await Looks.at(self, team, claim, rows)

    await worked_off(Queue(due={"t": ["a", "b", "c", "d", "e"]}), Counted())
    assert begun == ["a", "b", "c", "d", "e"]
    assert most == PACE.looks_at_once


async def test_what_fails_beside_a_look_fails_the_round_when_the_other_looks_are_done() -> None:
    """A case that cannot even be given back: the database is away, and the round with it."""
    given_back = asyncio.Event()

    class Away(Queue):
        async def give_back(self, *_: object, **__: object) -> None:
            given_back.set()
            raise Refusal(Reason.STORE_UNAVAILABLE, "the database cannot be reached")

    class Waiting(Looks):
        async def at(self, team: TeamNow, claim: Claim, rows: CaseRows) -> Looked:
            if claim.conflict_id == "good":
                await asyncio.wait_for(given_back.wait(), 30)
            return await Looks.at(self, team, claim, rows)

    looks = Waiting(bad={"bad": Refusal(Reason.STORE_UNAVAILABLE, "the database cannot be reached")})
    registry = await worked_off(Away(due={"t": ["bad", "good"]}), looks)
    assert sorted(looks.seen) == ["bad", "good"]
    assert registry.get_sample_value("corrigenda_review_failed_rounds_total") == 1
