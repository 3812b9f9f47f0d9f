"""`corrigenda recall`: searches what the team knows."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from corrigenda_cli.asking import add_min_revision_option, add_temporal_options, ask, ask_in_view, said, temporal_of
from corrigenda_cli.calling import runs
from corrigenda_cli.help_text import add_command
from corrigenda_cli.output import shown

if TYPE_CHECKING:
    from corrigenda_core.rpc.client import Client


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Adds the subcommand."""
    parser = add_command(
        subparsers,
        "recall",
        summary="search what the team knows",
        description="Finds texts by words and by meaning, with the relationships that they carry, and shows the "
        "conflicts that these are part of. By default only what holds now is found.",
        examples=[
            'corrigenda recall "which branch does production deploy from"',
            "corrigenda recall production --valid-at 2026-02-15T00:00:00Z",
            "corrigenda recall production --known-at 2026-05-31T00:00:00Z --json",
        ],
    )
    parser.add_argument("query", help="what to look for, in words")
    parser.add_argument("--limit", type=int, metavar="N", help="most results, 1..50 (10)")
    parser.add_argument("--explain", action="store_true", help="say how each result came to its place")
    add_temporal_options(parser)
    add_min_revision_option(parser)
    runs(parser, _recall)


async def _recall(options: argparse.Namespace, client: Client) -> int:
    from corrigenda_cli.rendering.recalled import draw_recalled

    fields = said(
        query=options.query,
        limit=options.limit,
        explain=options.explain,
        temporal=temporal_of(options),
        min_revision=options.min_revision,
    )
    answer, view = await ask_in_view(client, options, ask(client, "Recall", fields))
    return shown(options, answer, draw_recalled, view)
