"""`corrigenda webhooks`: makes secrets, shows how a team's webhook endpoints stand, and resumes a parked one."""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

from corrigenda_cli.database_source import NoDatabase, add_database_options, database_url, id_argument
from corrigenda_cli.exit_statuses import ExitStatus, status_of_reason
from corrigenda_cli.help_text import add_command

if TYPE_CHECKING:
    from corrigenda_core.persistence.notice_store import NoticeStore

ROLE = "corrigenda_notifier"
_TEAM = "0192f0c4-6f6e-7c52-8f06-f852339d0772"


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Adds `webhooks secret`, `webhooks list` and `webhooks resume`."""
    actions = add_command(
        subparsers,
        "webhooks",
        summary="see to webhook endpoints: secrets, state, resuming",
        examples=["corrigenda webhooks secret > endpoint.secret", f"corrigenda webhooks list --team {_TEAM}"],
    ).add_subparsers(metavar="action", required=True)

    secret = add_command(
        actions,
        "secret",
        summary="make a secret that an endpoint and its receiver share",
        description="Prints a fresh secret. Nothing is stored: put it into the file that the endpoint's entry names, "
        "readable by the notifier alone, and give it to the receiver.",
        examples=["corrigenda webhooks secret > endpoint.secret"],
    )
    secret.set_defaults(run=run_secret)

    listing = add_command(
        actions,
        "list",
        summary="show how a team's endpoints stand",
        description="Shows every endpoint of a team that a notifier has seen: whether it is told or parked, how often "
        "the next message has failed and why, and how far it was told. What need not be told is noted now and then.",
        examples=[f"corrigenda webhooks list --team {_TEAM} --directory .corrigenda"],
    )
    _add_source(listing)
    listing.set_defaults(run=run_list)

    resume = add_command(
        actions,
        "resume",
        summary="let a parked endpoint be told again",
        description="Lets the notifier go on with the message that failed. --skip goes on with the one after it: the "
        "skipped one is never sent. Exit status 3: the endpoint is not parked, or no longer at that message.",
        examples=[f"corrigenda webhooks resume --team {_TEAM} --endpoint alarms"],
    )
    _add_source(resume)
    resume.add_argument("--endpoint", metavar="NAME", required=True, help="the endpoint, as the configuration calls it")
    resume.add_argument(
        "--skip", type=id_argument, metavar="MESSAGE", help="the message to leave out, as the alert names it"
    )
    resume.set_defaults(run=run_resume)


def _add_source(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--team", type=id_argument, metavar="ID", required=True, help="the team")
    parser.add_argument("--json", action="store_true", help="one JSON object on standard output")
    add_database_options(parser, ROLE)


def run_secret(_: argparse.Namespace) -> int:
    """Prints a fresh secret."""
    from corrigenda_conflict.notifier.signing import new_secret

    print(new_secret())
    return ExitStatus.DONE


def run_list(options: argparse.Namespace) -> int:
    """Shows the endpoints of a team."""
    from corrigenda_core.domain.ids import TeamId

    async def show(store: NoticeStore) -> int:
        rows = [_shown(row) for row in await store.endpoints_of(TeamId(options.team))]
        if options.json:
            print(json.dumps({"endpoints": rows}))
            return ExitStatus.DONE
        for row in rows:
            trouble = f", {row['attempts']} attempts failed: {row['problem']}" if row["attempts"] else ""
            told = f"told up to revision {row['after_revision']} of {row['revision']}"
            print(f"{row['endpoint']}: {row['status']}, {told}{trouble}")
        return ExitStatus.DONE

    return _with_store(options, show)


def _shown(row: dict[str, Any]) -> dict[str, object]:
    return {
        "endpoint": row["endpoint"],
        "status": row["status"],
        "attempts": row["attempts"],
        "problem": row["problem"],
        "after_revision": row["after_revision"],
        "revision": row["revision"],
        "delivered_at": _time(row["delivered_at"]),
        "next_attempt_at": _time(row["next_attempt_at"]),
    }


def _time(instant: Any) -> str | None:
    return None if instant is None else instant.isoformat()


def run_resume(options: argparse.Namespace) -> int:
    """Resumes a parked endpoint."""
    from corrigenda_core.domain.ids import TeamId
    from corrigenda_core.persistence.notice_store import EndpointKey

    async def resume(store: NoticeStore) -> int:
        key = EndpointKey(team_id=TeamId(options.team), name=options.endpoint)
        skip = None
        if options.skip is not None:
            skip = await store.position_of_message(key.team_id, options.skip)
            if skip is None:
                print("corrigenda webhooks: there is no such message", file=sys.stderr)
                return ExitStatus.REFUSED
        resumed = await store.resume(key, skip=skip)
        if options.json:
            print(json.dumps({"resumed": resumed}))
        else:
            print(f"{options.endpoint} " + ("goes on" if resumed else "is not parked there"))
        return ExitStatus.DONE if resumed else ExitStatus.REFUSED

    return _with_store(options, resume)


def _with_store(options: argparse.Namespace, work: Callable[[NoticeStore], Awaitable[int]]) -> int:
    from corrigenda_core.domain.errors import Refusal
    from corrigenda_core.persistence.database import Database, UnsafeRole
    from corrigenda_core.persistence.notice_store import NoticeStore

    try:
        url = database_url(options, ROLE)
    except NoDatabase as problem:
        return _cannot(str(problem))

    async def worked() -> int:
        async with Database(url, name="corrigenda webhooks") as database:
            return await work(NoticeStore(database, lease_seconds=0.0))

    try:
        return asyncio.run(worked())
    except Refusal as refusal:
        print(f"corrigenda webhooks: {refusal}", file=sys.stderr)
        return status_of_reason(refusal.reason)
    except UnsafeRole as problem:
        return _cannot(str(problem))


def _cannot(reason: str) -> int:
    print(f"corrigenda webhooks: {reason}", file=sys.stderr)
    return ExitStatus.USAGE
