"""Protos as JSON for people and agents, and back: snake_case names, short enum values, plain numbers.

It is the JSON mapping of protobuf with three differences, all read from the descriptors: fields have their proto names
(or the option ``mcp_name``), the values of an enum are its names in lower case without its prefix (or the option
``mcp_value_name``), and 64-bit integers are JSON numbers. Instants stay RFC 3339.
"""

from __future__ import annotations

import base64
import re
import sys
from collections.abc import Mapping
from functools import cache
from typing import Any, cast

from corrigenda.options.v1 import options_pb2
from google.protobuf import json_format
from google.protobuf.descriptor import Descriptor, EnumDescriptor, FieldDescriptor
from google.protobuf.field_mask_pb2 import FieldMask
from google.protobuf.message import Message
from google.protobuf.timestamp_pb2 import Timestamp

from corrigenda_core.domain.errors import Reason, Refusal
from corrigenda_core.policy.instants import decide_instant, decide_written_offset_minutes
from corrigenda_core.policy.kept_text import is_unicode

Json = dict[str, Any]

MAX_SHOWN_NAME_CODE_POINTS = 64

_WELL_KNOWN = "google.protobuf."
_UNDERSCORE = re.compile(r"_([a-z])")
_RANGES = {
    FieldDescriptor.CPPTYPE_INT32: range(-(2**31), 2**31),
    FieldDescriptor.CPPTYPE_INT64: range(-(2**63), 2**63),
    FieldDescriptor.CPPTYPE_UINT32: range(2**32),
    FieldDescriptor.CPPTYPE_UINT64: range(2**64),
}
_NUMBERS = {
    FieldDescriptor.CPPTYPE_INT32,
    FieldDescriptor.CPPTYPE_INT64,
    FieldDescriptor.CPPTYPE_UINT32,
    FieldDescriptor.CPPTYPE_UINT64,
    FieldDescriptor.CPPTYPE_DOUBLE,
    FieldDescriptor.CPPTYPE_FLOAT,
    FieldDescriptor.CPPTYPE_BOOL,
}


def json_name(field: FieldDescriptor) -> str:
    """The field's name in JSON."""
    return field.GetOptions().Extensions[options_pb2.mcp_name] or field.name


@cache
def value_names(enum: EnumDescriptor) -> dict[int, str]:
    """The names of an enum's values in JSON by their numbers."""
    prefix = _prefix(enum)
    return {
        value.number: value.GetOptions().Extensions[options_pb2.mcp_value_name]
        or value.name.removeprefix(prefix).lower()
        for value in enum.values
    }


def map_entry(field: FieldDescriptor) -> Descriptor | None:
    """The entry of a map (fields ``key`` and ``value``), or ``None`` if the field is none."""
    entry = field.message_type
    return entry if entry is not None and entry.GetOptions().map_entry else None


def is_well_known(message: Descriptor) -> bool:
    """Whether a message is one of protobuf's own, which have a JSON form of their own."""
    return message.full_name.startswith(_WELL_KNOWN)


def fill_from_json(message: Message, given: Mapping[str, Any]) -> None:
    """Fills a message with what JSON says.

    Raises:
        Refusal: INVALID_FIELD naming the path of a field that does not exist or whose value is of another type. It
            quotes no value.
    """
    prepared = _prepared(_descriptor(message), given, "")
    try:
        json_format.ParseDict(prepared, message)
    except json_format.ParseError:
        # Two parts of a choice, or a duration that is none. The parser's words, and so its error, hold what was given.
        raise Refusal(Reason.INVALID_FIELD, "the fields of the request do not fit together") from None


def to_json(message: Message) -> Json:
    """A message as JSON: what is set, every flag and number, and the lists of the message itself even if empty."""
    said = _said(message)
    for field in _descriptor(message).fields:
        if field.is_repeated and map_entry(field) is None:
            said.setdefault(json_name(field), [])
    return said


def _descriptor(message: Message) -> Descriptor:
    # The type checker knows two classes of descriptors, of which a message has either.
    descriptor: Descriptor = cast("Any", message).DESCRIPTOR
    return descriptor


def _prefix(enum: EnumDescriptor) -> str:
    """What the names of all values begin with: that of the value for zero without its last word."""
    return enum.values_by_number[0].name.removesuffix("UNSPECIFIED")


def _prepared(message: Descriptor, given: Any, path: str) -> Any:
    """The JSON of protobuf for a message."""
    if is_well_known(message):
        return _well_known(message, given, path)
    if not isinstance(given, Mapping):
        raise _refusal(path, "must be an object") if path else _refusal("", "the request must be an object")
    by_name = {json_name(field): field for field in message.fields}
    prepared = {}
    for name, value in given.items():
        place = f"{path}.{_shown(name)}" if path else _shown(name)
        field = by_name.get(name)
        if field is None:
            raise _refusal(place, "is no field", allowed=", ".join(by_name))
        # A null says what an absent field does.
        if value is not None:
            prepared[field.name] = _prepared_field(field, value, place)
            # The offset of an instant that is text has a field of its own, where it is kept.
            offset = message.fields_by_name.get(f"{field.name}_offset_minutes")
            if offset is not None and given.get(json_name(offset)) is None:
                written = decide_written_offset_minutes(str(value))
                prepared |= {} if written is None else {offset.name: written}
    return prepared


def _well_known(message: Descriptor, given: Any, path: str) -> str:
    """The text of a message of protobuf's own; its parser of instants takes offsets that do not exist."""
    text = _text(given, path)
    if message.full_name == Timestamp.DESCRIPTOR.full_name:
        return decide_instant(text, field=path).isoformat()
    # Paths have the names that fields have here; protobuf's own form writes both in another way.
    return _UNDERSCORE.sub(lambda found: found[1].upper(), text) if _is_mask(message) else text


def _is_mask(message: Descriptor) -> bool:
    return bool(message.full_name == FieldMask.DESCRIPTOR.full_name)


def _prepared_field(field: FieldDescriptor, value: Any, path: str) -> Any:
    entry = map_entry(field)
    if entry is not None:
        if not isinstance(value, Mapping):
            raise _refusal(path, "must be an object")
        # The key is the caller's text, so the path says only which half of an entry is at fault.
        of_value = entry.fields_by_name["value"]
        return {
            _text(key, f"{path}.key"): _prepared_one(of_value, item, f"{path}.value") for key, item in value.items()
        }
    if field.is_repeated:
        if not isinstance(value, list):
            raise _refusal(path, "must be a list")
        return [_prepared_one(field, item, f"{path}[{index}]") for index, item in enumerate(value)]
    return _prepared_one(field, value, path)


def _prepared_one(field: FieldDescriptor, value: Any, path: str) -> Any:
    if field.message_type is not None:
        return _prepared(field.message_type, value, path)
    if field.enum_type is not None:
        return _enum_number(field.enum_type, value, path)
    kind = field.cpp_type
    if kind == FieldDescriptor.CPPTYPE_STRING:
        return _text(value, path)
    if kind == FieldDescriptor.CPPTYPE_BOOL:
        if not isinstance(value, bool):
            raise _refusal(path, "must be true or false")
        return value
    return _whole_number(value, _RANGES[kind], path) if kind in _RANGES else _finite_number(value, path)


def _text(value: Any, path: str) -> str:
    """A text that UTF-8 can hold: an unpaired surrogate, which JSON can write, is no character."""
    if not isinstance(value, str):
        raise _refusal(path, "must be a text")
    if not is_unicode(value):
        raise _refusal(path, "must not have an unpaired surrogate")
    return value


def _whole_number(value: Any, allowed: range, path: str) -> int:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    # JSON does not tell 5 from 5.0.
    if not is_number or value != value // 1 or int(value) not in allowed:
        raise _refusal(path, f"must be a whole number from {allowed[0]} to {allowed[-1]}")
    return int(value)


def _finite_number(value: Any, path: str) -> float:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if not is_number or not abs(value) <= sys.float_info.max:
        raise _refusal(path, "must be a finite number")
    return float(value)


def _shown(name: Any) -> str:
    """The name of a field as a refusal may hold it, whoever made it up."""
    return str(name)[:MAX_SHOWN_NAME_CODE_POINTS].encode(errors="replace").decode()


def _refusal(path: str, problem: str, **metadata: str) -> Refusal:
    return Refusal(Reason.INVALID_FIELD, f"{path} {problem}".strip(), field=path, metadata=metadata)


def _enum_number(enum: EnumDescriptor, value: Any, path: str) -> int:
    names = {name: number for number, name in value_names(enum).items()}
    number = names.get(value) if isinstance(value, str) else None
    if number is None:
        allowed = ", ".join(name for name, number in names.items() if number)
        raise Refusal(
            Reason.INVALID_FIELD, f"{path} must be one of {allowed}", field=path, metadata={"allowed": allowed}
        )
    return number


def _said(message: Message) -> Json:
    said: Json = {}
    for field in _descriptor(message).fields:
        if _is_said(message, field):
            said[json_name(field)] = _said_field(field, getattr(message, field.name))
    return said


def _is_said(message: Message, field: FieldDescriptor) -> bool:
    if field.is_repeated:
        return bool(getattr(message, field.name))
    if field.has_presence:
        return message.HasField(field.name)
    is_number = field.cpp_type in _NUMBERS and field.enum_type is None
    return is_number or bool(getattr(message, field.name))


def _said_field(field: FieldDescriptor, value: Any) -> Any:
    entry = map_entry(field)
    if entry is not None:
        of_value = entry.fields_by_name["value"]
        return {str(key): _said_one(of_value, item) for key, item in value.items()}
    if field.is_repeated:
        return [_said_one(field, item) for item in value]
    return _said_one(field, value)


def _said_one(field: FieldDescriptor, value: Any) -> Any:
    if field.message_type is not None:
        if is_well_known(field.message_type):
            return json_format.MessageToDict(value) if not hasattr(value, "ToJsonString") else value.ToJsonString()
        return _said(value)
    if field.enum_type is not None:
        return value_names(field.enum_type).get(value, value)
    return base64.b64encode(value).decode() if field.type == FieldDescriptor.TYPE_BYTES else value
