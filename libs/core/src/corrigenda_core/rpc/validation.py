"""Validation from descriptors: one walker that enforces on every request what the protos declare.

For each message type a plan is made once, a short list of checks; a request then runs through plain function calls. A
message that holds fields or enum values unknown to this server is refused, so that nothing is silently ignored.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, TypeAlias

from corrigenda.options.v1 import rules_pb2
from google.protobuf.descriptor import Descriptor, FieldDescriptor
from google.protobuf.message import Message
from google.protobuf.timestamp_pb2 import Timestamp
from google.protobuf.unknown_fields import UnknownFieldSet

from corrigenda_core.domain.errors import Refusal
from corrigenda_core.rpc.field_rules import (
    REQUIRED,
    Problem,
    ValueCheck,
    check_timestamp,
    count_checks,
    value_checks,
)

BREACHES_MAX = 20
"""The walk ends with the breach of this number: a hostile request is not worth a longer answer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Breach:
    """A problem and where it is: ``field`` is a path such as ``proposal.relationships[0].evidence[0].start``."""

    field: str
    problem: Problem


class InvalidRequest(Refusal):
    """A request that breaks the rules of its protos.

    The reason, field and metadata are those of the first breach.

    Attributes:
        breaches: all that were found, at most `BREACHES_MAX`, in the order of the fields.
    """

    def __init__(self, breaches: tuple[Breach, ...]) -> None:
        first = breaches[0]
        problem = first.problem
        figures = {"bound": problem.bound, "offered": problem.offered, "allowed": problem.allowed}
        super().__init__(
            problem.reason,
            f"{first.field} {problem.message}",
            field=first.field,
            metadata={name: value for name, value in figures.items() if value},
        )
        self.breaches = breaches


_FieldCheck: TypeAlias = Callable[[Any, str, list[Breach]], object]


def refuse_invalid(message: Message) -> None:
    """Checks a request against the rules of its protos.

    Raises:
        InvalidRequest: with every breach found.
    """
    breaches = find_breaches(message)
    if breaches:
        raise InvalidRequest(breaches)


def find_breaches(message: Message) -> tuple[Breach, ...]:
    """The breaches of a message, at most `BREACHES_MAX`, in the order of the field numbers."""
    found: list[Breach] = []
    _walk(message, "", found)
    return tuple(found[:BREACHES_MAX])


def _walk(message: Message, prefix: str, found: list[Breach]) -> None:
    for check in _plan(message.DESCRIPTOR):
        check(message, prefix, found)
        if len(found) >= BREACHES_MAX:
            return


@functools.cache
def _plan(descriptor: Descriptor) -> tuple[_FieldCheck, ...]:
    """The checks of one message type: unknown fields, each field, then the rules between fields."""
    fields = sorted(descriptor.fields, key=lambda field: field.number)
    made = (_field_check(field, field.GetOptions().Extensions[rules_pb2.rules]) for field in fields)
    between = _checks_between(descriptor, descriptor.GetOptions().Extensions[rules_pb2.message_rules])
    return (_no_unknown_fields, *(check for check in made if check is not None), *between)


def _no_unknown_fields(message: Message, prefix: str, found: list[Breach]) -> None:
    unknown = UnknownFieldSet(message)
    for index in range(min(len(unknown), BREACHES_MAX)):
        problem = Problem(message="is not known to this server", bound="unknown_field")
        found.append(Breach(field=f"{prefix}#{unknown[index].field_number}", problem=problem))


def _field_check(field: FieldDescriptor, rules: rules_pb2.FieldRules) -> _FieldCheck | None:
    """The check of one field, or ``None`` if any value of it will do."""
    nested = field.message_type
    if field.is_repeated:
        if nested is not None and nested.GetOptions().map_entry:
            return _map_check(field, nested, rules)
        return _list_check(field, rules)
    return _scalar_check(field, rules) if nested is None else _message_check(field, nested, required=rules.required)


def _list_check(field: FieldDescriptor, rules: rules_pb2.FieldRules) -> _FieldCheck:
    name, count = field.name, count_checks(rules)
    each = () if field.message_type else value_checks(field, rules.items)
    walk = _message_walk(field.message_type) if field.message_type else None

    def check(message: Any, prefix: str, found: list[Breach]) -> None:
        items = getattr(message, name)
        path = prefix + name
        # A list over its bound is not walked: the walk stays as bounded as the rules are.
        if not _report(count, items, path, found):
            return
        if walk is not None:
            for index, item in enumerate(items):
                walk(item, f"{path}[{index}]", found)
                if len(found) >= BREACHES_MAX:
                    return
        elif each:
            for index, item in enumerate(items):
                _report(each, item, f"{path}[{index}]", found)
                if len(found) >= BREACHES_MAX:
                    return

    return check


def _map_check(field: FieldDescriptor, entry: Descriptor, rules: rules_pb2.FieldRules) -> _FieldCheck:
    name, count = field.name, count_checks(rules)
    keys = value_checks(entry.fields_by_name["key"], rules.keys)
    values = value_checks(entry.fields_by_name["value"], rules.items)

    def check(message: Any, prefix: str, found: list[Breach]) -> None:
        entries = getattr(message, name)
        path = prefix + name
        if not _report(count, entries, path, found):
            return
        # The key is the caller's text, so the path says only which half of an entry is at fault.
        for key, value in entries.items():
            _report(keys, key, f"{path}.key", found)
            _report(values, value, f"{path}.value", found)
            if len(found) >= BREACHES_MAX:
                return

    return check


def _message_check(field: FieldDescriptor, nested: Descriptor, *, required: bool) -> _FieldCheck:
    name, walk = field.name, _message_walk(nested)

    def check(message: Any, prefix: str, found: list[Breach]) -> None:
        if message.HasField(name):
            walk(getattr(message, name), prefix + name, found)
        elif required:
            found.append(Breach(field=prefix + name, problem=REQUIRED))

    return check


def _message_walk(descriptor: Descriptor) -> _FieldCheck:
    """How a nested message is looked at, given its own path without a dot."""
    if descriptor.full_name == Timestamp.DESCRIPTOR.full_name:
        return lambda value, path, found: _report((check_timestamp,), value, path, found)
    return lambda value, path, found: _walk(value, f"{path}.", found)


def _scalar_check(field: FieldDescriptor, rules: rules_pb2.FieldRules) -> _FieldCheck | None:
    name, required, has_presence = field.name, rules.required, field.has_presence
    checks = value_checks(field, rules)
    if not checks and not required:
        return None
    may_be_empty = not has_presence and field.cpp_type == FieldDescriptor.CPPTYPE_STRING

    def check(message: Any, prefix: str, found: list[Breach]) -> None:
        if has_presence and not message.HasField(name):
            if required:
                found.append(Breach(field=prefix + name, problem=REQUIRED))
            return
        value = getattr(message, name)
        if required and value in ("", b""):
            found.append(Breach(field=prefix + name, problem=REQUIRED))
        elif value or not may_be_empty:
            _report(checks, value, prefix + name, found)

    return check


def _checks_between(descriptor: Descriptor, rules: rules_pb2.MessageRules) -> tuple[_FieldCheck, ...]:
    together = (_required_together(descriptor, fields.fields) for fields in rules.required_together)
    exactly_one = (_exactly_one(descriptor, fields.fields) for fields in rules.exactly_one)
    return (*together, *exactly_one)


def _required_together(descriptor: Descriptor, names: Iterable[str]) -> _FieldCheck:
    present = {name: _presence(descriptor.fields_by_name[name]) for name in names}
    problem = Problem(message=f"must be set together: {', '.join(present)}", bound="required_together")

    def check(message: Any, prefix: str, found: list[Breach]) -> None:
        missing = [name for name, is_set in present.items() if not is_set(message)]
        if 0 < len(missing) < len(present):
            found.append(Breach(field=prefix + missing[0], problem=problem))

    return check


def _exactly_one(descriptor: Descriptor, names: Iterable[str]) -> _FieldCheck:
    present = {name: _presence(descriptor.fields_by_name[name]) for name in names}
    first = next(iter(present))
    problem = Problem(message=f"exactly one must be set: {', '.join(present)}", bound="exactly_one")

    def check(message: Any, prefix: str, found: list[Breach]) -> None:
        if sum(is_set(message) for is_set in present.values()) != 1:
            found.append(Breach(field=prefix + first, problem=problem))

    return check


def _presence(field: FieldDescriptor) -> Callable[[Any], bool]:
    name = field.name
    if field.has_presence:
        return lambda message: bool(message.HasField(name))
    return lambda message: bool(getattr(message, name))


def _report(checks: tuple[ValueCheck, ...], value: Any, path: str, found: list[Breach]) -> bool:
    """Adds the first problem of a value; returns whether there is none."""
    for check in checks:
        problem = check(value)
        if problem is not None:
            found.append(Breach(field=path, problem=problem))
            return False
    return True
