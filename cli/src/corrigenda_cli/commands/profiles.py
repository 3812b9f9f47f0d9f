"""`corrigenda profiles`: the authors of a team."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from corrigenda_cli.asking import add_min_revision_option, add_paging_options, ask, ask_in_view, ask_pages, said
from corrigenda_cli.calling import add_idempotency_option, runs
from corrigenda_cli.help_text import add_command
from corrigenda_cli.output import shown

if TYPE_CHECKING:
    from corrigenda_core.rpc.client import Client


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Adds the subcommand."""
    actions = add_command(
        subparsers,
        "profiles",
        summary="make and list the profiles of a team, as an administrator",
        examples=["corrigenda profiles create dora", "corrigenda profiles list"],
    ).add_subparsers(metavar="action", required=True)
    create = add_command(
        actions,
        "create",
        summary="make a profile; `corrigenda keys create` makes its key",
        examples=["corrigenda profiles create dora"],
    )
    create.add_argument("name", help="its name, unique in the team")
    add_idempotency_option(create)
    runs(create, _create)
    listing = add_command(
        actions, "list", summary="list the profiles by name", examples=["corrigenda profiles list --all --json"]
    )
    add_min_revision_option(listing)
    add_paging_options(listing)
    runs(listing, _list)


async def _create(options: argparse.Namespace, client: Client) -> int:
    from corrigenda_cli.rendering.administration import draw_created_profile

    fields = said(idempotency_key=options.idempotency_key, name=options.name)
    answer, view = await ask_in_view(client, options, ask(client, "CreateProfile", fields))
    return shown(options, answer, draw_created_profile, view)


async def _list(options: argparse.Namespace, client: Client) -> int:
    from corrigenda_cli.rendering.administration import draw_profiles

    fields = said(min_revision=options.min_revision)
    answer, view = await ask_in_view(client, options, ask_pages(client, options, "ListProfiles", fields))
    return shown(options, answer, draw_profiles, view)
