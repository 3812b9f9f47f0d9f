"""`corrigenda relationships`: one relationship at a point of both time axes."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from corrigenda_cli.asking import add_min_revision_option, add_temporal_options, ask, ask_in_view, said, temporal_of
from corrigenda_cli.calling import runs
from corrigenda_cli.help_text import add_command
from corrigenda_cli.output import shown

if TYPE_CHECKING:
    from corrigenda_core.rpc.client import Client

_ID = "0192f0c4-6f6e-7c52-8f06-f852339d0772"


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Adds the subcommand."""
    actions = add_command(
        subparsers,
        "relationships",
        summary="show one relationship as it stands at a point of time",
        examples=[f"corrigenda relationships show {_ID}"],
    ).add_subparsers(metavar="action", required=True)
    parser = add_command(
        actions,
        "show",
        summary="show one relationship, and whether it holds",
        examples=[f"corrigenda relationships show {_ID} --valid-at 2026-02-15T00:00:00Z"],
    )
    parser.add_argument("relationship", help="id of the relationship")
    add_temporal_options(parser)
    add_min_revision_option(parser)
    runs(parser, _show)


async def _show(options: argparse.Namespace, client: Client) -> int:
    from corrigenda_cli.rendering.traces import draw_relationship

    fields = said(
        relationship_id=options.relationship, temporal=temporal_of(options), min_revision=options.min_revision
    )
    answer, view = await ask_in_view(client, options, ask(client, "GetRelationship", fields))
    return shown(options, answer, draw_relationship, view)
