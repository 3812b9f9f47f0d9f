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
from corrigenda_core.persistence.review_store import Claim, ReviewStore, RunClaim, RunCounters, TeamNow

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
        polls for that. Whatever fails is logged and tried again: the case stays due, and no other team waits for it.
        """
        while not stop.is_set():
            worked = False
            for team_id in await self._due_teams():
                if stop.is_set():
                    break
                worked = await self._tried_team(team_id, stop) or worked
            if not worked:
                await _wait(stop, self._pace.poll_seconds)

    async def _due_teams(self) -> list[TeamId]:
        try:
            return await self._store.due_teams(TEAMS_PER_ROUND)
        except Exception as error:  # noqa: BLE001 - the loop is one of the two places that outlive any failure
            self._metrics.failed_rounds.inc()
            _log.error("review_round_failed", exc_info=error)
            return []

    async def _tried_team(self, team_id: TeamId, stop: asyncio.Event) -> bool:
        try:
            return await self._review_team(team_id, stop)
        except Exception as error:  # noqa: BLE001 - the loop is one of the two places that outlive any failure
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
        counters = RunCounters()
        is_complete = await self._review_cases(team, night, run, counters, stop)
        if run is None and counters.examined:
            await self._store.record_due_run(
                team, run_id=self._new_ids().nth(0), policy_version=INDEPENDENT_SOURCES, counters=counters
            )
        # A run that was told to stop half-way stays as it is: whoever takes it over looks at what is left.
        if run is not None and is_complete:
            await self._store.finish_run(team, run, counters)
        if run is not None or counters.examined:
            _log.info("team_reviewed", team_id=team_id, night=night.isoformat(), **counters.columns())
        return run is not None or counters.examined > 0

    async def _review_cases(
        self, team: TeamNow, night: date, run: RunClaim | None, counters: RunCounters, stop: asyncio.Event
    ) -> bool:
        """Looks at due cases, batch by batch; says whether none was left."""
        while not stop.is_set():
            claims = await self._store.claim_cases(team, night=night, batch=self._pace.batch_cases)
            for claim in claims:
                await self._review_case(team, claim, counters)
            if len(claims) < self._pace.batch_cases:
                return True
            if run is not None:
                await self._store.renew_run(team, run)
        return False

    async def _review_case(self, team: TeamNow, claim: Claim, counters: RunCounters) -> None:
        counters.examined += 1
        if claim.attempt > self._pace.attempts_per_night:
            counters.left += 1
            await self._give_up(team, claim)
            return
        try:
            outcome = await self._look.at(team, claim)
        except Refusal as refusal:
            self._note_failure(team, claim, counters, refusal.reason, None)
            if refusal.reason is not Reason.LEASE_LOST:
                await self._store.give_back(team, claim, team.now)
        except Exception as error:  # noqa: BLE001 - one case that cannot be looked at must not cost the others their look
            self._note_failure(team, claim, counters, Reason.INTERNAL_ERROR, error)
            await self._store.give_back(team, claim, team.now)
        else:
            self._metrics.looks.labels(outcome.value).inc()
            _count(counters, outcome)

    def _note_failure(
        self, team: TeamNow, claim: Claim, counters: RunCounters, reason: Reason, error: Exception | None
    ) -> None:
        counters.failed += 1
        self._metrics.failed_looks.labels(reason.value).inc()
        _log.warning(
            "look_failed",
            team_id=team.team_id,
            conflict_id=claim.conflict_id,
            reason=reason.value,
            exc_info=error,
        )

    async def _give_up(self, team: TeamNow, claim: Claim) -> None:
        """Attempts are bounded: the case waits for the next night, and people are told."""
        self._metrics.exhausted_attempts.inc()
        await self._store.raise_alert(
            team,
            claim,
            alert_id=self._new_ids().nth(0),
            reason=f"{self._pace.attempts_per_night} attempts failed tonight",
        )
        try:
            await self._look.alert(team, claim)
        except Refusal as refusal:
            # What keeps the case from being looked at may keep its event from being written; the alert stands.
            _log.warning("alert_not_told", team_id=team.team_id, conflict_id=claim.conflict_id, reason=refusal.reason)
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
