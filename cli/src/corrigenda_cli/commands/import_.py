"""`corrigenda import`: takes over what another memory has exported."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from corrigenda_cli.calling import runs
from corrigenda_cli.help_text import add_command
from corrigenda_cli.loading import add_loading_options, load_file
from corrigenda_cli.reading.submissions import SOURCE_TYPES

if TYPE_CHECKING:
    from corrigenda_core.rpc.client import Client


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Adds the subcommand."""
    parser = add_command(
        subparsers,
        "import",
        summary="take over what another memory has exported",
        description="Reads JSON lines. A line has its text, and may have id, created_at, author, source, labels, "
        "confidence, metadata, and facts: what the text says. Every text becomes evidence of yours and is verified "
        "like any other. At the end it tells what was placed, what is held, and which lines failed; a run that was cut "
        "off is repeated as it was, and nothing is stored twice.",
        examples=[
            "corrigenda import memories.jsonl",
            "corrigenda import memories.jsonl --source-type document --label old-wiki --from-line 12001",
            "corrigenda import - --key-prefix old-wiki --json",
        ],
    )
    parser.add_argument("file", metavar="FILE", help="the export, or - for standard input")
    parser.add_argument("--source-type", choices=SOURCE_TYPES, default="conversation", help="(conversation)")
    parser.add_argument("--label", action="append", default=[], metavar="TEXT", help="for every text; repeatable")
    add_loading_options(parser)
    runs(parser, _import)


async def _import(options: argparse.Namespace, client: Client) -> int:
    from corrigenda_cli.reading.memories import memories_as

    return await load_file(options, client, options.file, memories_as(options.source_type, labels=options.label))
