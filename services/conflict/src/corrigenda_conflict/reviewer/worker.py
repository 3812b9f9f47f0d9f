"""The reviewer's loop: finds due teams without locks, claims inside one team, looks, and keeps the record of runs."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date

import structlog
from corrigenda_core.domain.errors import Reason, Refusal
from corrigenda_core.domain.ids import IdRange, TeamId
from corrigenda_core.domain.snapshots import INDEPENDENT_SOURCES, Outcome
from corrigenda_core.persistence.review_cases import CaseRows
from corrigenda_core.persistence.review_store import Claim, ClaimedCases, ReviewStore, RunClaim, RunCounters, TeamNow
from corrigenda_core.policy.case_review import ATTEMPTS_EXHAUSTED
from corrigenda_core.process import wait_for_stop

from corrigenda_conflict.reviewer.look import Look, Looked
from corrigenda_conflict.reviewer.metrics import ReviewMetrics
from corrigenda_conflict.reviewer.schedule import next_night, night_of

TEAMS_PER_POLL = 50
RUN_GIVEN_UP = "run_given_up"
# What a case rests after its first failed look in a night; each further one doubles it.
REST_SECONDS_FIRST = 0.1

_log = structlog.get_logger("corrigenda.reviewer")


@dataclass(frozen=True, slots=True, kw_only=True)
class Pace:
    """How much is taken at once, how often it is tried, and how long to wait when there is nothing to do.

    A team takes one place of ``teams_at_once`` for as long as it has due cases, so that a large one does not keep the
    others waiting. Of its cases ``looks_at_once`` are under way: while one is being committed, the next is decided. A
    run that was claimed ``claims_per_run`` times without coming to its end is given up.
    """

    batch_cases: int
    attempts_per_night: int
    poll_seconds: float
    teams_at_once: int = 4
    looks_at_once: int = 2
    claims_per_run: int = 5


class Reviewer:
    """The worker; several may run at once.

    Args:
        store: claims and records.
        look: looks at one case.
        pace: how much is taken at once.
        metrics: counters of this process.
        new_ids: draws ids.
        polled: told of every poll that the database has answered.
    """

    def __init__(
        self,
        *,
        store: ReviewStore,
        look: Look,
        pace: Pace,
        metrics: ReviewMetrics,
        new_ids: Callable[[], IdRange],
        polled: Callable[[], None] = lambda: None,
    ) -> None:
        self._store = store
        self._look = look
        self._pace = pace
        self._metrics = metrics
        self._new_ids = new_ids
        self._polled = polled
        self._at_work: dict[TeamId, asyncio.Task[bool]] = {}

    async def run_until(self, stop: asyncio.Event) -> None:
        """Works until told to stop; a look that is under way is finished first.

        A look is due when the ``next_review_at`` of a live case has passed on the team's clock (R7.17); the worker
        polls for that. Whatever fails is logged and tried again: the case stays due, and no other team waits for it.
        """
        while not stop.is_set():
            started = self._start(await self._due_teams(), stop)
            worked = await self._some_settled(started)
            if not worked and not stop.is_set():
                await wait_for_stop(stop, self._pace.poll_seconds)
        await asyncio.gather(*self._at_work.values())

    def _start(self, due: list[TeamId], stop: asyncio.Event) -> int:
        """Begins with due teams that nobody here works on, as many as there is room for; returns how many."""
        room = self._pace.teams_at_once - len(self._at_work)
        chosen = [team_id for team_id in due if team_id not in self._at_work][:room]
        for team_id in chosen:
            self._at_work[team_id] = asyncio.create_task(self._tried_team(team_id, stop))
        return len(chosen)

    async def _some_settled(self, started: int) -> bool:
        """Waits for a team to be through, no longer than a poll if there is room; says whether one had work."""
        if not self._at_work:
            return False
        has_room = len(self._at_work) < self._pace.teams_at_once
        done, _ = await asyncio.wait(
            self._at_work.values(),
            timeout=self._pace.poll_seconds if has_room else None,
            return_when=asyncio.FIRST_COMPLETED,
        )
        self._at_work = {team_id: task for team_id, task in self._at_work.items() if task not in done}
        return any(task.result() for task in done) or (started > 0 and not done)

    async def _due_teams(self) -> list[TeamId]:
        try:
            due = await self._store.due_teams(TEAMS_PER_POLL)
        except Exception as error:  # noqa: BLE001 - the loop of a worker outlives any failure
            self._metrics.failed_rounds.inc()
            _log.error("review_round_failed", exc_info=error)
            return []
        self._polled()
        return due

    async def _tried_team(self, team_id: TeamId, stop: asyncio.Event) -> bool:
        try:
            return await self._review_team(team_id, stop)
        except Exception as error:  # noqa: BLE001 - the loop of a worker outlives any failure
            self._metrics.failed_rounds.inc()
            _log.error("review_round_failed", team_id=team_id, exc_info=error)
            return False

    async def _review_team(self, team_id: TeamId, stop: asyncio.Event) -> bool:
        """One round inside one team; says whether there was anything to do."""
        team = await self._store.team_now(team_id)
        night = night_of(team)
        await self._store.reserve_night(
            team, run_id=self._new_ids().nth(0), night=night, policy_version=INDEPENDENT_SOURCES
        )
        run = await self._store.claim_run(team)
        if run is not None and run.token > self._pace.claims_per_run:
            await self._give_up_run(team, run)
            return True
        counters = RunCounters() if run is None else run.counters
        taken_over = counters.examined
        is_complete = await self._review_cases(team, night, run, counters, stop)
        examined = counters.examined - taken_over
        if run is None and examined:
            await self._store.record_due_run(
                team, run_id=self._new_ids().nth(0), policy_version=INDEPENDENT_SOURCES, counters=counters
            )
        if run is not None and is_complete:
            await self._store.finish_run(team, run, counters)
        elif run is not None:
            # It was told to stop half-way: whoever takes the run over looks at what is left.
            await self._store.leave_run(team, run, counters)
        if run is not None or examined:
            _log.info("team_reviewed", team_id=team_id, night=night.isoformat(), **counters.columns())
        return run is not None or examined > 0

    async def _review_cases(
        self, team: TeamNow, night: date, run: RunClaim | None, counters: RunCounters, stop: asyncio.Event
    ) -> bool:
        """Looks at due cases, batch by batch; says whether none was left."""
        while not stop.is_set():
            claimed = await self._store.claim_cases(team, night=night, batch=self._pace.batch_cases)
            await self._review_claimed(team, claimed, counters)
            if len(claimed.claims) < self._pace.batch_cases:
                return True
            if run is not None:
                await self._store.renew_run(team, run, counters)
        return False

    async def _review_claimed(self, team: TeamNow, claimed: ClaimedCases, counters: RunCounters) -> None:
        """Looks at what was claimed, begun in that order; what fails besides the looks is raised when all are done."""
        waiting = iter(claimed.claims)

        async def look_on() -> None:
            for claim in waiting:
                await self._review_case(team, claim, claimed.rows[claim.conflict_id], counters)

        ends = await asyncio.gather(*(look_on() for _ in range(self._pace.looks_at_once)), return_exceptions=True)
        for end in ends:
            if end is not None:
                raise end

    async def _review_case(self, team: TeamNow, claim: Claim, rows: CaseRows, counters: RunCounters) -> None:
        counters.examined += 1
        if claim.attempt > self._pace.attempts_per_night:
            counters.failed += 1
            await self._give_up(team, claim, rows)
            return
        try:
            looked = await self._look.at(team, claim, rows)
        except Refusal as refusal:
            if refusal.reason is Reason.LEASE_LOST:
                # Another reviewer has it, or it has changed and is due anew: nothing failed.
                counters.left += 1
                self._metrics.lost_leases.inc()
                return
            await self._failed(team, claim, counters, refusal.reason, None)
        except Exception as error:  # noqa: BLE001 - one case that cannot be looked at must not cost the others their look
            await self._failed(team, claim, counters, Reason.INTERNAL_ERROR, error)
        else:
            self._metrics.looks.labels(looked.outcome.value).inc()
            _count(counters, looked)

    async def _failed(
        self, team: TeamNow, claim: Claim, counters: RunCounters, reason: Reason, error: Exception | None
    ) -> None:
        """Notes a failed look; the case stays due, and rests a little longer after every attempt."""
        counters.failed += 1
        self._metrics.failed_looks.labels(reason.value).inc()
        _log.warning(
            "look_failed",
            team_id=team.team_id,
            conflict_id=claim.conflict_id,
            attempt=claim.attempt,
            reason=reason.value,
            exc_info=error,
        )
        rest_seconds = REST_SECONDS_FIRST * 2 ** (claim.attempt - 1)
        await self._store.give_back(team, claim, team.now, rest_seconds=rest_seconds)

    async def _give_up(self, team: TeamNow, claim: Claim, rows: CaseRows) -> None:
        """Attempts are bounded: the case waits for the next night, and people are told."""
        self._metrics.exhausted_attempts.inc()
        await self._store.raise_alert(
            team,
            alert_id=self._new_ids().nth(0),
            kind=ATTEMPTS_EXHAUSTED,
            conflict_id=claim.conflict_id,
            reason=f"{self._pace.attempts_per_night} attempts failed tonight",
        )
        try:
            await self._look.alert(team, claim, rows)
        except Exception as error:  # noqa: BLE001 - what keeps the case from being looked at may keep its event from being written
            _log.warning("alert_not_told", team_id=team.team_id, conflict_id=claim.conflict_id, exc_info=error)
        await self._store.give_back(team, claim, next_night(team, team.now))

    async def _give_up_run(self, team: TeamNow, run: RunClaim) -> None:
        """A run that nobody brings to its end is told of; its cases stay due as they are."""
        self._metrics.given_up_runs.inc()
        _log.error("run_given_up", team_id=team.team_id, run_id=run.run_id)
        await self._store.raise_alert(
            team,
            alert_id=self._new_ids().nth(0),
            kind=RUN_GIVEN_UP,
            reason=f"{self._pace.claims_per_run} reviewers did not come to the end of a run",
            details={"run_id": run.run_id},
        )
        await self._store.finish_run(team, run, run.counters, given_up=True)


def _count(counters: RunCounters, looked: Looked) -> None:
    match looked.outcome:
        case Outcome.RESOLVE:
            counters.resolved += 1
        case Outcome.DISMISS:
            counters.dismissed += 1
        case Outcome.OVERDUE if looked.changed:
            counters.marked_overdue += 1
        case Outcome.OVERDUE | Outcome.KEEP_OPEN:
            counters.kept += 1
