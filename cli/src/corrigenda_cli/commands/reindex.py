"""`corrigenda reindex`: embeds every document anew that another model embedded, and shows how far it is."""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
from typing import TYPE_CHECKING, Any

from corrigenda_cli.database_source import NoDatabase, add_database_options, database_url, id_argument
from corrigenda_cli.exit_statuses import ExitStatus
from corrigenda_cli.help_text import add_command

if TYPE_CHECKING:
    from corrigenda_core.config import EmbedderSettings
    from corrigenda_core.persistence.space_store import SpaceStore
    from corrigenda_core.ports.providers import Embedder

ROLE = "corrigenda_indexer"
TEAMS_PER_LOOK = 1000


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Adds the subcommand."""
    parser = add_command(
        subparsers,
        "reindex",
        summary="embed anew what another model embedded",
        description="Gives every search document a vector of the embedder that the settings name (CORRIGENDA_EMBEDDER "
        "and what belongs to it, as the indexer has them), document by document: the old vectors serve until then, and "
        "the command may be stopped and repeated. Texts that could not be embedded before are tried again. Exit status "
        "0: all done; 1: some are left; 2: it could not begin.",
        examples=[
            "corrigenda reindex --directory .corrigenda",
            "corrigenda reindex --team 0192f0c4-6f6e-7c52-8f06-f852339d0772 --json",
        ],
    )
    parser.add_argument(
        "--team", action="append", type=id_argument, metavar="ID", help="one team, repeatable (default: all)"
    )
    parser.add_argument("--json", action="store_true", help="one JSON object on standard output")
    add_database_options(parser, ROLE)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Embeds anew, prints what was done, returns the exit status."""
    from corrigenda_core.config import EmbedderSettings
    from pydantic import ValidationError

    try:
        url = database_url(options, ROLE)
    except NoDatabase as problem:
        return _cannot(str(problem))
    try:
        settings = EmbedderSettings()
        if settings.embedder.value == "openai":
            settings.model_service(timeout_seconds=settings.embedder_timeout_seconds)
    except ValidationError as problem:
        return _cannot("; ".join(str(one["msg"]) for one in problem.errors()))
    except ValueError as problem:
        return _cannot(str(problem))
    return asyncio.run(_reindexed(options, url, settings))


async def _reindexed(options: argparse.Namespace, url: str, settings: EmbedderSettings) -> int:
    from corrigenda_core.domain.errors import Refusal
    from corrigenda_core.persistence.database import Database
    from corrigenda_core.persistence.read_transaction import ReadRunner
    from corrigenda_core.persistence.space_store import SpaceStore
    from corrigenda_core.providers.selection import make_embedder

    try:
        async with Database(url, name="corrigenda reindex") as database:
            store = SpaceStore(database=database, reader=ReadRunner(database))
            embedder = make_embedder(settings, sample=store.sample)
            try:
                done = await _respaced(options, store, embedder)
            finally:
                await embedder.close()
    except Refusal as refusal:
        return _cannot(refusal.message)
    left = sum(team["left"] for team in done["teams"].values())
    if options.json:
        print(json.dumps(done))
    else:
        print(f"{len(done['teams'])} teams are in {done['space']}" + (f", {left} documents are left" if left else ""))
    return ExitStatus.FAILED if left else ExitStatus.DONE


async def _respaced(options: argparse.Namespace, store: SpaceStore, embedder: Embedder) -> dict[str, Any]:
    """What was done: the space, and for each team how many documents were embedded, and how many are left."""
    from corrigenda_core.domain.ids import TeamId
    from corrigenda_recall.indexer.embedding import DocumentEmbedder
    from corrigenda_recall.indexer.metrics import IndexMetrics
    from corrigenda_recall.indexer.respacing import Respaced, Respacer
    from prometheus_client import CollectorRegistry

    metrics = IndexMetrics(CollectorRegistry())
    respacer = Respacer(
        store=store, embedder=DocumentEmbedder(embedder, metrics), metrics=metrics, check_seconds=float("inf")
    )
    teams = [TeamId(team) for team in options.team or []]
    if not teams:
        teams = await store.teams(embedder.space, TEAMS_PER_LOOK, unembedded=True)
    done: dict[str, Any] = {"space": embedder.space, "teams": {}}
    for team_id in teams:
        before = await store.counts(team_id, embedder.space)
        total = before.in_others + before.unembedded

        def show(so_far: Respaced, team_id: TeamId = team_id, total: int = total) -> None:
            print(f"team {team_id}: {so_far.seen} of {total}", file=sys.stderr, flush=True)

        respaced = await respacer.respace(team_id, asyncio.Event(), unembedded=True, progress=show)
        after = await store.counts(team_id, embedder.space)
        done["teams"][team_id] = {"embedded": respaced.done, "left": after.in_others + after.unembedded}
        if not respaced.reachable:
            print("the embedder does not answer", file=sys.stderr)
            break
    return done


def _cannot(reason: str) -> int:
    print(f"corrigenda reindex: {reason}", file=sys.stderr)
    return ExitStatus.USAGE
