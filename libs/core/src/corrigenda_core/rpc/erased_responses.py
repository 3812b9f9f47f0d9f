"""Stored responses after an erasure: the same message with its ids, numbers and times, and without any words."""

from __future__ import annotations

import re

from corrigenda.admin.v1 import admin_service_pb2
from corrigenda.conflict.v1 import auto_resolution_pb2, conflict_service_pb2
from corrigenda.ingest.v1 import ingest_service_pb2
from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import Message
from google.protobuf.message_factory import GetMessageClass

# Every service that stores responses, whoever erases.
_SERVICES = [
    service
    for file in (ingest_service_pb2, conflict_service_pb2, admin_service_pb2)
    for service in file.DESCRIPTOR.services_by_name.values()
]
_ANSWERS = {
    **{method.input_type.full_name: method.output_type for service in _SERVICES for method in service.methods},
    # A run of the judge keeps what it answered about each question.
    "corrigenda.conflict.v1.AutoResolveRequest": auto_resolution_pb2.AutoResolvedItem.DESCRIPTOR,
}
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
    if all(_is_id(line) for line in response.decode("ascii", errors="replace").split("\n")):
        # Which questions a run of the judge goes over.
        return response
    message = GetMessageClass(_ANSWERS[request_name])()
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
