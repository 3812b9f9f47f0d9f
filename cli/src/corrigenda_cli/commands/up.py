"""`corrigenda up`: runs the whole stack until Ctrl-C, with a demonstration team made at the first start."""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from corrigenda_cli.database_source import URL_VARIABLE
from corrigenda_cli.exit_statuses import ExitStatus
from corrigenda_cli.help_text import add_command

if TYPE_CHECKING:
    from corrigenda_cli.stack import Stack

DIRECTORY_VARIABLE = "CORRIGENDA_DIRECTORY"
DEFAULT_DIRECTORY = ".corrigenda"
PROFILES = ("ada", "ben", "cleo")


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Adds the subcommand."""
    parser = add_command(
        subparsers,
        "up",
        summary="run the whole stack until Ctrl-C",
        description=f"Starts PostgreSQL (embedded, or the server that {URL_VARIABLE} names), brings the schema up to "
        "date, starts the services, their workers and the gateway for agents, and makes a demonstration team with "
        "three keys at the first start. Stops everything on Ctrl-C.",
        examples=["corrigenda up", "corrigenda up --free-ports --json"],
    )
    parser.add_argument(
        "--directory",
        type=Path,
        default=Path(os.environ.get(DIRECTORY_VARIABLE, DEFAULT_DIRECTORY)),
        help=f"where data, secrets and logs are kept (default: {DIRECTORY_VARIABLE}, else {DEFAULT_DIRECTORY})",
    )
    parser.add_argument("--free-ports", action="store_true", help="let the system choose the ports")
    parser.add_argument("--json", action="store_true", help="print endpoints and keys as one JSON object")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Runs the stack; exit status 0 when it was stopped, 1 when a part of it ended by itself or did not start."""
    from corrigenda_core.rpc.server import run as run_loop

    return run_loop(_up(options))


async def _up(options: argparse.Namespace) -> int:
    from corrigenda_core.persistence.embedded_host import EmbeddedPostgresError
    from corrigenda_core.process import stop_event

    from corrigenda_cli.child import ChildFailedError
    from corrigenda_cli.stack import Stack, log_to_standard_error

    log_to_standard_error()
    stop = stop_event()
    stack = Stack(
        directory=options.directory.resolve(),
        database_url=os.environ.get(URL_VARIABLE) or None,
        free_ports=options.free_ports,
        say=lambda text: print(f"… {text}", file=sys.stderr, flush=True),
    )
    try:
        async with stack:
            keys = await asyncio.to_thread(_demonstration_keys, stack)
            _show(stack, keys, as_json=options.json)
            return await _until_stopped(stack, stop)
    except (ChildFailedError, EmbeddedPostgresError) as problem:
        print(f"the stack did not start: {problem}", file=sys.stderr)
        return ExitStatus.FAILED


async def _until_stopped(stack: Stack, stop: asyncio.Event) -> int:
    """Waits for the stop event, or for a part that ends by itself: then the stack as a whole is stopped."""
    stopping = asyncio.create_task(stop.wait())
    ending = asyncio.create_task(stack.any_part_ended())
    await asyncio.wait({stopping, ending}, return_when=asyncio.FIRST_COMPLETED)
    if stop.is_set():
        ending.cancel()
        return ExitStatus.DONE
    stopping.cancel()
    print(ending.result(), file=sys.stderr)
    return ExitStatus.FAILED


def _demonstration_keys(stack: Stack) -> dict[str, str]:
    """The keys of the demonstration team's profiles, made at the first start and kept beside the data."""
    from corrigenda_cli.demonstration_team import make_team_with_profiles
    from corrigenda_cli.local_secrets import write_private

    path = stack.directory / "demo-team.json"
    try:
        kept: dict[str, str] = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        kept = make_team_with_profiles(stack, PROFILES)
        write_private(path, json.dumps(kept, indent=1) + "\n")
    return kept


def _show(stack: Stack, keys: dict[str, str], *, as_json: bool) -> None:
    endpoints = {name: stack.address(name) for name in ("ingest", "conflict", "recall")}
    endpoints["gateway"] = f"http://{stack.address('gateway')}/mcp"
    if as_json:
        print(json.dumps({"endpoints": endpoints, "keys": keys, "directory": str(stack.directory)}), flush=True)
        return
    lines = ["", "Corrigenda is up.", ""]
    lines += [f"  {name:<9} {address}" for name, address in endpoints.items()]
    lines += ["", "Agents reach the gateway over MCP, with a key as bearer token."]
    lines += ["", "The demonstration team's keys (kept in the stack's directory):", ""]
    lines += [f"  {name:<9} {key}" for name, key in keys.items()]
    lines += ["", "From a shell, and so on as in the README:", "", f"export CORRIGENDA_KEY={keys[PROFILES[0]]}"]
    lines += [f'{_beside("corrigenda")} remember "The billing service is owned by team Payments."']
    lines += ["", "Three calls to paste (grpcurl -plaintext takes the same header, data and method):", ""]
    lines += [*_calls(endpoints, keys), "Ctrl-C stops everything.", ""]
    print("\n".join(lines), flush=True)


def _calls(endpoints: dict[str, str], keys: dict[str, str]) -> list[str]:
    text = "production deploys from main"
    remember = {
        "idempotency_key": "first",
        "evidence": [{"content": text, "source_type": "SOURCE_TYPE_CONVERSATION"}],
        "proposal": {
            "entities": [
                {"ref": "env", "name": "production", "entity_kind": "environment"},
                {"ref": "branch", "name": "main", "entity_kind": "git_branch"},
            ],
            "relationships": [
                {
                    "proposal_id": "p1",
                    "subject_ref": "env",
                    "predicate": "deploys_from",
                    "object_ref": "branch",
                    "polarity": "POLARITY_POSITIVE",
                    "modality": "MODALITY_STATEMENT",
                    "evidence": [{"evidence_index": 0, "quote": text}],
                }
            ],
        },
    }
    recall = {"query": "which branch does production deploy from"}
    listing = {"page_size": 10}
    first, second, _ = (keys[name] for name in PROFILES)
    return [
        _buf_curl(endpoints["ingest"], first, "corrigenda.ingest.v1.IngestService/Remember", remember),
        _buf_curl(endpoints["recall"], second, "corrigenda.recall.v1.RecallService/Recall", recall),
        _buf_curl(endpoints["conflict"], second, "corrigenda.conflict.v1.ConflictService/ListConflicts", listing),
    ]


def _buf_curl(address: str, key: str, method: str, request: Mapping[str, object]) -> str:
    """A call to paste."""
    return (
        f"{_beside('buf')} curl --protocol grpc --http2-prior-knowledge -H 'authorization: Bearer {key}' "
        f"-d '{json.dumps(request)}' http://{address}/{method}\n"
    )


def _beside(program: str) -> str:
    """A program to call: the one beside this interpreter, where that has one."""
    beside = Path(sys.executable).with_name(program)
    return str(beside) if beside.exists() else program
