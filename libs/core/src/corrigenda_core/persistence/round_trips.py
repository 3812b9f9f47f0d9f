"""One transaction's conversation with the server: whole batches of statements, one send and one wait for each.

The driver's own pipeline talks to the socket at every statement, which costs a busy process more than the statement
itself. Here a batch is put together first, sent at once, and its answers are read together. Values become parameters,
and rows become values, by the driver's adapters as everywhere else.
"""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, TypeAlias

import psycopg
from opentelemetry import trace
from psycopg import AsyncConnection, errors, generators
from psycopg.abc import PQGen
from psycopg.adapt import PyFormat, Transformer
from psycopg.pq import ConnStatus, ExecStatus
from psycopg.rows import DictRow

from corrigenda_core.persistence.named_sql import Query

_tracer = trace.get_tracer("corrigenda.sql")

_PARAMETER = re.compile(r"%\((\w+)\)s|%s|%%")
_POSITIONAL_MAX = 4096
"""Texts whose parameters are numbered once and remembered; a process has a few hundred."""

_Values: TypeAlias = Sequence[Any]
_RowMaker: TypeAlias = Callable[[Sequence[Any]], DictRow]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Positional:
    """A statement with ``$1``, ``$2``, ...; without ``names`` its values come in their order."""

    sql: bytes
    names: tuple[str, ...]


_USES_OF_A_FIRST_PLAN = 8
"""After so many uses a statement is prepared anew, then after eight times as many, and so on: the server may keep a
plan that was made while a table was empty, and would choose another one now."""


@dataclass(slots=True, kw_only=True)
class _Prepared:
    """A statement that the server knows by ``name``.

    Attributes:
        name: on this connection.
        uses_left: before it is prepared anew.
        uses_max: how many these were in the beginning.
        row: makes a row of an answer, once its columns are known.
    """

    name: bytes
    uses_max: int = _USES_OF_A_FIRST_PLAN
    uses_left: int = _USES_OF_A_FIRST_PLAN
    row: _RowMaker | None = None


_Key: TypeAlias = tuple[bytes, tuple[int, ...]]
"""What a prepared statement is found by: its text, and the types of its parameters."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Dumped:
    """A statement with its values as the server takes them."""

    key: _Key
    values: Sequence[Any] | None
    formats: Sequence[Any] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Sent:
    """What one statement waits for: its own answer, and before it those of its preparation.

    ``statement`` is what it is sent as, if it is prepared; ``closes`` and ``prepares`` say what is sent before it.
    """

    key: _Key
    statement: _Prepared | None = None
    closes: bool = False
    prepares: bool = False


class Connection(AsyncConnection[DictRow]):
    """A connection of the pool, with the statements that are prepared on it.

    Attributes:
        prepares_max: how many statements stay prepared; those that come later are sent as they are, like all if 0.
        prepared: what is prepared, by text and types. Names are never used again, so that one which the server has
            and we have forgotten does no harm.
    """

    prepares_max: int = 0
    prepared: dict[_Key, _Prepared]

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self.prepared = {}
        self._names_given = 0

    def next_name(self) -> bytes:
        """A name for a statement that this connection has not used yet."""
        self._names_given += 1
        return f"s{self._names_given}".encode()

    @asynccontextmanager
    async def round_trips(self) -> AsyncIterator[RoundTrips]:
        """The conversation of one transaction."""
        # A batch ends in a bare Sync: a server that has read another message behind it, such as the flush with which
        # the driver leaves its own pipelines, does not watch how long the transaction idles.
        self.pgconn.enter_pipeline_mode()
        try:
            yield RoundTrips(self)
        finally:
            if self.pgconn.status != ConnStatus.BAD:
                await self._leave_pipeline_mode()

    async def _leave_pipeline_mode(self) -> None:
        """A conversation that was broken off in the middle of an answer ends its connection."""
        try:
            self.pgconn.exit_pipeline_mode()
        except psycopg.OperationalError:
            await self.close()


class RoundTrips:
    """The conversation; see `Connection.round_trips`."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._pgconn = connection.pgconn
        self._transformer = Transformer(connection)

    async def run(self, *queries: Query) -> list[list[DictRow]]:
        """Sends all queries and waits for all their answers in one round trip; one list of rows for each.

        Raises:
            psycopg.Error: of the first query that failed; the server has skipped all after it.
        """
        with _traced(queries):
            dumped = [self._dumped(query) for query in queries]
            coming: dict[_Key, _Prepared] = {}
            sent = [self._queued(one, coming) for one in dumped]
            return self._rows(sent, await self._answers())

    def _dumped(self, query: Query) -> _Dumped:
        if not query.parameters:
            return _Dumped(key=(query.sql.encode(), ()), values=None, formats=None)
        positional = _positional(query.sql)
        values = _in_order(positional, query.parameters)
        texts = _as_texts(values)
        if texts is not None:
            return _Dumped(key=(positional.sql, _untyped(len(texts))), values=texts, formats=None)
        dumped = self._transformer.dump_sequence(values, [PyFormat.AUTO] * len(values))
        return _Dumped(
            key=(positional.sql, self._transformer.types or ()), values=dumped, formats=self._transformer.formats
        )

    def _queued(self, one: _Dumped, coming: dict[_Key, _Prepared]) -> _Sent:
        """Adds a statement to the batch; nothing is sent before the batch is whole, or fills the driver's buffer."""
        sql, types = one.key
        # Statements with a team's id in their text (SET LOCAL takes no parameter) are not worth preparing.
        if one.values is None:
            self._pgconn.send_query_params(sql, None)
            return _Sent(key=one.key)
        known = self._connection.prepared
        statement = coming.get(one.key) or known.get(one.key)
        closes = one.key not in coming and statement is not None and statement.uses_left <= 0
        prepares = closes or (statement is None and len(known) + len(coming) < self._connection.prepares_max)
        if statement is not None and closes:
            del known[one.key]
            self._pgconn.send_close_prepared(statement.name)
        if prepares:
            uses = _USES_OF_A_FIRST_PLAN * (1 if statement is None else statement.uses_max)
            statement = _Prepared(name=self._connection.next_name(), uses_max=uses, uses_left=uses)
            coming[one.key] = statement
            self._pgconn.send_prepare(statement.name, sql, types)
        if statement is None:
            self._pgconn.send_query_params(sql, one.values, types, one.formats)
        else:
            statement.uses_left -= 1
            self._pgconn.send_query_prepared(statement.name, one.values, one.formats)
        return _Sent(key=one.key, statement=statement, closes=closes, prepares=prepares)

    async def _answers(self) -> list[psycopg.pq.abc.PGresult]:
        """The results of the batch.

        Raises:
            psycopg.Error: of the first statement that failed.
        """
        results: list[psycopg.pq.abc.PGresult] = []
        self._pgconn.pipeline_sync()
        try:
            await self._connection.wait(_communicated(self._pgconn, results))
        except psycopg.OperationalError as error:
            # The server says why before it ends a connection, and that is what the caller needs.
            raise self._first_error(results) or error from error
        return results

    def _first_error(self, results: Sequence[psycopg.pq.abc.PGresult]) -> psycopg.Error | None:
        failed = next((one for one in results if one.status == ExecStatus.FATAL_ERROR), None)
        return None if failed is None else errors.error_from_result(failed, self._transformer.encoding)

    def _rows(self, sent: Sequence[_Sent], results: Sequence[psycopg.pq.abc.PGresult]) -> list[list[DictRow]]:
        rows: list[list[DictRow]] = []
        answers = iter(results)
        for one in sent:
            answer = next(answers, None)
            if one.closes and _is_done(answer):
                answer = next(answers, None)
            if one.prepares and one.statement is not None and _is_done(answer):
                self._connection.prepared[one.key] = one.statement
                answer = next(answers, None)
            if answer is None or not _is_done(answer):
                break
            rows.append(self._loaded(answer, one.statement))
        if len(rows) < len(sent):
            raise self._first_error(results) or psycopg.OperationalError("the server ended the conversation")
        return rows

    def _loaded(self, answer: psycopg.pq.abc.PGresult, statement: _Prepared | None) -> list[DictRow]:
        if answer.ntuples == 0:
            return []
        make = None if statement is None else statement.row
        make = make or _row_maker(answer, self._transformer.encoding)
        if statement is not None:
            statement.row = make
        self._transformer.set_pgresult(answer)
        return self._transformer.load_rows(0, answer.ntuples, make)


@contextmanager
def _traced(queries: Sequence[Query]) -> Iterator[None]:
    """The span of one round trip, by the names of its statements; none where nobody records the call."""
    if not trace.get_current_span().is_recording():
        yield
        return
    attributes = {"db.system": "postgresql", "corrigenda.statements": [query.name for query in queries]}
    with _tracer.start_as_current_span(
        f"sql {queries[-1].name}",
        kind=trace.SpanKind.CLIENT,
        attributes=attributes,
        # What an error of the database says may quote what was stored.
        record_exception=False,
        set_status_on_exception=False,
    ):
        yield


def _is_done(answer: psycopg.pq.abc.PGresult | None) -> bool:
    return answer is not None and answer.status in (ExecStatus.TUPLES_OK, ExecStatus.COMMAND_OK)


def _communicated(pgconn: psycopg.pq.abc.PGconn, results: list[psycopg.pq.abc.PGresult]) -> PQGen[None]:
    """Sends what is queued and reads up to the sync behind it; the results as they come."""
    yield from generators.send(pgconn)
    while pgconn.status != ConnStatus.BAD:
        answers = yield from generators.fetch_many(pgconn)
        if answers and answers[0].status == ExecStatus.PIPELINE_SYNC:
            return
        results.extend(answers)


@lru_cache(maxsize=_POSITIONAL_MAX)
def _positional(sql: str) -> _Positional:
    numbers: dict[str, int] = {}
    unnamed = 0

    def numbered(found: re.Match[str]) -> str:
        nonlocal unnamed
        if found[0] == "%%":
            return "%"
        if found[1] is None:
            unnamed += 1
            return f"${unnamed}"
        return f"${numbers.setdefault(found[1], len(numbers) + 1)}"

    return _Positional(sql=_PARAMETER.sub(numbered, sql).encode(), names=tuple(numbers))


def _in_order(positional: _Positional, parameters: Mapping[str, object] | Sequence[object]) -> _Values:
    if isinstance(parameters, Mapping):
        return [parameters[name] for name in positional.names]
    return parameters


def _as_texts(values: _Values) -> list[bytes | None] | None:
    """The short way for what rows are made of: texts and NULL, which have no type of their own; else ``None``."""
    texts: list[bytes | None] = []
    for value in values:
        if value is None:
            texts.append(None)
        elif type(value) is str:
            if "\0" in value:
                raise psycopg.DataError("a text with NUL is no parameter")
            texts.append(value.encode())
        else:
            return None
    return texts


@lru_cache(maxsize=128)
def _untyped(count: int) -> tuple[int, ...]:
    return (0,) * count


def _row_maker(answer: psycopg.pq.abc.PGresult, encoding: str) -> _RowMaker:
    names = [(answer.fname(number) or b"").decode(encoding) for number in range(answer.nfields)]
    return lambda values: dict(zip(names, values, strict=True))
