"""`corrigenda timeline`: every value that an entity ever had, as a bar chart."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from corrigenda_cli.asking import (
    add_min_revision_option,
    add_paging_options,
    add_temporal_options,
    ask_in_view,
    ask_pages,
    said,
    temporal_of,
)
from corrigenda_cli.calling import runs
from corrigenda_cli.help_text import add_command
from corrigenda_cli.naming import ENTITY_HELP, entity_id_of
from corrigenda_cli.output import shown

if TYPE_CHECKING:
    from corrigenda_core.rpc.client import Client


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Adds the subcommand."""
    parser = add_command(
        subparsers,
        "timeline",
        summary="show every value that an entity ever had, over time",
        description="Draws a bar for each value over the time that it holds in the world, slot by slot; also what was "
        "superseded, retracted or never came to hold. With --versions, what was known of each, and since when.",
        examples=[
            "corrigenda timeline production",
            "corrigenda timeline environment:production --predicate deploys_from --versions",
            "corrigenda timeline production --known-at 2026-05-31T00:00:00Z --json",
        ],
    )
    parser.add_argument("entity", metavar="ENTITY", help=ENTITY_HELP)
    parser.add_argument("--predicate", default="", metavar="KEY", help="only values of this predicate")
    parser.add_argument("--scope", metavar="TEXT", help="only values of this scope; '' for those that name none")
    parser.add_argument("--as-object", action="store_true", help="also relationships that point at the entity")
    parser.add_argument("--versions", action="store_true", help="show what was known of each value, and when")
    add_temporal_options(parser)
    add_min_revision_option(parser)
    add_paging_options(parser)
    runs(parser, _timeline)


async def _timeline(options: argparse.Namespace, client: Client) -> int:
    from corrigenda_cli.rendering.timelines import draw_timeline

    fields = said(
        entity_id=await entity_id_of(client, options.entity),
        predicate=options.predicate,
        as_object=options.as_object,
        temporal=temporal_of(options),
        min_revision=options.min_revision,
    )
    if options.scope is not None:
        # The empty scope is one of its own.
        fields["scope"] = options.scope
    answer, view = await ask_in_view(client, options, ask_pages(client, options, "Timeline", fields))
    return shown(options, answer, lambda message, how: draw_timeline(message, how, versions=options.versions), view)
