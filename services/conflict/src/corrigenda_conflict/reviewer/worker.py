"""The reviewer's loop: finds due teams without locks, claims inside one team, looks, and keeps the record of runs."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass

import structlog
from corrigenda_core.domain.errors import Reason, Refusal
from corrigenda_core.domain.ids import IdRange, TeamId
from corrigenda_core.domain.snapshots import INDEPENDENT_SOURCES, Outcome
from corrigenda_core.persistence.review_store import Claim, ReviewStore, RunCounters, TeamNow

from corrigenda_conflict.reviewer.look import Look
from corrigenda_conflict.reviewer.metrics import ReviewMetrics
from corrigenda_conflict.reviewer.schedule import next_night, night_of

TEAMS_PER_ROUND = 50

_log = structlog.get_logger("corrigenda.reviewer")


@dataclass(frozen=True, slots=True, kw_only=True)
class Pace:
    """How much is taken at once, and how long to wait when there is nothing to do."""

    batch_cases: int
    attempts_per_night: int
    poll_seconds: float


class Reviewer:
    """The worker; several may run at once."""

    def __init__(
        self,
        *,
        store: ReviewStore,
        look: Look,
        pace: Pace,
        metrics: ReviewMetrics,
        new_ids: Callable[[], IdRange],
    ) -> None:
        self._store = store
        self._look = look
        self._pace = pace
        self._metrics = metrics
        self._new_ids = new_ids

    async def run_until(self, stop: asyncio.Event) -> None:
        """Works until told to stop; a look that is under way is finished first.

        A look is due when the ``next_review_at`` of a live case has passed on the team's clock (R7.17); the worker
        polls for that. Whatever fails is logged and tried again: the case stays due.
        """
        while not stop.is_set():
            worked = False
            try:
                for team_id in await self._store.due_teams(TEAMS_PER_ROUND):
                    worked = await self._review_team(team_id, stop) or worked
            except Exception as error:  # noqa: BLE001 - the loop is one of the two places that outlive any failure
                self._metrics.failed_rounds.inc()
                _log.error("review_round_failed", exc_info=error)
            if not worked:
                await _wait(stop, self._pace.poll_seconds)

    async def _review_team(self, team_id: TeamId, stop: asyncio.Event) -> bool:
        """One round inside one team; says whether there was anything to do."""
        team = await self._store.team_now(team_id)
        night = night_of(team)
        await self._store.reserve_night(
            team, run_id=self._new_ids().nth(0), night=night, policy_version=INDEPENDENT_SOURCES
        )
        run = await self._store.claim_run(team)
        counters = RunCounters()
        while not stop.is_set():
            claims = await self._store.claim_cases(team, night=night, batch=self._pace.batch_cases)
            for claim in claims:
                await self._review_case(team, claim, counters)
            if len(claims) < self._pace.batch_cases:
                break
        if run is not None:
            await self._store.finish_run(team, run, counters)
        elif counters.examined:
            await self._store.record_due_run(
                team, run_id=self._new_ids().nth(0), policy_version=INDEPENDENT_SOURCES, counters=counters
            )
        if run is not None or counters.examined:
            _log.info("team_reviewed", team_id=team_id, night=night.isoformat(), **counters.columns())
        return run is not None or counters.examined > 0

    async def _review_case(self, team: TeamNow, claim: Claim, counters: RunCounters) -> None:
        counters.examined += 1
        if claim.attempt > self._pace.attempts_per_night:
            counters.left += 1
            await self._give_up(team, claim)
            return
        try:
            outcome = await self._look.at(team, claim)
        except Refusal as refusal:
            counters.failed += 1
            self._metrics.failed_looks.labels(refusal.reason.value).inc()
            _log.warning(
                "look_failed", team_id=team.team_id, conflict_id=claim.conflict_id, reason=refusal.reason.value
            )
            if refusal.reason is not Reason.LEASE_LOST:
                await self._store.give_back(team, claim, team.now)
            return
        self._metrics.looks.labels(outcome.value).inc()
        _count(counters, outcome)

    async def _give_up(self, team: TeamNow, claim: Claim) -> None:
        """Attempts are bounded: the case waits for the next night, and people are told."""
        self._metrics.exhausted_attempts.inc()
        await self._store.raise_alert(
            team, claim, alert_id=self._new_ids().nth(0), reason=f"{claim.attempt - 1} attempts failed tonight"
        )
        await self._store.give_back(team, claim, next_night(team, team.now))


def _count(counters: RunCounters, outcome: Outcome) -> None:
    match outcome:
        case Outcome.RESOLVE:
            counters.resolved += 1
        case Outcome.DISMISS:
            counters.dismissed += 1
        case Outcome.OVERDUE:
            counters.marked_overdue += 1
        case Outcome.KEEP_OPEN:
            counters.kept += 1


async def _wait(stop: asyncio.Event, seconds: float) -> None:
    """Waits for the stop event, but no longer than ``seconds``."""
    try:
        await asyncio.wait_for(stop.wait(), seconds)
    except TimeoutError:
        return
