"""Which parts of an answer a reader wants: paths of a field mask, checked against the answer's own fields."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Self, TypeVar

from google.protobuf.descriptor import Descriptor, FieldDescriptor
from google.protobuf.field_mask_pb2 import FieldMask
from google.protobuf.message import Message

from corrigenda_core.domain.errors import Reason, Refusal
from corrigenda_core.policy.limits import may_offer_items

M = TypeVar("M", bound=Message)

# What tells of a list whether some of it was cut: a reader of the list is never left without.
_OF_LISTS = ("{}_total", "{}_truncated")


@dataclass(slots=True)
class _Wanted:
    """What is wanted of a message: everything, or the fields of ``parts``."""

    everything: bool = False
    parts: dict[str, _Wanted] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadMask:
    """The wanted parts of an answer; ``None`` if all of it is wanted."""

    _parts: Mapping[str, _Wanted] | None

    @classmethod
    def of(cls, mask: FieldMask, answer: Descriptor, *, field: str) -> Self:
        """The mask of a request.

        Args:
            mask: its paths go through messages and lists alike; an empty one wants everything.
            answer: what the paths lead through.
            field: path of the mask in the request.

        Raises:
            Refusal: INVALID_FIELD for a path that names no field, naming the path's place in the mask;
                TOO_MANY_ITEMS.
        """
        may_offer_items("read_mask_paths", mask.paths, field=f"{field}.paths")
        root = _Wanted()
        for place, path in enumerate(mask.paths):
            _add(root, path, answer, field=f"{field}.paths[{place}]")
        return cls(_parts=root.parts or None)

    def kept(self, answer: M) -> M:
        """The answer without what is not wanted; its own figures, times and codes stay in any case."""
        if self._parts is not None:
            for descriptor, _ in answer.ListFields():
                if descriptor.message_type is not None and not _is_instant(descriptor):
                    _keep(answer, descriptor, self._parts.get(descriptor.name))
        return answer


def _add(wanted: _Wanted, path: str, answer: Descriptor, *, field: str) -> None:
    message: Descriptor | None = answer
    for name in path.split("."):
        descriptor = None if message is None else message.fields_by_name.get(name)
        if descriptor is None:
            # What was offered is the caller's text and stays out of the answer; its place says which it is.
            raise Refusal(Reason.INVALID_FIELD, f"{field} names no field of {answer.name}", field=field)
        if descriptor.is_repeated:
            for pattern in _OF_LISTS:
                wanted.parts.setdefault(pattern.format(name), _Wanted(everything=True))
        wanted = wanted.parts.setdefault(name, _Wanted())
        message = None if _is_leaf(descriptor) else descriptor.message_type
    wanted.everything = True


def _is_leaf(descriptor: FieldDescriptor) -> bool:
    message = descriptor.message_type
    return message is None or message.GetOptions().map_entry or _is_instant(descriptor)


def _is_instant(descriptor: FieldDescriptor) -> bool:
    message = descriptor.message_type
    return message is not None and message.full_name.startswith("google.protobuf.")


def _keep(message: Message, descriptor: FieldDescriptor, wanted: _Wanted | None) -> None:
    """Clears a field, or what is not wanted inside it."""
    if wanted is None:
        message.ClearField(descriptor.name)
    elif not wanted.everything:
        value = getattr(message, descriptor.name)
        for one in value if descriptor.is_repeated else [value]:
            for inner, _ in one.ListFields():
                _keep(one, inner, wanted.parts.get(inner.name))
