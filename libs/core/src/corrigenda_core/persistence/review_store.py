"""What the reviewer keeps: claims with their fencing tokens, reservations of nights, and the records of runs."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import date

from corrigenda_core.domain.ids import ConflictId, TeamId
from corrigenda_core.domain.team import TeamPolicy
from corrigenda_core.domain.time import Instant
from corrigenda_core.persistence.database import Database, Row
from corrigenda_core.persistence.ingest_store import team_policy_of
from corrigenda_core.persistence.named_sql import Query, load_sql
from corrigenda_core.persistence.review_cases import CaseRows, case_queries, case_rows
from corrigenda_core.persistence.work_transaction import WorkRunner, WorkTransaction

_SQL = "review.sql"


@dataclass(frozen=True, slots=True, kw_only=True)
class TeamNow:
    """A team's policy and its present time."""

    team_id: TeamId
    policy: TeamPolicy
    now: Instant


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """A claimed case: ``token`` is the fencing token, ``attempt`` counts the claims of this night from 1."""

    conflict_id: ConflictId
    token: int
    attempt: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimedCases:
    """Claimed cases in the order of their claims, and the rows of each as they were when it was claimed.

    Whatever changes a case raises its version and takes the claim away, so a claim that still stands at a commit says
    that these rows are the case.
    """

    claims: Sequence[Claim]
    rows: Mapping[ConflictId, CaseRows]


@dataclass(slots=True, kw_only=True)
class RunCounters:
    """What a run did with its cases."""

    examined: int = 0
    resolved: int = 0
    dismissed: int = 0
    marked_overdue: int = 0
    kept: int = 0
    left: int = 0
    failed: int = 0

    def columns(self) -> dict[str, int]:
        """The counters by name."""
        return {one.name: getattr(self, one.name) for one in fields(self)}


@dataclass(frozen=True, slots=True, kw_only=True)
class RunClaim:
    """A claimed run: ``token`` counts its claims from 1, ``counters`` hold what it did under those before."""

    run_id: str
    token: int
    counters: RunCounters


@dataclass(frozen=True, slots=True, kw_only=True)
class ReviewGauge:
    """A number over all teams: of live cases by status, or of leases by state; ages in seconds of team time."""

    gauge: str
    state: str
    number: int
    oldest_seconds: float


class ReviewStore:
    """The reviewer's records. None of these calls makes a revision."""

    def __init__(self, database: Database, *, lease_seconds: float) -> None:
        self._database = database
        self._work = WorkRunner(database)
        self._lease_seconds = lease_seconds
        self._sql = load_sql(_SQL)

    async def due_teams(self, limit: int) -> list[TeamId]:
        """Teams with something to do, the longest waiting first; found without locks."""
        rows = await self._database.ask(self._sql.query("due_teams", limit=limit))
        return [TeamId(row["team_id"]) for row in rows]

    async def team_now(self, team_id: TeamId) -> TeamNow:
        """The team's policy and present time."""
        (row,) = await self._run(team_id, self._sql.query("review_settings", team_id=team_id))
        return TeamNow(team_id=team_id, policy=team_policy_of(row), now=row["team_now"])

    async def reserve_night(self, team: TeamNow, *, run_id: str, night: date, policy_version: str) -> None:
        """Queues the nightly run of a local date, unless it has been queued before."""
        night_run = {
            "team_id": team.team_id,
            "run_id": run_id,
            "local_date": night,
            "policy_version": policy_version,
            "team_now": team.now,
        }
        await self._run(
            team.team_id, self._sql.query("queue_night", **night_run), self._sql.query("reserve_night", **night_run)
        )

    async def claim_run(self, team: TeamNow) -> RunClaim | None:
        """Takes the oldest waiting run. When it is begun, every live case of the team becomes due for it, once."""
        parameters = {"team_id": team.team_id, "team_now": team.now}
        claim = self._sql.query("claim_run", **parameters, lease_seconds=self._lease_seconds)

        async def work(transaction: WorkTransaction) -> list[Row]:
            rows = transaction.prefetched[claim.name]
            if rows and rows[0]["claim_token"] == 1:
                await transaction.execute(self._sql.query("look_at_all", **parameters))
            return rows

        rows: list[Row] = await self._work.run(team.team_id, work, prefetch=[claim])
        if not rows:
            return None
        counters = RunCounters(**{one.name: rows[0][one.name] for one in fields(RunCounters)})
        return RunClaim(run_id=rows[0]["run_id"], token=rows[0]["claim_token"], counters=counters)

    async def claim_cases(self, team: TeamNow, *, night: date, batch: int) -> ClaimedCases:
        """Takes due cases in the order of the index (R7.18), skipping those that another reviewer is taking.

        All their rows are loaded with them, a query for all cases at once.
        """
        claim = self._sql.query(
            "claim_cases",
            team_id=team.team_id,
            team_now=team.now,
            night=night,
            batch=batch,
            lease_seconds=self._lease_seconds,
        )

        async def work(transaction: WorkTransaction) -> ClaimedCases:
            claimed = sorted(
                transaction.prefetched[claim.name], key=lambda row: (row["next_review_at"], row["conflict_id"])
            )
            claims = [
                Claim(conflict_id=ConflictId(row["conflict_id"]), token=row["claim_token"], attempt=row["attempts"])
                for row in claimed
            ]
            if not claims:
                return ClaimedCases(claims=(), rows={})
            queries = case_queries(team.team_id, [one.conflict_id for one in claims])
            answers = await transaction.execute(*queries)
            named = {query.name: rows for query, rows in zip(queries, answers, strict=True)}
            return ClaimedCases(claims=claims, rows=case_rows(named, [one.conflict_id for one in claims]))

        found: ClaimedCases = await self._work.run(team.team_id, work, prefetch=[claim])
        return found

    async def give_back(
        self, team: TeamNow, claim: Claim, next_review_at: Instant, *, rest_seconds: float = 0.0
    ) -> None:
        """Lets a case go without a look; a claim that is lost by now changes nothing.

        Nobody takes the case for ``rest_seconds`` of real time.
        """
        await self._run(
            team.team_id,
            self._sql.query(
                "give_back",
                team_id=team.team_id,
                conflict_id=claim.conflict_id,
                claim_token=claim.token,
                next_review_at=next_review_at,
                rest_seconds=rest_seconds,
            ),
        )

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
        """Tells people of what the reviewer cannot do by itself."""
        await self._run(
            team.team_id,
            self._sql.query(
                "raise_alert",
                team_id=team.team_id,
                alert_id=alert_id,
                kind=kind,
                conflict_id=conflict_id,
                reason=reason,
                details=json.dumps(dict(details or {})),
                team_now=team.now,
            ),
        )

    async def gauges(self) -> list[ReviewGauge]:
        """Live cases and leases of all teams in numbers; reads every one of them."""
        rows = await self._database.ask(self._sql.query("review_gauges"))
        return [
            ReviewGauge(
                gauge=row["gauge"],
                state=row["state"],
                number=row["number"],
                oldest_seconds=max(0.0, row["oldest_seconds"] or 0.0),
            )
            for row in rows
        ]

    async def renew_run(self, team: TeamNow, run: RunClaim, counters: RunCounters) -> None:
        """Keeps a run for another lease, and what it did so far: nobody else starts it over while it goes on."""
        await self._keep_run(team, run, counters, self._lease_seconds)

    async def leave_run(self, team: TeamNow, run: RunClaim, counters: RunCounters) -> None:
        """Leaves a run that is not through to whoever comes next, with what it did so far."""
        await self._keep_run(team, run, counters, 0.0)

    async def _keep_run(self, team: TeamNow, run: RunClaim, counters: RunCounters, lease_seconds: float) -> None:
        await self._run(
            team.team_id,
            self._sql.query(
                "keep_run",
                team_id=team.team_id,
                run_id=run.run_id,
                claim_token=run.token,
                lease_seconds=lease_seconds,
                **counters.columns(),
            ),
        )

    async def finish_run(self, team: TeamNow, run: RunClaim, counters: RunCounters, *, given_up: bool = False) -> None:
        """Ends a run with its counters; a run that another reviewer has taken over stays theirs."""
        await self._run(
            team.team_id,
            self._sql.query(
                "finish_run",
                team_id=team.team_id,
                run_id=run.run_id,
                claim_token=run.token,
                status="failed" if given_up else "finished",
                team_now=team.now,
                **counters.columns(),
            ),
        )

    async def record_due_run(self, team: TeamNow, *, run_id: str, policy_version: str, counters: RunCounters) -> None:
        """Records due looks that no run asked for."""
        await self._run(
            team.team_id,
            self._sql.query(
                "record_due_run",
                team_id=team.team_id,
                run_id=run_id,
                policy_version=policy_version,
                team_now=team.now,
                **counters.columns(),
            ),
        )

    async def _run(self, team_id: TeamId, *queries: Query) -> list[Row]:
        """The rows of the last one."""
        last = queries[-1].name
        return await self._work.run(team_id, lambda work: work.prefetched[last], prefetch=queries)
