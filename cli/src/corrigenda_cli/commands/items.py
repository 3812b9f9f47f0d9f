"""`corrigenda items`: lists and shows the questions to oneself, and answers those about placements."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from corrigenda_cli.asking import add_min_revision_option, add_paging_options, ask_in_view, ask_pages, said, view_of
from corrigenda_cli.calling import runs
from corrigenda_cli.exit_statuses import ExitStatus
from corrigenda_cli.finding import ITEM_KINDS, ITEM_STATUSES, item_of
from corrigenda_cli.help_text import add_command
from corrigenda_cli.output import shown
from corrigenda_cli.placement_decisions import add_decision_options, decide

if TYPE_CHECKING:
    from corrigenda_core.rpc.client import Client

_ITEM, _ENTITY = "0192f0c4-6f6e-7c52-8f06-f852339d0772", "0192f0c4-6f6e-7c52-8f06-f852339d0999"


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Adds the subcommand."""
    actions = add_command(
        subparsers,
        "items",
        summary="see and answer the questions that wait for you",
        examples=["corrigenda items list", f"corrigenda items show {_ITEM}"],
    ).add_subparsers(metavar="action", required=True)
    listing = add_command(
        actions,
        "list",
        summary="list your questions, the oldest first",
        examples=["corrigenda items list", "corrigenda items list --kind identity --status pending --all --json"],
    )
    listing.add_argument("--kind", action="append", default=[], choices=ITEM_KINDS, help="repeatable (all)")
    listing.add_argument("--status", action="append", default=[], choices=ITEM_STATUSES, help="(pending)")
    add_min_revision_option(listing)
    add_paging_options(listing)
    runs(listing, _list)

    show = add_command(
        actions,
        "show",
        summary="show one question, and what each answer would change",
        examples=[f"corrigenda items show {_ITEM}"],
    )
    show.add_argument("item", help="id of the question")
    runs(show, _show)

    resolve = add_command(
        actions,
        "resolve",
        summary="answer a question about a placement",
        description="Says which entity or predicate is meant, accepts, rejects or corrects what came in, asks the "
        "verifier again, or releases a quarantined text. Questions between statements of your own are answered by "
        "`corrigenda conflicts resolve`.",
        examples=[
            f"corrigenda items resolve {_ITEM} select_entity --meant {_ENTITY}",
            f"corrigenda items resolve {_ITEM} select_predicate --meant deploys_from",
            f'corrigenda items resolve {_ITEM} confirm_new_entity "I mean the new cluster, not the old one"',
            f'corrigenda items resolve {_ITEM} reject --reason "it was a joke"',
        ],
    )
    resolve.add_argument("item", help="id of the question")
    add_decision_options(resolve)
    runs(resolve, _resolve)


async def _list(options: argparse.Namespace, client: Client) -> int:
    from corrigenda_cli.rendering.items import draw_items

    fields = said(kinds=options.kind, statuses=options.status, min_revision=options.min_revision)
    answer, view = await ask_in_view(client, options, ask_pages(client, options, "ListReviewItems", fields))
    return shown(options, answer, draw_items, view)


async def _show(options: argparse.Namespace, client: Client) -> int:
    from corrigenda_cli.rendering.items import draw_item

    item = await item_of(client, options.item, pending=False)
    return shown(options, item, draw_item, await view_of(client, options))


async def _resolve(options: argparse.Namespace, client: Client) -> int:
    from corrigenda_cli.output import complain

    item = await item_of(client, options.item, pending=False)
    if not item.ingest_id:
        complain("corrigenda: this question is about no placement; see `corrigenda conflicts resolve`")
        return ExitStatus.USAGE
    return await decide(options, client, ingest_id=item.ingest_id, item_id=item.item_id)
