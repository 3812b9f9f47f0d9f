"""The report of a bulk load."""

from __future__ import annotations

from rich.console import RenderableType
from rich.text import Text

from corrigenda_cli.bulk import LoadReport
from corrigenda_cli.rendering.layout import block, grid, stacked
from corrigenda_cli.rendering.safe_text import one_line
from corrigenda_cli.rendering.words import DIM, counted

_ASKED = ("held", "competing", "needs review")
_WAITING = ("pending evidence", "quarantined")
_NOT_PLACED = ("rejected", "observed")


def draw_report(report: LoadReport, *, finished: bool = True) -> RenderableType:
    """How many lines were stored, what became of their statements, which lines were refused, and how to go on."""
    rest = {name: number for name, number in report.outcomes.items() if name not in _ASKED + _WAITING + _NOT_PLACED}
    table = grid("statements", "", "")
    for meaning, names in (
        ("placed", tuple(sorted(rest))),
        ("held: you are asked", _ASKED),
        ("waiting", _WAITING),
        ("not placed", _NOT_PLACED),
    ):
        shown = {name: report.outcomes[name] for name in names if report.outcomes[name]}
        if shown:
            detail = ", ".join(f"{name} {number}" for name, number in shown.items())
            table.add_row(meaning, str(sum(shown.values())), Text(detail, style=DIM))
    head = f"{counted(report.lines, 'line')}: {report.stored} stored, {report.failed} failed"
    return stacked(
        Text(head, style="bold red" if report.failed else "bold green"),
        table if report.outcomes else None,
        _number(report.without_statement, "text", "kept without a statement"),
        _number(report.conflicts_opened, "conflict", "opened"),
        _problems(report),
        Text("" if finished else "Not finished: the same command goes on, and stores nothing twice.", style="yellow"),
    )


def _number(number: int, noun: str, what: str) -> Text:
    return Text(f"{counted(number, noun)} {what}" if number else "")


def _problems(report: LoadReport) -> RenderableType | None:
    if not report.failed:
        return None
    reasons = ", ".join(f"{reason} {number}" for reason, number in report.refused.most_common())
    lines = [Text(f"line {number}: {one_line(problem)}") for number, problem in sorted(report.problems)]
    more = report.failed - len(lines)
    return block(Text(f"failed: {reasons}", style="red"), *lines, Text(f"(and {more} more)" if more else "", style=DIM))
