"""Valid messages of any type: everything that one can hold is there once, so that each bound can be broken."""

from __future__ import annotations

from typing import Any

from corrigenda.options.v1 import rules_pb2
from google.protobuf.descriptor import Descriptor, FieldDescriptor
from google.protobuf.message import Message
from google.protobuf.message_factory import GetMessageClass

UUID = "0190a6e2-0000-7000-8000-000000000001"


def rules_of(field: FieldDescriptor) -> rules_pb2.FieldRules:
    """The rules that a field declares."""
    return field.GetOptions().Extensions[rules_pb2.rules]


def is_map(field: FieldDescriptor) -> bool:
    """Whether a field is a map."""
    return field.message_type is not None and bool(field.message_type.GetOptions().map_entry)


def text_of(rules: rules_pb2.FieldRules, length: int, *, unit: str = "a") -> str:
    """A text of ``length`` units that keeps to the form that the rules ask for."""
    return UUID if rules.uuid else unit * length


def fill(message: Any) -> None:
    """Fills a message with one valid value of every field (of a ``oneof``: of its last one)."""
    exclusive = message.DESCRIPTOR.GetOptions().Extensions[rules_pb2.message_rules].exactly_one
    skipped = {name for fields in exclusive for name in fields.fields[1:]}
    for field in message.DESCRIPTOR.fields:
        if field.name not in skipped:
            fill_field(message, field)


def fill_field(message: Any, field: FieldDescriptor) -> None:
    """Fills one field with one valid value."""
    rules = rules_of(field)
    if is_map(field):
        getattr(message, field.name)["key"] = "value"
    elif field.message_type is not None:
        target = getattr(message, field.name)
        nested = target.add() if field.is_repeated else target
        nested.SetInParent()
        if not field.message_type.full_name.startswith("google.protobuf."):
            fill(nested)
    elif field.is_repeated:
        getattr(message, field.name).append(scalar(field, rules.items))
    else:
        setattr(message, field.name, scalar(field, rules))


def scalar(field: FieldDescriptor, rules: rules_pb2.FieldRules) -> Any:
    """A valid value of a field that is no message."""
    if field.enum_type is not None:
        return 1
    if field.cpp_type == FieldDescriptor.CPPTYPE_STRING:
        return text_of(rules, 1)
    if field.cpp_type == FieldDescriptor.CPPTYPE_BOOL:
        return True
    return int(rules.minimum) if rules.HasField("minimum") else 1


def filled(descriptor: Descriptor) -> Message:
    """A message of the type with every field filled."""
    message = GetMessageClass(descriptor)()
    fill(message)
    return message
