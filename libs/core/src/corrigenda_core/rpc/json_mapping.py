"""Protos as JSON for people and agents, and back: snake_case names, short enum values, plain numbers.

It is the JSON mapping of protobuf with three differences, all read from the descriptors: fields have their proto names
(or the option ``mcp_name``), the values of an enum are its names in lower case without its prefix (or the option
``mcp_value_name``), and 64-bit integers are JSON numbers. Instants stay RFC 3339.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping
from functools import cache
from typing import Any, cast

from corrigenda.options.v1 import options_pb2
from google.protobuf import json_format
from google.protobuf.descriptor import Descriptor, EnumDescriptor, FieldDescriptor
from google.protobuf.message import Message

from corrigenda_core.domain.errors import Reason, Refusal

Json = dict[str, Any]

_WELL_KNOWN = "google.protobuf."
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
        Refusal: INVALID_FIELD naming the path of a field that does not exist or whose value is of another type.
    """
    prepared = _prepared(_descriptor(message), given, "")
    try:
        json_format.ParseDict(prepared, message)
    except json_format.ParseError as error:
        # The parser names the place in its own words; everything that could be at fault there is the caller's.
        raise Refusal(Reason.INVALID_FIELD, str(error)) from error


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
        return given
    if not isinstance(given, Mapping):
        raise Refusal(Reason.INVALID_FIELD, f"{path or 'the request'} must be an object", field=path)
    by_name = {json_name(field): field for field in message.fields}
    prepared = {}
    for name, value in given.items():
        place = f"{path}.{name}" if path else name
        field = by_name.get(name)
        if field is None:
            allowed = ", ".join(by_name)
            raise Refusal(Reason.INVALID_FIELD, f"{place} is no field", field=place, metadata={"allowed": allowed})
        # A null says what an absent field does.
        if value is not None:
            prepared[field.name] = _prepared_field(field, value, place)
    return prepared


def _prepared_field(field: FieldDescriptor, value: Any, path: str) -> Any:
    if map_entry(field) is not None:
        return value
    if field.is_repeated:
        if not isinstance(value, list):
            raise Refusal(Reason.INVALID_FIELD, f"{path} must be a list", field=path)
        return [_prepared_one(field, item, f"{path}[{index}]") for index, item in enumerate(value)]
    return _prepared_one(field, value, path)


def _prepared_one(field: FieldDescriptor, value: Any, path: str) -> Any:
    if field.message_type is not None:
        return _prepared(field.message_type, value, path)
    if field.enum_type is not None:
        return _enum_number(field.enum_type, value, path)
    return value


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
