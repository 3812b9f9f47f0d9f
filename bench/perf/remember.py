"""How fast Remember is: over the wire against a real service, beside the same statements by psycopg alone.

    python3 dev.py bench perf remember --json [--statements 400]

One team, an embedded server with fsync on, one statement a call, the local verifier. The floors are measured in the
same run on the same server: the commit's own two round trips, without the look-up before it, the planner and gRPC. That
of a stream is the commit of a hundred statements, one INSERT ... unnest a table.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import statistics
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import grpc
import psycopg
from corrigenda.ingest.v1 import ingest_service_pb2, ingest_service_pb2_grpc, placement_pb2
from corrigenda_cli.demonstration_team import prepare
from corrigenda_cli.stack import Stack
from corrigenda_core.config import LogFormat, LogLevel
from corrigenda_core.domain.actors import Caller, KeyScope
from corrigenda_core.domain.ids import KeyId, ProfileId
from corrigenda_core.observability import configure_logging
from corrigenda_core.persistence.database import Database
from corrigenda_core.persistence.read_transaction import ReadRunner
from corrigenda_core.persistence.team_clock import PLANNED_ONCE, TeamClock
from corrigenda_core.persistence.team_store import create_team
from corrigenda_core.persistence.transaction import TransactionRunner
from corrigenda_core.policy.time_words import decide_time_bounds
from corrigenda_core.ports.deadline import Deadline
from corrigenda_core.providers.selection import make_extractor, make_verifier
from corrigenda_core.rpc.client import Client, Endpoints
from corrigenda_core.rpc.idempotent import idempotency_of
from corrigenda_core.serving import new_ids, now
from corrigenda_ingest.config import IngestSettings
from corrigenda_ingest.outside import Asked, OutsideLook
from corrigenda_ingest.proposing import Proposer
from corrigenda_ingest.requests import submission_of
from corrigenda_ingest.responses import PlacementMessages
from corrigenda_ingest.use_cases.remember import Remember
from corrigenda_ingest.use_cases.remember_many import RememberMany, Submitted
from corrigenda_ingest.verification_tokens import VerificationTokens
from machine import machine_facts
from processor_time import ServerTime, process_seconds
from pydantic import SecretStr
from recorded import Batches, RecordingDatabase, replay
from statements import statement

CLIENTS = 8
AT_ONCE = 100
TARGETS = {
    "remember_p50_of_floor": 2.5,
    "remember_p50_milliseconds": 6.0,
    "unbatched_per_second": 150.0,
    "stream_statements_per_second": 600.0,
    "stream_share_of_unnest_floor": 0.3,
}


class BenchTeam:
    """A team with one author on the running stack."""

    def __init__(self, stack: Stack, name: str) -> None:
        with psycopg.connect(stack.url("corrigenda_migrator"), autocommit=True) as connection:
            made = create_team(
                connection,
                name=name,
                admin_name="admin",
                driven_from=None,
                ids=new_ids(),
                now=now(),
                pepper=stack.secrets.key_pepper.encode(),
            )
        address = stack.address("ingest")
        self.endpoints = Endpoints(ingest=address, conflict=address, recall=address)
        self.team_id, self.admin_key = made.team_id, made.key
        self.key = ""
        self.profile_id = ProfileId("")

    async def prepare(self) -> None:
        """Registers the predicate and makes the author."""
        async with Client(self.endpoints, self.admin_key) as admin:
            self.key = (await prepare(admin, ["author"]))["author"]
        async with Client(self.endpoints, self.key) as author:
            # Evidence alone: nothing that a later statement could mean.
            note = statement(0, key="a note")
            note.ClearField("proposal")
            note.evidence[0].content = "A note."
            answer = await author.ingest.Remember(note)
            self.profile_id = ProfileId(answer.placement.author.profile_id)


def require_placed(answer: ingest_service_pb2.RememberResponse) -> None:
    """What is measured is a statement that becomes a relationship, not one that is kept for lack of evidence."""
    outcomes = [one.outcome for one in answer.placement.relationships]
    if outcomes != [placement_pb2.OUTCOME_INSERTED]:
        raise RuntimeError(f"the statement was not inserted: {answer.placement.relationships}")


def percentile(values: Sequence[float], share: float) -> float:
    """A percentile of durations, in milliseconds."""
    return round(sorted(values)[min(len(values) - 1, int(len(values) * share))] * 1000, 2)


def summary(values: Sequence[float]) -> dict[str, float]:
    """The usual figures of durations, in milliseconds."""
    return {
        "p50": round(statistics.median(values) * 1000, 2),
        "p95": percentile(values, 0.95),
        "lowest": round(min(values) * 1000, 2),
    }


@dataclass(frozen=True, slots=True, kw_only=True)
class Recorder:
    """The use cases of the service for one team, in this process, with what they send to the database noted."""

    caller: Caller
    look: OutsideLook
    database: RecordingDatabase

    async def one_by_one(self, numbers: range) -> list[Batches]:
        """The commits of one call a statement."""
        remember = Remember(look=self.look, runner=TransactionRunner(self.database))
        self.database.transactions.clear()
        for number in numbers:
            one = self._submitted(number)
            await remember(
                self.caller,
                one.asked.submission,
                idempotency=one.idempotency,
                present=one.present,
                deadline=Deadline.after(30.0),
            )
        return list(self.database.transactions)

    async def together(self, numbers: range) -> list[Batches]:
        """The commits of a stream that has `AT_ONCE` statements for each."""
        remember_many = RememberMany(look=self.look, runner=TransactionRunner(self.database))
        self.database.transactions.clear()
        for start in range(numbers.start, numbers.stop, AT_ONCE):
            submitted = [self._submitted(number) for number in range(start, start + AT_ONCE)]
            looked = await remember_many.look(self.caller, submitted, Deadline.after(30.0))
            if looked.is_cut:
                raise RuntimeError("the statements do not fit into one commit")
            await remember_many.commit(self.caller, looked, Deadline.after(30.0))
        return list(self.database.transactions)

    def _submitted(self, number: int) -> Submitted:
        request = statement(number)
        return Submitted(
            asked=Asked(submission=submission_of(request, key=request.idempotency_key)),
            idempotency=idempotency_of(request, self.caller.profile_id, ingest_service_pb2.RememberResponse),
            present=lambda planned, facts: PlacementMessages(self.caller, planned, facts).response(),
        )


@asynccontextmanager
async def recorder(stack: Stack, team: BenchTeam) -> AsyncIterator[Recorder]:
    """A recorder for a team; looks before a commit are not noted."""
    url = stack.url("corrigenda_ingest")
    secret = SecretStr("s" * 32)
    settings = IngestSettings(database_url=SecretStr(url), key_pepper=secret, page_token_key=secret)
    caller = Caller(
        team_id=team.team_id,
        profile_id=team.profile_id,
        key_id=KeyId("bench"),
        scopes=frozenset({KeyScope.WRITE}),
    )
    async with Database(url) as plain, RecordingDatabase(url) as recording:
        reader = ReadRunner(plain, team_clock=TeamClock(reading=PLANNED_ONCE))
        look = OutsideLook(
            reader=reader,
            proposer=Proposer(reader=reader, extractor=make_extractor(settings, decide_time_bounds)),
            verifier=make_verifier(settings, decide_time_bounds),
            tokens=VerificationTokens(b"t" * 32, now=now),
            new_ids=new_ids,
        )
        yield Recorder(caller=caller, look=look, database=recording)


class CpuClock:
    """Processor time of the service and of the database server, for each of some statements."""

    def __init__(self, stack: Stack) -> None:
        self._service = stack.children["ingest"].pid
        self._server = ServerTime(stack.admin_url)
        self._before = self._read()

    def milliseconds_per(self, count: int) -> dict[str, float]:
        """What each of so many statements has cost since the last call."""
        before, self._before = self._before, self._read()
        return {name: round(1000 * (self._before[name] - before[name]) / count, 2) for name in before}

    def _read(self) -> dict[str, float]:
        return {"service": process_seconds(self._service), "server": self._server.seconds()}


async def one_after_the_other(team: BenchTeam, numbers: range) -> list[float]:
    """How long each call took, in seconds."""
    took = []
    async with Client(team.endpoints, team.key) as author:
        for number in numbers:
            started = time.perf_counter()
            answer = await author.ingest.Remember(statement(number))
            took.append(time.perf_counter() - started)
            require_placed(answer)
    return took


async def several_at_once(team: BenchTeam, numbers: range) -> float:
    """Calls a second of `CLIENTS` callers that wait for nothing but their own answer."""
    waiting = iter(numbers)

    async def caller() -> None:
        async with Client(team.endpoints, team.key) as author:
            for number in waiting:
                await author.ingest.Remember(statement(number))

    started = time.perf_counter()
    await asyncio.gather(*(caller() for _ in range(CLIENTS)))
    return len(numbers) / (time.perf_counter() - started)


async def streamed(team: BenchTeam, numbers: range) -> float:
    """Statements a second of one stream."""

    async def submissions() -> AsyncIterator[ingest_service_pb2.RememberStreamRequest]:
        for number in numbers:
            yield ingest_service_pb2.RememberStreamRequest(submission=statement(number))

    async with grpc.aio.insecure_channel(team.endpoints.ingest) as channel:
        stub = ingest_service_pb2_grpc.IngestServiceStub(channel)
        metadata = (("authorization", f"Bearer {team.key}"),)
        started = time.perf_counter()
        refused = 0
        async for answer in stub.RememberStream(submissions(), metadata=metadata, timeout=170.0):
            refused += answer.WhichOneof("result") != "response"
            require_placed(answer.response)
        took = time.perf_counter() - started
    if refused:
        raise RuntimeError(f"{refused} submissions were refused")
    return len(numbers) / took


async def measured(options: argparse.Namespace, folder: Path) -> dict[str, Any]:
    stack = Stack(
        directory=folder,
        free_ports=True,
        without=["conflict", "recall", "reviewer", "indexer", "gateway"],
        say=lambda text: print(f"… {text}", file=sys.stderr, flush=True),
    )
    async with stack:
        names = ("original", "copy", "served", "bulk", "bulk copy", "loaded")
        teams = original, copy, served, bulk, bulk_copy, loaded = [BenchTeam(stack, name) for name in names]
        for team in teams:
            await team.prepare()
        rounds: list[dict[str, float]] = []
        count = options.statements
        floors: list[float] = []
        calls: list[float] = []
        async with recorder(stack, original) as recording:
            transactions = await recording.one_by_one(range(2 * count))
        async with recorder(stack, bulk) as recording:
            batches = await recording.together(range(max(2 * count // AT_ONCE, 5) * AT_ONCE))
        url = stack.url("corrigenda_ingest")
        for part in range(options.rounds):
            size = 2 * count // options.rounds
            own = range(part * size, (part + 1) * size)
            floors += await replay(url, transactions[own.start : own.stop], ids_in(original, copy))
            calls += await one_after_the_other(served, own)
            rounds.append({"floor": summary(floors[-size:])["p50"], "remember": summary(calls[-size:])["p50"]})
        cpu = CpuClock(stack)
        await one_after_the_other(served, range(400_000, 400_000 + count))
        call_cpu = cpu.milliseconds_per(count)
        unbatched = [
            await several_at_once(served, range(500_000 + part * count, 500_000 + (part + 1) * count))
            for part in range(options.rounds)
        ]
        streams = []
        cpu.milliseconds_per(1)
        for part in range(options.rounds):
            first = 700_000 + part * 2 * count
            streams.append(await streamed(loaded, range(first, first + 2 * count)))
        stream_cpu = cpu.milliseconds_per(options.rounds * 2 * count)
        bulk_floors = await replay(url, batches, ids_in(bulk, bulk_copy))
    floor, remember = summary(floors), summary(calls)
    bulk_per_second, stream_per_second = AT_ONCE / statistics.median(bulk_floors), statistics.median(streams)
    return {
        "unit": "milliseconds",
        "statements_per_commit": statistics.median(sum(map(len, one)) for one in transactions),
        "floor": floor,
        "remember": remember,
        "remember_p50_of_floor": round(remember["p50"] / floor["p50"], 2),
        "unbatched_per_second": round(statistics.median(unbatched), 1),
        "clients": CLIENTS,
        "stream_statements_per_second": round(stream_per_second, 1),
        "unnest_floor_per_second": round(bulk_per_second, 1),
        "stream_share_of_unnest_floor": round(stream_per_second / bulk_per_second, 2),
        "cpu_milliseconds_per_statement": {"remember": call_cpu, "stream": stream_cpu},
        "rounds": rounds,
        "targets": TARGETS,
        "machine": machine_facts(),
    }


def ids_in(original: BenchTeam, copy: BenchTeam) -> dict[str, str]:
    """What is exchanged to replay the commits of one team for another."""
    return {original.team_id: copy.team_id, original.profile_id: copy.profile_id}


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--statements", type=int, default=400, help="calls in half of a measurement")
    parser.add_argument("--rounds", type=int, default=4, help="floor and service take turns this often")
    options = parser.parse_args()
    configure_logging(level=LogLevel.WARNING, format=LogFormat.CONSOLE, process="benchmark")
    with tempfile.TemporaryDirectory() as folder:
        result = asyncio.run(measured(options, Path(folder)))
    if options.json:
        print(json.dumps(result))
        return 0
    print(f"floor     p50 {result['floor']['p50']:6.2f} ms   p95 {result['floor']['p95']:6.2f} ms")
    print(f"Remember  p50 {result['remember']['p50']:6.2f} ms   p95 {result['remember']['p95']:6.2f} ms")
    print(f"          {result['remember_p50_of_floor']} x floor, {result['unbatched_per_second']} a second unbatched")
    for name, cost in result["cpu_milliseconds_per_statement"].items():
        print(
            f"{name:9} a statement costs {cost['service']} ms of the service's CPU and {cost['server']} of the server's"
        )
    share = result["stream_share_of_unnest_floor"]
    print(f"stream    {result['stream_statements_per_second']} statements a second, {share} of the unnest floor")
    return 0


if __name__ == "__main__":
    sys.exit(main())
