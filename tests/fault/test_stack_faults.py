"""kill -9 in the middle of the path: no acknowledged write is lost, none doubled, no case left half done."""

import asyncio
import json
import os
import signal
from collections.abc import AsyncIterator, Awaitable, Callable, Sized
from contextlib import asynccontextmanager, suppress
from dataclasses import asdict
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path

import grpc
import psycopg
import pytest
from corrigenda.admin.v1 import admin_service_pb2
from corrigenda.ingest.v1 import ingest_service_pb2
from corrigenda_cli.child import ChildFailedError
from corrigenda_cli.local_secrets import DATABASE_ROLES, LocalSecrets, write_private
from corrigenda_cli.stack import Stack
from corrigenda_core.domain.ids import TeamId
from corrigenda_core.persistence.embedded import EmbeddedPostgres
from corrigenda_core.persistence.ledger_verification import verify_ledger
from corrigenda_core.ports.failpoints import Failpoint
from corrigenda_core.rpc.client import Client, Endpoints
from corrigenda_core.rpc.convert import timestamp_of
from corrigenda_core.testing.effort import examples, is_full_tier
from corrigenda_core.testing.failpoints import LAUNCHER, VARIABLE
from corrigenda_core.testing.made_team import made_team
from corrigenda_core.testing.postgres import ROLE_PASSWORD, PostgresCluster

pytestmark = pytest.mark.database

Request = Callable[..., ingest_service_pb2.RememberRequest]
BEGINNING = datetime(2026, 1, 10, tzinfo=UTC)
# Bounds, not expectations: what is waited for comes within a second or two on a machine that has nothing else to do.
WAIT_SECONDS = 120.0
CALL_SECONDS = 30.0
UNANSWERED = {
    grpc.StatusCode.UNAVAILABLE,
    grpc.StatusCode.RESOURCE_EXHAUSTED,
    grpc.StatusCode.DEADLINE_EXCEEDED,
}
SHORT_LEASE = {"CORRIGENDA_REVIEW_LEASE_SECONDS": "1"}
ALL = ("ingest", "conflict", "recall", "reviewer", "indexer", "gateway")


@asynccontextmanager
async def small_stack(cluster: PostgresCluster, directory: Path, *names: str) -> AsyncIterator[Stack]:
    """A stack of only these processes on a database of its own."""
    known = LocalSecrets(role_passwords=dict.fromkeys(DATABASE_ROLES, ROLE_PASSWORD))
    write_private(directory / "secrets.json", json.dumps(asdict(known)))
    with cluster.database() as database:
        stack = Stack(
            directory=directory,
            database_url=database.superuser_url,
            free_ports=True,
            without=[name for name in ALL if name not in names],
        )
        async with stack:
            yield stack


@pytest.fixture(scope="module")
async def ingest(cluster: PostgresCluster, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Stack]:
    """A running ingest service, on which each test has a team of its own; who kills it starts it again."""
    async with small_stack(cluster, tmp_path_factory.mktemp("ingest"), "ingest") as stack:
        yield stack


@asynccontextmanager
async def reviewing(stack: Stack) -> AsyncIterator[None]:
    """A reviewer beside the service, whose leases are short; stopped with the context."""
    await stack.start_process("reviewer", SHORT_LEASE)
    try:
        yield
    finally:
        await stack.children["reviewer"].stop()


async def team_of(stack: Stack, deploys_from: Request, profiles: int) -> tuple[str, str, list[str]]:
    """A driven team: its id, its admin's key, and keys of profiles that write."""
    made = made_team(stack.url("corrigenda_migrator"), stack.secrets.key_pepper, driven_from=BEGINNING)
    keys = []
    async with client_of(stack, made.key) as admin:
        await admin.admin.RegisterPredicate(
            admin_service_pb2.RegisterPredicateRequest(
                idempotency_key="predicate",
                definition={"key": "deploys_from", "relationship_kind": 1, "current_cardinality": 1},
            )
        )
        for number in range(profiles):
            profile = await admin.admin.CreateProfile(
                admin_service_pb2.CreateProfileRequest(idempotency_key=f"p{number}", name=f"p{number}")
            )
            key = await admin.admin.CreateKey(
                admin_service_pb2.CreateKeyRequest(
                    idempotency_key=f"k{number}", profile_id=profile.profile.profile_id, scopes=[1, 2]
                )
            )
            keys.append(key.secret)
    return made.team_id, made.key, keys


def client_of(stack: Stack, key: str) -> Client:
    address = stack.address("ingest")
    return Client(Endpoints(ingest=address, conflict=address, recall=address), key, timeout_seconds=CALL_SECONDS)


def count(stack: Stack, sql: str, team_id: str) -> int:
    with psycopg.connect(stack.url("corrigenda_auditor"), autocommit=True) as connection:
        (found,) = connection.execute(sql, [team_id]).fetchone() or (0,)
    return int(found)


def ledger_verifies(stack: Stack, team_id: str) -> bool:
    with psycopg.connect(stack.url("corrigenda_auditor"), autocommit=True) as connection:
        return verify_ledger(connection, TeamId(team_id)).is_verified


async def end_of(stack: Stack, name: str) -> int:
    """Waits, for a bounded time, for a process to end, and returns its exit status."""
    return await asyncio.wait_for(stack.children[name].wait(), WAIT_SECONDS)


async def until(holds: Callable[[], bool | Awaitable[bool]], what: str) -> None:
    """Waits until something holds, for a bounded time."""
    deadline = asyncio.get_running_loop().time() + WAIT_SECONDS
    while True:
        held = holds()
        if held if isinstance(held, bool) else await held:
            return
        assert asyncio.get_running_loop().time() < deadline, f"not in time: {what}"
        await asyncio.sleep(0.05)


@pytest.mark.promise("kept.acknowledged", "Q8")
@pytest.mark.rule("R5.1", "R8.1")
@pytest.mark.parametrize("failpoint", list(Failpoint))
async def test_a_killed_service_loses_and_doubles_nothing(
    ingest: Stack, deploys_from: Request, failpoint: Failpoint
) -> None:
    team_id, _, (writer,) = await team_of(ingest, deploys_from, 1)
    await ingest.children["ingest"].stop()
    await ingest.start_process("ingest", {VARIABLE: f"{failpoint}=kill@2"}, through=LAUNCHER)
    try:
        async with client_of(ingest, writer) as client:
            kept = await client.ingest.Remember(deploys_from("production deploys from main", "main", key="kept"))
            with pytest.raises(grpc.aio.AioRpcError) as lost:
                await client.ingest.Remember(deploys_from("production deploys from release", "release", key="lost"))
            assert lost.value.code() is grpc.StatusCode.UNAVAILABLE
        assert await end_of(ingest, "ingest") == -signal.SIGKILL
        committed = failpoint is Failpoint.AFTER_COMMIT_BEFORE_REPLY
        ingests = "SELECT count(*) FROM ingests WHERE team_id = %s"
        assert count(ingest, ingests, team_id) == (2 if committed else 1)
    finally:
        await ingest.children["ingest"].stop()
        await ingest.start_process("ingest")

    async with client_of(ingest, writer) as client:
        again = await client.ingest.Remember(deploys_from("production deploys from main", "main", key="kept"))
        assert again == kept
        request = deploys_from("production deploys from release", "release", key="lost")
        first = await client.ingest.Remember(request)
        assert await client.ingest.Remember(request) == first
    assert count(ingest, ingests, team_id) == 2
    assert ledger_verifies(ingest, team_id)


@pytest.mark.skipif(not is_full_tier(), reason="full tier only: fifty kills take minutes")
@pytest.mark.promise("kept.acknowledged", "Q8")
@pytest.mark.rule("R5.1", "R8.1")
async def test_q8_fifty_kills_in_a_row_lose_and_double_nothing(ingest: Stack, deploys_from: Request) -> None:
    """Four writers and whatever they did not get an answer for, killed at another point of another commit each time."""
    team_id, _, (writer,) = await team_of(ingest, deploys_from, 1)
    points, kills = list(Failpoint), 50
    acknowledged: dict[str, ingest_service_pb2.RememberResponse] = {}

    async def write(client: Client, key: str) -> None:
        with suppress(grpc.aio.AioRpcError):
            acknowledged[key] = await client.ingest.Remember(request_of(key))

    def request_of(key: str) -> ingest_service_pb2.RememberRequest:
        return deploys_from(f"note {key}: production deploys from main", "main", key=key)

    keys: list[str] = []
    try:
        for kill in range(kills):
            armed = {VARIABLE: f"{points[kill % len(points)]}=kill@{1 + kill % 4}"}
            await ingest.children["ingest"].stop()
            await ingest.start_process("ingest", armed, through=LAUNCHER)
            keys += [f"{kill}-{number}" for number in range(4)]
            async with client_of(ingest, writer) as client:
                await asyncio.gather(*(write(client, key) for key in keys if key not in acknowledged))
            assert await end_of(ingest, "ingest") == -signal.SIGKILL
    finally:
        await ingest.children["ingest"].stop()
        await ingest.start_process("ingest")
    assert 0 < len(acknowledged) < len(keys)
    async with client_of(ingest, writer) as client:
        for key in keys:
            again = await client.ingest.Remember(request_of(key))
            assert again == acknowledged.setdefault(key, again)
    assert len({answer.placement.ingest_id for answer in acknowledged.values()}) == len(keys)
    assert count(ingest, "SELECT count(*) FROM ingests WHERE team_id = %s", team_id) == len(keys)
    assert ledger_verifies(ingest, team_id)


@pytest.mark.promise("kept.stream")
@pytest.mark.rule("R5.1", "R8.1")
@pytest.mark.parametrize("failpoint", list(Failpoint) if is_full_tier() else [Failpoint.AFTER_COMMIT_BEFORE_REPLY])
async def test_a_stream_that_is_cut_and_resumed_stores_each_submission_exactly_once(
    ingest: Stack, deploys_from: Request, failpoint: Failpoint
) -> None:
    team_id, _, (writer,) = await team_of(ingest, deploys_from, 1)
    requests = []
    for number in range(40):
        requests.append(deploys_from(f"service-{number} deploys from main", "main", key=f"bulk {number}"))
        requests[-1].proposal.entities[0].name = f"service-{number}"

    async def sent(client: Client, answers: list[ingest_service_pb2.RememberStreamResponse]) -> None:
        async def wanted() -> AsyncIterator[ingest_service_pb2.RememberStreamRequest]:
            for request in requests[len(answers) :]:
                yield ingest_service_pb2.RememberStreamRequest(submission=request)

        async for answer in client.ingest.RememberStream(wanted()):
            answers.append(answer)

    answers: list[ingest_service_pb2.RememberStreamResponse] = []
    await ingest.children["ingest"].stop()
    # The first commit makes the branch known and goes alone, so the second one has many submissions.
    await ingest.start_process("ingest", {VARIABLE: f"{failpoint}=kill@2"}, through=LAUNCHER)
    try:
        async with client_of(ingest, writer) as client:
            with pytest.raises(grpc.aio.AioRpcError) as lost:
                await sent(client, answers)
            assert lost.value.code() is grpc.StatusCode.UNAVAILABLE
        assert await end_of(ingest, "ingest") == -signal.SIGKILL
    finally:
        await ingest.children["ingest"].stop()
        await ingest.start_process("ingest")
    assert 0 < len(answers) < len(requests)
    stored = count(ingest, "SELECT count(*) FROM ingests WHERE team_id = %s", team_id)
    assert (stored > len(answers)) is (failpoint is Failpoint.AFTER_COMMIT_BEFORE_REPLY)

    async with client_of(ingest, writer) as client:
        await sent(client, answers)
        for request, answer in zip(requests, answers, strict=True):
            assert answer.response.placement.ingest_id
            assert await client.ingest.Remember(request) == answer.response
    for table in ("ingests", "evidence_fragments", "observations", "statements", "relationships"):
        assert count(ingest, f"SELECT count(*) FROM {table} WHERE team_id = %s", team_id) == len(requests)
    assert ledger_verifies(ingest, team_id)


@pytest.mark.promise("case.one-reviewer", "Q8")
@pytest.mark.rule("R7.18")
@pytest.mark.parametrize("failpoint", list(Failpoint))
async def test_a_killed_reviewer_leaves_the_case_due_and_the_next_one_decides_it_once(
    ingest: Stack, deploys_from: Request, failpoint: Failpoint
) -> None:
    team_id, admin_key, writers = await team_of(ingest, deploys_from, 3)
    texts = [("as ever, production deploys from main", "main"), ("production deploys from release", "release")]
    texts.append(("our checklist confirms: production deploys from release", "release"))
    for writer, (text, branch) in zip(writers, texts, strict=True):
        async with client_of(ingest, writer) as client:
            await client.ingest.Remember(deploys_from(text, branch))
    async with client_of(ingest, admin_key) as admin:
        await admin.admin.DriveClock(
            admin_service_pb2.DriveClockRequest(
                idempotency_key="later", time=timestamp_of(BEGINNING + timedelta(days=8))
            )
        )
    try:
        await ingest.start_process("reviewer", {VARIABLE: f"{failpoint}=kill", **SHORT_LEASE}, through=LAUNCHER)
        assert await end_of(ingest, "reviewer") == -signal.SIGKILL
    except ChildFailedError:
        # It was killed before it had said that it was ready: that is a kill, too.
        pass
    resolved = "SELECT count(*) FROM case_events WHERE team_id = %s AND action = 'resolved'"
    committed = failpoint is Failpoint.AFTER_COMMIT_BEFORE_REPLY
    assert count(ingest, resolved, team_id) == (1 if committed else 0)
    closed = "SELECT count(*) FROM relationships WHERE team_id = %s AND status = 'superseded'"
    assert count(ingest, closed, team_id) == (1 if committed else 0)

    async with reviewing(ingest):
        await until(lambda: count(ingest, resolved, team_id) == 1, "the case is resolved")
        assert count(ingest, closed, team_id) == 1
        # A run that was under way is taken over and ended, and nothing is decided twice.
        waiting = "SELECT count(*) FROM review_runs WHERE team_id = %s AND status IN ('queued', 'running')"
        await until(lambda: count(ingest, waiting, team_id) == 0, "no run is left")
        assert count(ingest, resolved, team_id) == 1
        assert ledger_verifies(ingest, team_id)


def is_longer_than(found: Sized, length: int) -> bool:
    return len(found) > length


@pytest.mark.promise("kept.acknowledged", "Q8")
@pytest.mark.rule("R5.1")
async def test_a_killed_database_loses_no_acknowledged_write(tmp_path: Path, deploys_from: Request) -> None:
    writes, kills = examples(fast=24, full=12), examples(fast=1, full=20)
    with EmbeddedPostgres(tmp_path / "server") as server:
        cluster = PostgresCluster(server.url)
        cluster.make_template()
        async with small_stack(cluster, tmp_path, "ingest") as stack:
            team_id, _, (writer,) = await team_of(stack, deploys_from, 1)
            acknowledged: list[str] = []

            async def write(client: Client, number: int) -> None:
                """One write, repeated with its key until it is answered."""
                request = deploys_from(f"note {number}: production deploys from main", "main", key=f"w{number}")

                async def answered() -> bool:
                    try:
                        response = await client.ingest.Remember(request)
                    except grpc.aio.AioRpcError as error:
                        if error.code() in UNANSWERED:
                            return False
                        raise
                    acknowledged.append(response.placement.ingest_id)
                    return True

                await until(answered, f"write {number} is acknowledged")

            async with client_of(stack, writer) as client:
                for first in range(0, writes * kills, writes):
                    half = first + writes // 2
                    for number in range(first, half):
                        await write(client, number)
                    rest = [asyncio.create_task(write(client, number)) for number in range(half, first + writes)]
                    await until(partial(is_longer_than, acknowledged, half), "the second half is under way")
                    os.kill(server.pid, signal.SIGKILL)
                    await asyncio.gather(*rest)
            assert len(set(acknowledged)) == writes * kills
            assert count(stack, "SELECT count(*) FROM ingests WHERE team_id = %s", team_id) == writes * kills
            assert ledger_verifies(stack, team_id)
