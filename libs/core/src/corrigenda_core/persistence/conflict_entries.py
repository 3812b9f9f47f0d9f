"""Lists cases and items by age: what is open is read whole, what is closed page by page or by what a filter finds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Self

from corrigenda_core.domain.cases import LIVE_CASE_STATUSES
from corrigenda_core.domain.ids import EntityId, ProfileId
from corrigenda_core.domain.items import ItemStatus
from corrigenda_core.domain.time import EARLIEST, Instant
from corrigenda_core.persistence.database import Row, Unbounded
from corrigenda_core.persistence.named_sql import Query, load_sql
from corrigenda_core.persistence.read_transaction import ReadTransaction

_SQL = "conflict_entries.sql"
_NO_ID = "00000000-0000-0000-0000-000000000000"


@dataclass(frozen=True, slots=True, kw_only=True)
class EntryFilter:
    """What a list of conflicts asks for; an empty or absent filter lets everything pass."""

    profile_id: ProfileId
    with_cases: bool
    with_items: bool
    case_kinds: tuple[str, ...]
    case_statuses: tuple[str, ...]
    item_kinds: tuple[str, ...]
    item_statuses: tuple[str, ...]
    entity_id: EntityId | None
    predicate: str | None
    opened_before: Instant
    mine: bool

    @property
    def asks_for_open(self) -> bool:
        """Whether anything that is open can pass."""
        cases = self.with_cases and any(one in LIVE_CASE_STATUSES for one in self.case_statuses)
        return cases or (self.with_items and ItemStatus.PENDING.value in self.item_statuses)

    @property
    def asks_for_closed(self) -> bool:
        """Whether anything that is closed can pass."""
        cases = self.with_cases and any(one not in LIVE_CASE_STATUSES for one in self.case_statuses)
        return cases or (self.with_items and any(one != ItemStatus.PENDING for one in self.item_statuses))

    def parameters(self) -> dict[str, object]:
        """The filter as parameters of the statements."""
        return {name: list(value) if isinstance(value, tuple) else value for name, value in asdict(self).items()}


@dataclass(frozen=True, slots=True, kw_only=True)
class EntryPlace:
    """Where a page begins: after an entry; ``closed_total`` is what the first page has counted, ``None`` before."""

    opened_at: Instant = EARLIEST
    entry_id: str = _NO_ID
    closed_total: int | None = None

    @property
    def cursor(self) -> tuple[str, ...]:
        """The place as a page token keeps it."""
        return (self.opened_at.isoformat(), self.entry_id, str(self.closed_total or 0))

    @classmethod
    def of(cls, cursor: tuple[str, ...]) -> Self:
        """The place that a page token has kept; an empty cursor is the beginning."""
        if not cursor:
            return cls()
        opened_at, entry_id, closed_total = cursor
        return cls(opened_at=datetime.fromisoformat(opened_at), entry_id=entry_id, closed_total=int(closed_total))


@dataclass(frozen=True, slots=True, kw_only=True)
class EntryPage:
    """A page of entries (``kind``, ``entry_id``, ``opened_at``), their number over all pages, and the next page."""

    rows: Sequence[Row]
    total: int
    following: EntryPlace | None


async def read_entries(
    transaction: ReadTransaction, at: Instant | Unbounded, asked: EntryFilter, start: EntryPlace, size: int
) -> EntryPage:
    """A page of what passes the filter, as it was known at ``at``, the oldest first."""
    rows: list[Row] = []
    total, closed_total = 0, 0
    if asked.asks_for_open:
        found = await transaction.fetch(_page_query("open_entries", transaction, at, asked, start, size))
        rows += found
        total += await _open_total(transaction, at, asked, start, found)
    if asked.asks_for_closed:
        closed, closed_total = await _closed(transaction, at, asked, start, size)
        rows += closed
        total += closed_total
    rows.sort(key=lambda row: (row["opened_at"], row["entry_id"]))
    following = None
    if len(rows) > size:
        last = rows[size - 1]
        following = EntryPlace(opened_at=last["opened_at"], entry_id=last["entry_id"], closed_total=closed_total)
    return EntryPage(rows=rows[:size], total=total, following=following)


async def _open_total(
    transaction: ReadTransaction, at: Instant | Unbounded, asked: EntryFilter, start: EntryPlace, found: list[Row]
) -> int:
    """How many open entries there are; a page behind the last of them does not say it."""
    if found or start == EntryPlace():
        return int(found[0]["total"]) if found else 0
    (first, *_) = await transaction.fetch(_page_query("open_entries", transaction, at, asked, EntryPlace(), 0)) or [
        {"total": 0}
    ]
    return int(first["total"])


async def _closed(
    transaction: ReadTransaction, at: Instant | Unbounded, asked: EntryFilter, start: EntryPlace, size: int
) -> tuple[list[Row], int]:
    """A page of closed entries, and the number of all."""
    among = await _among(transaction, asked)
    if among is not None:
        query = _page_query("closed_entries_among", transaction, at, asked, start, size, among=among)
        rows = await transaction.fetch(query)
        total = rows[0]["total"] if rows else start.closed_total or 0
        return rows, total
    rows = await transaction.fetch(_page_query("closed_entries", transaction, at, asked, start, size))
    if start.closed_total is not None:
        return rows, start.closed_total
    (counted,) = await transaction.fetch(_query("closed_entry_count", transaction, asked, at=at))
    return rows, counted["total"]


async def _among(transaction: ReadTransaction, asked: EntryFilter) -> list[str] | None:
    """The cases that the filters by predicate, entity and owner can let pass; ``None`` without such a filter."""
    names = [
        name
        for name, is_asked in (
            ("cases_of_predicate", asked.predicate is not None),
            ("cases_of_entity", asked.entity_id is not None),
            ("cases_of_owner", asked.mine),
        )
        if is_asked
    ]
    if not names:
        return None
    answers = await transaction.fetch_all(*(_query(name, transaction, asked) for name in names))
    return sorted(set.intersection(*({row["conflict_id"] for row in rows} for rows in answers)))


def _page_query(
    name: str,
    transaction: ReadTransaction,
    at: Instant | Unbounded,
    asked: EntryFilter,
    start: EntryPlace,
    size: int,
    **more: object,
) -> Query:
    page = {"after": start.opened_at, "after_id": start.entry_id, "limit": size + 1}
    return _query(name, transaction, asked, at=at, **page, **more)


def _query(name: str, transaction: ReadTransaction, asked: EntryFilter, **more: object) -> Query:
    statement = load_sql(_SQL)[name]
    given = {"team_id": transaction.team_id, **asked.parameters(), **more}
    return statement.query(**{one: given[one] for one in statement.parameters})
