"""Verifies a team's ledger: recomputes every hash from the tables and lists what does not fit.

Reads one snapshot in two passes, each a merge of ordered streams, so that memory does not grow with the team: by
revision for the chain, by row for the versions.
"""

from __future__ import annotations

import hashlib
import heapq
import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from decimal import Decimal
from functools import partial
from itertools import groupby
from operator import itemgetter
from typing import Any

import psycopg
from psycopg.abc import Buffer
from psycopg.adapt import Loader
from psycopg.rows import dict_row
from psycopg.types.json import set_json_loads
from sqlalchemy import MetaData, Table, Text

from corrigenda_core.domain.actors import Actor, ActorKind
from corrigenda_core.domain.ids import ProfileId, TeamId
from corrigenda_core.domain.time import Moment
from corrigenda_core.persistence import tables
from corrigenda_core.persistence.database import Unbounded, register_types
from corrigenda_core.persistence.ledger import (
    GENESIS_HASH,
    HASHED_BESIDE,
    LedgerEntry,
    change_hash,
    is_ledgered,
    row_digest,
)
from corrigenda_core.persistence.row_writing import VERSION, RowText, RowWriter, writer_of

SHOWN_PROBLEMS = 100
_BATCH_ROWS = 2000
_INFINITIES = frozenset(end.value for end in Unbounded)

Connection = psycopg.Connection[tuple[object, ...]]
Row = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class LedgerProblem:
    """One thing that does not fit; ``revision`` and ``table`` say where, as far as that can be told."""

    kind: str
    detail: str
    revision: int | None = None
    table: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class LedgerReport:
    """What a verification found; `problems` shows the first `SHOWN_PROBLEMS` of ``problem_count``.

    ``head`` is the hash of the last entry: whoever keeps it elsewhere can later tell that nothing was cut off the end.
    """

    team_id: TeamId
    revisions: int
    rows: int
    head: str
    problem_count: int
    problems: tuple[LedgerProblem, ...]

    @property
    def is_verified(self) -> bool:
        """Whether nothing was found."""
        return self.problem_count == 0


@dataclass(slots=True)
class _Findings:
    count: int = 0
    shown: list[LedgerProblem] = field(default_factory=list)

    def add(self, kind: str, detail: str, *, revision: int | None = None, table: str | None = None) -> None:
        self.count += 1
        if len(self.shown) < SHOWN_PROBLEMS:
            self.shown.append(LedgerProblem(kind=kind, detail=detail, revision=revision, table=table))


class _RawInstantLoader(Loader):
    """timestamptz that tells the two infinities apart; what is no calendar time stays text and fits nowhere."""

    def load(self, data: Buffer) -> datetime | Unbounded | str:
        text = bytes(data).decode("ascii")
        if text in _INFINITIES:
            return Unbounded(text)
        try:
            return datetime.fromisoformat(text).astimezone(UTC)
        except (ValueError, OverflowError):
            return text


@dataclass(frozen=True, slots=True, kw_only=True)
class _ErasedText:
    """A text that is gone: by which digest it entered the ledger, and what stands in its place."""

    erasure_id: str
    entered: bytes
    tombstone: str


@dataclass(frozen=True, slots=True, kw_only=True)
class _LedgeredTable:
    """A ledgered table and where its versions stand: in itself, or in its history."""

    table: Table
    history: Table | None

    @property
    def versions(self) -> Table:
        """The table that holds every version."""
        return self.table if self.history is None else self.history

    @property
    def version_key(self) -> tuple[str, ...]:
        """What tells the versions of one team apart."""
        return tuple(column.name for column in self.versions.primary_key.columns if column.name != "team_id")

    @property
    def writer(self) -> RowWriter:
        return writer_of(self.table)

    @property
    def key(self) -> tuple[str, ...]:
        return tuple(column.name for column in self.table.primary_key.columns)


def verify_ledger(connection: Connection, team_id: TeamId, metadata: MetaData = tables.metadata) -> LedgerReport:
    """Whether a team's history is what was committed: R11.4.

    Every entry's hash, the chain, the head in the team's clock; every revision's change hash from the rows that the
    tables hold now (none missing, none extra, none changed); texts against the hash that stands for them; versions of
    rows without gap, the current row equal to its last version.

    Args:
        connection: of a role that sees every team, outside a transaction.
        team_id: the team.
        metadata: the declared tables.
    """
    with connection.transaction():
        connection.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")
        return verify_snapshot(connection, team_id, metadata)


def verify_snapshot(connection: Connection, team_id: TeamId, metadata: MetaData = tables.metadata) -> LedgerReport:
    """The same inside the caller's transaction, as that transaction sees the tables."""
    register_types(connection)
    connection.adapters.register_loader("timestamptz", _RawInstantLoader)
    set_json_loads(partial(json.loads, parse_float=Decimal), connection)
    return _Verification(connection, team_id, metadata).report()


def teams_to_verify(connection: Connection) -> list[TeamId]:
    """All teams that the role sees."""
    register_types(connection)
    return [TeamId(str(row[0])) for row in connection.execute("SELECT team_id FROM team_clock ORDER BY team_id")]


class _Verification:
    def __init__(self, connection: Connection, team_id: TeamId, metadata: MetaData) -> None:
        self._connection = connection
        self._team_id = team_id
        self._findings = _Findings()
        self._rows = 0
        self._cursors = 0
        # Erasures are rare, and a text of theirs is met once in the order of revisions: all of them fit in memory.
        self._erased = self._recorded_erasures()
        self._tables = [
            _LedgeredTable(table=table, history=metadata.tables.get(f"{table.name}_history"))
            for table in metadata.sorted_tables
            if is_ledgered(table)
        ]

    def report(self) -> LedgerReport:
        last = self._verify_chain()
        for ledgered in self._tables:
            if ledgered.history is not None:
                self._verify_versions(ledgered)
        return LedgerReport(
            team_id=self._team_id,
            revisions=0 if last is None else last.moment.revision,
            rows=self._rows,
            head=(GENESIS_HASH if last is None else last.hash).hex(),
            problem_count=self._findings.count,
            problems=tuple(self._findings.shown),
        )

    # The chain, by revision.

    def _verify_chain(self) -> LedgerEntry | None:
        changes = self._changes_by_revision()
        change = next(changes, None)
        last: LedgerEntry | None = None
        for row in self._read(tables.ledger, tables.ledger.columns.keys(), order=["revision"]):
            entry = self._verify_entry(row, last)
            if entry is None:
                continue
            last = entry
            revision = entry.moment.revision
            while change is not None and change[0] < revision:
                self._report_rows_without_entry(*change)
                change = next(changes, None)
            found: Sequence[bytes] = ()
            if change is not None and change[0] == revision:
                found, change = change[1], next(changes, None)
            if change_hash(found) != entry.change_hash:
                self._findings.add(
                    "change_hash", f"the {len(found)} rows of the revision are not those committed", revision=revision
                )
        while change is not None:
            self._report_rows_without_entry(*change)
            change = next(changes, None)
        self._verify_clock(last)
        return last

    def _verify_entry(self, row: Row, last: LedgerEntry | None) -> LedgerEntry | None:
        revision: int = row["revision"]
        try:
            entry = _entry_of(row)
            computed = entry.hash
        except (TypeError, ValueError) as problem:
            self._findings.add("entry_unreadable", str(problem), revision=revision)
            return None
        if computed != bytes(row["hash"]):
            self._findings.add("entry_hash", "the entry is not the one that was hashed", revision=revision)
        expected = 1 if last is None else last.moment.revision + 1
        if revision != expected:
            self._findings.add("revision_gap", f"revision {expected} is missing", revision=revision)
        elif entry.prior_hash != (GENESIS_HASH if last is None else last.hash):
            self._findings.add("chain_broken", "the entry does not continue the one before", revision=revision)
        if last is not None and entry.moment.at <= last.moment.at:
            self._findings.add("time_order", "recorded not later than the revision before", revision=revision)
        return entry

    def _verify_clock(self, last: LedgerEntry | None) -> None:
        clock = next(self._read(tables.team_clock, tables.team_clock.columns.keys(), order=["team_id"]), None)
        if clock is None:
            self._findings.add("clock_missing", "the team has no clock")
            return
        revision, head = (0, GENESIS_HASH) if last is None else (last.moment.revision, last.hash)
        if clock["revision"] != revision or bytes(clock["ledger_head"]) != head:
            self._findings.add(
                "head",
                f"the clock stands at revision {clock['revision']}, the ledger ends at {revision}, or another hash",
            )
        closed_at = clock["closed_at"]
        if last is not None and not (isinstance(closed_at, datetime) and closed_at >= last.moment.at):
            self._findings.add("closed_at", "the clock is behind the last revision")

    def _report_rows_without_entry(self, revision: int, digests: Sequence[bytes]) -> None:
        self._findings.add("rows_without_entry", f"{len(digests)} rows of a revision without entry", revision=revision)

    def _changes_by_revision(self) -> Iterator[tuple[int, list[bytes]]]:
        """The digests of all rows of each revision, in the order of revisions."""
        streams = [self._digests(ledgered) for ledgered in self._tables]
        for revision, group in groupby(heapq.merge(*streams, key=itemgetter(0)), key=itemgetter(0)):
            yield revision, [digest for _, digest in group]

    def _digests(self, ledgered: _LedgeredTable) -> Iterator[tuple[int, bytes]]:
        for row in self._read_versions(ledgered, order=["revision"]):
            self._rows += 1
            yield row["revision"], self._digest(ledgered, row)

    def _digest(self, ledgered: _LedgeredTable, row: Row) -> bytes:
        name = ledgered.table.name
        try:
            own = ledgered.writer.text({column: row[column] for column in ledgered.writer.columns})
        except (TypeError, ValueError) as problem:
            self._findings.add("row_unreadable", str(problem), revision=row["revision"], table=name)
            return b""
        erased = self._erased.get((ledgered.versions.name, tuple(own[column] for column in ledgered.version_key)), {})
        self._verify_texts(name, row, own, erased)
        return row_digest(ledgered.writer, own, {column: one.entered for column, one in erased.items()})

    def _verify_texts(self, name: str, row: Row, own: RowText, erased: Mapping[str, _ErasedText]) -> None:
        """Texts against the hashes beside them, and what was erased against the record of its erasure."""
        for text, digest in HASHED_BESIDE.get(name, {}).items():
            if text not in erased and hashlib.sha256(row[text].encode()).digest() != bytes(row[digest]):
                self._findings.add("text_hash", f"{text} does not fit {digest}", revision=row["revision"], table=name)
        for column, one in erased.items():
            # A record that was tampered with may name a column that is none of the table's.
            if own.get(column) != one.tombstone:
                self._findings.add(
                    "tombstone", f"{column} is not the tombstone of its erasure", revision=row["revision"], table=name
                )
        if name == tables.evidence_fragments.name and own["erasure_id"] != (
            erased["content"].erasure_id if "content" in erased else None
        ):
            self._findings.add("erasure", "the erasure is not the recorded one", revision=row["revision"], table=name)

    def _recorded_erasures(self) -> dict[tuple[str, tuple[str | None, ...]], dict[str, _ErasedText]]:
        """What was erased, by table and key of the row, then by column; of two erasures the first took the text."""
        found: dict[tuple[str, tuple[str | None, ...]], dict[str, _ErasedText]] = defaultdict(dict)
        for row in self._read(tables.erased_texts, tables.erased_texts.columns.keys(), order=["revision", "entry"]):
            columns = found[row["table_name"], tuple(row["row_key"])]
            first = columns.get(row["column_name"])
            columns[row["column_name"]] = _ErasedText(
                erasure_id=row["erasure_id"],
                entered=bytes(row["entered"]) if first is None else first.entered,
                tombstone=row["tombstone"],
            )
        return found

    # The versions, by row.

    def _verify_versions(self, ledgered: _LedgeredTable) -> None:
        name, key = ledgered.table.name, itemgetter(*ledgered.key)
        current = self._read(ledgered.table, ledgered.writer.columns, order=ledgered.key)
        row = next(current, None)
        by_key = groupby(self._read_versions(ledgered, order=[*ledgered.key, "recorded_from"]), key=key)
        for row_key, group in by_key:
            versions = list(group)
            self._verify_sequence(ledgered, versions)
            while row is not None and key(row) < row_key:
                self._findings.add("row_without_history", f"{key(row)} has no history", table=name)
                row = next(current, None)
            if row is None or key(row) != row_key:
                self._findings.add("row_missing", f"{row_key} has a history but is gone", table=name)
                continue
            last = {column: versions[-1][column] for column in ledgered.writer.columns}
            if row != last:
                self._findings.add(
                    "row_differs", f"{row_key} is not its last version", revision=row["revision"], table=name
                )
            row = next(current, None)
        while row is not None:
            self._findings.add("row_without_history", f"{key(row)} has no history", table=name)
            row = next(current, None)

    def _verify_sequence(self, ledgered: _LedgeredTable, versions: Sequence[Row]) -> None:
        name = ledgered.table.name
        ends = [*(version["recorded_at"] for version in versions[1:]), Unbounded.END]
        for number, (version, end) in enumerate(zip(versions, ends, strict=True), start=1):
            if version["recorded_to"] != end:
                self._findings.add(
                    "history_gap",
                    f"version {number} does not end where the next begins",
                    revision=version["revision"],
                    table=name,
                )
            if ledgered.writer.numbered_by == VERSION and version[VERSION] != number:
                self._findings.add(
                    "version_gap", f"version {number} is missing", revision=version["revision"], table=name
                )

    # Reading.

    def _read_versions(self, ledgered: _LedgeredTable, order: Sequence[str]) -> Iterator[Row]:
        """Every version of every row under the columns of the table itself, with ``recorded_to`` where there is one."""
        if ledgered.history is None:
            return self._read(ledgered.table, ledgered.writer.columns, order=order)
        renamed = {"recorded_at": "recorded_from"}
        columns = [*ledgered.writer.columns, "recorded_to"]
        return self._read(ledgered.history, columns, order=order, renamed=renamed)

    def _read(
        self, table: Table, columns: Iterable[str], *, order: Sequence[str], renamed: Mapping[str, str] | None = None
    ) -> Iterator[Row]:
        """The team's rows in an order, in batches from the server."""
        renamed = renamed or {}
        selected = ", ".join(f"{renamed.get(column, column)} AS {column}" for column in columns)
        # Texts in code point order, as this program compares them, whatever the database's collation is.
        ordered = ", ".join(f'{name} COLLATE "C"' if _is_text(table, name) else name for name in order)
        sql = f"SELECT {selected} FROM {table.name} WHERE team_id = %s ORDER BY {ordered}"
        self._cursors += 1
        with self._connection.cursor(name=f"verify_{self._cursors}", row_factory=dict_row) as cursor:
            cursor.itersize = _BATCH_ROWS
            yield from cursor.execute(sql.encode(), [self._team_id])


def _is_text(table: Table, column: str) -> bool:
    return isinstance(table.columns[column].type, Text)


def _entry_of(row: Row) -> LedgerEntry:
    recorded_at = row["recorded_at"]
    if not isinstance(recorded_at, datetime):
        raise TypeError(f"recorded_at is {recorded_at}")
    profile_id = row["actor_profile_id"]
    return LedgerEntry(
        team_id=TeamId(row["team_id"]),
        moment=Moment(revision=row["revision"], at=recorded_at),
        prior_hash=bytes(row["prior_hash"]),
        change_hash=bytes(row["change_hash"]),
        actor=Actor(
            kind=ActorKind(row["actor_kind"]), profile_id=None if profile_id is None else ProfileId(profile_id)
        ),
        change_kind=row["change_kind"],
    )
