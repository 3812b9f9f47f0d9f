"""`corrigenda conflicts`: lists, shows and explains what the team disagrees about."""

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
    said,
)
from corrigenda_cli.calling import add_calling_options, called
from corrigenda_cli.help_text import add_command
from corrigenda_cli.naming import ENTITY_HELP, entity_id_of
from corrigenda_cli.output import shown

if TYPE_CHECKING:
    from corrigenda.conflict.v1 import conflict_service_pb2
    from corrigenda_core.rpc.client import Client

    from corrigenda_cli.rendering.conflicts import Carriers

ENTRY_KINDS = ("team_case", "review_item")
CASE_KINDS = ("current_state", "polarity", "reference")
CASE_STATUSES = ("open", "overdue", "resolved", "dismissed")
ITEM_KINDS = ("identity", "predicate", "relationship", "correction", "quarantine", "winner_withdrawn")
ITEM_STATUSES = ("pending", "resolved", "closed")
QUOTED_MEMBERS_DEFAULT = 3


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Adds the subcommand with its actions."""
    actions = add_command(
        subparsers,
        "conflicts",
        summary="see and settle what the team disagrees about",
        examples=["corrigenda conflicts list", "corrigenda conflicts show 0192f0c4-6f6e-7c52-8f06-f852339d0772"],
    ).add_subparsers(metavar="action", required=True)
    _add_list(actions)
    _add_show(actions)


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
    add_calling_options(parser)
    parser.set_defaults(run=lambda options: called(options, lambda client: _list(options, client)))


def _add_show(actions: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = add_command(
        actions,
        "show",
        summary="show one conflict: its positions side by side, with what carries them",
        examples=[
            "corrigenda conflicts show 0192f0c4-6f6e-7c52-8f06-f852339d0772",
            "corrigenda conflicts show 0192f0c4-6f6e-7c52-8f06-f852339d0772 --revision 12 --json",
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
    add_calling_options(parser)
    parser.set_defaults(run=lambda options: called(options, lambda client: _show(options, client)))


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
