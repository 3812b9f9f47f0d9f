"""`corrigenda changes`: the committed revisions of a team with their hashes."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from corrigenda_cli.asking import add_known_options, add_min_revision_option, known_of, listen, said, view_of
from corrigenda_cli.calling import runs
from corrigenda_cli.exit_statuses import ExitStatus
from corrigenda_cli.help_text import add_command
from corrigenda_cli.output import shown

if TYPE_CHECKING:
    from corrigenda_core.rpc.client import Client


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Adds the subcommand."""
    parser = add_command(
        subparsers,
        "changes",
        summary="list the committed revisions, or follow them",
        description="Lists the commits of the team, the oldest first. With --json each revision comes with its hashes, "
        "for an audit, a replica or a cache.",
        examples=["corrigenda changes", "corrigenda changes --after-revision 120 --follow --json"],
    )
    parser.add_argument("--after-revision", type=int, default=0, metavar="N", help="only what came after it (all)")
    parser.add_argument("--follow", action="store_true", help="go on with what is committed later, until Ctrl-C")
    add_known_options(parser)
    add_min_revision_option(parser)
    runs(parser, _changes)


async def _changes(options: argparse.Namespace, client: Client) -> int:
    from corrigenda_cli.rendering.streams import draw_revisions

    view, after = await view_of(client, options), options.after_revision
    while True:
        fields = said(
            after_revision=after,
            follow=options.follow,
            known=known_of(options),
            min_revision=options.min_revision,
        )
        async for answer in listen(client, "ListChanges", fields):
            after = answer.revision
            # Whoever follows need not be told each time that there is nothing yet.
            if answer.changes or not options.follow:
                shown(options, answer, draw_revisions, view)
        if not options.follow:
            return ExitStatus.DONE
