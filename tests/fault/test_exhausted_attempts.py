"""A case that cannot be looked at: attempts are bounded, people are told, and the next night begins anew."""

import asyncio
import json
import socket
import urllib.request
from collections.abc import Callable
from dataclasses import asdict
from datetime import UTC, datetime, timedelta
from pathlib import Path

import psycopg
import pytest
from corrigenda.admin.v1 import admin_service_pb2
from corrigenda.conflict.v1 import conflict_case_pb2, conflict_service_pb2
from corrigenda.ingest.v1 import ingest_service_pb2
from corrigenda_cli.demonstration_team import make_team, prepare
from corrigenda_cli.local_secrets import DATABASE_ROLES, LocalSecrets, write_private
from corrigenda_cli.stack import Stack
from corrigenda_core.rpc.client import Client, Endpoints
from corrigenda_core.rpc.convert import timestamp_of
from corrigenda_core.testing.postgres import ROLE_PASSWORD, PostgresCluster

pytestmark = pytest.mark.database

Request = Callable[..., ingest_service_pb2.RememberRequest]
BEGINNING = datetime(2026, 1, 10, 12, tzinfo=UTC)
ATTEMPTS = 2
WAIT_SECONDS = 40.0

# Nobody may write an evaluation: every look fails at its commit.
REFUSE = "ALTER TABLE case_evaluations ADD CONSTRAINT refused CHECK (false) NOT VALID"
ALLOW = "ALTER TABLE case_evaluations DROP CONSTRAINT refused"


@pytest.mark.rule("R7.18")
async def test_attempts_run_out_and_start_at_zero_the_next_night(
    cluster: PostgresCluster, tmp_path: Path, deploys_from: Request
) -> None:
    known = LocalSecrets(role_passwords=dict.fromkeys(DATABASE_ROLES, ROLE_PASSWORD))
    write_private(tmp_path / "secrets.json", json.dumps(asdict(known)))
    with cluster.database() as database, psycopg.connect(database.superuser_url, autocommit=True) as owner:
        stack = Stack(
            directory=tmp_path,
            database_url=database.superuser_url,
            free_ports=True,
            without=["recall", "indexer", "reviewer", "gateway"],
        )
        async with stack:
            admin_key = await asyncio.to_thread(make_team, stack, driven_from=BEGINNING)
            ingest = stack.address("ingest")
            endpoints = Endpoints(ingest=ingest, conflict=stack.address("conflict"), recall=ingest)
            async with Client(endpoints, admin_key) as admin:
                keys = await prepare(admin, ("A", "B"))
                async with Client(endpoints, keys["A"]) as a, Client(endpoints, keys["B"]) as b:
                    await a.ingest.Remember(deploys_from("production deploys from main", "main"))
                    placed = await b.ingest.Remember(deploys_from("production deploys from release", "release"))
                    conflict_id = placed.placement.relationships[0].conflict.conflict_id
                    owner.execute(REFUSE)
                    metrics = f"127.0.0.1:{free_port()}"
                    settings = {
                        "CORRIGENDA_REVIEW_ATTEMPTS_PER_NIGHT": str(ATTEMPTS),
                        "CORRIGENDA_METRICS_LISTEN": metrics,
                    }
                    await stack.start_process("reviewer", settings)
                    told = await until_alerted(a, conflict_id, times=1)
                    assert (told.conflict.status, told.conflict.version) == (conflict_case_pb2.CASE_STATUS_OPEN, 1)
                    assert told.events[-1].reason == "attempts_exhausted"
                    assert await watched_events(b) == list(told.events)
                    shown = await asyncio.to_thread(read, f"http://{metrics}/metrics")
                    assert 'corrigenda_conflict_events_total{event="conflict.attempts_exhausted"} 1.0' in shown
                    assert owner.execute("SELECT count(*) FROM alerts").fetchone() == (1,)
                    assert owner.execute("SELECT attempts FROM case_lease").fetchone() == (ATTEMPTS + 1,)
                    await drive(admin, BEGINNING + timedelta(days=1))
                    await until_alerted(a, conflict_id, times=2)
                    assert owner.execute("SELECT attempts FROM case_lease").fetchone() == (ATTEMPTS + 1,)
                    owner.execute(ALLOW)
                    await drive(admin, BEGINNING + timedelta(days=2))
                    await until_looked_at(a, conflict_id)
                    assert owner.execute("SELECT attempts FROM case_lease").fetchone() == (0,)


def free_port() -> int:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        port: int = unused.getsockname()[1]
    return port


def read(url: str) -> str:
    with urllib.request.urlopen(url, timeout=WAIT_SECONDS) as answer:
        text: str = answer.read().decode()
    return text


async def drive(admin: Client, time: datetime) -> None:
    await admin.admin.DriveClock(
        admin_service_pb2.DriveClockRequest(idempotency_key=time.isoformat(), time=timestamp_of(time))
    )


async def until_alerted(client: Client, conflict_id: str, *, times: int) -> conflict_service_pb2.GetConflictResponse:
    async with asyncio.timeout(WAIT_SECONDS):
        while True:
            seen = await client.conflict.GetConflict(conflict_service_pb2.GetConflictRequest(conflict_id=conflict_id))
            assert isinstance(seen, conflict_service_pb2.GetConflictResponse)
            if sum(event.action == conflict_case_pb2.CASE_ACTION_ALERTED for event in seen.events) == times:
                return seen
            await asyncio.sleep(0.05)


async def watched_events(client: Client) -> list[conflict_case_pb2.ConflictEvent]:
    request = conflict_service_pb2.WatchConflictsRequest(until_now=True)
    messages = [message async for message in client.conflict.WatchConflicts(request)]
    return [one.case_change.event for message in messages for one in message.changes if one.HasField("case_change")]


async def until_looked_at(client: Client, conflict_id: str) -> None:
    async with asyncio.timeout(WAIT_SECONDS):
        while True:
            seen = await client.conflict.GetConflict(conflict_service_pb2.GetConflictRequest(conflict_id=conflict_id))
            if seen.conflict.HasField("last_evaluated_at"):
                return
            await asyncio.sleep(0.05)
