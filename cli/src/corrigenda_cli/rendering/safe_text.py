"""Texts of others on a terminal: no character in them may move the cursor, change colours, or hide what stands there.

Names, quotes and reasons come from whoever wrote to the team. Each dangerous character is replaced by exactly one
visible character, so that offsets into a text stay what they are.
"""

from __future__ import annotations

import json
import unicodedata
from typing import Any, TypeVar, cast

from corrigenda_core.rpc.json_mapping import map_entry
from google.protobuf.descriptor import Descriptor, FieldDescriptor
from google.protobuf.message import Message

REPLACED = "\N{REPLACEMENT CHARACTER}"
_PICTURES = 0x2400
_DELETE_PICTURE = "\N{SYMBOL FOR DELETE}"
_LAYOUT = frozenset("\n\t")
# Joiners inside words (Persian, Indic scripts, emoji) and the soft hyphen are letters' business and move nothing.
_JOINERS = frozenset("\u00ad\u200c\u200d")
_CATEGORIES = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})

M = TypeVar("M", bound=Message)


def neutral(text: str) -> str:
    """The text with every control, bidirectional override and invisible character made visible; lines and tabs stay."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(map(_neutral_character, text))


def neutral_line(text: str) -> str:
    """The text as one line of a layout of ours, whose spaces stay: a line end or a tab in it is not ours."""
    return neutral(text).translate(
        {ord("\n"): "\N{SYMBOL FOR LINE FEED}", ord("\t"): "\N{SYMBOL FOR HORIZONTAL TABULATION}"}
    )


def one_line(text: str) -> str:
    """The text on one line, white space collapsed."""
    return " ".join(neutral(text).split())


def neutralised(message: M) -> M:
    """A copy of the message in which every text is `neutral`."""
    copy = type(message)()
    copy.CopyFrom(message)
    _neutralise(copy)
    return copy


def json_text(document: Any, *, indent: int | None = None) -> str:
    """JSON with letters of all scripts as they are; what a terminal would act on is escaped."""
    text = json.dumps(document, ensure_ascii=False, indent=indent)
    # Outside of its strings, JSON has no such character but the line ends between its parts.
    return "".join(c if c == "\n" or not _is_dangerous(c) else _escaped(c) for c in text)


def _escaped(character: str) -> str:
    # JSON does not ask for DELETE to be escaped, and so it is not.
    return json.dumps(character)[1:-1] if not character.isascii() else f"\\u{ord(character):04x}"


def _is_dangerous(character: str) -> bool:
    return unicodedata.category(character) in _CATEGORIES and character not in _JOINERS


def _neutral_character(character: str) -> str:
    if character in _LAYOUT or not _is_dangerous(character):
        return character
    point = ord(character)
    if point < 0x20:
        return chr(_PICTURES + point)
    return _DELETE_PICTURE if point == 0x7F else REPLACED


def _neutralise(message: Message) -> None:
    descriptor = cast("Descriptor", cast("Any", message).DESCRIPTOR)
    for field in descriptor.fields:
        value: Any = getattr(message, field.name)
        entry = map_entry(field)
        if entry is not None:
            _neutralise_map(entry, value)
        elif field.cpp_type == FieldDescriptor.CPPTYPE_STRING and field.type == FieldDescriptor.TYPE_STRING:
            if field.is_repeated:
                value[:] = [neutral(one) for one in value]
            # A text that is not there must not come to be by being looked at.
            elif value:
                setattr(message, field.name, neutral(value))
        elif field.message_type is not None:
            if field.is_repeated:
                for one in value:
                    _neutralise(one)
            elif message.HasField(field.name):
                _neutralise(value)


def _neutralise_map(entry: Descriptor, entries: Any) -> None:
    if entry.fields_by_name["value"].cpp_type != FieldDescriptor.CPPTYPE_STRING:
        return
    neutral_entries = {neutral(str(key)): neutral(value) for key, value in entries.items()}
    entries.clear()
    entries.update(neutral_entries)
