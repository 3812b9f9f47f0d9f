"""`corrigenda trace`: everything that is recorded about one relationship."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from corrigenda_cli.asking import (
    add_known_options,
    add_min_revision_option,
    add_paging_options,
    ask_in_view,
    ask_pages,
    known_of,
    said,
)
from corrigenda_cli.calling import runs
from corrigenda_cli.help_text import add_command
from corrigenda_cli.output import shown

if TYPE_CHECKING:
    from corrigenda_core.rpc.client import Client

_ID = "0192f0c4-6f6e-7c52-8f06-f852339d0772"


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Adds the subcommand."""
    parser = add_command(
        subparsers,
        "trace",
        summary="show how a relationship came to be: texts, verdicts, changes, references",
        examples=[f"corrigenda trace {_ID} --all", f"corrigenda trace {_ID} --brief --depth 3 --json"],
    )
    parser.add_argument("relationship", help="id of the relationship")
    parser.add_argument("--brief", action="store_true", help="leave out texts, verdicts and changes")
    parser.add_argument("--depth", type=int, metavar="N", help="how many references far the lineage goes, 0..10 (1)")
    parser.add_argument("--edges", type=int, metavar="N", help="most references of the lineage, 1..200 (50)")
    add_known_options(parser)
    add_min_revision_option(parser)
    add_paging_options(parser)
    runs(parser, _trace)


async def _trace(options: argparse.Namespace, client: Client) -> int:
    from corrigenda_cli.rendering.traces import draw_trace

    whole = not options.brief
    fields = said(
        relationship_id=options.relationship,
        include_evidence_content=whole,
        include_verification=whole,
        include_transitions=whole,
        max_depth=options.depth,
        max_edges=options.edges,
        known=known_of(options),
        min_revision=options.min_revision,
    )
    repeated = ["relationship", "sections", "merged_by"]
    asking = ask_pages(client, options, "Trace", fields, on_every_page=repeated)
    answer, view = await ask_in_view(client, options, asking)
    return shown(options, answer, draw_trace, view)
