"""`corrigenda review now` and `review runs`: reviews through the services, as an operator."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from corrigenda_cli.asking import add_min_revision_option, add_paging_options, ask, ask_in_view, ask_pages, said
from corrigenda_cli.calling import add_idempotency_option, runs
from corrigenda_cli.help_text import add_command
from corrigenda_cli.output import shown

if TYPE_CHECKING:
    from corrigenda_core.rpc.client import Client


def add_reviewing_parsers(actions: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Adds the two actions."""
    now = add_command(
        actions,
        "now",
        summary="queue a look at every live conflict for the reviewer",
        description="The reviewer process applies the same thresholds and deadlines as in its nightly run. Repeated "
        "with its --idempotency-key, it shows the same run as it is by then.",
        examples=["corrigenda review now --wait 20", "corrigenda review now --wait 150 --timeout 180 --json"],
    )
    now.add_argument("--wait", type=int, metavar="SECONDS", help="for the end of the run, 0..150 (0)")
    add_idempotency_option(now)
    runs(now, _now)
    listing = add_command(
        actions,
        "runs",
        summary="list the reviewer's runs over the team, the latest first",
        examples=["corrigenda review runs --limit 10"],
    )
    add_min_revision_option(listing)
    add_paging_options(listing)
    runs(listing, _runs)


async def _now(options: argparse.Namespace, client: Client) -> int:
    from corrigenda_cli.rendering.administration import draw_review_run

    fields = said(idempotency_key=options.idempotency_key, wait_seconds=options.wait)
    answer, view = await ask_in_view(client, options, ask(client, "ReviewNow", fields))
    return shown(options, answer, draw_review_run, view)


async def _runs(options: argparse.Namespace, client: Client) -> int:
    from corrigenda_cli.rendering.administration import draw_review_runs

    fields = said(min_revision=options.min_revision)
    answer, view = await ask_in_view(client, options, ask_pages(client, options, "ListReviewRuns", fields))
    return shown(options, answer, draw_review_runs, view)
