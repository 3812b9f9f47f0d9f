"""What operating a stack costs: its start, the memory that it idles with, and what a drain does to calls under way.

A throw-away stack of the command `corrigenda up`, everything in it: PostgreSQL with fsync, all services and workers.

- ``start``: from the start of the command to the first answered Recall;
- ``idle``: the memory of the command and all processes below it, each shared page counted once (PSS), after a rest;
- ``drain``: writers keep the ingest service busy; it is told to stop (SIGTERM) and started again, several times. Each
  call is answered or fails, by its code; told are the seconds until the process has ended, and its status. All answered
  writes are stored, and nothing else is.

    python3 dev.py bench perf operations [--json] [--rest SECONDS] [--drains N] [--writers N]
"""

from __future__ import annotations

import argparse
import asyncio
import json
import signal
import sys
import tempfile
import time
import uuid
from collections import Counter
from pathlib import Path
from typing import Any

import grpc
import psutil
import psycopg
from corrigenda.ingest.v1 import ingest_service_pb2, submission_pb2
from corrigenda.recall.v1 import recall_service_pb2
from corrigenda.type.v1 import evidence_pb2
from corrigenda_cli.demonstration_team import make_team, prepare
from corrigenda_cli.stack import Stack
from corrigenda_core.rpc.client import Client, Endpoints
from machine import machine_facts

TARGET_START_SECONDS = 15.0
TARGET_IDLE_BYTES = 1024**3
BUSY_SECONDS = 1.5


async def started(rest_seconds: float) -> dict[str, object]:
    """Starts the command, asks it, lets it rest, weighs it, stops it."""
    with tempfile.TemporaryDirectory() as directory:
        began = time.monotonic()
        command = [sys.executable, "-m", "corrigenda_cli", "up", "--directory", directory, "--free-ports", "--json"]
        up = await asyncio.create_subprocess_exec(*command, stdout=asyncio.subprocess.PIPE)
        assert up.stdout is not None
        said = json.loads(await up.stdout.readline())
        places = {name: said["endpoints"][name] for name in ("ingest", "conflict", "recall")}
        async with Client(Endpoints(**places), said["keys"]["ada"]) as client:
            await client.recall.Recall(recall_service_pb2.RecallRequest(query="production deploys from"))
            start_seconds = time.monotonic() - began
        await asyncio.sleep(rest_seconds)
        by_name: Counter[str] = Counter()
        for process in (root := psutil.Process(up.pid), *root.children(recursive=True)):
            by_name[name_of(process)] += process.memory_full_info().pss
        up.send_signal(signal.SIGTERM)
        await up.wait()
    return {
        "start_seconds": round(start_seconds, 2),
        "idle_mebibytes": round(by_name.total() / 1024**2, 1),
        "idle_mebibytes_by_process": {name: round(size / 1024**2, 1) for name, size in by_name.most_common()},
        "start_met": start_seconds <= TARGET_START_SECONDS,
        "idle_met": by_name.total() <= TARGET_IDLE_BYTES,
    }


def name_of(process: psutil.Process) -> str:
    """The module that a process runs, or its program."""
    line = process.cmdline()
    return line[line.index("-m") + 1] if "-m" in line else process.name()


def request() -> ingest_service_pb2.RememberRequest:
    """One text, which the local extractor reads."""
    text = f"production deploys from {uuid.uuid4().hex}"
    item = submission_pb2.EvidenceItem(content=text, source_type=evidence_pb2.SOURCE_TYPE_CONVERSATION)
    return ingest_service_pb2.RememberRequest(idempotency_key=uuid.uuid4().hex, evidence=[item])


async def drained(stack: Stack, key: str, writers: int) -> dict[str, Any]:
    """One stop of a busy ingest service."""
    address = stack.address("ingest")
    ends: Counter[str] = Counter()
    async with Client(Endpoints(ingest=address, conflict=address, recall=address), key, retries=False) as client:

        async def write() -> None:
            while True:
                try:
                    await client.ingest.Remember(request(), timeout=30)
                except grpc.aio.AioRpcError as error:
                    # A call that finds nobody any more did not begin; one that was cut off ends otherwise.
                    ends[error.code().name] += 1
                    return
                ends["answered"] += 1

        tasks = [asyncio.create_task(write()) for _ in range(writers)]
        await asyncio.sleep(BUSY_SECONDS)
        began = time.monotonic()
        status = await stack.children["ingest"].stop()
        seconds = time.monotonic() - began
        await asyncio.gather(*tasks)
    await stack.start_process("ingest")
    return {"seconds": round(seconds, 3), "exit_status": status, "calls": dict(ends)}


async def drains(count: int, writers: int) -> dict[str, object]:
    """Several stops of one stack, and how many answered writes are in it afterwards."""
    with tempfile.TemporaryDirectory() as directory:
        without = ("conflict", "reviewer", "indexer", "recall", "gateway")
        async with Stack(directory=Path(directory), free_ports=True, without=without) as stack:
            admin_key = await asyncio.to_thread(make_team, stack)
            address = stack.address("ingest")
            places = Endpoints(ingest=address, conflict=address, recall=address)
            async with Client(places, admin_key) as admin:
                key = (await prepare(admin, ("A",)))["A"]
            rounds = [await drained(stack, key, writers) for _ in range(count)]
            stored = await asyncio.to_thread(fragments, stack)
    answered = sum(int(one["calls"].get("answered", 0)) for one in rounds)
    return {"rounds": rounds, "answered": answered, "stored": stored}


def fragments(stack: Stack) -> int:
    """How many texts are stored; committed ones whose answer did not arrive are among them."""
    with psycopg.connect(stack.url("corrigenda_auditor")) as connection:
        row = connection.execute("SELECT count(*) FROM evidence_fragments").fetchone()
    return 0 if row is None else int(row[0])


async def measured(options: argparse.Namespace) -> dict[str, object]:
    """All three, one after the other."""
    return {
        "machine": machine_facts(),
        **await started(options.rest),
        "drain": await drains(options.drains, options.writers),
    }


def main() -> int:
    """Measures and prints; exit status 1 if a target is missed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true", help="one JSON object")
    parser.add_argument("--rest", type=float, default=10.0, help="seconds between the first answer and the weighing")
    parser.add_argument("--drains", type=int, default=5)
    parser.add_argument("--writers", type=int, default=16)
    options = parser.parse_args()
    figures = asyncio.run(measured(options))
    print(json.dumps(figures, indent=None if options.json else 1))
    return 0 if figures["start_met"] and figures["idle_met"] else 1


if __name__ == "__main__":
    sys.exit(main())
