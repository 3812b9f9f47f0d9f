"""`corrigenda adopt`: lets a relationship of one's own stand on a text of another profile."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from corrigenda_cli.asking import ask, ask_in_view, said
from corrigenda_cli.calling import InputError, add_idempotency_option, runs
from corrigenda_cli.help_text import add_command
from corrigenda_cli.output import shown
from corrigenda_cli.reading.submissions import versioned

if TYPE_CHECKING:
    from corrigenda_core.rpc.client import Client

_TEXT, _ROW = "0192f0c4-6f6e-7c52-8f06-f852339d0772", "0192f0c4-6f6e-7c52-8f06-f852339d0999"


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Adds the subcommand."""
    parser = add_command(
        subparsers,
        "adopt",
        summary="let a relationship of yours stand on a text of another profile",
        description="The text stays its author's and adds no witness to those that there are. The passages are "
        "verified for what the relationship says.",
        examples=[f'corrigenda adopt {_TEXT} {_ROW} --quote "production deploys from release"'],
    )
    parser.add_argument("fragment", help="id of the text")
    parser.add_argument("relationship", metavar="ID[@VERSION]", help="your relationship, at the version that you saw")
    parser.add_argument("--quote", action="append", default=[], metavar="TEXT", help="a passage that says it")
    parser.add_argument("--span", action="append", default=[], metavar="START:END", help="one by its code points")
    add_idempotency_option(parser)
    runs(parser, _adopt)


async def _adopt(options: argparse.Namespace, client: Client) -> int:
    from corrigenda_cli.rendering.decisions import draw_adoption

    passages: list[dict[str, Any]] = [{"quote": quote} for quote in options.quote]
    passages += map(_span, options.span)
    fields = said(
        idempotency_key=options.idempotency_key,
        fragment_id=options.fragment,
        **versioned(options.relationship, "relationship_id"),
        passages=passages,
    )
    answer, view = await ask_in_view(client, options, ask(client, "AdoptEvidence", fields))
    return shown(options, answer, draw_adoption, view)


def _span(given: str) -> dict[str, Any]:
    start, _, end = given.partition(":")
    if not (start.isdecimal() and end.isdecimal()):
        raise InputError(f"--span is START:END, not {given!r}")
    return {"start": int(start), "end": int(end)}
