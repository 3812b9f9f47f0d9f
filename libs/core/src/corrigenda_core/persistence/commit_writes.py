"""The writes of one commit in their order, the rows of a table together where nothing stands between.

A commit that stores a hundred submissions writes some fifteen tables, a hundred times each in turn. Row by row these
are two thousand statements; together they are fifteen. A row joins the INSERT of its table unless something that it may
depend on was written since: a table that it refers to, or its own table in another way than by INSERT.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cache

from sqlalchemy import Table

from corrigenda_core.persistence import tables
from corrigenda_core.persistence.named_sql import Query
from corrigenda_core.persistence.row_writing import RowText, RowWriter

_WRITTEN_TABLE = re.compile(r"\b(?:INSERT\s+INTO|UPDATE|DELETE\s+FROM|MERGE\s+INTO)\s+(?:ONLY\s+)?(\w+)", re.IGNORECASE)


@cache
def written_tables(sql: str) -> frozenset[str]:
    """The tables that a statement writes, as far as its text says."""
    return frozenset(name.lower() for name in _WRITTEN_TABLE.findall(sql))


@dataclass(slots=True, kw_only=True)
class _Rows:
    """New rows of one table."""

    writer: RowWriter
    rows: list[RowText]

    def query(self) -> Query:
        return self.writer.insert(self.rows[0]) if len(self.rows) == 1 else self.writer.insert_all(self.rows)


@dataclass(slots=True, kw_only=True)
class _Lists:
    """A statement that takes lists, with those of all calls of it."""

    name: str
    sql: str
    parameters: dict[str, object]

    def query(self) -> Query:
        return Query(name=self.name, sql=self.sql, parameters=self.parameters)

    def add(self, parameters: Iterable[tuple[str, object]]) -> None:
        for name, value in parameters:
            mine = self.parameters[name]
            if isinstance(mine, list) and isinstance(value, list):
                self.parameters[name] = [*mine, *value]
            elif mine != value:
                raise ValueError(f"{self.name}: {name} is not the same for all rows")


@dataclass(slots=True)
class CommitWrites:
    """Collects writes; `queries` are what is sent."""

    _steps: list[_Rows | _Lists | Query] = field(default_factory=list)
    _joinable: dict[str, int] = field(default_factory=dict)
    """Of a table, or of the text of a statement that takes lists, the step that more may join."""
    _last: dict[str, int] = field(default_factory=dict)
    """Of each table the last step that writes it."""

    def insert(self, table: Table, writer: RowWriter, row: RowText) -> None:
        """Adds a new row."""
        step = self._joined(table.name, table.name)
        if step is None:
            self._add(_Rows(writer=writer, rows=[row]), {table.name}, joins=table.name)
        elif isinstance(step, _Rows):
            step.rows.append(row)

    def statement(self, query: Query) -> None:
        """Adds any other statement."""
        self._add(query, written_tables(query.sql))

    def gather(self, query: Query) -> None:
        """Adds a statement that takes lists: those of the same statement become one list.

        Raises:
            ValueError: if another parameter than a list differs.
            TypeError: if the statement does not write exactly one table, or takes its parameters by place.
        """
        (table,) = written_tables(query.sql)
        if not isinstance(query.parameters, dict):
            raise TypeError(f"{query.name} takes its parameters by name")
        step = self._joined(table, query.sql)
        if step is None:
            lists = _Lists(name=query.name, sql=query.sql, parameters=dict(query.parameters))
            self._add(lists, {table}, joins=query.sql)
        elif isinstance(step, _Lists):
            step.add(query.parameters.items())

    def queries(self) -> list[Query]:
        """What to send, in its order."""
        return [step if isinstance(step, Query) else step.query() for step in self._steps]

    def _joined(self, table: str, key: str) -> _Rows | _Lists | Query | None:
        """The step that a row of a table may join, or ``None`` if it needs one of its own."""
        number = self._joinable.get(key)
        if number is None or self._last[table] != number:
            return None
        if any(self._last.get(name, -1) > number for name in _referred(table)):
            return None
        return self._steps[number]

    def _add(self, step: _Rows | _Lists | Query, written: Iterable[str], joins: str | None = None) -> None:
        number = len(self._steps)
        self._steps.append(step)
        for table in written:
            self._last[table] = number
        if joins is not None:
            self._joinable[joins] = number


@cache
def _referred(table: str) -> tuple[str, ...]:
    """The tables whose rows have to be there before a row of this one; its own rows may come with it."""
    declared = tables.metadata.tables[table]
    referred = {str(key.referred_table.name) for key in declared.foreign_key_constraints if not key.deferrable}
    return tuple(sorted(referred - {table}))
