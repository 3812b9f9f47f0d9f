"""What the reviewer reads and keeps: claims with their fencing tokens, one case at a time, and the records of runs."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, fields
from datetime import date

from corrigenda_core.domain.cases import CaseMember
from corrigenda_core.domain.ids import ConflictId, TeamId
from corrigenda_core.domain.slots import CaseView
from corrigenda_core.domain.team import TeamPolicy
from corrigenda_core.domain.time import Instant
from corrigenda_core.persistence.case_rows import case_of, member_of, position_of
from corrigenda_core.persistence.database import Database, Row, Unbounded
from corrigenda_core.persistence.ingest_store import team_policy_of
from corrigenda_core.persistence.named_sql import Query, load_sql
from corrigenda_core.persistence.row_values import relationship_of, support_of
from corrigenda_core.persistence.slot_store import CaseRowVersions
from corrigenda_core.persistence.work_transaction import WorkRunner

_SQL = "review.sql"
_CASE_STATEMENTS = (
    "review_case",
    "review_positions",
    "review_members",
    "review_beside",
    "review_carriages",
    "review_supports",
)


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
class RunClaim:
    """A claimed run."""

    run_id: str
    token: int


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
        await self._run(
            team.team_id,
            self._sql.query(
                "reserve_night",
                team_id=team.team_id,
                run_id=run_id,
                local_date=night,
                policy_version=policy_version,
                team_now=team.now,
            ),
        )

    async def claim_run(self, team: TeamNow) -> RunClaim | None:
        """Takes the oldest waiting run, and makes every live case of the team due for it."""
        parameters = {"team_id": team.team_id, "team_now": team.now}
        rows = await self._run(
            team.team_id, self._sql.query("claim_run", **parameters, lease_seconds=self._lease_seconds)
        )
        if not rows:
            return None
        await self._run(team.team_id, self._sql.query("look_at_all", **parameters))
        return RunClaim(run_id=rows[0]["run_id"], token=rows[0]["claim_token"])

    async def claim_cases(self, team: TeamNow, *, night: date, batch: int) -> list[Claim]:
        """Takes due cases in the order of the index (R7.18), skipping those that another reviewer is taking."""
        rows = await self._run(
            team.team_id,
            self._sql.query(
                "claim_cases",
                team_id=team.team_id,
                team_now=team.now,
                night=night,
                batch=batch,
                lease_seconds=self._lease_seconds,
            ),
        )
        rows.sort(key=lambda row: (row["next_review_at"], row["conflict_id"]))
        return [
            Claim(conflict_id=ConflictId(row["conflict_id"]), token=row["claim_token"], attempt=row["attempts"])
            for row in rows
        ]

    async def give_back(self, team: TeamNow, claim: Claim, next_review_at: Instant) -> None:
        """Lets a case go without a look; a claim that is lost by now changes nothing."""
        await self._run(
            team.team_id,
            self._sql.query(
                "give_back",
                team_id=team.team_id,
                conflict_id=claim.conflict_id,
                claim_token=claim.token,
                next_review_at=next_review_at,
            ),
        )

    async def raise_alert(self, team: TeamNow, claim: Claim, *, alert_id: str, reason: str) -> None:
        """Tells people that a case could not be looked at."""
        await self._run(
            team.team_id,
            self._sql.query(
                "raise_alert",
                team_id=team.team_id,
                alert_id=alert_id,
                conflict_id=claim.conflict_id,
                reason=reason,
                team_now=team.now,
            ),
        )

    async def renew_run(self, team: TeamNow, run: RunClaim) -> None:
        """Keeps a run for another lease: nobody else starts it over while it goes on."""
        await self._run(
            team.team_id,
            self._sql.query(
                "renew_run",
                team_id=team.team_id,
                run_id=run.run_id,
                claim_token=run.token,
                lease_seconds=self._lease_seconds,
            ),
        )

    async def finish_run(self, team: TeamNow, run: RunClaim, counters: RunCounters) -> None:
        """Ends a run with its counters; a run that another reviewer has taken over stays theirs."""
        await self._run(
            team.team_id,
            self._sql.query(
                "finish_run",
                team_id=team.team_id,
                run_id=run.run_id,
                claim_token=run.token,
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

    async def _run(self, team_id: TeamId, query: Query) -> list[Row]:
        return await self._work.run(team_id, lambda work: work.prefetched[query.name], prefetch=[query])


def look_queries(team_id: TeamId, claim: Claim) -> list[Query]:
    """What a look needs inside its commit: the lease, locked until its end, the case, and who shares members."""
    sql = load_sql(_SQL)
    case = {"team_id": team_id, "conflict_id": claim.conflict_id}
    return [
        sql.query("hold_lease", **case, claim_token=claim.token),
        sql.query("review_others", **case),
        *case_queries(team_id, claim.conflict_id),
    ]


def case_queries(team_id: TeamId, conflict_id: ConflictId) -> list[Query]:
    """What a look reads of one case; `case_view` reads the answers."""
    sql = load_sql(_SQL)
    parameters = {"team_id": team_id, "conflict_id": conflict_id}
    return [
        Query(name=_name_of(name, conflict_id), sql=sql[name].sql, parameters=parameters) for name in _CASE_STATEMENTS
    ]


def _name_of(statement: str, conflict_id: ConflictId) -> str:
    return f"{statement}:{conflict_id}"


def other_cases(answers: Mapping[str, list[Row]]) -> list[ConflictId]:
    """The other live cases that share a member, by the answers to `look_queries`."""
    return [ConflictId(row["conflict_id"]) for row in answers["review_others"]]


def finish_look(team_id: TeamId, claim: Claim, *, next_review_at: Instant | Unbounded, team_now: Instant) -> Query:
    """Gives the lease back inside the commit; the commit fails if the claim is lost."""
    return load_sql(_SQL).query(
        "finish_look",
        team_id=team_id,
        conflict_id=claim.conflict_id,
        claim_token=claim.token,
        next_review_at=next_review_at,
        team_now=team_now,
    )


def is_held(answers: Mapping[str, list[Row]]) -> bool:
    """Whether the claim still stands, by the answers to `look_queries`."""
    return bool(answers["hold_lease"])


def look_again(team_id: TeamId, conflict_id: ConflictId, *, next_review_at: Instant) -> Query:
    """Takes the lease of a case away from whoever holds it: its version rises without them."""
    return load_sql("case_lease.sql").query(
        "look_again", team_id=team_id, conflict_id=conflict_id, next_review_at=next_review_at
    )


def case_view(answers: Mapping[str, list[Row]], conflict_id: ConflictId) -> CaseView:
    """A case, by the answers to `case_queries`."""
    rows = {name: answers[_name_of(name, conflict_id)] for name in _CASE_STATEMENTS}
    members: dict[str, list[CaseMember]] = defaultdict(list)
    for row in rows["review_members"]:
        members[row["position_id"]].append(member_of(row))
    (case,) = rows["review_case"]
    positions = tuple(position_of(row, tuple(members[row["position_id"]])) for row in rows["review_positions"])
    return CaseView(
        case=case_of(case, positions),
        rows=tuple(relationship_of(row) for row in rows["review_members"]),
        beside=tuple(relationship_of(row) for row in rows["review_beside"]),
        supports=tuple(support_of(row) for row in rows["review_supports"]),
        carried=tuple((row["relationship_id"], row["statement_id"]) for row in rows["review_carriages"]),
    )


def load_versions(answers: Mapping[str, list[Row]], conflict_id: ConflictId, versions: CaseRowVersions) -> None:
    """Adds the versions of the rows of a case's positions and members."""
    versions.load(answers[_name_of("review_positions", conflict_id)], answers[_name_of("review_members", conflict_id)])
