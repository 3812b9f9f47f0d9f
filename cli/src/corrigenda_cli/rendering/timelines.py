"""Timelines as a bar chart: each value over the time that it holds, slot by slot."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import groupby

from corrigenda.recall.v1 import recall_service_pb2, relationship_in_view_pb2, timeline_pb2
from corrigenda.type.v1 import time_pb2
from corrigenda_core.rpc.convert import instant_of, timestamp_of
from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.padding import Padding
from rich.text import Text

from corrigenda_cli.rendering.layout import INDENT, spaced, stacked
from corrigenda_cli.rendering.safe_text import one_line
from corrigenda_cli.rendering.words import (
    DIM,
    View,
    actor_text,
    badge,
    counted,
    foot,
    identifier,
    joined,
    left_out,
    object_text,
    optional_time_text,
    page_note,
    styled,
    time_text,
    validity_text,
    word,
)

FULL, FAINT, EVENT, NOTHING, NOW, BEFORE, AFTER = "█", "░", "◆", "×", "│", "◂", "▸"
BAR_WIDTH_MIN = 16
LABEL_WIDTH_MAX = 28


@dataclass(frozen=True, slots=True, kw_only=True)
class Axis:
    """The span of time that a chart shows, over ``width`` cells."""

    begin: datetime
    end: datetime
    width: int

    def column(self, instant: datetime) -> int:
        """The cell of an instant; the first or the last one for what lies beyond."""
        share = (instant - self.begin) / (self.end - self.begin)
        return min(max(int(share * self.width), 0), self.width - 1)


def draw_timeline(answer: recall_service_pb2.TimelineResponse, view: View, *, versions: bool = False) -> RenderableType:
    """The values of an entity; with ``versions`` also what was known of each, and when."""
    head = Text.assemble((one_line(answer.entity.name), "bold"), f"  {one_line(answer.entity.entity_kind)}")
    if not answer.entries:
        return stacked(head, Text("It has no values."), foot(view, revision=answer.revision))
    charts = [
        Chart(title=slot, entries=list(entries), valid_at=instant_of(answer.valid_at), view=view, versions=versions)
        for slot, entries in groupby(sorted(answer.entries, key=_slot), key=_slot)
    ]
    legend = f"{FULL} in force then  {FAINT} not in force  {EVENT} event  {NOTHING} at no time  {NOW} the asked time"
    last = stacked(
        Text(legend, style=DIM),
        page_note(len(answer.entries), answer.total, answer.next_page_token),
        foot(view, revision=answer.revision, more=f"valid at {time_text(answer.valid_at, view)}"),
    )
    return spaced([head, *charts, last])


@dataclass(frozen=True, slots=True, kw_only=True)
class Chart:
    """The bars of one slot, as wide as there is room."""

    title: str
    entries: Sequence[timeline_pb2.TimelineEntry]
    valid_at: datetime
    view: View
    versions: bool

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Draws the chart over the width that there is."""
        labels = [_label(entry) for entry in self.entries]
        label_width = min(max(map(cell_len, labels)), LABEL_WIDTH_MAX)
        width = max(options.max_width - label_width - 3, BAR_WIDTH_MIN)
        axis = axis_of([one.relationship for one in self.entries], self.valid_at, width)
        yield Text(self.title, style="cyan")
        yield _scale(axis, label_width, self.view)
        for label, entry in zip(labels, self.entries, strict=True):
            name = Text(label, style="bold", no_wrap=True)
            name.truncate(label_width, overflow="ellipsis", pad=True)
            row = Text.assemble("  ", name, " ", bar(entry.relationship, axis, self.valid_at))
            # On a terminal with no room the bars are cut rather than broken.
            row.no_wrap, row.overflow = True, "crop"
            yield row
            yield Padding.indent(stacked(*_lines(entry, self.view, versions=self.versions)), 2 * INDENT)


def axis_of(rows: Sequence[relationship_in_view_pb2.RelationshipInView], valid_at: datetime, width: int) -> Axis:
    """The span from the first known instant to the last, the asked one among them."""
    known = [valid_at]
    for row in rows:
        known += [one for one in _ends(row.relationship.validity) if one is not None]
    begin, end = min(known), max(known)
    room = (end - begin) / 20 or timedelta(days=1)
    return Axis(begin=begin, end=end + room, width=width)


def bar(row: relationship_in_view_pb2.RelationshipInView, axis: Axis, valid_at: datetime) -> Text:
    """The bar of one value."""
    cells = [" "] * axis.width
    start, end = _ends(row.relationship.validity)
    if row.relationship.validity.HasField("closed_to_nothing"):
        cells[axis.column(start) if start else 0] = NOTHING
    elif row.event:
        cells[axis.column(start) if start else 0] = EVENT
    else:
        _fill(cells, axis, start, end, FULL if row.in_force else FAINT)
    now = axis.column(valid_at)
    if cells[now] == " ":
        cells[now] = NOW
    style = "green" if row.in_force else DIM
    return Text("".join(cells), style="yellow" if row.in_force and row.marks else style)


def _fill(cells: list[str], axis: Axis, start: datetime | None, end: datetime | None, fill: str) -> None:
    first = 0 if start is None else axis.column(start)
    # The end is exclusive: the cell in which it lies belongs to what follows, unless nothing else is left.
    last = axis.width - 1 if end is None else max(axis.column(end) - 1, first)
    cells[first : last + 1] = fill * (last + 1 - first)
    if start is None:
        cells[first] = BEFORE
    if end is None:
        cells[last] = AFTER


def _ends(validity: time_pb2.Validity) -> tuple[datetime | None, datetime | None]:
    if validity.HasField("closed_to_nothing"):
        at = validity.closed_to_nothing
        return (instant_of(at.at) if at.HasField("at") else None), None
    interval = validity.interval
    return (
        instant_of(interval.valid_from) if interval.HasField("valid_from") else None,
        instant_of(interval.valid_to) if interval.HasField("valid_to") else None,
    )


def _scale(axis: Axis, label_width: int, view: View) -> Text:
    begin, end = (time_text(timestamp_of(one), view)[:10] for one in (axis.begin, axis.end))
    gap = " " * max(axis.width - len(begin) - len(end), 1)
    return Text(f"{' ' * (label_width + 3)}{begin}{gap}{end}", style=DIM, no_wrap=True, overflow="crop")


def _slot(entry: timeline_pb2.TimelineEntry) -> str:
    row = entry.relationship.relationship
    scope = f" [{one_line(row.scope)}]" if row.scope else ""
    return f"{one_line(row.subject.name)} {one_line(row.predicate)}{scope}"


def _label(entry: timeline_pb2.TimelineEntry) -> str:
    row = entry.relationship.relationship
    denies = "not " if word(row, "polarity") == "-" else ""
    return f"{denies}{object_text(row.object)} ({one_line(row.owner.name)})"


def _lines(entry: timeline_pb2.TimelineEntry, view: View, *, versions: bool) -> list[RenderableType]:
    """What stands under a bar."""
    seen = entry.relationship
    row = seen.relationship
    marks = Text(" ").join([badge(word(seen, "marks", mark)) for mark in seen.marks])
    known = "" if versions else counted(entry.versions_total, "version")
    details: list[Text | str] = [
        styled(word(row, "status")),
        validity_text(row.validity, view),
        styled(word(row, "tier")),
        known,
        marks,
    ]
    lines: list[RenderableType] = [joined(details), identifier(row.relationship_id)]
    if versions:
        lines += [_version(one, view) for one in entry.versions]
        lines.append(left_out(len(entry.versions), entry.versions_total, "earlier versions"))
    return lines


def _version(one: timeline_pb2.TimelineVersion, view: View) -> Text:
    until = optional_time_text(one, "recorded_to", view)
    return joined(
        [
            f"v{one.version} known {time_text(one.recorded_from, view)} → {until or 'now'}",
            styled(word(one, "status")),
            validity_text(one.validity, view),
            one_line(one.reason).replace("_", " "),
            actor_text(one.actor),
        ]
    )
