"""`corrigenda completion`: what a shell needs to complete command lines, made from the parsers."""

from __future__ import annotations

import argparse

from corrigenda_cli.exit_statuses import ExitStatus
from corrigenda_cli.help_text import add_command

SHELLS = ("bash", "zsh", "fish")


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Adds the subcommand."""
    parser = add_command(
        subparsers,
        "completion",
        summary="print a completion script for a shell",
        description="Prints a script that completes subcommands, options and their choices. It is made from the "
        "commands of this version: make it again after an update.",
        examples=[
            "corrigenda completion bash > ~/.local/share/bash-completion/completions/corrigenda",
            "corrigenda completion zsh > ~/.zfunc/_corrigenda",
            "corrigenda completion fish > ~/.config/fish/completions/corrigenda.fish",
        ],
    )
    parser.add_argument("shell", choices=SHELLS)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Prints the script."""
    import shtab

    from corrigenda_cli.__main__ import parser_for

    parser = parser_for([])
    _describe_by_summary(parser)
    print(shtab.complete(parser, shell=options.shell))
    return ExitStatus.DONE


def _describe_by_summary(parser: argparse.ArgumentParser) -> None:
    """Lets a shell show each subcommand's summary: the first line of a description may be half a sentence."""
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for subparser in action.choices.values():
                subparser.description = None
                _describe_by_summary(subparser)
