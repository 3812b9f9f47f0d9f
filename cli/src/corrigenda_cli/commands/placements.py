"""`corrigenda placements`: looks up what became of a submission, and decides about it as a whole."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from corrigenda_cli.asking import add_min_revision_option, ask, ask_in_view, said
from corrigenda_cli.calling import runs
from corrigenda_cli.help_text import add_command
from corrigenda_cli.output import shown
from corrigenda_cli.placement_decisions import add_decision_options, decide

if TYPE_CHECKING:
    from corrigenda_core.rpc.client import Client

_SUBMISSION = "0192f0c4-6f6e-7c52-8f06-f852339d0772"


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Adds the subcommand."""
    actions = add_command(
        subparsers,
        "placements",
        summary="look up what became of a submission, and decide about it",
        examples=[f"corrigenda placements show {_SUBMISSION}"],
    ).add_subparsers(metavar="action", required=True)
    show = add_command(
        actions,
        "show",
        summary="show what became of a submission",
        examples=[f"corrigenda placements show {_SUBMISSION}"],
    )
    show.add_argument("submission", help="id of the submission")
    add_min_revision_option(show)
    runs(show, _show)

    decision = add_command(
        actions,
        "decide",
        summary="decide about a submission as a whole: acknowledge, retry_verification, correct",
        description="Decisions that answer a question name the question: `corrigenda items resolve`.",
        examples=[f"corrigenda placements decide {_SUBMISSION} retry_verification"],
    )
    decision.add_argument("submission", help="id of the submission")
    add_decision_options(decision)
    runs(decision, lambda options, client: decide(options, client, ingest_id=options.submission))


async def _show(options: argparse.Namespace, client: Client) -> int:
    from corrigenda_cli.rendering.placements import draw_placement

    fields = said(ingest_id=options.submission, min_revision=options.min_revision)
    answer, view = await ask_in_view(client, options, ask(client, "GetPlacement", fields))
    return shown(options, answer, draw_placement, view)
