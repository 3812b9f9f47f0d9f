"""`corrigenda demo`: plays the demonstration on a fresh throw-away stack."""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from corrigenda_cli.help_text import add_command

if TYPE_CHECKING:
    from corrigenda_cli.demonstration import Result
    from corrigenda_cli.stack import Stack


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Adds the subcommand."""
    parser = add_command(
        subparsers,
        "demo",
        summary="play the demonstration on a throw-away stack",
        description="Starts a fresh stack on free ports, plays one disagreement through the public gRPC API, and stops "
        "everything again. Exit status 0 if it went as it should, or as the flags say; 1 if not.",
        examples=["corrigenda demo", "corrigenda demo --json --without-reviewer"],
    )
    parser.add_argument("--json", action="store_true", help="one JSON object on standard output, no transcript")
    parser.add_argument("--without-reviewer", action="store_true", help="start no reviewer: nothing is resolved")
    parser.add_argument(
        "--without-entailment", action="store_true", help="let B's text not say what B proposes: no case is opened"
    )
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Plays it and prints the transcript or the result."""
    from corrigenda_core.rpc.server import run as run_loop

    result = run_loop(_play(options))
    if options.json:
        print(json.dumps(asdict(result)))
    return 0 if _is_as_expected(result, options) else 1


async def _play(options: argparse.Namespace) -> Result:
    from corrigenda_core.rpc.client import Endpoints

    from corrigenda_cli.demonstration import BEGINNING, REVIEW_WAIT_SECONDS, Demonstration
    from corrigenda_cli.demonstration_team import make_team
    from corrigenda_cli.stack import Stack, log_to_standard_error

    log_to_standard_error()

    def say(text: str) -> None:
        print(text, file=sys.stderr if options.json else sys.stdout, flush=True)

    without = ("gateway", "reviewer") if options.without_reviewer else ("gateway",)
    with _folder() as folder:
        stack = Stack(
            directory=folder,
            database_url=None,
            free_ports=True,
            without=without,
            throw_away=True,
            say=lambda text: print(f"… {text}", file=sys.stderr, flush=True),
        )
        async with stack:
            # The team's clock is driven, from before the story begins.
            admin_key = await asyncio.to_thread(make_team, stack, driven_from=BEGINNING - timedelta(days=1))
            demonstration = Demonstration(
                endpoints=Endpoints(
                    ingest=stack.address("ingest"),
                    conflict=stack.address("conflict"),
                    recall=stack.address("recall"),
                ),
                admin_key=admin_key,
                entailed=not options.without_entailment,
                # Where nobody reviews, a few times of what a review takes is long enough.
                review_wait_seconds=3.0 if options.without_reviewer else REVIEW_WAIT_SECONDS,
                say=say,
            )
            result = await demonstration.play()
            result.ledger_verified = await asyncio.to_thread(_ledger_verified, stack)
            say(f"\nthe ledger verifies: {'yes' if result.ledger_verified else 'NO'}")
            return result


@contextmanager
def _folder() -> Iterator[Path]:
    """A folder that goes when the demonstration ends."""
    with tempfile.TemporaryDirectory(prefix="corrigenda-demo-") as name:
        # Started by root, the server runs as another user, who has to get through.
        Path(name).chmod(0o711)
        yield Path(name)


def _ledger_verified(stack: Stack) -> bool:
    """Whether `corrigenda verify-ledger` says so, by its exit status."""
    command = [sys.executable, "-m", "corrigenda_cli", "verify-ledger", "--json"]
    environment = {**os.environ, "CORRIGENDA_DATABASE_URL": stack.url("corrigenda_auditor")}
    return subprocess.run(command, env=environment, capture_output=True, check=False).returncode == 0


def _is_as_expected(result: Result, options: argparse.Namespace) -> bool:
    """Whether the story went as the flags say it must."""
    opened = not options.without_entailment
    resolved = opened and not options.without_reviewer
    return (
        result.case_opened == opened
        and result.both_positions_recalled_while_open == opened
        and result.resolved_by_review == resolved
        and result.winner == ("release" if resolved else None)
        and result.owner_a_unchanged_by_placement
        and result.recall_known_before_correction == "main"
        and result.trace_keeps_loser
        and result.ledger_verified
    )
