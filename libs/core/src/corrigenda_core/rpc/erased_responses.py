"""Stored responses after an erasure: the same message with its ids, numbers and times, and without any words."""

from __future__ import annotations

import re

from google.protobuf import symbol_database
from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import Message

_UUID = re.compile(r"[0-9a-f]{8}-([0-9a-f]{4}-){3}[0-9a-f]{12}")
_WORDS = frozenset({FieldDescriptor.TYPE_STRING, FieldDescriptor.TYPE_BYTES})


def without_words(request_name: str, response: bytes) -> bytes:
    """The bytes of a response from which every text is gone but ids.

    Args:
        request_name: the full name of the request that it answers, such as ``corrigenda.ingest.v1.RememberRequest``.
        response: its bytes.

    Raises:
        KeyError: there is no such method.
    """
    name = request_name.removesuffix("Request") + "Response"
    message = symbol_database.Default().GetSymbol(name)()
    message.ParseFromString(response)
    _clear(message)
    cleared: bytes = message.SerializeToString(deterministic=True)
    return cleared


def _clear(message: Message) -> None:
    for field, value in message.ListFields():
        if field.message_type is not None and field.message_type.GetOptions().map_entry:
            message.ClearField(field.name)
        elif field.message_type is not None:
            for one in value if field.is_repeated else [value]:
                _clear(one)
        elif field.type in _WORDS:
            kept = [one for one in (value if field.is_repeated else [value]) if _is_id(one)]
            message.ClearField(field.name)
            if field.is_repeated:
                getattr(message, field.name).extend(kept)
            elif kept:
                setattr(message, field.name, kept[0])


def _is_id(value: str | bytes) -> bool:
    return isinstance(value, str) and _UUID.fullmatch(value) is not None
