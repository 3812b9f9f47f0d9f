"""What the notifier keeps: how far each endpoint was told, who is telling it, and what comes next.

The events themselves are the outbox: they are append-only and a team's commits have one order, so that a position in
that order is all there is to keep, and an event cannot be committed without becoming due for delivery.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from corrigenda_core.domain.cases import CaseAction, CaseKind, CaseStatus
from corrigenda_core.domain.ids import ConflictId, EventId, ItemId, ProfileId, TeamId
from corrigenda_core.domain.items import ItemKind
from corrigenda_core.domain.notices import NOTICED_ACTIONS, NOTICED_ITEMS, CaseNotice, ItemNotice, Notice, NoticeKind
from corrigenda_core.domain.time import Moment
from corrigenda_core.persistence.database import Database, Row
from corrigenda_core.persistence.named_sql import Query, load_sql
from corrigenda_core.persistence.work_transaction import WorkRunner

WEBHOOK_PARKED = "webhook_parked"
"""The kind of the alert that an endpoint was given up."""

_SQL = "webhooks.sql"
# Of no event: after everything that its revision has brought.
_LAST_ID = "ffffffff-ffff-ffff-ffff-ffffffffffff"


@dataclass(frozen=True, slots=True, order=True)
class Position:
    """A place in the order in which a team's notices are told: behind the notice that it names."""

    revision: int
    notice_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class EndpointKey:
    """An endpoint of a team, by the name that the deployment gives it."""

    team_id: TeamId
    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class EndpointClaim:
    """An endpoint that this process tells.

    ``token`` is the fencing token. It was told what is until ``position``; ``attempts`` failed at what comes next.
    """

    key: EndpointKey
    token: int
    position: Position
    attempts: int


@dataclass(frozen=True, slots=True, kw_only=True)
class EndpointState:
    """How an endpoint stands, whoever tells it."""

    parked: bool
    attempts: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Pending:
    """What comes next for an endpoint; whatever is not among it until ``upto`` need not be told."""

    notices: Sequence[Notice]
    upto: Position


def position_of(notice: Notice) -> Position:
    """The place of a notice."""
    return Position(notice.moment.revision, notice_id_of(notice))


def notice_id_of(notice: Notice) -> str:
    """The id of what is told: the event, or the question; the same at every attempt and for every endpoint."""
    match notice:
        case CaseNotice():
            return notice.event_id
        case ItemNotice():
            return notice.item_id


class NoticeStore:
    """The notifier's records. None of these calls makes a revision; a claim that is lost by now changes nothing."""

    def __init__(self, database: Database, *, lease_seconds: float) -> None:
        self._work = WorkRunner(database)
        self._lease_seconds = lease_seconds
        self._sql = load_sql(_SQL)

    async def claim(self, key: EndpointKey, *, from_start: bool) -> tuple[EndpointClaim | None, EndpointState | None]:
        """Takes an endpoint, if nobody tells it and it is not resting; and how it stands.

        An endpoint that is new begins at what comes, or ``from_start``. There is no state of a team that there is not.
        """
        named = {"team_id": key.team_id, "endpoint": key.name}
        claimed, state = await self._run(
            key.team_id,
            self._sql.query("begin_cursor", **named, from_start=from_start, after_id=_LAST_ID),
            self._sql.query("claim_cursor", **named, lease_seconds=self._lease_seconds),
            self._sql.query("cursor_state", **named),
        )
        return (
            _claim(key, claimed[0]) if claimed else None,
            EndpointState(parked=state[0]["status"] == "parked", attempts=state[0]["attempts"]) if state else None,
        )

    async def pending(self, claim: EndpointClaim, kinds: Collection[NoticeKind], *, limit: int) -> Pending:
        """What an endpoint is told next, of these kinds."""
        last, rows = await self._run(
            claim.key.team_id,
            self._sql.query("last_revision", team_id=claim.key.team_id),
            self._sql.query(
                "next_notices",
                team_id=claim.key.team_id,
                after_revision=claim.position.revision,
                after_id=claim.position.notice_id,
                actions=sorted(action.value for action, kind in NOTICED_ACTIONS.items() if kind in kinds),
                withdrawn=NoticeKind.WINNER_WITHDRAWN in kinds,
                limit=limit,
            ),
        )
        notices = [_notice(claim.key.team_id, row) for row in rows]
        upto = position_of(notices[-1]) if notices else Position(last[0]["revision"], _LAST_ID)
        return Pending(notices=notices, upto=max(claim.position, upto))

    async def renew(self, claim: EndpointClaim) -> bool:
        """Keeps an endpoint for another lease; says whether it was still held."""
        return await self._still_held(claim, "renew_cursor", lease_seconds=self._lease_seconds)

    async def advance(self, claim: EndpointClaim, *, delivered: bool) -> bool:
        """Notes the claim's position, and keeps the endpoint for another lease; says whether it was still held."""
        return await self._advance(claim, delivered=delivered, lease_seconds=self._lease_seconds)

    async def give_back(self, claim: EndpointClaim) -> bool:
        """Lets an endpoint go at the claim's position, so that another process takes it at once."""
        return await self._advance(claim, delivered=False, lease_seconds=0.0)

    async def rest(self, claim: EndpointClaim, *, problem: str, rest_seconds: float) -> bool:
        """Notes a failed attempt and lets the endpoint go; nobody tries again before ``rest_seconds`` are over."""
        return await self._still_held(claim, "rest_cursor", problem=problem, rest_seconds=rest_seconds)

    async def park(
        self,
        claim: EndpointClaim,
        *,
        alert_id: str,
        problem: str,
        reason: str,
        conflict_id: ConflictId | None,
        details: Mapping[str, object],
    ) -> None:
        """Gives an endpoint up until an operator resumes it, and raises the alert for that, in one commit."""
        await self._run(
            claim.key.team_id,
            self._sql.query(
                "park_cursor",
                team_id=claim.key.team_id,
                endpoint=claim.key.name,
                claim_token=claim.token,
                problem=problem,
                alert_id=alert_id,
                kind=WEBHOOK_PARKED,
                conflict_id=conflict_id,
                reason=reason,
                details=json.dumps(dict(details)),
            ),
        )

    async def endpoints_of(self, team_id: TeamId) -> list[Row]:
        """How every endpoint of a team stands, for operators."""
        (rows,) = await self._run(team_id, self._sql.query("cursors_of_team", team_id=team_id))
        return rows

    async def position_of_message(self, team_id: TeamId, message_id: str) -> Position | None:
        """The place of a message by its id; ``None`` if there is none."""
        (rows,) = await self._run(team_id, self._sql.query("message_position", team_id=team_id, message_id=message_id))
        return Position(rows[0]["revision"], message_id) if rows else None

    async def resume(self, key: EndpointKey, *, skip: Position | None = None) -> bool:
        """Lets a parked endpoint be told again, behind ``skip`` if that is given.

        Says whether it was: it may be parked no more, or have been told ``skip`` already.
        """
        (rows,) = await self._run(
            key.team_id,
            self._sql.query(
                "resume_cursor",
                team_id=key.team_id,
                endpoint=key.name,
                skip_revision=skip.revision if skip else None,
                skip_id=skip.notice_id if skip else None,
            ),
        )
        return bool(rows)

    async def _advance(self, claim: EndpointClaim, *, delivered: bool, lease_seconds: float) -> bool:
        return await self._still_held(
            claim,
            "advance_cursor",
            after_revision=claim.position.revision,
            after_id=claim.position.notice_id,
            delivered=delivered,
            lease_seconds=lease_seconds,
        )

    async def _still_held(self, claim: EndpointClaim, statement: str, **parameters: object) -> bool:
        (rows,) = await self._run(
            claim.key.team_id,
            self._sql.query(
                statement,
                team_id=claim.key.team_id,
                endpoint=claim.key.name,
                claim_token=claim.token,
                **parameters,
            ),
        )
        return bool(rows)

    async def _run(self, team_id: TeamId, *queries: Query) -> list[list[Row]]:
        """The rows of each query but those that only write."""
        names = [query.name for query in queries if query.name not in {"begin_cursor", "park_cursor"}]
        answers: list[list[Row]] = await self._work.run(
            team_id, lambda work: [work.prefetched[name] for name in names], prefetch=queries
        )
        return answers


def _claim(key: EndpointKey, row: Row) -> EndpointClaim:
    return EndpointClaim(
        key=key,
        token=row["claim_token"],
        position=Position(row["after_revision"], row["after_id"]),
        attempts=row["attempts"],
    )


def _notice(team_id: TeamId, row: Row) -> Notice:
    moment = Moment(revision=row["revision"], at=row["recorded_at"])
    if row["item_kind"] is not None:
        return ItemNotice(
            kind=NOTICED_ITEMS[ItemKind(row["item_kind"])],
            team_id=team_id,
            item_id=ItemId(row["notice_id"]),
            moment=moment,
            owner_id=ProfileId(row["owner_id"]),
        )
    return CaseNotice(
        kind=NOTICED_ACTIONS[CaseAction(row["action"])],
        team_id=team_id,
        event_id=EventId(row["notice_id"]),
        moment=moment,
        conflict_id=ConflictId(row["conflict_id"]),
        case_kind=CaseKind(row["case_kind"]),
        status=CaseStatus(row["status"]),
        version=row["version"],
    )
