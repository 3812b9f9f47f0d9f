"""`corrigenda forget`: takes back what one said oneself, or ends it; nothing is deleted."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from corrigenda_cli.asking import ask, ask_in_view, said
from corrigenda_cli.calling import add_idempotency_option, runs
from corrigenda_cli.help_text import add_command
from corrigenda_cli.output import shown
from corrigenda_cli.reading.submissions import add_source_options, source_of, versioned

if TYPE_CHECKING:
    from corrigenda_core.rpc.client import Client

_ID = "0192f0c4-6f6e-7c52-8f06-f852339d0772"


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Adds the subcommand."""
    actions = add_command(
        subparsers,
        "forget",
        summary="take back or end what you said; the record of it stays",
        description="Nothing is deleted: the record, its evidence and the decision stay in the trace, and `corrigenda "
        "conflicts revert` takes the decision back. To remove a text for good, an administrator erases it.",
        examples=[
            f'corrigenda forget retract {_ID} --reason "it never was true"',
            f"corrigenda forget end {_ID} --at 2026-05-01T00:00:00Z",
            f"corrigenda forget text {_ID}",
        ],
    ).add_subparsers(metavar="action", required=True)
    retract = add_command(
        actions,
        "retract",
        summary="a relationship of yours never was true",
        examples=[f"corrigenda forget retract {_ID}@3 --no-revive"],
    )
    retract.add_argument("relationship", metavar="ID[@VERSION]", help="the relationship, at the version that you saw")
    retract.add_argument("--no-revive", action="store_true", help="what it alone had ended stays ended")
    _finish(retract, _retract)
    end = add_command(
        actions,
        "end",
        summary="a relationship of yours is no longer true",
        examples=[f'corrigenda forget end {_ID} --evidence "production was shut down on 1 May 2026"'],
    )
    end.add_argument("relationship", metavar="ID[@VERSION]", help="the relationship, at the version that you saw")
    end.add_argument("--at", metavar="TIME", help="from when on it is not true (now)")
    _finish(end, _end)
    text = add_command(
        actions,
        "text",
        summary="a text says nothing of yours any more",
        examples=[f'corrigenda forget text {_ID} --reason "it was a draft"'],
    )
    text.add_argument("fragment", help="id of the fragment")
    _finish(text, _text)


def _finish(parser: argparse.ArgumentParser, action: Any) -> None:
    parser.add_argument("--reason", default="", metavar="TEXT", help="why, for people; kept with the decision")
    parser.add_argument("--evidence", action="append", default=[], metavar="TEXT", help="a text that says why")
    add_source_options(parser)
    add_idempotency_option(parser)
    runs(parser, lambda options, client: _forget(options, client, action(options)))


def _retract(options: argparse.Namespace) -> dict[str, Any]:
    revive = {"revive": False} if options.no_revive else {}
    return {"retract": {**versioned(options.relationship, "relationship_id"), **revive}}


def _end(options: argparse.Namespace) -> dict[str, Any]:
    return {"end": {**versioned(options.relationship, "relationship_id"), **said(at=options.at)}}


def _text(options: argparse.Namespace) -> dict[str, Any]:
    return {"retract_text": {"fragment_id": options.fragment}}


async def _forget(options: argparse.Namespace, client: Client, action: dict[str, Any]) -> int:
    from corrigenda_cli.rendering.decisions import draw_forgotten

    fields = said(
        idempotency_key=options.idempotency_key,
        evidence=[{"content": content, **source_of(options)} for content in options.evidence],
        reason=options.reason,
    )
    answer, view = await ask_in_view(client, options, ask(client, "Forget", {**fields, **action}))
    return shown(options, answer, draw_forgotten, view)
