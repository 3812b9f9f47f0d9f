"""Where answers go: a drawing for people or JSON for programs on standard output, all else on standard error."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, TextIO, TypeVar

from corrigenda_cli.exit_statuses import ExitStatus

if TYPE_CHECKING:
    from google.protobuf.message import Message
    from rich.console import Console, RenderableType

    from corrigenda_cli.rendering.words import View

# A pipe has no width; what reads it is a file or a program that looks for words.
PIPE_WIDTH = 120
COLOUR_CHOICES = ("auto", "always", "never")

M = TypeVar("M", bound="Message")


def add_output_options(parser: argparse._ActionsContainer) -> None:
    """Adds ``--json``, ``--color`` and ``--zone``."""
    parser.add_argument(
        "--json", action="store_true", help="JSON on standard output: one document, or one a line for a stream"
    )
    parser.add_argument(
        "--color",
        choices=COLOUR_CHOICES,
        default="auto",
        help="auto: on a terminal, unless NO_COLOR is set (default)",
    )
    parser.add_argument(
        "--zone",
        type=_zone,
        default=os.environ.get("CORRIGENDA_TIME_ZONE", ""),
        metavar="NAME",
        help="time zone to show times in, such as Europe/Vienna (default: CORRIGENDA_TIME_ZONE, else the team's if "
        "the key may read it, else UTC); JSON has UTC",
    )


def _zone(name: str) -> str:
    """The name of a time zone that there is, looked up before anything is sent; empty: none is asked for."""
    from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

    try:
        return ZoneInfo(name).key if name else ""
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise argparse.ArgumentTypeError(f"there is no time zone {name!r}") from None


def console(options: argparse.Namespace, stream: TextIO | None = None) -> Console:
    """A console on standard output, or on ``stream``; texts are drawn as they are, never read as markup."""
    from rich.console import Console

    target = sys.stdout if stream is None else stream
    always, never = options.color == "always", options.color == "never"
    sized = target.isatty() or "COLUMNS" in os.environ
    return Console(
        file=target,
        force_terminal=True if always else False if never else None,
        color_system=None if never else "standard" if always else "auto",
        no_color=False if always else None,
        width=None if sized else PIPE_WIDTH,
        markup=False,
        highlight=False,
        emoji=False,
    )


def shown(
    options: argparse.Namespace,
    message: M,
    draw: Callable[[M, View], RenderableType],
    view: View,
) -> int:
    """Shows one answer and returns the status of what is done."""
    if options.json:
        print_json(message)
    else:
        from corrigenda_cli.rendering.safe_text import neutralised

        console(options).print(draw(neutralised(message), view), crop=False)
    return ExitStatus.DONE


def print_json(message: Message) -> None:
    """An answer as one line of the JSON that agents and `corrigenda call` use."""
    from corrigenda_core.rpc.json_mapping import to_json

    from corrigenda_cli.rendering.safe_text import json_text

    print(json_text(to_json(message)), flush=True)


def complain(text: str) -> None:
    """A line for people on standard error."""
    from corrigenda_cli.rendering.safe_text import neutral

    print(neutral(text), file=sys.stderr, flush=True)
