"""How fast Recall is in a team of 100,000 relationships: over the wire, beside the same statements by psycopg alone.

    python3 dev.py bench perf recall --json [--sizes 10000 100000] [--queries 200]

One team, an embedded server with fsync on, 384 dimensions, the local model. The floor is what one answer asks the
database for, recorded once and sent again as the recall role with the same waits, prepared, without anything around it.
Floor and service take turns. Three kinds of queries:

- ``telling``: the reader knows a name, of a subject or of a project;
- ``frequent``: every word stands in thousands of texts;
- ``new``: telling ones that the service has not embedded before.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from corrigenda.ingest.v1 import ingest_service_pb2, submission_pb2
from corrigenda.recall.v1 import recall_service_pb2, result_pb2
from corrigenda.type.v1 import evidence_pb2, relationship_pb2
from corrigenda_cli.stack import Stack
from corrigenda_core.config import LogFormat, LogLevel
from corrigenda_core.domain.actors import Caller, KeyScope
from corrigenda_core.domain.ids import KeyId
from corrigenda_core.domain.views import TemporalSelector
from corrigenda_core.observability import configure_logging
from corrigenda_core.persistence.read_transaction import ReadRunner
from corrigenda_core.persistence.team_clock import PLANNED_ONCE, TeamClock
from corrigenda_core.persistence.vectors import StoredVector
from corrigenda_core.ports.deadline import Deadline
from corrigenda_core.ports.providers import Embedder
from corrigenda_core.providers.embedder_minilm import minilm_embedder
from corrigenda_core.rpc.client import Client, Endpoints
from corrigenda_recall.requests import RecallQuestion
from corrigenda_recall.use_cases.recall import Recall
from large_team import NOTES, frequent_query, grow, name_of, note_of, telling_query, text_of
from machine import machine_facts
from processor_time import ServerTime, process_seconds
from recorded import Batches, RecordingDatabase, replay, replay_at_once
from remember import BenchTeam, percentile, summary

CLIENTS = 32
LIMIT = 10
TARGETS = {
    "given_p50_of_floor": 2.0,
    "given_p95_milliseconds": 25.0,
    "given_per_second": 150.0,
    "embedded_p50_more_milliseconds": 8.0,
    "embedded_per_second": 70.0,
    "growth_p50": 1.5,
}


def submission() -> ingest_service_pb2.RememberRequest:
    """The submission that all others are copies of."""
    text, name = text_of(0), name_of(0)
    cited = text.partition(".")[0]
    return ingest_service_pb2.RememberRequest(
        idempotency_key="the first one",
        evidence=[submission_pb2.EvidenceItem(content=text, source_type=evidence_pb2.SOURCE_TYPE_CONVERSATION)],
        proposal=submission_pb2.Proposal(
            entities=[
                submission_pb2.ProposedEntity(ref="e", name=name, entity_kind="environment"),
                submission_pb2.ProposedEntity(ref="b", name="branch-000", entity_kind="git_branch"),
            ],
            relationships=[
                submission_pb2.ProposedRelationship(
                    proposal_id="p",
                    subject_ref="e",
                    predicate="deploys_from",
                    object_ref="b",
                    polarity=relationship_pb2.POLARITY_POSITIVE,
                    modality=relationship_pb2.MODALITY_STATEMENT,
                    evidence=[submission_pb2.Citation(evidence_index=0, quote=cited)],
                )
            ],
        ),
    )


class LargeTeam:
    """A team on the running stack, as large as it has been made."""

    def __init__(self, stack: Stack, embedder: Embedder) -> None:
        self._stack, self._embedder = stack, embedder
        self.team = BenchTeam(stack, "large")
        address = stack.address("ingest")
        self.endpoints = Endpoints(ingest=address, conflict=address, recall=stack.address("recall"))
        self.size = 1
        self._server_time = ServerTime(stack.admin_url)
        self._vectors: list[str] = []

    async def prepare(self) -> None:
        """Makes the team, its author and the submission that is copied, and waits until that can be found."""
        await self.team.prepare()
        async with Client(self.endpoints, self.team.key) as author:
            answer = await author.ingest.Remember(submission())
            deadline = time.perf_counter() + 120.0
            while (await self.recall(author, "branch")).searched_revision < answer.revision:
                if time.perf_counter() > deadline:
                    raise TimeoutError("the indexer did not come by")
                await asyncio.sleep(0.1)
        vectors = [await self._embedder.embed([note_of(number)]) for number in range(NOTES)]
        self._vectors = [StoredVector.of(rows[0].tolist(), self._embedder.space).text for rows in vectors]

    async def grow_to(self, size: int) -> float:
        """Adds copies up to a size; how long that took, in seconds."""
        started = time.perf_counter()
        numbers = range(self.size, size)
        space = self._embedder.space
        await asyncio.to_thread(grow, self._stack.admin_url, self.team.team_id, numbers, self._vectors, space)
        self.size = size
        return time.perf_counter() - started

    async def recall(self, reader: Client, query: str) -> recall_service_pb2.RecallResponse:
        """One answer over the wire."""
        return await reader.recall.Recall(recall_service_pb2.RecallRequest(query=query, limit=LIMIT))

    async def one_after_the_other(self, queries: Sequence[str]) -> list[float]:
        """How long each call took, in seconds."""
        took = []
        async with Client(self.endpoints, self.team.key) as reader:
            for query in queries:
                started = time.perf_counter()
                answer = await self.recall(reader, query)
                took.append(time.perf_counter() - started)
                if not answer.results or set(answer.degraded) - {result_pb2.DEGRADATION_APPROXIMATE_VECTORS}:
                    raise RuntimeError(f"{query!r} found {len(answer.results)} results, degraded: {answer.degraded}")
        return took

    async def several_at_once(self, queries: Sequence[str]) -> float:
        """Calls a second of `CLIENTS` callers that wait for nothing but their own answer."""
        waiting = iter(queries)

        async def caller() -> None:
            async with Client(self.endpoints, self.team.key) as reader:
                for query in waiting:
                    await self.recall(reader, query)

        started = time.perf_counter()
        await asyncio.gather(*(caller() for _ in range(CLIENTS)))
        return len(queries) / (time.perf_counter() - started)

    async def recorded(self, queries: Sequence[str]) -> list[Batches]:
        """The statements that each answer asks the database for."""
        caller = Caller(
            team_id=self.team.team_id,
            profile_id=self.team.profile_id,
            key_id=KeyId("bench"),
            scopes=frozenset({KeyScope.READ}),
        )
        async with RecordingDatabase(self._stack.url("corrigenda_recall")) as recording:
            recall = Recall(
                reader=ReadRunner(recording, team_clock=TeamClock(reading=PLANNED_ONCE)),
                embedder=self._embedder,
                embedding_timeout_seconds=10.0,
            )
            recording.transactions.clear()
            for query in queries:
                question = RecallQuestion(query=query, limit=LIMIT, selector=TemporalSelector(), min_revision=0)
                await recall(caller, question, Deadline.after(30.0))
        return recording.transactions

    async def floor(self, transactions: Sequence[Batches]) -> list[float]:
        """How long each took by psycopg alone, in seconds."""
        return await replay(self._stack.url("corrigenda_recall"), transactions, {})

    async def floor_at_once(self, transactions: Sequence[Batches]) -> float:
        """The same a second, over as many connections as there are callers."""
        return await replay_at_once(self._stack.url("corrigenda_recall"), transactions, CLIENTS)

    def service_cpu_seconds(self) -> float:
        """Processor time of the recall service so far."""
        return process_seconds(self._stack.children["recall"].pid)

    def server_cpu_seconds(self) -> float:
        """The same of the database server."""
        return self._server_time.seconds()


async def compared(team: LargeTeam, queries: Sequence[str], rounds: int) -> dict[str, Any]:
    """Floor and service for queries whose vectors the service has, in turns."""
    await team.one_after_the_other(queries)
    transactions = await team.recorded(queries)
    floors: list[float] = []
    calls: list[float] = []
    service_cpu_seconds = server_cpu_seconds = 0.0
    for _ in range(rounds):
        floors += await team.floor(transactions)
        service, server = team.service_cpu_seconds(), team.server_cpu_seconds()
        calls += await team.one_after_the_other(queries)
        service_cpu_seconds += team.service_cpu_seconds() - service
        server_cpu_seconds += team.server_cpu_seconds() - server
    floor, recall = summary(floors), summary(calls)
    return {
        "floor": floor,
        "recall": recall,
        "recall_p99": percentile(calls, 0.99),
        "p50_of_floor": round(recall["p50"] / floor["p50"], 2),
        "service_cpu_milliseconds": round(1000 * service_cpu_seconds / len(calls), 2),
        "database_cpu_milliseconds": round(1000 * server_cpu_seconds / len(calls), 2),
    }


async def figures_at(team: LargeTeam, options: argparse.Namespace) -> dict[str, Any]:
    """Everything that is measured at one size."""
    chosen = [1 + number * 7919 % (team.size - 1) for number in range(options.queries)]
    telling, frequent = [telling_query(number) for number in chosen], [frequent_query(number) for number in chosen]
    given = await compared(team, telling, options.rounds)
    words = await compared(team, frequent, options.rounds)
    # A code of its own makes each of them new to the service; no text has it.
    new = [f"{query} q{team.size}x{place}" for place, query in enumerate(telling)]
    embedded = await team.one_after_the_other(new)
    many = [telling[place % len(telling)] for place in range(options.calls)]
    many_new = [f"{query} q{team.size}y{place}" for place, query in enumerate(many)]
    return {
        "relationships": team.size,
        "telling": given,
        "frequent": words,
        "embedded": summary(embedded),
        "embedded_p50_more_milliseconds": round(summary(embedded)["p50"] - given["recall"]["p50"], 2),
        "floor_per_second": round(await team.floor_at_once(await team.recorded(many)), 1),
        "given_per_second": round(await team.several_at_once(many), 1),
        "embedded_per_second": round(await team.several_at_once(many_new), 1),
    }


def _cpu_milliseconds(row: dict[str, Any]) -> float:
    """What one answer costs service and database together."""
    figures: dict[str, float] = row["telling"]
    return figures["service_cpu_milliseconds"] + figures["database_cpu_milliseconds"]


async def measured(options: argparse.Namespace, folder: Path, say: Callable[[str], None]) -> dict[str, Any]:
    stack = Stack(directory=folder, free_ports=True, without=["conflict", "reviewer", "gateway"])
    embedder = minilm_embedder(threads=2, idle_seconds=None)
    async with stack:
        try:
            team = LargeTeam(stack, embedder)
            await team.prepare()
            rows = []
            for size in options.sizes:
                say(f"grown to {size:,} in {await team.grow_to(size):.0f} s")
                rows.append(await figures_at(team, options))
                say(json.dumps(rows[-1]))
        finally:
            await embedder.close()
    last = rows[-1]
    return {
        "unit": "milliseconds",
        "clients": CLIENTS,
        "limit": LIMIT,
        "sizes": rows,
        "given_p50_of_floor": last["telling"]["p50_of_floor"],
        "given_p95_milliseconds": last["telling"]["recall"]["p95"],
        "given_per_second": last["given_per_second"],
        "floor_per_second": last["floor_per_second"],
        "embedded_p50_more_milliseconds": last["embedded_p50_more_milliseconds"],
        "embedded_per_second": last["embedded_per_second"],
        "growth_p50": round(last["telling"]["recall"]["p50"] / rows[0]["telling"]["recall"]["p50"], 2),
        "growth_cpu": round(_cpu_milliseconds(last) / _cpu_milliseconds(rows[0]), 2),
        "targets": TARGETS,
        "machine": machine_facts(),
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--sizes", type=int, nargs="+", default=[10_000, 100_000], help="relationships to grow to")
    parser.add_argument("--queries", type=int, default=200, help="queries of a kind")
    parser.add_argument("--calls", type=int, default=600, help="calls of all clients together")
    parser.add_argument("--rounds", type=int, default=2, help="floor and service take turns this often")
    options = parser.parse_args()
    configure_logging(level=LogLevel.WARNING, format=LogFormat.CONSOLE, process="benchmark")

    def say(text: str) -> None:
        print(f"… {text}", file=sys.stderr, flush=True)

    with tempfile.TemporaryDirectory() as folder:
        result = asyncio.run(measured(options, Path(folder), say))
    if options.json:
        print(json.dumps(result))
        return 0
    for row in result["sizes"]:
        for kind in ("telling", "frequent"):
            floor, recall = row[kind]["floor"], row[kind]["recall"]
            print(
                f"{row['relationships']:>8,} {kind:<9} p50 {recall['p50']:.2f} ms, p95 {recall['p95']:.2f} ms,"
                f" {row[kind]['p50_of_floor']} x floor ({floor['p50']:.2f} ms)"
            )
        print(f"{'':>8} embedded  p50 {row['embedded']['p50']:.2f} ms")
        print(
            f"{'':>8} {CLIENTS} clients: {row['given_per_second']} a second, embedded {row['embedded_per_second']},"
            f" the floor {row['floor_per_second']}"
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
