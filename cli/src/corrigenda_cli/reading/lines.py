"""JSON lines as submissions of a stream, each with an idempotency key that the next run derives again."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any, BinaryIO

from corrigenda_cli.calling import InputError, json_object

LINE_BYTES_MAX = 4 * 1024 * 1024
KEY_PREFIX_BYTES_MAX = 64
_DIGEST_DIGITS = 24


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One submission of a file: the request as JSON, with its key. ``size_bytes`` is what the file spends on it."""

    number: int
    key: str
    fields: dict[str, Any]
    size_bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class BadLine:
    """A line that is no submission, and why."""

    number: int
    problem: str
    size_bytes: int


Reading = Callable[[dict[str, Any]], dict[str, Any]]
"""Makes a request, as JSON, of what a line says; raises `InputError`."""


def as_request(said: dict[str, Any]) -> dict[str, Any]:
    """A line that is a request already."""
    return said


def lines_of(
    stream: BinaryIO, *, prefix: str, first: int = 1, reading: Reading = as_request
) -> Iterator[Line | BadLine]:
    """The submissions of a file, in order; empty lines are none.

    A line's key is what its request says, else derived from ``prefix``, the line's number and what it says: a repeated
    run asks for the same again and is answered as before, and a line that was edited meanwhile is a new submission.

    Args:
        stream: the file.
        prefix: the name of the file in derived keys.
        first: the number of the first line that counts.
        reading: what a line means.
    """
    for number in count(1):
        data = stream.readline(LINE_BYTES_MAX + 1)
        if not data:
            return
        size_bytes = len(data)
        while len(data) > LINE_BYTES_MAX and not data.endswith(b"\n"):
            rest = stream.readline(LINE_BYTES_MAX + 1)
            size_bytes += len(rest)
            if not rest or rest.endswith(b"\n"):
                break
        if number < first or not data.strip():
            continue
        yield _line(number, data, size_bytes, prefix, reading)


def key_prefix_of(path: str, given: str | None) -> str:
    """The name of a file in the keys of its lines: what is given, else its name.

    Raises:
        InputError: it is longer than a key has room for.
    """
    prefix = (Path(path).name if path != "-" else "stdin") if given is None else given
    if given is not None and len(prefix.encode()) > KEY_PREFIX_BYTES_MAX:
        raise InputError(f"--key-prefix is at most {KEY_PREFIX_BYTES_MAX} bytes")
    return prefix.encode(errors="replace")[:KEY_PREFIX_BYTES_MAX].decode(errors="ignore")


def _line(number: int, data: bytes, size_bytes: int, prefix: str, reading: Reading) -> Line | BadLine:
    try:
        if len(data) > LINE_BYTES_MAX:
            raise InputError(f"the line is longer than {LINE_BYTES_MAX} bytes")
        fields = reading(json_object(data.decode("utf-8")))
    except (InputError, UnicodeDecodeError) as problem:
        return BadLine(number=number, problem=str(problem), size_bytes=size_bytes)
    key = fields.get("idempotency_key")
    if key is None or key == "":
        key = f"{prefix}:{number}:{_digest(fields)}"
    # A key that is no text is refused by what fills the request.
    fields = {**fields, "idempotency_key": key}
    return Line(number=number, key=str(key), fields=fields, size_bytes=size_bytes)


def _digest(fields: dict[str, Any]) -> str:
    told = json.dumps(fields, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(told.encode()).hexdigest()[:_DIGEST_DIGITS]
