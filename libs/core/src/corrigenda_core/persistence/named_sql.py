"""Named SQL: one ``.sql`` file per aggregate, every statement with its name, purpose, index and lock.

A statement begins with its header and ends at the next one:

    -- name: fragments_of_submission
    -- purpose: shows what a submission stored
    -- index: evidence_fragments_ingest_id_idx
    -- lock: none
    SELECT ... WHERE team_id = %(team_id)s AND ingest_id = %(ingest_id)s;

``index`` names the index that a test expects the plan to use (``none`` where a scan is meant), ``lock`` what the
statement locks (``none``, or for example ``team_clock row, first``). Parameters are psycopg's: ``%(name)s``.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files

_HEADERS = ("name", "purpose", "index", "lock")
_HEADER = re.compile(r"--\s*(name|purpose|index|lock):\s*(.+?)\s*$")
_PARAMETER = re.compile(r"%\((\w+)\)s")


@dataclass(frozen=True, slots=True, kw_only=True)
class Query:
    """One statement with its parameters, ready to be sent; ``name`` is what errors and traces call it."""

    name: str
    sql: str
    parameters: Mapping[str, object] | Sequence[object] = field(default=())


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedStatement:
    """One statement of a file with what its header says."""

    name: str
    purpose: str
    index: str
    lock: str
    sql: str

    @property
    def parameters(self) -> tuple[str, ...]:
        """The names of its parameters, in order of first appearance."""
        return _parameters(self.sql)

    @property
    def positional_sql(self) -> str:
        """The same text with ``$1``, ``$2``, ... in the order of `parameters`, for PREPARE and EXPLAIN."""
        numbers = {name: number for number, name in enumerate(self.parameters, start=1)}
        return _PARAMETER.sub(lambda found: f"${numbers[found[1]]}", self.sql).replace("%%", "%")

    def query(self, **parameters: object) -> Query:
        """The statement with its parameters.

        Raises:
            TypeError: if a parameter is missing or unknown.
        """
        if parameters.keys() != set(self.parameters):
            raise TypeError(f"{self.name} takes {sorted(self.parameters)}, not {sorted(parameters)}")
        return Query(name=self.name, sql=self.sql, parameters=parameters)


@cache
def _parameters(sql: str) -> tuple[str, ...]:
    """The names in a statement's text; looked for once, however often it is sent."""
    return tuple(dict.fromkeys(_PARAMETER.findall(sql)))


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedSql:
    """The statements of one file by name."""

    source: str
    statements: Mapping[str, NamedStatement]

    def __getitem__(self, name: str) -> NamedStatement:
        return self.statements[name]

    def query(self, name: str, **parameters: object) -> Query:
        """The statement ``name`` with its parameters (see `NamedStatement.query`)."""
        return self.statements[name].query(**parameters)


class NamedSqlError(ValueError):
    """A file does not follow the form; the message names the file and the statement."""


@cache
def load_sql(file_name: str, package: str = "corrigenda_core.persistence.sql") -> NamedSql:
    """The statements of a file in ``package`` (default: the core's folder of named SQL).

    Raises:
        NamedSqlError: if the file does not follow the form above.
    """
    return parse_sql(file_name, files(package).joinpath(file_name).read_text("utf-8"))


def parse_sql(source: str, text: str) -> NamedSql:
    """Parses the text of a file; ``source`` names it in errors.

    Raises:
        NamedSqlError: a statement without name, a header missing or given twice, a name used twice, an empty body.
    """
    statements: dict[str, NamedStatement] = {}
    for header, body in _blocks(source, text):
        name = header.get("name", "")
        missing = [key for key in _HEADERS if key not in header]
        sql = "\n".join(body).strip().removesuffix(";").rstrip()
        if missing:
            raise NamedSqlError(f"{source}: statement {name!r} lacks the header {missing[0]!r}")
        if name in statements:
            raise NamedSqlError(f"{source}: the name {name!r} is used twice")
        if not sql:
            raise NamedSqlError(f"{source}: statement {name!r} has no body")
        statements[name] = NamedStatement(sql=sql, **header)
    return NamedSql(source=source, statements=statements)


def _blocks(source: str, text: str) -> list[tuple[dict[str, str], list[str]]]:
    blocks: list[tuple[dict[str, str], list[str]]] = []
    for number, line in enumerate(text.splitlines(), start=1):
        found = _HEADER.match(line)
        if found and found[1] == "name":
            blocks.append(({"name": found[2]}, []))
        elif found and blocks:
            header = blocks[-1][0]
            if found[1] in header:
                raise NamedSqlError(f"{source}:{number}: {header['name']!r} has the header {found[1]!r} twice")
            header[found[1]] = found[2]
        elif blocks and not line.lstrip().startswith("--"):
            # Comments are for readers of the file; the server need not parse them again and again.
            blocks[-1][1].append(line)
        elif line.strip() and not line.lstrip().startswith("--"):
            raise NamedSqlError(f"{source}:{number}: a statement without a name")
    return blocks
