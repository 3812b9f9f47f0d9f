"""`corrigenda entities`: finds entities, shows what is disputed about one, and corrects who is who."""

from __future__ import annotations

import argparse
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
from corrigenda_cli.calling import add_idempotency_option, runs
from corrigenda_cli.help_text import add_command
from corrigenda_cli.naming import ENTITY_HELP, entity_id_of
from corrigenda_cli.output import shown

if TYPE_CHECKING:
    from corrigenda_core.rpc.client import Client

_OBSERVATION = "0192f0c4-6f6e-7c52-8f06-f852339d0772"
_TWO_STEPS = (
    "Without --impact-token this is a dry run: it changes nothing and shows what would change, with a token that is "
    "good for ten minutes. With the token, the same command does exactly that or nothing."
)


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Adds the subcommand."""
    actions = add_command(
        subparsers,
        "entities",
        summary="find entities, see what is disputed about one, correct who is who",
        examples=["corrigenda entities list production", "corrigenda entities disputes production"],
    ).add_subparsers(metavar="action", required=True)
    listing = add_command(
        actions,
        "list",
        summary="find entities by name",
        description="Lists the entities of the team: those that are called so first, then those whose names begin so "
        "or have it in them. Without a name, all of them.",
        examples=["corrigenda entities list prod", "corrigenda entities list --kind git_branch --all --json"],
    )
    listing.add_argument("name", nargs="?", default="", help="a name or a part of one")
    listing.add_argument("--kind", default="", help="only entities of this kind")
    add_known_options(listing)
    add_min_revision_option(listing)
    add_paging_options(listing)
    runs(listing, _list)

    disputes = add_command(
        actions,
        "disputes",
        summary="show the live disagreements about an entity, within an owner and between owners",
        examples=["corrigenda entities disputes production --predicate deploys_from"],
    )
    disputes.add_argument("entity", metavar="ENTITY", help=ENTITY_HELP)
    disputes.add_argument("--predicate", default="", metavar="KEY", help="only about this predicate")
    disputes.add_argument("--valid-at", metavar="TIME", help="about what holds then (RFC 3339; default: now)")
    add_known_options(disputes)
    add_min_revision_option(disputes)
    add_paging_options(disputes)
    runs(disputes, _disputes)

    split = add_command(
        actions,
        "split",
        summary="some of what you said of an entity is about another one, which is made",
        description=_TWO_STEPS,
        examples=[f"corrigenda entities split production --observation {_OBSERVATION}"],
    )
    split.add_argument("entity", metavar="ENTITY", help=ENTITY_HELP)
    split.add_argument("--observation", action="append", default=[], metavar="ID", help="about the other one (all)")
    _finish(split, _split)
    merge = add_command(
        actions,
        "merge",
        summary="all that you said of an entity is about another one",
        description=_TWO_STEPS,
        examples=["corrigenda entities merge prod production"],
    )
    merge.add_argument("source", metavar="ENTITY", help=f"the one that is given up: {ENTITY_HELP}")
    merge.add_argument("target", metavar="ENTITY", help="the one that it is")
    _finish(merge, _merge)


def _finish(parser: argparse.ArgumentParser, work: Any) -> None:
    parser.add_argument("--impact-token", default="", metavar="TOKEN", help="do what the dry run has shown")
    parser.add_argument("--reason", default="", metavar="TEXT", help="why, for people")
    add_idempotency_option(parser)
    runs(parser, work)


async def _list(options: argparse.Namespace, client: Client) -> int:
    from corrigenda_cli.rendering.entities import draw_entities

    fields = said(
        name=options.name,
        entity_kind=options.kind,
        known=known_of(options),
        min_revision=options.min_revision,
    )
    answer, view = await ask_in_view(client, options, ask_pages(client, options, "SearchEntities", fields))
    return shown(options, answer, draw_entities, view)


async def _disputes(options: argparse.Namespace, client: Client) -> int:
    from corrigenda_cli.rendering.competing import draw_competing

    fields = said(
        entity_id=await entity_id_of(client, options.entity),
        predicate=options.predicate,
        as_of=options.known_at,
        revision=options.revision,
        valid_at=options.valid_at,
        min_revision=options.min_revision,
    )
    answer, view = await ask_in_view(client, options, ask_pages(client, options, "GetCompetingFacts", fields))
    return shown(options, answer, draw_competing, view)


async def _split(options: argparse.Namespace, client: Client) -> int:
    entity_id = await entity_id_of(client, options.entity)
    correction = {"split": said(entity_id=entity_id, observation_ids=options.observation)}
    return await _correct(options, client, correction)


async def _merge(options: argparse.Namespace, client: Client) -> int:
    ids = {
        "source_entity_id": await entity_id_of(client, options.source),
        "target_entity_id": await entity_id_of(client, options.target),
    }
    return await _correct(options, client, {"merge": ids})


async def _correct(options: argparse.Namespace, client: Client, correction: dict[str, Any]) -> int:
    from corrigenda_cli.rendering.corrections import draw_correction

    fields = said(idempotency_key=options.idempotency_key, impact_token=options.impact_token, reason=options.reason)
    asking = ask(client, "CorrectEntityResolution", {**fields, **correction})
    answer, view = await ask_in_view(client, options, asking)
    return shown(options, answer, draw_correction, view)
