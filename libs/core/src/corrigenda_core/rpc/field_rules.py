"""What the value of one request field must satisfy: the rules of ``options/v1/rules.proto`` as checks on values.

A check looks at one value and answers what is wrong with it, if anything. No answer ever holds the value itself, so
that an error message, a log line and a metric can carry it.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

from corrigenda.options.v1.rules_pb2 import FieldRules
from google.protobuf.descriptor import EnumDescriptor, FieldDescriptor
from google.protobuf.timestamp_pb2 import Timestamp

from corrigenda_core.domain.errors import Reason


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """What is wrong with one value: the bound by its name, and the offered and the allowed figure where it has some."""

    message: str
    reason: Reason = Reason.INVALID_FIELD
    bound: str = ""
    offered: str = ""
    allowed: str = ""


ValueCheck: TypeAlias = Callable[[Any], Problem | None]

REQUIRED = Problem(message="must be set", bound="required")

_EARLIEST_SECONDS = -62_135_596_800
"""0001-01-01T00:00:00Z, the first instant of the domain."""
_LATEST_SECONDS = 253_402_300_799
"""9999-12-31T23:59:59Z, the second that holds the last instant of the domain."""
_UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
_BYTES_PER_CODE_POINT_MAX = 4
_FLOATS = {FieldDescriptor.CPPTYPE_DOUBLE, FieldDescriptor.CPPTYPE_FLOAT}


def value_checks(field: FieldDescriptor, rules: FieldRules) -> tuple[ValueCheck, ...]:
    """The checks on one value of the field (on one item, if the field is a list), in the order in which they apply."""
    kind = field.cpp_type
    if field.enum_type is not None:
        return (_defined_in(field.enum_type, allow_unspecified=rules.unspecified_allowed),)
    if kind == FieldDescriptor.CPPTYPE_STRING:
        is_text = field.type == FieldDescriptor.TYPE_STRING
        return (*((_no_nul,) if is_text else ()), *_length_checks(rules), *_form_checks(rules))
    if kind in (FieldDescriptor.CPPTYPE_BOOL, FieldDescriptor.CPPTYPE_MESSAGE):
        return ()
    return (*((_finite,) if kind in _FLOATS else ()), *_range_checks(rules))


def count_checks(rules: FieldRules) -> tuple[ValueCheck, ...]:
    """The checks on a list or map as a whole, in the order in which they apply."""
    checks: list[ValueCheck] = []
    if rules.HasField("min_items"):
        checks.append(_at_least(rules.min_items, "min_items", "items", len))
    if rules.HasField("max_items"):
        checks.append(_at_most(rules.max_items, "max_items", "items", len, Reason.TOO_MANY_ITEMS))
    return tuple(checks)


def check_timestamp(value: Timestamp) -> Problem | None:
    """An instant of the domain: the years 1 to 9999, whole microseconds."""
    if not _EARLIEST_SECONDS <= value.seconds <= _LATEST_SECONDS:
        return Problem(message="must lie in the years 1 to 9999", bound="years", allowed="1..9999")
    if not 0 <= value.nanos <= 999_999_999 or value.nanos % 1000:
        return Problem(message="must have whole microseconds", bound="nanos", offered=str(value.nanos))
    return None


def _length_checks(rules: FieldRules) -> tuple[ValueCheck, ...]:
    checks: list[ValueCheck] = []
    if rules.HasField("min_code_points"):
        checks.append(_at_least(rules.min_code_points, "min_code_points", "code points", len))
    if rules.HasField("max_code_points"):
        checks.append(_at_most(rules.max_code_points, "max_code_points", "code points", len, Reason.TOO_LARGE))
    if rules.HasField("min_bytes"):
        checks.append(_at_least(rules.min_bytes, "min_bytes", "bytes", _byte_count))
    if rules.HasField("max_bytes"):
        limit = _at_most(rules.max_bytes, "max_bytes", "bytes", _byte_count, Reason.TOO_LARGE)
        surely_fits = rules.max_bytes // _BYTES_PER_CODE_POINT_MAX
        # Most texts are far below their bound: those need no encoding to be counted.
        checks.append(lambda value: None if len(value) <= surely_fits else limit(value))
    return tuple(checks)


def _form_checks(rules: FieldRules) -> tuple[ValueCheck, ...]:
    checks: list[ValueCheck] = []
    if rules.uuid:
        checks.append(_matches(_UUID, "must be a UUID in canonical lower-case form", "uuid"))
    if rules.pattern:
        pattern = re.compile(rules.pattern)
        checks.append(_matches(pattern, f"must match {rules.pattern}", "pattern"))
    return tuple(checks)


def _range_checks(rules: FieldRules) -> tuple[ValueCheck, ...]:
    checks: list[ValueCheck] = []
    if rules.HasField("minimum"):
        checks.append(_at_least(rules.minimum, "minimum", "", _itself))
    if rules.HasField("maximum"):
        checks.append(_at_most(rules.maximum, "maximum", "", _itself, Reason.INVALID_FIELD))
    return tuple(checks)


def _at_least(limit: float, bound: str, unit: str, measure: Callable[[Any], float]) -> ValueCheck:
    allowed = _figure(limit)
    message = f"must be at least {allowed} {unit}".rstrip()

    def check(value: Any) -> Problem | None:
        offered = measure(value)
        if offered >= limit:
            return None
        return Problem(message=message, bound=bound, offered=_figure(offered), allowed=allowed)

    return check


def _at_most(limit: float, bound: str, unit: str, measure: Callable[[Any], float], reason: Reason) -> ValueCheck:
    allowed = _figure(limit)
    message = f"must be at most {allowed} {unit}".rstrip()

    def check(value: Any) -> Problem | None:
        offered = measure(value)
        if offered <= limit:
            return None
        return Problem(message=message, reason=reason, bound=bound, offered=_figure(offered), allowed=allowed)

    return check


def _matches(pattern: re.Pattern[str], message: str, bound: str) -> ValueCheck:
    problem = Problem(message=message, bound=bound)
    return lambda value: None if not value or pattern.fullmatch(value) else problem


def _defined_in(enum: EnumDescriptor, *, allow_unspecified: bool) -> ValueCheck:
    allowed = frozenset(number for number in enum.values_by_number if number or allow_unspecified)

    def check(value: int) -> Problem | None:
        if value in allowed:
            return None
        what = "must be set" if value == 0 else f"must be a defined value of {enum.name}"
        return Problem(message=what, bound="enum", offered=str(value))

    return check


def _no_nul(value: str) -> Problem | None:
    return Problem(message="must not contain U+0000", bound="nul") if "\x00" in value else None


def _finite(value: float) -> Problem | None:
    return None if math.isfinite(value) else Problem(message="must be a finite number", bound="finite")


def _byte_count(value: str | bytes) -> int:
    return len(value.encode()) if isinstance(value, str) else len(value)


def _itself(value: float) -> float:
    return value


def _figure(value: float) -> str:
    return str(int(value)) if value == int(value) else repr(value)
