"""`corrigenda conflicts`: lists, shows and explains what the team disagrees about, and settles one's own part."""

from __future__ import annotations

import argparse
import asyncio
from typing import TYPE_CHECKING, Any

from corrigenda_cli.asking import (
    add_known_options,
    add_min_revision_option,
    add_paging_options,
    ask,
    ask_in_view,
    ask_pages,
    known_of,
    listen,
    said,
    view_of,
)
from corrigenda_cli.calling import runs
from corrigenda_cli.finding import ITEM_KINDS, ITEM_STATUSES
from corrigenda_cli.help_text import add_command
from corrigenda_cli.naming import ENTITY_HELP, entity_id_of
from corrigenda_cli.output import shown
from corrigenda_cli.settling import add_settling_parsers

if TYPE_CHECKING:
    from corrigenda.conflict.v1 import conflict_service_pb2
    from corrigenda_core.rpc.client import Client

    from corrigenda_cli.rendering.conflicts import Carriers

ENTRY_KINDS = ("team_case", "review_item")
CASE_KINDS = ("current_state", "polarity", "reference")
CASE_STATUSES = ("open", "overdue", "resolved", "dismissed")
QUOTED_MEMBERS_DEFAULT = 3
_EXAMPLE_ID = "0192f0c4-6f6e-7c52-8f06-f852339d0772"


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Adds the subcommand with its actions."""
    actions = add_command(
        subparsers,
        "conflicts",
        summary="see and settle what the team disagrees about",
        examples=["corrigenda conflicts list", f"corrigenda conflicts show {_EXAMPLE_ID}"],
    ).add_subparsers(metavar="action", required=True)
    _add_list(actions)
    _add_show(actions)
    _add_explain(actions)
    add_settling_parsers(actions)
    _add_watch(actions)


def _add_list(actions: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = add_command(
        actions,
        "list",
        summary="list the team's conflicts and your own open questions, the oldest first",
        examples=[
            "corrigenda conflicts list --mine",
            "corrigenda conflicts list --status resolved --status dismissed --predicate deploys_from",
            "corrigenda conflicts list --entity production --all --json",
        ],
    )
    parser.add_argument("--entry", action="append", default=[], choices=ENTRY_KINDS, help="both by default")
    parser.add_argument("--kind", action="append", default=[], choices=CASE_KINDS, help="of conflict; repeatable")
    parser.add_argument(
        "--status", action="append", default=[], choices=CASE_STATUSES, help="of conflict (open and overdue)"
    )
    parser.add_argument("--item-kind", action="append", default=[], choices=ITEM_KINDS, help="of question; repeatable")
    parser.add_argument("--item-status", action="append", default=[], choices=ITEM_STATUSES, help="(pending)")
    parser.add_argument("--entity", metavar="ENTITY", help=f"about this entity: {ENTITY_HELP}")
    parser.add_argument("--predicate", default="", metavar="KEY", help="about this predicate")
    parser.add_argument("--opened-before", metavar="TIME", help="opened before (RFC 3339)")
    parser.add_argument("--mine", action="store_true", help="only conflicts in which you hold a position")
    add_known_options(parser)
    add_min_revision_option(parser)
    add_paging_options(parser)
    runs(parser, _list)


def _add_show(actions: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = add_command(
        actions,
        "show",
        summary="show one conflict: its positions side by side, with what carries them",
        examples=[
            f"corrigenda conflicts show {_EXAMPLE_ID}",
            f"corrigenda conflicts show {_EXAMPLE_ID} --revision 12 --json",
        ],
    )
    parser.add_argument("conflict", help="id of the conflict")
    parser.add_argument(
        "--quotes",
        type=int,
        default=QUOTED_MEMBERS_DEFAULT,
        metavar="N",
        help=f"relationships of a position whose texts are quoted ({QUOTED_MEMBERS_DEFAULT}); not in JSON",
    )
    add_known_options(parser)
    add_min_revision_option(parser)
    add_paging_options(parser)
    runs(parser, _show)


def _add_explain(actions: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = add_command(
        actions,
        "explain",
        summary="say why a conflict is decided as it is, and what would change it",
        examples=[f"corrigenda conflicts explain {_EXAMPLE_ID}"],
    )
    parser.add_argument("conflict", help="id of the conflict")
    add_known_options(parser)
    add_min_revision_option(parser)
    runs(parser, _explain)


def _add_watch(actions: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = add_command(
        actions,
        "watch",
        summary="follow what happens to conflicts and to your questions, until Ctrl-C",
        description="Shows what commits changed, the oldest first, and goes on with what is committed later. Asks "
        "again when a stream ends, after the last revision that came: nothing is missed or repeated.",
        examples=["corrigenda conflicts watch --after-revision 120", "corrigenda conflicts watch --until-now --json"],
    )
    parser.add_argument("--after-revision", type=int, default=0, metavar="N", help="only what came after it (all)")
    parser.add_argument("--mine", action="store_true", help="only conflicts in which you hold or held a position")
    parser.add_argument("--until-now", action="store_true", help="end with what is committed by now")
    add_min_revision_option(parser)
    runs(parser, _watch)


async def _list(options: argparse.Namespace, client: Client) -> int:
    from corrigenda_cli.rendering.conflicts import draw_conflict_list

    fields = said(
        entry_kinds=options.entry,
        case_kinds=options.kind,
        case_statuses=options.status,
        item_kinds=options.item_kind,
        item_statuses=options.item_status,
        entity_id=await entity_id_of(client, options.entity) if options.entity else None,
        predicate=options.predicate,
        opened_before=options.opened_before,
        mine=options.mine,
        known=known_of(options),
        min_revision=options.min_revision,
    )
    answer, view = await ask_in_view(client, options, ask_pages(client, options, "ListConflicts", fields))
    return shown(options, answer, draw_conflict_list, view)


async def _show(options: argparse.Namespace, client: Client) -> int:
    from corrigenda_cli.rendering.conflicts import Carriers, draw_conflict

    fields = said(conflict_id=options.conflict, known=known_of(options), min_revision=options.min_revision)
    asking = ask_pages(client, options, "GetConflict", fields, on_every_page=["conflict"])
    answer, view = await ask_in_view(client, options, asking)
    carriers = Carriers() if options.json else await _carriers(client, answer, options.quotes)
    return shown(options, answer, lambda message, how: draw_conflict(message, carriers, how), view)


async def _carriers(client: Client, answer: conflict_service_pb2.GetConflictResponse, quotes: int) -> Carriers:
    """What carries the first members of each position, as of the revision that the answer shows."""
    from corrigenda_cli.rendering.conflicts import Carriers

    positions = [*answer.conflict.positions, *answer.further_positions]
    members = [member.relationship_id for one in positions for member in one.members[: max(quotes, 0)]]

    async def trace(relationship_id: str) -> Any:
        fields = {
            "relationship_id": relationship_id,
            "include_evidence_content": True,
            "max_depth": 0,
            "known": {"revision": answer.revision},
        }
        return await ask(client, "Trace", fields)

    traces = await asyncio.gather(*map(trace, members))
    return Carriers(traces=dict(zip(members, traces, strict=True)))


async def _explain(options: argparse.Namespace, client: Client) -> int:
    from corrigenda_cli.rendering.explanations import draw_explanation

    fields = said(conflict_id=options.conflict, known=known_of(options), min_revision=options.min_revision)
    answer, view = await ask_in_view(client, options, ask(client, "ExplainConflict", fields))
    return shown(options, answer, draw_explanation, view)


async def _watch(options: argparse.Namespace, client: Client) -> int:
    from corrigenda_cli.rendering.streams import draw_conflict_changes

    view = await view_of(client, options)
    after, status = options.after_revision, 0
    while True:
        fields = said(
            after_revision=after,
            mine=options.mine,
            until_now=options.until_now,
            min_revision=options.min_revision,
        )
        async for answer in listen(client, "WatchConflicts", fields):
            after = answer.revision
            # That there is nothing is said by a stream that ends, and not whenever one begins.
            if answer.changes or options.until_now or options.json:
                status = shown(options, answer, draw_conflict_changes, view)
        if options.until_now:
            return status
