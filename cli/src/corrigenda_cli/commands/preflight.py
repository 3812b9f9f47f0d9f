"""`corrigenda preflight`: says what remembering a text would do, and stores nothing."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from corrigenda_cli.asking import add_min_revision_option, ask, ask_in_view, said
from corrigenda_cli.calling import runs
from corrigenda_cli.help_text import add_command
from corrigenda_cli.output import shown
from corrigenda_cli.reading.submissions import add_submission_options, submission_of

if TYPE_CHECKING:
    from corrigenda_core.rpc.client import Client


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Adds the subcommand."""
    parser = add_command(
        subparsers,
        "preflight",
        summary="see what remembering a text would do",
        description="Takes what `corrigenda remember` takes for one text, and stores nothing. Given to remember as "
        "--verification-token, the token of the answer lets it go by this very verdict.",
        examples=[
            'corrigenda preflight "production deploys from release" --subject environment:production '
            "--predicate deploys_from --object git_branch:release",
            "corrigenda preflight --request request.json --json",
        ],
    )
    add_submission_options(parser)
    add_min_revision_option(parser)
    runs(parser, _preflight)


async def _preflight(options: argparse.Namespace, client: Client) -> int:
    from corrigenda_cli.rendering.placements import draw_preflight

    fields = {**submission_of(options), **said(min_revision=options.min_revision)}
    # A request that was written for remember can be looked at as it is.
    for only_remember in ("idempotency_key", "verification_token"):
        fields.pop(only_remember, None)
    answer, view = await ask_in_view(client, options, ask(client, "PreflightRemember", fields))
    return shown(options, answer, draw_preflight, view)
