"""How the help of every subcommand is laid out: what it does, then examples to copy."""

from __future__ import annotations

import argparse
import textwrap
from collections.abc import Sequence

_WIDTH = 100
_INDENT = "  "


def add_command(
    subparsers: argparse._SubParsersAction[argparse.ArgumentParser],
    name: str,
    *,
    summary: str,
    description: str = "",
    examples: Sequence[str],
) -> argparse.ArgumentParser:
    """Adds a subcommand.

    Args:
        subparsers: where to add it.
        name: its name.
        summary: what it does, for the list of the subcommands.
        description: what it does, for its own help (default: ``summary``).
        examples: command lines that can be run as they stand but for ids, each beginning with ``corrigenda``.
    """
    return subparsers.add_parser(
        name,
        help=summary,
        description=textwrap.fill(description or f"{summary[0].upper()}{summary[1:]}.", _WIDTH),
        epilog=epilog_of(examples),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )


def epilog_of(examples: Sequence[str]) -> str:
    """The examples as the end of a help text."""
    return "\n".join(["examples:", *(f"{_INDENT}{example}" for example in examples)])


def examples_of(parser: argparse.ArgumentParser) -> list[str]:
    """The examples that the help of a parser ends with."""
    lines = (parser.epilog or "").splitlines()
    return [line.removeprefix(_INDENT) for line in lines if line.startswith(f"{_INDENT}corrigenda ")]
