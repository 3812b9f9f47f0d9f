"""The words and colours that every drawing shares: sentences of relationships, times, statuses, marks."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, tzinfo
from typing import TYPE_CHECKING, Any, cast

from corrigenda_core.rpc.convert import instant_of
from corrigenda_core.rpc.json_mapping import value_names
from google.protobuf.descriptor import Descriptor
from google.protobuf.message import Message
from google.protobuf.timestamp_pb2 import Timestamp
from rich.text import Text

from corrigenda_cli.rendering.safe_text import one_line

if TYPE_CHECKING:
    from corrigenda.type.v1 import actor_pb2, object_pb2, relationship_pb2, time_pb2

DIM = "dim"
_STYLES = {
    "active": "green",
    "fact": "green",
    "resolved": "green",
    "preferred": "green",
    "competing": "yellow",
    "disputed": "yellow",
    "open": "yellow",
    "held": "yellow",
    "held against": "yellow",
    "pending": "yellow",
    "needs review": "yellow",
    "pending evidence": "yellow",
    "overdue": "red",
    "negative": "red",
    "rejected": "red",
    "retracted": "red",
    "quarantined": "red",
    "superseded": DIM,
    "dismissed": DIM,
    "closed": DIM,
    "overruled later": DIM,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """How to show: times in ``zone``, whose name is ``zone_name``."""

    zone: tzinfo = UTC
    zone_name: str = "UTC"


def word(message: Message, field: str, value: int | None = None) -> str:
    """The short name of an enum's value in words, such as ``needs review``; empty if it is unspecified.

    Args:
        message: what has the field.
        field: the name of the field.
        value: one value of a field that has several; default: the field's.
    """
    number = getattr(message, field) if value is None else value
    enum = cast("Descriptor", cast("Any", message).DESCRIPTOR).fields_by_name[field].enum_type
    # A value that this version does not know is shown by its number.
    return value_names(enum).get(number, str(number)).replace("_", " ") if number else ""


def styled(text: str) -> Text:
    """A status, a mark or a tier in its colour."""
    return Text(text, style=_STYLES.get(text, ""))


def badge(mark: str) -> Text:
    """A mark that a reader must not overlook."""
    return Text(f"⟨{mark}⟩", style=_STYLES.get(mark, ""))


def time_text(timestamp: Timestamp, view: View) -> str:
    """An instant in the view's zone, as short as it is exact to the second: midnight is a date."""
    local = instant_of(timestamp).astimezone(view.zone)
    if (local.hour, local.minute, local.second) == (0, 0, 0):
        return f"{local:%Y-%m-%d}"
    return f"{local:%Y-%m-%d %H:%M}" if local.second == 0 else f"{local:%Y-%m-%d %H:%M:%S}"


def optional_time_text(message: Message, field: str, view: View) -> str:
    """An instant that may be absent, or an empty text."""
    return time_text(getattr(message, field), view) if message.HasField(field) else ""


def interval_text(interval: time_pb2.Interval, view: View) -> str:
    """An interval by the ends that are known."""
    start = optional_time_text(interval, "valid_from", view)
    end = optional_time_text(interval, "valid_to", view)
    if start and end:
        return f"{start} → {end}"
    if end:
        return f"until {end}"
    return f"since {start}" if start else "since when is not known"


def validity_text(validity: time_pb2.Validity, view: View) -> str:
    """When something holds."""
    if validity.HasField("closed_to_nothing"):
        at = optional_time_text(validity.closed_to_nothing, "at", view)
        return f"at no time (closed at {at})" if at else "at no time"
    return interval_text(validity.interval, view)


def object_text(thing: object_pb2.Object) -> str:
    """An entity by its name, a value as it was written."""
    if thing.HasField("entity"):
        return one_line(thing.entity.name)
    if thing.HasField("value"):
        return one_line(thing.value.display or f"{thing.value.canonical} {thing.value.unit}")
    return "?"


def sentence(relationship: relationship_pb2.Relationship) -> Text:
    """What a relationship says: subject, predicate, object."""
    text = Text(one_line(relationship.subject.name) or "?")
    denies = word(relationship, "polarity") == "-"
    text.append(" not " if denies else " ", style="red" if denies else "")
    text.append(one_line(relationship.predicate), style="cyan")
    text.append(f" {object_text(relationship.object)}", style="bold")
    if relationship.scope:
        text.append(f" [{one_line(relationship.scope)}]", style=DIM)
    return text


def authority_text(message: Message, field: str = "granted_authority") -> str:
    """How authoritative, unless that is not known."""
    authority = word(message, field)
    return "" if authority == "unknown" else authority


def actor_text(actor: actor_pb2.Actor) -> str:
    """Who acted."""
    kind = word(actor, "kind")
    return f"{one_line(actor.profile.name)} ({kind})" if actor.HasField("profile") else kind


def counted(number: int, one: str, several: str = "") -> str:
    """``1 witness``, ``2 witnesses``."""
    return f"{number} {one if number == 1 else several or f'{one}s'}"


def names(owners: Iterable[Any], total: int = 0) -> str:
    """Profiles by name; how many more there are if ``total`` is larger."""
    shown = [one_line(owner.name) for owner in owners]
    more = total - len(shown)
    return ", ".join([*shown, f"{more} more"] if more > 0 else shown)


def joined(parts: Sequence[Text | str], separator: str = " · ") -> Text:
    """The parts that are not empty."""
    # The separator's style is a part of it: a style of its own would be that of the whole.
    return Text.assemble((separator, DIM)).join(
        [part if isinstance(part, Text) else Text(part) for part in parts if str(part)]
    )


def identifier(name: str) -> Text:
    """An id, to be copied."""
    return Text(name, style=DIM)


def unbroken(text: str) -> Text:
    """A line that must be copied as a whole, however long it is; at the left edge, where nothing cuts it."""
    return Text(text, style=DIM, no_wrap=True, overflow="ignore")


def left_out(shown: int, total: int, nouns: str) -> Text:
    """A line about what a list leaves out; empty if it is whole."""
    return Text(f"({nouns}: {total - shown} more)" if total > shown else "", style=DIM)


def page_note(shown: int, total: int, next_page_token: str) -> Text:
    """The line under a page: how much of the whole it is and how to go on."""
    if not next_page_token:
        return Text("")
    of = f" of {total}" if total else ""
    return unbroken(f"{shown}{of} shown; go on with --all, or with --page-token {next_page_token}")


def foot(view: View, *, revision: int, more: str = "") -> Text:
    """The last line of an answer: which revision it shows, and in which zone its times are."""
    parts = [f"revision {revision}", *([more] if more else []), f"times in {view.zone_name}"]
    return Text(" · ".join(parts), style=DIM)
