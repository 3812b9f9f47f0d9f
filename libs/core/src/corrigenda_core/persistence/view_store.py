"""Resolves what a reader asks by into an instant of the record: the instant by which history rows are filtered.

`policy.visibility` says what a view shows, by revisions; a row is in it if ``recorded_from <= at < recorded_to`` for
the recorded time ``at`` of the view's revision, because revisions and times run in one order.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import assert_never

from corrigenda_core.domain.errors import Reason, Refusal
from corrigenda_core.domain.time import EARLIEST, Instant
from corrigenda_core.domain.views import Known, KnownAt, KnownAtRevision, KnownNow
from corrigenda_core.persistence.named_sql import load_sql
from corrigenda_core.persistence.read_transaction import ReadTransaction


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownView:
    """What was known: everything up to ``revision``; ``at`` filters history rows."""

    revision: int
    at: Instant


def settled_instant(known: Known) -> Instant | None:
    """The instant that has to be closed before an answer for it can be given; pass it to `ReadRunner.run`."""
    return known.at if isinstance(known, KnownAt) else None


async def resolve_known(transaction: ReadTransaction, known: Known, *, field: str = "known") -> KnownView:
    """The view that a selector asks for.

    Raises:
        Refusal: INVALID_FIELD for knowledge of the future, naming ``<field>.known_at`` or ``<field>.revision``.
    """
    reading = transaction.reading
    sql = load_sql("views.sql")
    match known:
        case KnownNow():
            return KnownView(revision=reading.revision, at=reading.closed_at or EARLIEST)
        case KnownAt(at=at):
            if at > reading.now and (reading.closed_at is None or at > reading.closed_at):
                raise _future(f"{field}.known_at", at.isoformat(), reading.now.isoformat())
            rows = await transaction.fetch(sql.query("revision_at", team_id=transaction.team_id, at=at))
            return KnownView(revision=rows[0]["revision"], at=at)
        case KnownAtRevision(revision=revision):
            if revision > reading.revision:
                raise _future(f"{field}.revision", str(revision), str(reading.revision))
            rows = await transaction.fetch(
                sql.query("time_of_revision", team_id=transaction.team_id, revision=revision)
            )
            return KnownView(revision=revision, at=rows[0]["recorded_at"] if rows else EARLIEST)
        case never:
            assert_never(never)


def _future(field: str, offered: str, allowed: str) -> Refusal:
    return Refusal(
        Reason.INVALID_FIELD,
        "what the team will know is not known",
        field=field,
        metadata={"offered": offered, "allowed": f"<= {allowed}"},
    )
