"""`corrigenda alerts`: what the system cannot do by itself."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from corrigenda_cli.asking import add_min_revision_option, add_paging_options, ask_in_view, ask_pages, said
from corrigenda_cli.calling import runs
from corrigenda_cli.help_text import add_command
from corrigenda_cli.output import shown

if TYPE_CHECKING:
    from corrigenda_core.rpc.client import Client


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Adds the subcommand."""
    parser = add_command(
        subparsers,
        "alerts",
        summary="list what a person has to look at, the latest first, as an operator",
        examples=["corrigenda alerts", "corrigenda alerts --all --json"],
    )
    add_min_revision_option(parser)
    add_paging_options(parser)
    runs(parser, _alerts)


async def _alerts(options: argparse.Namespace, client: Client) -> int:
    from corrigenda_cli.rendering.administration import draw_alerts

    fields = said(min_revision=options.min_revision)
    answer, view = await ask_in_view(client, options, ask_pages(client, options, "ListAlerts", fields))
    return shown(options, answer, draw_alerts, view)
