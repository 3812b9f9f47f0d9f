"""JSON Schemas of messages: the bounds, names and comments of the protos in the words of JSON Schema 2020-12.

A schema of a request is closed and stands in one piece, since not every client follows references; one of an answer
names its parts once and leaves room for fields that a later server adds.
"""

from __future__ import annotations

from typing import Any

from corrigenda.options.v1 import rules_pb2
from corrigenda_core.rpc.comments import comment_of
from corrigenda_core.rpc.json_mapping import is_well_known, json_name, map_entry, value_names
from google.protobuf.descriptor import Descriptor, EnumDescriptor, FieldDescriptor

Schema = dict[str, Any]

UUID_PATTERN = "^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$"

_WELL_KNOWN: dict[str, Schema] = {
    "google.protobuf.Timestamp": {"type": "string", "format": "date-time"},
    "google.protobuf.Duration": {"type": "string", "pattern": "^-?[0-9]+(\\.[0-9]{1,9})?s$"},
    "google.protobuf.FieldMask": {"type": "string"},
}
_INTEGERS = {
    FieldDescriptor.CPPTYPE_INT32,
    FieldDescriptor.CPPTYPE_INT64,
    FieldDescriptor.CPPTYPE_UINT32,
    FieldDescriptor.CPPTYPE_UINT64,
}
_UNSIGNED = {FieldDescriptor.CPPTYPE_UINT32, FieldDescriptor.CPPTYPE_UINT64}


def request_schema(message: Descriptor) -> Schema:
    """The closed schema of a request.

    What must hold between fields of the request itself is left to the server: clients refuse a tool whose schema says
    that at its root.

    Raises:
        ValueError: if a message holds itself; it has no schema in one piece.
    """
    schema = _request(message, within=())
    return {key: value for key, value in schema.items() if key not in ("allOf", "description")}


def response_schema(message: Descriptor) -> Schema:
    """The schema of an answer, its parts under ``$defs`` by their full names."""
    parts: dict[str, Schema] = {}
    schema = _response(message, parts)
    return {**schema, "$defs": dict(sorted(parts.items()))} if parts else schema


def _request(message: Descriptor, within: tuple[str, ...]) -> Schema:
    if message.full_name in within:
        raise ValueError(f"{message.full_name} holds itself")
    inside = (*within, message.full_name)
    schema: Schema = {
        "type": "object",
        "properties": {json_name(field): _request_field(field, inside) for field in message.fields},
        "additionalProperties": False,
    }
    required = [json_name(field) for field in message.fields if _is_required(field)]
    if required:
        schema["required"] = required
    return schema | _between(message)


def _is_required(field: FieldDescriptor) -> bool:
    rules = _rules(field)
    if field.is_repeated:
        return rules.min_items > 0
    must_be_defined = field.enum_type is not None and not field.has_presence and not rules.unspecified_allowed
    return rules.required or must_be_defined


def _between(message: Descriptor) -> Schema:
    """What must hold between the fields of a message."""
    rules = message.GetOptions().Extensions[rules_pb2.message_rules]
    together = {
        name: [other for other in names.fields if other != name]
        for names in rules.required_together
        for name in names.fields
    }
    conditions: list[Schema] = [
        {"oneOf": [{"required": [name]} for name in names.fields]} for names in rules.exactly_one
    ]
    chosen = {frozenset(names.fields) for names in rules.exactly_one}
    for group in message.oneofs:
        names = [json_name(field) for field in group.fields]
        if len(names) > 1 and frozenset(names) not in chosen:
            none = {"not": {"anyOf": [{"required": [name]} for name in names]}}
            conditions.append({"oneOf": [none, *({"required": [name]} for name in names)]})
    return {
        **({"dependentRequired": together} if together else {}),
        **({"allOf": conditions} if conditions else {}),
    }


def _request_field(field: FieldDescriptor, within: tuple[str, ...]) -> Schema:
    rules = _rules(field)
    entry = map_entry(field)
    if entry is not None:
        schema: Schema = {
            "type": "object",
            "propertyNames": _scalar(entry.fields_by_name["key"], rules.keys),
            "additionalProperties": _scalar(entry.fields_by_name["value"], rules.items),
            **_present(rules, min_items="minProperties", max_items="maxProperties"),
        }
    elif field.is_repeated:
        items = _request_one(field, rules.items, within)
        schema = {"type": "array", "items": items, **_present(rules, min_items="minItems", max_items="maxItems")}
    else:
        schema = _request_one(field, rules, within)
    return _described(field, schema)


def _request_one(field: FieldDescriptor, rules: rules_pb2.FieldRules, within: tuple[str, ...]) -> Schema:
    if field.message_type is None:
        return _scalar(field, rules)
    return _WELL_KNOWN.get(field.message_type.full_name) or _request(field.message_type, within)


def _response(message: Descriptor, parts: dict[str, Schema]) -> Schema:
    return {
        "type": "object",
        "properties": {json_name(field): _described(field, _response_field(field, parts)) for field in message.fields},
    }


def _response_field(field: FieldDescriptor, parts: dict[str, Schema]) -> Schema:
    if map_entry(field) is not None:
        return {"type": "object"}
    one = _response_one(field, parts)
    return {"type": "array", "items": one} if field.is_repeated else one


def _response_one(field: FieldDescriptor, parts: dict[str, Schema]) -> Schema:
    message = field.message_type
    if message is None:
        return _scalar(field, rules_pb2.FieldRules())
    if is_well_known(message):
        return _WELL_KNOWN.get(message.full_name, {})
    if message.full_name not in parts:
        # Entered before it is filled: a message may hold itself.
        parts[message.full_name] = {}
        parts[message.full_name] |= _response(message, parts)
    return {"$ref": f"#/$defs/{message.full_name}"}


def _scalar(field: FieldDescriptor, rules: rules_pb2.FieldRules) -> Schema:
    kind = field.cpp_type
    if field.enum_type is not None:
        return _enum(field.enum_type, rules)
    if kind == FieldDescriptor.CPPTYPE_BOOL:
        return {"type": "boolean"}
    if kind == FieldDescriptor.CPPTYPE_STRING:
        return {"type": "string", **_text(rules)}
    least: Schema = {"minimum": 0} if kind in _UNSIGNED else {}
    number = "integer" if kind in _INTEGERS else "number"
    bounds = _present(rules, minimum="minimum", maximum="maximum")
    if number == "integer":
        bounds = {name: int(figure) for name, figure in bounds.items()}
    return {"type": number, **least, **bounds}


def _text(rules: rules_pb2.FieldRules) -> Schema:
    schema = _present(rules, min_code_points="minLength", max_code_points="maxLength")
    if rules.HasField("max_bytes"):
        # A code point is at least one byte: nothing longer can fit.
        schema.setdefault("maxLength", rules.max_bytes)
    if rules.required:
        schema.setdefault("minLength", 1)
    if rules.uuid:
        schema |= {"format": "uuid", "pattern": UUID_PATTERN}
    if rules.pattern:
        schema["pattern"] = f"^(?:{rules.pattern})$"
    return schema


def _enum(enum: EnumDescriptor, rules: rules_pb2.FieldRules) -> Schema:
    names = value_names(enum)
    values = {number: name for number, name in names.items() if number or rules.unspecified_allowed}
    told = [
        f"{name}: {comment_of(f'{enum.full_name}.{enum.values_by_number[number].name}')}"
        for number, name in values.items()
    ]
    return {"type": "string", "enum": list(values.values()), "description": " ".join(told)}


def _described(field: FieldDescriptor, schema: Schema) -> Schema:
    """The schema with the comment of its field, before what the schema says itself."""
    told = " ".join(comment_of(field.full_name).split())
    own = schema.get("description", "")
    return {**schema, "description": f"{told} {own}".strip()} if told or own else schema


def _present(rules: Any, **names: str) -> Schema:
    """The bounds that the rules have, each under its name in JSON Schema."""

    return {name: getattr(rules, rule) for rule, name in names.items() if rules.HasField(rule)}


def _rules(field: FieldDescriptor) -> rules_pb2.FieldRules:
    return field.GetOptions().Extensions[rules_pb2.rules]
