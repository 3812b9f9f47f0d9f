"""Resolves what a reader asks by on both time axes, against the team's clock and inside the snapshot that answers.

`policy.visibility` says what a view shows, by revisions; a row is in it if ``recorded_from <= at < recorded_to`` for
the recorded time ``at`` of the view's revision, because revisions and times run in one order.
"""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar, assert_never

from corrigenda_core.domain.errors import Refusal
from corrigenda_core.domain.ids import TeamId
from corrigenda_core.domain.time import Instant, Moment
from corrigenda_core.domain.views import Known, KnownAt, KnownAtRevision, KnownNow, TemporalSelector
from corrigenda_core.persistence import sqlstates
from corrigenda_core.persistence.database import Row, Unbounded
from corrigenda_core.persistence.named_sql import Query, load_sql
from corrigenda_core.persistence.read_transaction import ReadRunner, ReadTransaction
from corrigenda_core.persistence.team_clock import ClockReading
from corrigenda_core.policy.visibility import decide_view
from corrigenda_core.ports.deadline import NO_DEADLINE, Deadline

T = TypeVar("T")

_MOMENTS = "moments of the view"


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadView:
    """A view on both axes that a snapshot answers.

    Attributes:
        valid_at: the instant of the world.
        revision: the revision, 0 before the first one.
        recorded_by: filters history rows: the instant of the revision, before the first one that of no row.
        known_at: up to when the view knows everything: the instant that was asked for, else that of the revision;
            ``None`` before the first one.
    """

    valid_at: Instant
    revision: int
    recorded_by: Instant | Unbounded
    known_at: Instant | None


ReadInView = Callable[[ReadTransaction, ReadView], T | Awaitable[T]]


async def run_in_view(
    reader: ReadRunner,
    team_id: TeamId,
    selector: TemporalSelector,
    read: ReadInView[T],
    *,
    field: str,
    prefetch: Sequence[Query] = (),
    min_revision: int = 0,
    deadline: Deadline = NO_DEADLINE,
) -> T:
    """Runs ``read`` in one snapshot, with the view that the selector asks for there.

    An instant of the record that the clock has not closed yet is settled first, so that no later commit can change
    what was known then.

    Args:
        reader: runs the snapshot.
        team_id: the team.
        selector: what is asked.
        read: what is asked of the snapshot and the view.
        field: path of the selector in the request.
        prefetch: queries that need no view and go along with the first round trip.
        min_revision: what the caller has seen.
        deadline: when the caller stops waiting.

    Raises:
        Refusal: of ``read`` and of `ReadRunner.run`; INVALID_FIELD for knowledge of the future, naming the field.
    """
    asked_at = selector.known.at if isinstance(selector.known, KnownAt) else None

    async def read_in_view(transaction: ReadTransaction) -> T:
        view = _resolve(selector, transaction.reading, transaction.prefetched[_MOMENTS], field)
        result = read(transaction, view)
        value: T = await result if inspect.isawaitable(result) else result
        return value

    try:
        return await reader.run(
            team_id,
            read_in_view,
            prefetch=[_moments_query(team_id, selector.known), *prefetch],
            min_revision=min_revision,
            settle=asked_at,
            deadline=deadline,
        )
    except Refusal as refusal:
        # The database refuses to settle the future, and knows nothing of fields.
        if asked_at is None or refusal.metadata.get("sqlstate") != sqlstates.INSTANT_NOT_REACHED:
            raise
        raise Refusal(
            refusal.reason,
            refusal.message,
            field=f"{field}.known_at",
            metadata={"offered": asked_at.isoformat()},
        ) from refusal


def _moments_query(team_id: TeamId, known: Known) -> Query:
    """The commits that `_resolve` needs; rows (revision, recorded_at)."""
    sql = load_sql("views.sql")
    match known:
        case KnownNow():
            query = sql.query("last_moment", team_id=team_id)
        case KnownAt(at=at):
            query = sql.query("last_moment_by", team_id=team_id, known_at=at)
        case KnownAtRevision(revision=revision):
            query = sql.query("moments_up_to", team_id=team_id, revision=revision)
        case never:
            assert_never(never)
    return Query(name=_MOMENTS, sql=query.sql, parameters=query.parameters)


def _resolve(selector: TemporalSelector, reading: ClockReading, rows: Sequence[Row], field: str) -> ReadView:
    """The view that a selector asks for.

    Args:
        selector: what is asked.
        reading: the team's clock in the snapshot.
        rows: what the query of `_moments_query` answered.
        field: path of the selector in the request.

    Raises:
        Refusal: INVALID_FIELD for knowledge of the future, naming ``known_at`` or ``revision`` below ``field``.
    """
    moments = [Moment(revision=row["revision"], at=row["recorded_at"]) for row in rows]
    # Settling may have closed more than the machine's clock says: time does not go back for it.
    now = reading.now if reading.closed_at is None else max(reading.now, reading.closed_at)
    try:
        view = decide_view(selector, now=now, moments=moments)
    except Refusal as refusal:
        path = f"{field}.{refusal.field}"
        raise Refusal(refusal.reason, refusal.message, field=path, metadata=refusal.metadata) from refusal
    at = next((moment.at for moment in moments if moment.revision == view.revision), None)
    return ReadView(
        valid_at=view.valid_at,
        revision=view.revision,
        recorded_by=Unbounded.START if at is None else at,
        known_at=selector.known.at if isinstance(selector.known, KnownAt) else at,
    )
