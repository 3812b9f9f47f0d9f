"""`corrigenda sources`: the source registry of a team, and how what a source said has fared."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

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
from corrigenda_cli.output import shown

if TYPE_CHECKING:
    from corrigenda_core.rpc.client import Client

_PROFILE = "0192f0c4-6f6e-7c52-8f06-f852339d0772"


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Adds the subcommand."""
    actions = add_command(
        subparsers,
        "sources",
        summary="keep a team's source registry, and see how a source has fared",
        examples=["corrigenda sources list", "corrigenda sources history --group runbooks"],
    ).add_subparsers(metavar="action", required=True)
    listing = add_command(
        actions,
        "list",
        summary="list the registered sources, as an administrator",
        examples=["corrigenda sources list --all --json"],
    )
    add_min_revision_option(listing)
    add_paging_options(listing)
    runs(listing, _list)

    register = add_command(
        actions,
        "register",
        summary="register a source or its next version",
        description="Registers what a source may say and what its word is worth, with everything that is said here: "
        "nothing is taken over from the version before. A source that is registered already needs --expected-version.",
        examples=[
            "corrigenda sources register --group runbooks --authoritative-for deploys_from",
            f"corrigenda sources register --key config.yaml --record --speaker {_PROFILE}",
            "corrigenda sources register --group runbooks --expected-version 1 --retire",
        ],
    )
    register.add_argument("--group", default="", metavar="TEXT", help="the source group, as evidence names it")
    register.add_argument("--key", default="", metavar="TEXT", help="the source key, as evidence names it")
    register.add_argument(
        "--speaker", action="append", default=[], metavar="ID", help="a profile that may speak for it"
    )
    authority = register.add_mutually_exclusive_group()
    authority.add_argument("--authoritative", action="store_true", help="whatever it speaks about")
    authority.add_argument("--authoritative-for", action="append", default=[], metavar="PREDICATE", help="repeatable")
    register.add_argument("--record", action="store_true", help="it is a system of record: other sources never end it")
    register.add_argument("--expected-version", type=int, metavar="N", help="the version that you saw")
    register.add_argument("--retire", action="store_true", help="the entry says nothing any more")
    add_idempotency_option(register)
    runs(register, _register)

    history = add_command(
        actions,
        "history",
        summary="show what became of what a source said",
        examples=["corrigenda sources history --group runbooks --predicate deploys_from"],
    )
    which = history.add_mutually_exclusive_group(required=True)
    which.add_argument("--group", default="", metavar="TEXT", help="of this source group")
    which.add_argument("--key", default="", metavar="TEXT", help="of this source key")
    which.add_argument("--profile", default="", metavar="ID", help="of this profile, whatever sources it named")
    history.add_argument("--predicate", default="", metavar="KEY", help="only what it said of this predicate")
    add_known_options(history)
    add_min_revision_option(history)
    runs(history, _history)


async def _list(options: argparse.Namespace, client: Client) -> int:
    from corrigenda_cli.rendering.administration import draw_sources

    fields = said(min_revision=options.min_revision)
    answer, view = await ask_in_view(client, options, ask_pages(client, options, "ListSources", fields))
    return shown(options, answer, draw_sources, view)


async def _register(options: argparse.Namespace, client: Client) -> int:
    from corrigenda_cli.rendering.administration import draw_registered_source

    definition = said(
        source_group=options.group,
        source_key=options.key,
        speaker_profile_ids=options.speaker,
        authoritative_for_every_predicate=options.authoritative,
        authoritative_for=options.authoritative_for,
        record=options.record,
    )
    fields = said(
        idempotency_key=options.idempotency_key,
        definition=definition,
        expected_version=options.expected_version,
        retire=options.retire,
    )
    answer, view = await ask_in_view(client, options, ask(client, "RegisterSource", fields))
    return shown(options, answer, draw_registered_source, view)


async def _history(options: argparse.Namespace, client: Client) -> int:
    from corrigenda_cli.rendering.administration import draw_source_history

    fields = said(
        source_group=options.group,
        source_key=options.key,
        profile_id=options.profile,
        predicate=options.predicate,
        known=known_of(options),
        min_revision=options.min_revision,
    )
    answer, view = await ask_in_view(client, options, ask(client, "GetSourceHistory", fields))
    return shown(options, answer, draw_source_history, view)
