"""`corrigenda withdrawals`: keeps what backups must not bring back, and takes it out of a restored one."""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from corrigenda_cli.database_source import NoDatabase, add_database_options, database_url, key_pepper
from corrigenda_cli.exit_statuses import ExitStatus
from corrigenda_cli.help_text import add_command

if TYPE_CHECKING:
    from corrigenda_core.persistence.withdrawals import Withdrawal
    from corrigenda_ingest.use_cases.replay_withdrawals import Replayed

READER, WRITER = "corrigenda_auditor", "corrigenda_ingest"


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Adds the subcommand."""
    actions = add_command(
        subparsers,
        "withdrawals",
        summary="keep erased texts and ended keys from coming back with a backup",
        examples=[
            "corrigenda withdrawals export withdrawals.jsonl",
            "corrigenda withdrawals replay withdrawals.jsonl",
        ],
    ).add_subparsers(metavar="action", required=True)
    export = add_command(
        actions,
        "export",
        summary="add to a file what was withdrawn since",
        description="Adds a line for every erasure and every key that ends, of all teams, that the file does not have "
        "yet; nothing in it is changed, and no line holds a text. Run it after every erasure, and every minute; keep "
        "the file where the backups are, and not with them. '-' prints every line instead.",
        examples=["corrigenda withdrawals export withdrawals.jsonl --directory .corrigenda"],
    )
    export.add_argument("file", help="the file that is added to, made if it is missing")
    add_database_options(export, READER)
    export.set_defaults(run=_export)
    replay = add_command(
        actions,
        "replay",
        summary="withdraw again, on a restored backup, what was withdrawn after it",
        description="Erases again and revokes again what the file lists and the database has. Run it before any "
        "service is started on a restored database, with the CORRIGENDA_KEY_PEPPER that the services have. Repeating "
        "it does nothing. Exit status 0: all of the file is done; 1: not all, repeat it; 2: it could not begin.",
        examples=["corrigenda withdrawals replay withdrawals.jsonl --directory .corrigenda --json"],
    )
    replay.add_argument("file", help="the file that `corrigenda withdrawals export` keeps")
    replay.add_argument("--json", action="store_true", help="one JSON object on standard output")
    add_database_options(replay, WRITER)
    replay.set_defaults(run=_replay)


def _export(options: argparse.Namespace) -> int:
    import psycopg
    from corrigenda_core.persistence.roles import sees_every_team
    from corrigenda_core.persistence.withdrawals import line_of, withdrawals_of

    try:
        with psycopg.connect(database_url(options, READER), autocommit=True) as connection:
            if not sees_every_team(connection):
                return _cannot("export", f"this role does not see every team; connect as {READER}")
            lines = [line_of(withdrawal) for withdrawal in withdrawals_of(connection)]
        if options.file == "-":
            print(*lines, sep="\n", end="\n" if lines else "")
        else:
            added, known = _added(Path(options.file), lines)
            print(f"{added} added, {known} known")
    except (NoDatabase, psycopg.Error, OSError) as problem:
        return _cannot("export", str(problem).strip())
    return ExitStatus.DONE


def _added(file: Path, lines: list[str]) -> tuple[int, int]:
    """Adds what the file does not have; how many lines that were, and how many it had before."""
    with _open_alone(file) as descriptor:
        before = file.read_text(encoding="utf-8")
        known = set(before.splitlines())
        new = [line for line in lines if line not in known]
        # A line that was cut off by a crash stays as it is, apart: whoever replays is told of it.
        text = "".join(f"{line}\n" for line in new)
        os.write(descriptor, (text if before.endswith("\n") or not before else f"\n{text}").encode())
        os.fsync(descriptor)
    return len(new), len(known)


@contextmanager
def _open_alone(file: Path) -> Iterator[int]:
    """The file, opened for adding, while nobody else adds to it; only its owner reads it."""
    import fcntl

    descriptor = os.open(file, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield descriptor
    finally:
        os.close(descriptor)


def _replay(options: argparse.Namespace) -> int:
    from corrigenda_core.domain.errors import Refusal
    from corrigenda_core.persistence.database import UnsafeRole
    from corrigenda_core.persistence.withdrawals import UnreadableWithdrawal, withdrawals_in

    try:
        url, pepper = database_url(options, WRITER), key_pepper(options)
        withdrawals = withdrawals_in(Path(options.file).read_text(encoding="utf-8").splitlines())
        replayed = asyncio.run(_replayed(url, pepper, withdrawals))
    except (NoDatabase, UnreadableWithdrawal, UnsafeRole, OSError) as problem:
        return _cannot("replay", str(problem))
    except Refusal as refusal:
        print(f"corrigenda withdrawals replay: {refusal.message}", file=sys.stderr)
        return ExitStatus.FAILED
    if options.json:
        print(json.dumps(asdict(replayed)))
    else:
        print(
            f"withdrawn again: {replayed.erasures} texts, {replayed.keys} keys; "
            f"nothing to do for {replayed.nothing_to_do} of {len(withdrawals)}"
        )
    return ExitStatus.DONE


async def _replayed(url: str, pepper: str, withdrawals: list[Withdrawal]) -> Replayed:
    from corrigenda_core.persistence.database import Database
    from corrigenda_core.persistence.read_transaction import ReadRunner
    from corrigenda_core.persistence.transaction import TransactionRunner
    from corrigenda_core.serving import new_ids, now
    from corrigenda_ingest.use_cases.administration import Administration
    from corrigenda_ingest.use_cases.erase_evidence import EraseEvidence
    from corrigenda_ingest.use_cases.keys import Keys
    from corrigenda_ingest.use_cases.replay_withdrawals import ReplayWithdrawals

    async with Database(url, name="corrigenda withdrawals") as database:
        runner = TransactionRunner(database)
        replay = ReplayWithdrawals(
            reader=ReadRunner(database),
            erase=EraseEvidence(runner=runner, new_ids=new_ids, pepper=pepper.encode()),
            keys=Keys(
                administration=Administration(runner=runner, new_ids=new_ids, now=now),
                pepper=pepper.encode(),
                forget=lambda _: None,
            ),
            now=now,
        )
        return await replay(withdrawals)


def _cannot(action: str, reason: str) -> int:
    print(f"corrigenda withdrawals {action}: {reason}", file=sys.stderr)
    return ExitStatus.USAGE
