"""Attempts: how a transaction that the database gave up is ended, judged and repeated."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TypeVar

import psycopg
from psycopg.pq import TransactionStatus

from corrigenda_core.domain.errors import Reason, Refusal
from corrigenda_core.persistence.database import Database
from corrigenda_core.persistence.failures import is_connection_loss, is_worth_repeating, refusal_of
from corrigenda_core.persistence.round_trips import Connection
from corrigenda_core.ports.deadline import Deadline

T = TypeVar("T")
Sleeper = Callable[[float], Awaitable[None]]


@dataclass(frozen=True, slots=True, kw_only=True)
class RetryPolicy:
    """How often, and after which delays, an attempt that the server gave up is repeated.

    The n-th delay is drawn evenly from half to one and a half times ``first_delay_seconds * 2**(n - 1)``, at most
    ``longest_delay_seconds``.

    Attributes:
        attempts: how many there are at most, the first one included.
        first_delay_seconds: before the second attempt.
        longest_delay_seconds: what the doubling stops at.
        sleep: waits between attempts.
        draw: uniform in [0, 1).
    """

    attempts: int = 6
    first_delay_seconds: float = 0.01
    longest_delay_seconds: float = 1.0
    sleep: Sleeper = asyncio.sleep
    draw: Callable[[], float] = random.random

    def delay_seconds(self, attempt: int) -> float:
        """The delay after the ``attempt``-th attempt (from 1)."""
        return min(self.longest_delay_seconds, self.first_delay_seconds * 2.0 ** (attempt - 1)) * (0.5 + self.draw())


@dataclass(slots=True)
class Progress:
    """How far an attempt has come."""

    commit_sent: bool = False


class AttemptFailed(Exception):
    """One attempt met an error of the database; ``outcome_unknown`` if COMMIT was sent and no answer came."""

    def __init__(self, error: psycopg.Error, *, connection_lost: bool, commit_sent: bool) -> None:
        super().__init__(str(error))
        self.error = error
        self.connection_lost = connection_lost
        self.outcome_unknown = connection_lost and commit_sent

    @property
    def may_pass(self) -> bool:
        """Whether another attempt may not meet the same error."""
        return self.connection_lost or is_worth_repeating(self.error)

    def refusal(self) -> Refusal:
        """What the caller is told when there is no further attempt."""
        if not self.outcome_unknown:
            return refusal_of(self.error, connection_lost=self.connection_lost)
        return Refusal(
            Reason.STORE_UNAVAILABLE,
            "the connection was lost while the commit was under way: it may have happened",
            metadata={"outcome": "unknown"},
            retry_after_seconds=1.0,
        )


@asynccontextmanager
async def attempt_on(connection: Connection) -> AsyncIterator[Progress]:
    """One attempt: whatever ends it early is rolled back, errors of the database are judged.

    Raises:
        AttemptFailed: for an error of the database.
    """
    progress = Progress()
    try:
        yield progress
    except psycopg.Error as error:
        lost = is_connection_loss(error, connection)
        raise AttemptFailed(error, connection_lost=lost, commit_sent=progress.commit_sent) from error
    finally:
        await _roll_back(connection)


async def repeat(
    attempt: Callable[[], Awaitable[T]],
    database: Database,
    policy: RetryPolicy,
    deadline: Deadline,
    *,
    unknown_may_be_repeated: bool = False,
) -> T:
    """Makes attempts until one succeeds or fails for good.

    ``unknown_may_be_repeated``: an attempt whose outcome is unknown may be made again, because it finds out what
    became of the last one.

    Raises:
        Refusal: of the attempt, or what its last error means.
    """
    number = 0
    while True:
        number += 1
        try:
            return await attempt()
        except AttemptFailed as failed:
            delay = policy.delay_seconds(number)
            out_of_time = number >= policy.attempts or deadline.remaining_seconds() <= delay
            settled = failed.outcome_unknown and not unknown_may_be_repeated
            if out_of_time or settled or not failed.may_pass:
                raise failed.refusal() from failed.error
            await policy.sleep(delay)
            if failed.connection_lost:
                await database.replace_broken()


async def _roll_back(connection: Connection) -> None:
    """Ends what is open; a connection that cannot do that any more is dropped by the pool."""
    if connection.closed or connection.pgconn.transaction_status == TransactionStatus.IDLE:
        return
    try:
        await connection.rollback()
    except psycopg.Error:
        await connection.close()
