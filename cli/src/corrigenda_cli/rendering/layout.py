"""How drawings are put together: headed blocks, tables without borders, quotes; and how one becomes text."""

from __future__ import annotations

import io
from collections.abc import Iterable, Sequence

from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from corrigenda_cli.rendering.safe_text import neutral, one_line

INDENT = 2
ID_WIDTH = 36
QUOTE_CODE_POINTS_MAX = 280


def block(head: RenderableType, *lines: RenderableType | None) -> Group:
    """A head with lines below it, indented; empty ones are left out."""
    return Group(head, *(Padding.indent(line, INDENT) for line in _there(lines)))


def stacked(*parts: RenderableType | None) -> Group:
    """Parts below each other; empty ones are left out."""
    return Group(*_there(parts))


def spaced(parts: Sequence[RenderableType]) -> Group:
    """Parts with an empty line between them."""
    laid: list[RenderableType] = []
    for part in parts:
        if laid:
            laid.append(Text(""))
        laid.append(part)
    return Group(*laid)


def grid(*headings: str, ids: str = "") -> Table:
    """A table without borders; the column called ``ids`` has room for an id, so that it can be copied."""
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="bold", pad_edge=False)
    for heading in headings:
        table.add_column(heading, overflow="fold", min_width=ID_WIDTH if heading and heading == ids else None)
    return table


def heading(text: str) -> Text:
    """The head of a section."""
    return Text(one_line(text), style="bold")


def quoted(content: str) -> Text:
    """The beginning of a text, in quotation marks and on one line."""
    line = one_line(content)
    cut = line if len(line) <= QUOTE_CODE_POINTS_MAX else line[:QUOTE_CODE_POINTS_MAX].rstrip() + "…"
    return Text(f"“{cut}”", style="italic")


def verbatim(content: str) -> Text:
    """A text with its own lines."""
    return Text(neutral(content), style="italic")


def rendered(drawing: RenderableType, *, width: int = 80, colour: bool = False) -> str:
    """The drawing as text, with escapes for colours or none."""
    console = Console(
        file=io.StringIO(),
        width=width,
        force_terminal=colour,
        color_system="standard" if colour else None,
        no_color=not colour,
        markup=False,
        highlight=False,
        emoji=False,
        legacy_windows=False,
        _environ={},
    )
    with console.capture() as captured:
        console.print(drawing, crop=False)
    return captured.get()


def _there(parts: Iterable[RenderableType | None]) -> list[RenderableType]:
    return [part for part in parts if part is not None and not (isinstance(part, Text | str) and not str(part).strip())]
