"""Canonical text of column values: what is sent to the server is what enters the ledger.

Every value becomes one text by its column's type alone, so that the same row gives the same bytes when it is written
and when the ledger is verified from what the tables hold. As parameters these texts have no type of their own; the
server takes the column's, and a statement is prepared once, whatever values it meets.
"""

from __future__ import annotations

import json
import re
import uuid
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, date, datetime
from decimal import Decimal
from enum import Enum
from typing import Any, TypeVar

from sqlalchemy import BigInteger, Boolean, Date, Integer, Numeric, SmallInteger, Text, Uuid
from sqlalchemy.dialects.postgresql import ARRAY, BYTEA, JSONB, TIMESTAMP
from sqlalchemy.types import TypeEngine

from corrigenda_core.persistence.database import Unbounded

Encoder = Callable[[Any], str]
K = TypeVar("K")


def encoder_of(column_type: TypeEngine[Any]) -> Encoder:
    """The function from a column's values to their canonical text; it takes no ``None``.

    Raises:
        TypeError: for a type without a canonical text, and by the function for a value of another type.
    """
    if isinstance(column_type, ARRAY):
        return _array_encoder(encoder_of(column_type.item_type))
    for known, encoder in _ENCODERS:
        if isinstance(column_type, known):
            return encoder
    raise TypeError(f"the type {column_type!r} has no canonical text")


def instant_text(value: object) -> str:
    """An instant, or `Unbounded`, as canonical text.

    Raises:
        TypeError: for a naive time.
    """
    if isinstance(value, Unbounded):
        return value.value
    instant = _require(value, datetime)
    if instant.tzinfo is None:
        raise TypeError(f"an instant needs a time zone: {instant!r}")
    return instant.astimezone(UTC).isoformat(sep=" ", timespec="microseconds")


def _text(value: object) -> str:
    if isinstance(value, Enum):
        value = value.value
    return _require(value, str)


_CANONICAL_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}").fullmatch


def _uuid(value: object) -> str:
    if isinstance(value, str):
        return value if _CANONICAL_UUID(value) else str(uuid.UUID(value))
    return str(_require(value, uuid.UUID))


def _integer(value: object) -> str:
    if isinstance(value, bool):
        raise TypeError("a bool is no integer")
    return str(_require(value, int))


def _boolean(value: object) -> str:
    return "true" if _require(value, bool) else "false"


def _date(value: object) -> str:
    return _require(value, date).isoformat()


def _bytes(value: object) -> str:
    return "\\x" + _require(value, bytes).hex()


def _number(value: object) -> str:
    """Decimal text without exponent and without trailing zeros: 1.50 and 1.5 are one number."""
    if isinstance(value, bool):
        raise TypeError("a bool is no number")
    if not isinstance(value, int | float | Decimal):
        raise TypeError(f"{value!r} is no number")
    number = Decimal(repr(value)) if isinstance(value, float) else Decimal(value)
    if not number.is_finite():
        raise TypeError(f"{number} is no number")
    plain = format(number, "f")
    trimmed = plain.rstrip("0").rstrip(".") if "." in plain else plain
    return "0" if number == 0 else trimmed


# Made once: `json.dumps` makes an encoder for every text.
_quoted = json.JSONEncoder(ensure_ascii=False).encode
_exact = json.JSONEncoder(ensure_ascii=False, sort_keys=True, separators=(",", ":")).encode


class CanonicalJson(str):
    """A JSON value that is written already, as its column would write it."""

    __slots__ = ()


def exact_json(value: Mapping[str, object]) -> CanonicalJson:
    """The text of an object without fractions, whose keys are texts: in one go, where `_json` looks at every member."""
    return CanonicalJson(_exact(value))


def _json(value: object) -> str:
    """JSON with sorted keys, no spaces, and numbers as `_number` writes them."""
    match value:
        case CanonicalJson():
            return str(value)
        case None:
            return "null"
        case bool():
            return _boolean(value)
        case Enum() | str():
            return _quoted(_text(value))
        case int() | float() | Decimal():
            return _number(value)
        case dict() | Mapping():
            members = sorted((_require(key, str), member) for key, member in value.items())
            return "{" + ",".join(f"{_json(key)}:{_json(member)}" for key, member in members) + "}"
        case list() | tuple():
            return "[" + ",".join(_json(member) for member in value) + "]"
        case _:
            raise TypeError(f"{type(value).__name__} is no JSON value")


def _array_encoder(item_encoder: Encoder) -> Encoder:
    def encode(value: object) -> str:
        items = value if isinstance(value, tuple) else _require(value, list)
        return array_text([item_encoder(item) for item in items])

    return encode


def array_text(texts: Iterable[str | None]) -> str:
    """The text of an array of such texts, NULL for ``None``."""
    return "{" + ",".join(["NULL" if text is None else _array_item(text) for text in texts]) + "}"


def _array_item(text: str) -> str:
    if "\\" in text or '"' in text:
        text = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{text}"'


def _require(value: Any, kind: type[K]) -> K:
    if not isinstance(value, kind):
        raise TypeError(f"{value!r} is no {kind.__name__}")
    return value


# The first type that fits counts: BYTEA and JSONB before the general types that they derive from.
_ENCODERS: tuple[tuple[type[TypeEngine[Any]], Encoder], ...] = (
    (Uuid, _uuid),
    (BYTEA, _bytes),
    (JSONB, _json),
    (TIMESTAMP, instant_text),
    (Date, _date),
    (Boolean, _boolean),
    (SmallInteger, _integer),
    (BigInteger, _integer),
    (Integer, _integer),
    (Numeric, _number),
    (Text, _text),
)
