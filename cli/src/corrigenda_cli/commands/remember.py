"""`corrigenda remember`: remembers one text, or a file of submissions."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from corrigenda_cli.asking import ask, ask_in_view, said
from corrigenda_cli.calling import InputError, add_idempotency_option, runs
from corrigenda_cli.help_text import add_command
from corrigenda_cli.loading import add_loading_options, load_file
from corrigenda_cli.output import shown
from corrigenda_cli.reading.submissions import add_submission_options, submission_of

if TYPE_CHECKING:
    from corrigenda_core.rpc.client import Client


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Adds the subcommand."""
    parser = add_command(
        subparsers,
        "remember",
        summary="remember a text and place what it says",
        description="Keeps a text word for word and places what it says in your own record. Say yourself what it says "
        "(--subject, --predicate, --object), or let the extractor propose it. With --lines, each line of a file is a "
        "request of its own, as JSON. A load that was cut off is repeated as it was: what is stored already is not "
        "stored again.",
        examples=[
            'corrigenda remember "since 1 March 2026 production deploys from main" --subject environment:production '
            "--predicate deploys_from --object git_branch:main",
            "corrigenda remember --file minutes.txt --source-type document --source-group minutes",
            "corrigenda remember --request request.json",
            "corrigenda remember --lines items.jsonl",
            "corrigenda remember --lines - --key-prefix monday --json",
        ],
    )
    add_submission_options(parser)
    lines = parser.add_argument_group("many at once")
    lines.add_argument("--lines", metavar="FILE", help="JSON lines, or - for standard input")
    add_loading_options(lines)
    parser.add_argument("--verification-token", default="", metavar="TOKEN", help="go by the verdict of a preflight")
    add_idempotency_option(parser)
    runs(parser, _remember)


async def _remember(options: argparse.Namespace, client: Client) -> int:
    if options.lines is None:
        return await _remember_one(options, client)
    if any(one is not None for one in (options.text, options.file, options.request)):
        raise InputError("--lines comes without a text, --file or --request")
    return await load_file(options, client, options.lines)


async def _remember_one(options: argparse.Namespace, client: Client) -> int:
    from corrigenda_cli.rendering.placements import draw_remembered

    # What the request itself names goes before what this call was given by default.
    fields = {
        "idempotency_key": options.idempotency_key,
        **submission_of(options),
        **said(verification_token=options.verification_token),
    }
    answer, view = await ask_in_view(client, options, ask(client, "Remember", fields))
    return shown(options, answer, draw_remembered, view)
