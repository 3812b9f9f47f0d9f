"""Corrigenda beside mem0 and LangGraph's store: adding and searching, one after the other, in one run.

    python3 dev.py bench perf peers --json [--texts 300]

The same texts, the same embedder (hashing: none of the three waits for a model), the same PostgreSQL server with fsync
on. mem0 adds without inference. Corrigenda is called over gRPC and verifies, places and ledgers each text; it is
findable when its indexer has come by, which is measured apart. The others are called in their own process, as their
documentation shows.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit, urlunsplit

import psycopg
from corrigenda.recall.v1 import recall_service_pb2
from corrigenda_cli.stack import Stack
from corrigenda_core.config import LogFormat, LogLevel
from corrigenda_core.observability import configure_logging
from corrigenda_core.rpc.client import Client, Endpoints
from machine import machine_facts
from remember import BenchTeam, summary
from statements import statement

SEARCHES = 200
FINDABLE_WAIT_SECONDS = 60.0
ROOT = Path(__file__).resolve().parents[2]


async def corrigenda(stack: Stack, numbers: range, queries: list[str]) -> dict[str, Any]:
    """How long adding, becoming findable and searching take, in seconds."""
    team = BenchTeam(stack, "peers")
    await team.prepare()
    endpoints = Endpoints(
        ingest=stack.address("ingest"), conflict=stack.address("ingest"), recall=stack.address("recall")
    )
    add, findable, search = [], [], []
    async with Client(endpoints, team.key) as author:
        for number in numbers:
            started = time.perf_counter()
            answer = await author.ingest.Remember(statement(number))
            add.append(time.perf_counter() - started)
            if number % 20 == 0:
                await _until_searched(author, answer.revision)
                findable.append(time.perf_counter() - started)
        for query in queries:
            started = time.perf_counter()
            await author.recall.Recall(recall_service_pb2.RecallRequest(query=query, limit=10))
            search.append(time.perf_counter() - started)
    return {"add": add, "findable": findable, "search": search}


async def _until_searched(author: Client, revision: int) -> None:
    deadline = time.perf_counter() + FINDABLE_WAIT_SECONDS
    while time.perf_counter() < deadline:
        answer = await author.recall.Recall(recall_service_pb2.RecallRequest(query="environment", limit=1))
        if answer.searched_revision >= revision:
            return
    raise TimeoutError("the indexer did not come by")


def peers(stack: Stack, folder: Path, texts: list[str], queries: list[str]) -> dict[str, Any]:
    """The same of the others, in their own environment and process, on a database of their own."""
    with psycopg.connect(stack.admin_url, autocommit=True) as connection:
        connection.execute("CREATE DATABASE peers")
    url = urlunsplit(urlsplit(stack.admin_url)._replace(path="/peers"))
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("CREATE EXTENSION vector")
    work = {"url": url, "folder": str(folder), "texts": texts, "queries": queries}
    finished = subprocess.run(
        [os.environ["CORRIGENDA_BENCH_PYTHON"], str(Path(__file__).with_name("peer_stores.py"))],
        input=json.dumps(work).encode(),
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": str(ROOT / "libs" / "core" / "src")},
        check=True,
    )
    found: dict[str, Any] = json.loads(finished.stdout)
    return found


async def measured(options: argparse.Namespace, folder: Path) -> dict[str, Any]:
    os.environ["CORRIGENDA_EMBEDDER"] = "hashing"
    stack = Stack(
        directory=folder / "stack",
        free_ports=True,
        without=["conflict", "reviewer", "gateway"],
        say=lambda text: print(f"… {text}", file=sys.stderr, flush=True),
    )
    numbers = range(options.texts)
    texts = [statement(number).evidence[0].content for number in numbers]
    queries = [f"where does environment {number * 7 % options.texts:06} deploy from" for number in range(SEARCHES)]
    async with stack:
        own = await corrigenda(stack, numbers, queries)
        others = await asyncio.to_thread(peers, stack, folder, texts, queries)
    found = {"corrigenda": own, **others}
    return {
        "unit": "milliseconds",
        "texts": options.texts,
        "searches": SEARCHES,
        **{name: {what: summary(took) for what, took in figures.items()} for name, figures in found.items()},
        "machine": machine_facts(),
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--texts", type=int, default=300)
    options = parser.parse_args()
    configure_logging(level=LogLevel.WARNING, format=LogFormat.CONSOLE, process="benchmark")
    with tempfile.TemporaryDirectory() as folder:
        result = asyncio.run(measured(options, Path(folder)))
    if options.json:
        print(json.dumps(result))
        return 0
    for name in ("corrigenda", "mem0", "langgraph"):
        figures = ", ".join(f"{what} p50 {took['p50']:.2f} ms" for what, took in result[name].items())
        print(f"{name:<11} {figures}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
