"""Decisions about placements: the options that say one, and the call that makes it."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from corrigenda_cli.asking import ask, ask_in_view, said
from corrigenda_cli.calling import add_idempotency_option
from corrigenda_cli.output import shown
from corrigenda_cli.reading.submissions import add_submission_options, submission_of

if TYPE_CHECKING:
    from corrigenda_core.rpc.client import Client

ACTIONS = (
    "acknowledge",
    "select_entity",
    "confirm_new_entity",
    "select_predicate",
    "propose_predicate",
    "accept",
    "reject",
    "correct",
    "retry_verification",
    "release_quarantine",
)


def add_decision_options(parser: argparse.ArgumentParser) -> None:
    """Adds the action, what it needs, and new evidence."""
    parser.add_argument("action", choices=ACTIONS, help="what is decided")
    decision = parser.add_argument_group("the decision")
    decision.add_argument("--meant", metavar="ID|KEY", help="the entity, or the predicate, that is meant")
    decision.add_argument("--mention", default="", metavar="REF", help="the mention that is asked about (the first)")
    decision.add_argument("--reason", default="", metavar="TEXT", help="why, for people")
    decision.add_argument("--began", metavar="TIME", help="since when what is accepted holds")
    decision.add_argument("--expected-version", type=int, metavar="N", help="version of the question (the current one)")
    add_submission_options(parser)
    add_idempotency_option(parser)


async def decide(options: argparse.Namespace, client: Client, *, ingest_id: str, item_id: str = "") -> int:
    """Makes the decision."""
    from corrigenda_cli.rendering.decisions import draw_placement_decision

    of_entity = options.action in ("select_entity", "confirm_new_entity")
    has_text = any(one is not None for one in (options.text, options.file, options.request))
    evidence = submission_of(options) if has_text else {}
    decision = said(
        mention_ref=options.mention,
        entity_id=options.meant if of_entity else None,
        predicate=None if of_entity else options.meant,
        reason=options.reason,
        valid_from=options.began,
    )
    fields = said(
        ingest_id=ingest_id,
        placement_item_id=item_id,
        action=options.action,
        decision=decision,
        evidence=evidence.get("evidence"),
        proposal=evidence.get("proposal"),
        expected_version=options.expected_version,
        idempotency_key=options.idempotency_key,
    )
    answer, view = await ask_in_view(client, options, ask(client, "ResolvePlacement", fields))
    return shown(options, answer, draw_placement_decision, view)
