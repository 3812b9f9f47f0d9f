"""What the administrative use cases share: the commit of one small change, and whole rows of what it changes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from corrigenda_core.domain.actors import Actor, ActorKind, Caller
from corrigenda_core.domain.errors import missing
from corrigenda_core.domain.ids import IdRange
from corrigenda_core.domain.time import Instant, Moment
from corrigenda_core.persistence.database import Row, Unbounded
from corrigenda_core.persistence.idempotency import IdempotencyRequest
from corrigenda_core.persistence.named_sql import Query
from corrigenda_core.persistence.transaction import Committed, Transaction, TransactionRunner
from corrigenda_core.ports.deadline import Deadline
from google.protobuf.message import Message

Response = TypeVar("Response", bound=Message)


@dataclass(frozen=True, slots=True, kw_only=True)
class Administration:
    """The tools of an administrative change; ``now`` is the real time, which no team's clock moves."""

    runner: TransactionRunner
    new_ids: Callable[[], IdRange]
    now: Callable[[], Instant]

    async def commit(
        self,
        caller: Caller,
        change_kind: str,
        change: Callable[[Transaction, Moment], Response],
        *,
        prefetch: Sequence[Query],
        check: Callable[[Transaction], None] = lambda _: None,
        idempotency: IdempotencyRequest[Response],
        deadline: Deadline,
    ) -> Committed[Response]:
        """One revision; ``check`` refuses before it begins, ``change`` writes it and makes the response."""

        def plan(transaction: Transaction) -> Response:
            check(transaction)
            actor = Actor(kind=ActorKind.PROFILE, profile_id=caller.profile_id)
            return change(transaction, transaction.next_moment(actor, change_kind))

        return await self.runner.run(
            caller.team_id, plan, prefetch=prefetch, idempotency=idempotency, deadline=deadline
        )


def team_row(row: Row) -> dict[str, object]:
    """The whole row of a team, its infinite time written back as such."""
    return {**row, "opened_at": row["opened_at"] or Unbounded.END}


def key_row(row: Row) -> dict[str, object]:
    """The whole row of a key, its infinite times written back as such."""
    infinite = {name: row[name] or Unbounded.END for name in ("expires_at", "revoked_at")}
    return {**row, **infinite}


def the_one(rows: Sequence[Row], *, resource_type: str, resource_id: str, field: str) -> Row:
    """The row that was asked for.

    Raises:
        Refusal: RESOURCE_NOT_FOUND, for a foreign one as for a missing one.
    """
    if not rows:
        raise missing(resource_type, resource_id, field=field)
    return rows[0]
