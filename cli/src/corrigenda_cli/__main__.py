"""The `corrigenda` command: finds the subcommand that is asked for and runs it."""

from __future__ import annotations

import argparse
import importlib
import io
import os
import pkgutil
import sys
from collections.abc import Sequence

from corrigenda_cli import commands
from corrigenda_cli.exit_statuses import MEANINGS, ExitStatus


def command_names() -> dict[str, str]:
    """Subcommand -> module name, for every module of the package `commands`; none of them is imported."""
    modules = sorted(module.name for module in pkgutil.iter_modules(commands.__path__))
    return {module.rstrip("_").replace("_", "-"): module for module in modules}


def parser_for(arguments: Sequence[str]) -> argparse.ArgumentParser:
    """The parser with the one subcommand that the arguments begin with, or with all of them if it is none."""
    parser = argparse.ArgumentParser(
        prog="corrigenda",
        description="Shared, correctable memory for teams of agents.",
        epilog="\n".join(["exit statuses:", *(f"  {status.value:<4} {text}" for status, text in MEANINGS.items())]),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    subparsers = parser.add_subparsers(metavar="command", required=True)
    names = command_names()
    asked = names.get(arguments[0]) if arguments else None
    for module in names.values() if asked is None else [asked]:
        importlib.import_module(f"{commands.__name__}.{module}").add_parser(subparsers)
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs one subcommand and returns its exit status, one of `ExitStatus`."""
    given = sys.argv[1:] if arguments is None else arguments
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            # A locale without a character shows its number; it ends no command.
            stream.reconfigure(errors="backslashreplace")
    options = parser_for(given).parse_args(given)
    try:
        status: int = options.run(options)
        sys.stdout.flush()
    except BrokenPipeError:
        # Whoever read our output has left; the interpreter must not try to write the rest at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return ExitStatus.FAILED
    except KeyboardInterrupt:
        return ExitStatus.INTERRUPTED
    return status


if __name__ == "__main__":
    sys.exit(main())
