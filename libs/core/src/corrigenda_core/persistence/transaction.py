"""The write path: plan outside, commit under the team clock, in two round trips; nothing else opens a transaction.

One: BEGIN, the team, the clock row's lock, the time, what the planner needs to see. Then the pure planner. Two: all
writes, one ledger entry per revision, the stored response, the clock, COMMIT. A model call never happens in between.
"""

from __future__ import annotations

import inspect
import uuid
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from sqlalchemy import Table

from corrigenda_core.domain.actors import Actor
from corrigenda_core.domain.ids import TeamId
from corrigenda_core.domain.time import Moment
from corrigenda_core.persistence import tables
from corrigenda_core.persistence.attempts import Progress, RetryPolicy, attempt_on, repeat
from corrigenda_core.persistence.commit_writes import CommitWrites
from corrigenda_core.persistence.database import Database, Row
from corrigenda_core.persistence.idempotency import (
    IdempotencyRequest,
    find_response,
    replay,
    response_row,
    stored_response,
)
from corrigenda_core.persistence.ledger import (
    LedgerEntry,
    change_hash,
    is_ledgered,
    require_outside_the_ledger,
    row_digest,
)
from corrigenda_core.persistence.named_sql import Query
from corrigenda_core.persistence.round_trips import RoundTrips
from corrigenda_core.persistence.row_text import instant_text
from corrigenda_core.persistence.row_writing import COMMIT_COLUMNS, VERSION, RowText, RowWriter, writer_of
from corrigenda_core.persistence.team_clock import ClockReading, TeamClock
from corrigenda_core.persistence.team_queue import TeamQueue
from corrigenda_core.ports.deadline import NO_DEADLINE, Deadline
from corrigenda_core.ports.failpoints import UNARMED, Failpoint, Failpoints

T = TypeVar("T")
WrittenRow = tuple[Table, Mapping[str, object]]
"""A new version of a row: its table, and what the planner gave of it."""
Told = Callable[[Sequence[WrittenRow]], None]

_BEGIN = Query(name="begin", sql="BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE")
_COMMIT = Query(name="commit", sql="COMMIT")


@dataclass(frozen=True, slots=True, kw_only=True)
class Committed(Generic[T]):
    """What a commit answered.

    Attributes:
        value: the planner's result, or the stored one of an earlier request.
        revision: the team's last revision that the answer knows of.
        replayed: whether the answer is a stored one and nothing was written now.
    """

    value: T
    revision: int
    replayed: bool = False


@dataclass(slots=True)
class _Revision:
    """A revision under construction: its moment, who and what, and the digests of its rows so far.

    ``columns`` are those that all its rows share, as text.
    """

    columns: Mapping[str, str]
    moment: Moment
    actor: Actor
    change_kind: str
    row_digests: list[bytes] = field(default_factory=list)


class Transaction:
    """What a planner sees and fills: the state under the team's lock, and the writes to come.

    Nothing is sent before the planner returns, `fetch` excepted.
    """

    def __init__(
        self, trips: RoundTrips, team_id: TeamId, reading: ClockReading, prefetched: Mapping[str, list[Row]]
    ) -> None:
        self._trips = trips
        self._revisions: list[_Revision] = []
        self._writes = CommitWrites()
        self._written: list[WrittenRow] = []
        self.team_id = team_id
        self.reading = reading
        self.prefetched = prefetched

    async def fetch(self, query: Query) -> list[Row]:
        """Rows that were not prefetched; costs a round trip while the whole team waits."""
        (rows,) = await self._trips.run(query)
        return rows

    async def fetch_all(self, queries: Sequence[Query]) -> dict[str, list[Row]]:
        """The rows of several such queries by their names, in one round trip."""
        answers = await self._trips.run(*queries)
        return {query.name: rows for query, rows in zip(queries, answers, strict=True)}

    def next_moment(self, actor: Actor, change_kind: str) -> Moment:
        """Begins a revision, to which the writes that follow belong; the first one is later than everything closed.

        ``change_kind`` says what is committed, for readers of the ledger.
        """
        moment = self.reading_now.next_moment()
        columns = {
            "team_id": str(uuid.UUID(self.team_id)),
            "revision": str(moment.revision),
            "recorded_at": instant_text(moment.at),
        }
        self._revisions.append(_Revision(columns=columns, moment=moment, actor=actor, change_kind=change_kind))
        return moment

    def insert(self, table: Table, row: Mapping[str, object]) -> None:
        """Adds a new row; team, revision and recorded time are those of the revision under construction.

        Raises:
            ValueError: if the row is incomplete, or claims another team or moment.
            RuntimeError: before `next_moment`.
        """
        writer, text = self._row_of_revision(table, row)
        self._writes.insert(table, writer, text)

    def put(
        self,
        table: Table,
        row: Mapping[str, object],
        prior_version: int | None,
        changed: Iterable[str] | None = None,
    ) -> None:
        """Adds a version of a row: INSERT if there was none, else UPDATE of exactly ``prior_version``.

        ``row`` is the whole new version. ``changed`` names the columns to set where the role may write no others
        (version, revision and recorded time are always set); the others must be as they are in the table. Rows whose
        history is numbered by revision give the prior revision instead of a version. If the row is another one by
        then, the commit is refused with STALE_VERSION.

        Raises:
            ValueError: if the row is incomplete or its version is not the next one.
            RuntimeError: before `next_moment`.
        """
        writer, text = self._row_of_revision(table, row)
        expected = str(1 if prior_version is None else prior_version + 1)
        if writer.numbered_by == VERSION and text[VERSION] != expected:
            raise ValueError(f"{table.name}: version {text[VERSION]} does not follow {prior_version}")
        if prior_version is None:
            self._writes.insert(table, writer, text)
        else:
            self._writes.statement(writer.update(text, prior_version, changed))

    def amend(self, table: Table, row: Mapping[str, object], changed: Iterable[str]) -> None:
        """Changes columns of a row that is there; ``row`` is the whole row as it will be.

        For settings whose versions count something else than commits, such as a team's clock.

        Raises:
            ValueError: if the row is incomplete or a column unknown.
            RuntimeError: before `next_moment`.
        """
        writer, text = self._row_of_revision(table, row)
        self._writes.statement(writer.amend(text, changed))

    def replace(self, table: Table, row: Mapping[str, object]) -> None:
        """Adds a row in the place of the one with its key, if there is one.

        For rows whose versions nobody names in a request, such as the parts of a case: the team's lock alone makes
        them safe, since what was read under it cannot have changed.

        Raises:
            ValueError: if the row is incomplete.
            RuntimeError: before `next_moment`.
        """
        writer, text = self._row_of_revision(table, row)
        self._writes.statement(writer.replace(text))

    def execute(self, query: Query) -> None:
        """Adds one of the few statements that no row describes, on tables outside the ledger.

        Raises:
            ValueError: if the statement writes a ledgered table.
        """
        require_outside_the_ledger(query)
        self._writes.statement(query)

    def gather(self, query: Query) -> None:
        """Adds such a statement that takes lists: those of all calls of it become one list.

        Raises:
            ValueError: if the statement writes a ledgered table, or another parameter than a list differs.
        """
        require_outside_the_ledger(query)
        self._writes.gather(query)

    @property
    def reading_now(self) -> ClockReading:
        """The clock as the next revision finds it: after those of this commit."""
        return self.reading.after(self._revisions[-1].moment) if self._revisions else self.reading

    def answer(self, request: IdempotencyRequest[T], response: T) -> None:
        """Stores the response of one request of a batch, at the revision under construction if there is one."""
        row = response_row(self.team_id, request, response, self._last_moment())
        self._writes.insert(tables.idempotency_records, writer_of(tables.idempotency_records), row)

    def _revision(self) -> _Revision:
        if not self._revisions:
            raise RuntimeError("rows belong to a revision: call next_moment first")
        return self._revisions[-1]

    def _row_of_revision(self, table: Table, row: Mapping[str, object]) -> tuple[RowWriter, RowText]:
        writer = writer_of(table)
        revision = self._revision()
        if claimed := row.keys() & COMMIT_COLUMNS:
            self._require_own(table, {name: row[name] for name in claimed}, revision.moment)
        text = writer.text(row, revision.columns)
        if is_ledgered(table):
            revision.row_digests.append(row_digest(writer, text))
        self._written.append((table, row))
        return writer, text

    def _require_own(self, table: Table, claimed: Mapping[str, object], moment: Moment) -> None:
        """Refuses a row that claims another team or moment than the commit's."""
        fixed = {"team_id": self.team_id, "revision": moment.revision, "recorded_at": moment.at}
        for name, value in claimed.items():
            if value != fixed[name]:
                raise ValueError(f"{table.name}.{name} is {fixed[name]} in this commit, not {value}")

    def _closing_writes(self, clock: TeamClock, idempotency: IdempotencyRequest[T] | None, value: T) -> list[Query]:
        """Everything of the second round trip but COMMIT; without a revision only what is outside the ledger."""
        if idempotency:
            self.answer(idempotency, value)
        if not self._revisions:
            return self._writes.queries()
        head = self.reading.ledger_head
        writer = writer_of(tables.ledger)
        for revision in self._revisions:
            entry = LedgerEntry(
                team_id=self.team_id,
                moment=revision.moment,
                prior_hash=head,
                change_hash=change_hash(revision.row_digests),
                actor=revision.actor,
                change_kind=revision.change_kind,
            )
            head = entry.hash
            self._writes.insert(tables.ledger, writer, writer.text(entry.row()))
        return [*self._writes.queries(), clock.advance(self.team_id, self.reading, self._last_moment(), head)]

    def _last_moment(self) -> Moment:
        """The moment of the last revision, of this commit if it has one."""
        if self._revisions:
            return self._revisions[-1].moment
        return Moment(revision=self.reading.revision, at=self.reading.closed_at or self.reading.now)


Plan = Callable[[Transaction], T | Awaitable[T]]


class TransactionRunner:
    """Runs planners in transactions of one process; one at a time for a team.

    Args:
        database: the pool of the process's role.
        team_clock: replaced only by tests that switch the lock off or shift the clock.
        queue: the bound on writers that wait for one team.
        retries: how attempts are repeated.
        failpoints: armed only by tests.
        committed: told of the rows of every commit, after it; not of one whose answer was lost on the way.
        idle_timeout_milliseconds: how long a frozen process may keep a team's lock before the server takes it away.
    """

    def __init__(
        self,
        database: Database,
        *,
        team_clock: TeamClock | None = None,
        queue: TeamQueue | None = None,
        retries: RetryPolicy | None = None,
        failpoints: Failpoints = UNARMED,
        committed: Told = lambda _: None,
        idle_timeout_milliseconds: int = 10_000,
    ) -> None:
        self._database = database
        self._clock = team_clock or TeamClock()
        self._queue = queue or TeamQueue()
        self._retries = retries or RetryPolicy()
        self._failpoints = failpoints
        self._committed = committed
        self._idle_timeout_milliseconds = idle_timeout_milliseconds

    async def run(
        self,
        team_id: TeamId,
        plan: Plan[T],
        *,
        prefetch: Sequence[Query] = (),
        idempotency: IdempotencyRequest[T] | None = None,
        keeps_records: bool = False,
        deadline: Deadline = NO_DEADLINE,
    ) -> Committed[T]:
        """Runs ``plan`` under the team's lock and commits what it wrote.

        The planner may run more than once, so it must have no effect but on the transaction. A refusal that it raises
        is passed on, with nothing written. With ``idempotency`` a repeated request is answered from the record. A
        planner that ``keeps_records`` does that itself, for each request of a batch.

        Raises:
            Refusal: of the planner; RESOURCE_NOT_FOUND (no such team), OVERLOADED, CONTENTION, STALE_VERSION,
                IDEMPOTENCY_CONFLICT, STORE_UNAVAILABLE (``outcome`` ``unknown`` in its metadata if the commit may
                have happened), INTERNAL_ERROR (a constraint refused what the planner made).
        """
        if len({query.name for query in prefetch}) != len(prefetch):
            raise ValueError("prefetched queries need names of their own")
        return await self._database.within(
            deadline, self._run(team_id, plan, prefetch, idempotency, keeps_records, deadline)
        )

    async def _run(
        self,
        team_id: TeamId,
        plan: Plan[T],
        prefetch: Sequence[Query],
        idempotency: IdempotencyRequest[T] | None,
        keeps_records: bool,
        deadline: Deadline,
    ) -> Committed[T]:
        first = self._first_round_trip(team_id, prefetch, idempotency)

        async def attempt() -> Committed[T]:
            async with self._database.connection(deadline) as connection, attempt_on(connection) as progress:
                async with connection.round_trips() as trips:
                    answer = await self._attempt(trips, progress, team_id, plan, first, idempotency)
                self._failpoints.reached(Failpoint.AFTER_COMMIT_BEFORE_REPLY)
                return answer

        async with self._queue.turn(team_id, deadline):
            # With a record, the next attempt waits for the clock row that an unfinished commit still holds; then the
            # record is there or never will be.
            repeatable = keeps_records or idempotency is not None
            return await repeat(attempt, self._database, self._retries, deadline, unknown_may_be_repeated=repeatable)

    def _first_round_trip(
        self, team_id: TeamId, prefetch: Sequence[Query], idempotency: IdempotencyRequest[T] | None
    ) -> list[Query]:
        lock = self._clock.lock(team_id, idle_timeout_milliseconds=self._idle_timeout_milliseconds)
        stored = [find_response(team_id, idempotency.profile_id, idempotency.key)] if idempotency else []
        return [_BEGIN, self._clock.set_team(team_id), *lock, *stored, *prefetch]

    async def _attempt(
        self,
        trips: RoundTrips,
        progress: Progress,
        team_id: TeamId,
        plan: Plan[T],
        first: Sequence[Query],
        idempotency: IdempotencyRequest[T] | None,
    ) -> Committed[T]:
        answers = await trips.run(*first)
        self._failpoints.reached(Failpoint.AFTER_BEGIN)
        reading = self._clock.reading(answers[2], answers[3])
        if idempotency and (stored := stored_response(answers[4])):
            await trips.run(_COMMIT)
            return Committed(value=replay(idempotency, stored), revision=stored.revision, replayed=True)
        prefetched = {query.name: rows for query, rows in zip(first[4:], answers[4:], strict=True)}
        transaction = Transaction(trips, team_id, reading, prefetched)
        value = await _planned(plan, transaction)
        self._failpoints.reached(Failpoint.BETWEEN_ROUND_TRIPS)
        writes = transaction._closing_writes(self._clock, idempotency, value)
        progress.commit_sent = True
        await self._commit(trips, writes)
        self._committed(transaction._written)
        return Committed(value=value, revision=transaction._last_moment().revision)

    async def _commit(self, trips: RoundTrips, writes: Sequence[Query]) -> None:
        if self._failpoints is UNARMED:
            await trips.run(*writes, _COMMIT)
            return
        await trips.run(*writes)
        self._failpoints.reached(Failpoint.BEFORE_COMMIT)
        await trips.run(_COMMIT)


async def _planned(plan: Plan[T], transaction: Transaction) -> T:
    result = plan(transaction)
    if inspect.isawaitable(result):
        awaited: T = await result
        return awaited
    return result
