"""INSERT and UPDATE of whole rows: statement text made once from the declared tables, values as canonical text.

A row is complete: every column that can hold a value is given or is NULL, because what is written is also what enters
the ledger. ``team_id``, ``revision`` and ``recorded_at`` come from the commit, not from the caller.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from types import MappingProxyType

from sqlalchemy import Table, make_url

from corrigenda_core.persistence.named_sql import Query
from corrigenda_core.persistence.row_text import array_text, encoder_of

COMMIT_COLUMNS = ("team_id", "revision", "recorded_at")
VERSION = "version"

_DIALECT = make_url("postgresql+psycopg://").get_dialect()()

RowText = Mapping[str, str | None]
"""A row as canonical text by column; ``None`` is NULL."""


_NOTHING: Mapping[str, str] = MappingProxyType({})


class RowWriter:
    """Writes the rows of one table."""

    def __init__(self, table: Table) -> None:
        self.table = table.name
        columns = [column for column in table.columns if column.computed is None]
        self._names = tuple(column.name for column in columns)
        self._known = frozenset(self._names)
        self._encoders = {column.name: encoder_of(column.type) for column in columns}
        self._needed = tuple(column.name for column in columns if not column.nullable)
        self._shared = tuple(name for name in COMMIT_COLUMNS if name in self._known)
        self._empty: RowText = dict.fromkeys(self._names)
        self._key = tuple(column.name for column in table.primary_key.columns)
        self.numbered_by = _numbering_column(table)
        self._insert_sql = (
            f"INSERT INTO {self.table} ({', '.join(self._names)})"
            f" VALUES ({', '.join(f'%({name})s' for name in self._names)})"
        )
        types = {column.name: column.type.compile(_DIALECT) for column in table.columns}
        # The team comes from a row of its own: where tables are distributed, rows that come from nowhere in particular
        # would be brought in by COPY, which row-level security forbids; these stay on the team's node.
        own = [name for name in self._names if name != "team_id"]
        self._insert_all_sql = (
            f"INSERT INTO {self.table} (team_id, {', '.join(own)})"
            f" SELECT c.team_id, {', '.join(f't.{name}::{types[name]}' for name in own)} FROM team_clock AS c"
            f" CROSS JOIN unnest({', '.join(f'%({name})s::text[]' for name in own)}) AS t ({', '.join(own)})"
            " WHERE c.team_id = %(team_id)s"
        )

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that a row text has, in the table's order."""
        return self._names

    def text(self, row: Mapping[str, object], known: Mapping[str, str] = _NOTHING) -> RowText:
        """The complete row as canonical text; of the columns that are ``known`` as text already, that text.

        Raises:
            ValueError: if a column is unknown or one that needs a value has none.
            TypeError: if a value does not fit its column.
        """
        if unknown := row.keys() - self._known:
            raise ValueError(f"{self.table} has no column {', '.join(sorted(unknown))}")
        text: dict[str, str | None] = dict(self._empty)
        name = ""
        try:
            for name, value in row.items():
                if value is not None and name not in known:
                    text[name] = self._encoders[name](value)
        except (TypeError, ValueError) as problem:
            raise TypeError(f"{self.table}.{name}: {problem}") from problem
        for name in self._shared:
            if name in known:
                text[name] = known[name]
        for name in self._needed:
            if text[name] is None:
                raise ValueError(f"{self.table}.{name} needs a value")
        return text

    def insert(self, row: RowText) -> Query:
        """The INSERT of a row."""
        return Query(name=f"insert {self.table}", sql=self._insert_sql, parameters=row)

    def insert_all(self, rows: Sequence[RowText]) -> Query:
        """One INSERT of several rows of one team, in their order: each column as the text of an array of texts."""
        columns = {name: array_text([row[name] for row in rows]) for name in self._names if name != "team_id"}
        parameters = {**columns, "team_id": rows[0]["team_id"]}
        return Query(name=f"insert {self.table}", sql=self._insert_all_sql, parameters=parameters)

    def update(self, row: RowText, prior_version: int, changed: Iterable[str] | None) -> Query:
        """The UPDATE of exactly the version ``prior_version`` of a row; the server fails if it is not the current one.

        ``changed`` names the columns to set, for roles that may write only some; the others must be as they are.
        ``None`` sets all that are not part of the key.
        """
        sql = _update_sql(self, None if changed is None else tuple(sorted(changed)))
        return Query(name=f"update {self.table}", sql=sql, parameters={**row, "prior_version": str(prior_version)})

    def amend(self, row: RowText, changed: Iterable[str]) -> Query:
        """The UPDATE of the row that has this key, of the columns named ``changed``; the server fails without one."""
        sql = _amend_sql(self, tuple(sorted(changed)))
        return Query(name=f"amend {self.table}", sql=sql, parameters=row)

    def replace(self, row: RowText) -> Query:
        """The INSERT of a row, or the UPDATE of the one that has its key already."""
        return Query(name=f"replace {self.table}", sql=_replace_sql(self), parameters=row)

    def _settable(self, changed: Sequence[str] | None) -> list[str]:
        if changed is None:
            return [name for name in self._names if name not in self._key]
        if unknown := set(changed) - self._known:
            raise ValueError(f"{self.table} has no column {', '.join(sorted(unknown))}")
        always = {self.numbered_by, "revision", "recorded_at"} & self._known
        return [name for name in self._names if name in always | set(changed)]


def _numbering_column(table: Table) -> str:
    """What tells the versions of one row apart: the last column of the history's key, else ``version``."""
    history = table.metadata.tables.get(f"{table.name}_history")
    return VERSION if history is None else list(history.primary_key.columns)[-1].name


@cache
def _update_sql(writer: RowWriter, changed: tuple[str, ...] | None) -> str:
    settable = writer._settable(changed)
    assignments = ", ".join(f"{name} = %({name})s" for name in settable)
    # What is not set is compared: the ledger is about to say that this is the row, all of it.
    kept = [name for name in writer.columns if name not in settable and name not in writer._key]
    condition = " AND ".join(
        [
            *(f"{name} = %({name})s" for name in writer._key),
            *(f"{name} IS NOT DISTINCT FROM %({name})s" for name in kept),
        ]
    )
    # The whole second round trip is on its way, COMMIT included, before the first answer is read: a version that is no
    # longer there must fail on the server. No row makes the division by zero that `failures` knows.
    return (
        f"WITH written AS (UPDATE {writer.table} SET {assignments}"
        f" WHERE {condition} AND {writer.numbered_by} = %(prior_version)s RETURNING 1)"
        " SELECT 1 / count(*) FROM written"
    )


@cache
def _amend_sql(writer: RowWriter, changed: tuple[str, ...]) -> str:
    assignments = ", ".join(f"{name} = %({name})s" for name in writer._settable(changed))
    condition = " AND ".join(f"{name} = %({name})s" for name in writer._key)
    return (
        f"WITH written AS (UPDATE {writer.table} SET {assignments} WHERE {condition} RETURNING 1)"
        " SELECT 1 / count(*) FROM written"
    )


@cache
def _replace_sql(writer: RowWriter) -> str:
    assignments = ", ".join(f"{name} = excluded.{name}" for name in writer._settable(None))
    return f"{writer._insert_sql} ON CONFLICT ({', '.join(writer._key)}) DO UPDATE SET {assignments}"


@cache
def writer_of(table: Table) -> RowWriter:
    """The writer of a table, made once.

    Raises:
        TypeError: if a column's type has no canonical text.
    """
    return RowWriter(table)
