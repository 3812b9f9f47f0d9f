"""`corrigenda entities`: finds entities by name."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from corrigenda_cli.asking import add_known_options, add_paging_options, ask_in_view, ask_pages, known_of, said
from corrigenda_cli.calling import add_calling_options, called
from corrigenda_cli.help_text import add_command
from corrigenda_cli.output import shown

if TYPE_CHECKING:
    from corrigenda_core.rpc.client import Client


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Adds the subcommand."""
    parser = add_command(
        subparsers,
        "entities",
        summary="find entities by name",
        description="Lists the entities of the team: those that are called so first, then those whose names begin so "
        "or have it in them. Without a name, all of them.",
        examples=["corrigenda entities production", "corrigenda entities --kind git_branch --all --json"],
    )
    parser.add_argument("name", nargs="?", default="", help="a name or a part of one")
    parser.add_argument("--kind", default="", help="only entities of this kind")
    add_known_options(parser)
    add_paging_options(parser)
    add_calling_options(parser)
    parser.set_defaults(run=lambda options: called(options, lambda client: _entities(options, client)))


async def _entities(options: argparse.Namespace, client: Client) -> int:
    from corrigenda_cli.rendering.entities import draw_entities

    fields = said(name=options.name, entity_kind=options.kind, known=known_of(options))
    answer, view = await ask_in_view(client, options, ask_pages(client, options, "SearchEntities", fields))
    return shown(options, answer, draw_entities, view)
