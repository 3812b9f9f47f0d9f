"""The team's own settings: reading them, changing its policy, driving its clock and opening it."""

from __future__ import annotations

from dataclasses import dataclass

from corrigenda.admin.v1 import admin_service_pb2, team_pb2
from corrigenda_core.domain.actors import Caller
from corrigenda_core.domain.errors import Reason, Refusal, stale
from corrigenda_core.domain.ids import TeamId
from corrigenda_core.domain.time import Instant, Moment
from corrigenda_core.persistence import tables
from corrigenda_core.persistence.database import Row
from corrigenda_core.persistence.named_sql import Query, load_sql
from corrigenda_core.persistence.read_transaction import ReadRunner, ReadTransaction
from corrigenda_core.persistence.transaction import Committed, Transaction
from corrigenda_core.policy.limits import may_offer
from corrigenda_core.ports.deadline import Deadline
from corrigenda_core.rpc.convert import instant_of, timestamp_of, timestamp_or_none
from corrigenda_core.rpc.idempotent import idempotency_of
from corrigenda_core.time_zones import zone_names

from corrigenda_ingest.use_cases.administration import Administration, team_row

_POLICY = ("review_period_days", "review_start_minute", "time_zone", "trusts_declared_groups")


@dataclass(frozen=True, slots=True, kw_only=True)
class Teams:
    """The use cases on a team."""

    administration: Administration
    reader: ReadRunner

    async def get(
        self, caller: Caller, request: admin_service_pb2.GetTeamRequest, deadline: Deadline
    ) -> admin_service_pb2.GetTeamResponse:
        """The caller's team."""

        def read(transaction: ReadTransaction) -> admin_service_pb2.GetTeamResponse:
            (row,) = transaction.prefetched["team_row"]
            reading = transaction.reading
            team = _team(caller.team_id, row, _clock(row, reading.now, reading.closed_at, reading.revision))
            return admin_service_pb2.GetTeamResponse(team=team, revision=reading.revision)

        return await self.reader.run(
            caller.team_id,
            read,
            prefetch=[_team_query(caller.team_id)],
            min_revision=request.min_revision,
            deadline=deadline,
        )

    async def update_policy(
        self, caller: Caller, request: admin_service_pb2.UpdateTeamPolicyRequest, deadline: Deadline
    ) -> Committed[admin_service_pb2.UpdateTeamPolicyResponse]:
        """Changes the settings that are given.

        Raises:
            Refusal: STALE_VERSION, INVALID_FIELD for an unknown time zone.
        """
        given = {field.name: value for field, value in request.ListFields() if field.name in _POLICY}
        if "time_zone" in given:
            _require_zone(given["time_zone"])

        def check(transaction: Transaction) -> None:
            (row,) = transaction.prefetched["team_row"]
            if request.HasField("expected_version") and request.expected_version != row["version"]:
                raise stale(
                    f"the policy is at version {row['version']}, not {request.expected_version}",
                    resource_type="team_policy",
                    resource_id=transaction.team_id,
                    expected=request.expected_version,
                    current=row["version"],
                    field="expected_version",
                )

        def change(transaction: Transaction, moment: Moment) -> admin_service_pb2.UpdateTeamPolicyResponse:
            (row,) = transaction.prefetched["team_row"]
            changed = {**row, **given, "version": row["version"] + 1}
            transaction.amend(tables.teams, team_row(changed), {*_POLICY, "version"})
            return admin_service_pb2.UpdateTeamPolicyResponse(policy=_policy(changed), revision=moment.revision)

        return await self.administration.commit(
            caller,
            "update_team_policy",
            change,
            check=check,
            prefetch=[_team_query(caller.team_id)],
            idempotency=idempotency_of(request, caller.profile_id, admin_service_pb2.UpdateTeamPolicyResponse),
            deadline=deadline,
        )

    async def drive_clock(
        self, caller: Caller, request: admin_service_pb2.DriveClockRequest, deadline: Deadline
    ) -> Committed[admin_service_pb2.DriveClockResponse]:
        """Sets the time of a team that is not open yet (R8.4), never backwards.

        Raises:
            Refusal: TEAM_OPEN, INVALID_FIELD for a time before the clock's, or at the ends of the calendar.
        """
        time = instant_of(request.time)
        may_offer("driven_year", time.year, field="time")

        def check(transaction: Transaction) -> None:
            _require_driven(transaction)
            earliest = max(transaction.reading.now, transaction.reading.closed_at or transaction.reading.now)
            if time < earliest:
                raise Refusal(
                    Reason.INVALID_FIELD,
                    f"time is {time.isoformat()}, the clock stands at {earliest.isoformat()} and never goes back",
                    field="time",
                    metadata={"offered": time.isoformat(), "allowed": f">= {earliest.isoformat()}"},
                )

        def change(transaction: Transaction, moment: Moment) -> admin_service_pb2.DriveClockResponse:
            (row,) = transaction.prefetched["team_row"]
            changed = {**row, "driven_now": time}
            transaction.amend(tables.teams, team_row(changed), {"driven_now"})
            clock = _clock(changed, time, moment.at, moment.revision)
            return admin_service_pb2.DriveClockResponse(clock=clock, revision=moment.revision)

        return await self.administration.commit(
            caller,
            "drive_clock",
            change,
            check=check,
            prefetch=[_team_query(caller.team_id)],
            idempotency=idempotency_of(request, caller.profile_id, admin_service_pb2.DriveClockResponse),
            deadline=deadline,
        )

    async def open(
        self, caller: Caller, request: admin_service_pb2.OpenTeamRequest, deadline: Deadline
    ) -> Committed[admin_service_pb2.OpenTeamResponse]:
        """Lets the team's clock follow real time from now on, for good.

        Raises:
            Refusal: TEAM_OPEN, CLOCK_AHEAD if its clock was driven beyond real time.
        """
        now = self.administration.now()

        def check(transaction: Transaction) -> None:
            _require_driven(transaction)
            stands_at = max(transaction.reading.now, transaction.reading.closed_at or transaction.reading.now)
            if stands_at > now:
                raise Refusal(
                    Reason.CLOCK_AHEAD,
                    "the team's clock is ahead of real time",
                    metadata={"clock": stands_at.isoformat()},
                )

        def change(transaction: Transaction, moment: Moment) -> admin_service_pb2.OpenTeamResponse:
            (row,) = transaction.prefetched["team_row"]
            changed = {**row, "clock_mode": "open", "driven_now": None, "opened_at": now}
            transaction.amend(tables.teams, team_row(changed), {"clock_mode", "driven_now", "opened_at"})
            clock = _clock(changed, now, moment.at, moment.revision)
            return admin_service_pb2.OpenTeamResponse(clock=clock, revision=moment.revision)

        return await self.administration.commit(
            caller,
            "open_team",
            change,
            check=check,
            prefetch=[_team_query(caller.team_id)],
            idempotency=idempotency_of(request, caller.profile_id, admin_service_pb2.OpenTeamResponse),
            deadline=deadline,
        )


def _team_query(team_id: TeamId) -> Query:
    return load_sql("admin.sql").query("team_row", team_id=team_id)


def _require_driven(transaction: Transaction) -> None:
    if not transaction.reading.is_driven:
        (row,) = transaction.prefetched["team_row"]
        raise Refusal(
            Reason.TEAM_OPEN,
            "the team is open: its clock follows real time",
            metadata={"opened_at": row["opened_at"].isoformat()},
        )


def _require_zone(name: str) -> None:
    if name not in zone_names():
        raise Refusal(Reason.INVALID_FIELD, "time_zone is no IANA time zone", field="time_zone")


def _team(team_id: TeamId, row: Row, clock: team_pb2.TeamClock) -> team_pb2.Team:
    return team_pb2.Team(
        team_id=team_id,
        name=row["name"],
        policy=_policy(row),
        clock=clock,
        created_at=timestamp_of(row["created_at"]),
    )


def _policy(row: Row) -> team_pb2.TeamPolicy:
    return team_pb2.TeamPolicy(version=row["version"], **{name: row[name] for name in _POLICY})


def _clock(row: Row, time: Instant, closed_at: Instant | None, revision: int) -> team_pb2.TeamClock:
    return team_pb2.TeamClock(
        driven=row["clock_mode"] == "driven",
        time=timestamp_of(time),
        closed_at=timestamp_or_none(closed_at),
        revision=revision,
        opened_at=timestamp_or_none(row["opened_at"]),
    )
