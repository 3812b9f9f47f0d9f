"""Fixtures of the fault tests: a running ingest service without workers, and disputes made through it."""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack
from dataclasses import asdict, dataclass
from datetime import UTC, date, datetime, timedelta

import psycopg
import pytest
from corrigenda.admin.v1 import admin_service_pb2
from corrigenda.ingest.v1 import ingest_service_pb2
from corrigenda_cli.demonstration_team import make_team, prepare
from corrigenda_cli.local_secrets import DATABASE_ROLES, LocalSecrets, write_private
from corrigenda_cli.stack import PROCESSES, Stack
from corrigenda_conflict.reviewer.look import Look
from corrigenda_core.domain.ids import TeamId
from corrigenda_core.domain.snapshots import Outcome
from corrigenda_core.persistence.database import Database
from corrigenda_core.persistence.review_store import ReviewStore
from corrigenda_core.persistence.transaction import TransactionRunner
from corrigenda_core.rpc.client import Client, Endpoints
from corrigenda_core.rpc.convert import timestamp_of
from corrigenda_core.serving import new_ids
from corrigenda_core.testing.postgres import ROLE_PASSWORD, PostgresCluster

Request = Callable[..., ingest_service_pb2.RememberRequest]
BEGINNING = datetime(2026, 1, 10, tzinfo=UTC)
AFTER_DEADLINES = BEGINNING + timedelta(days=8)


@pytest.fixture(scope="session")
async def without_workers(cluster: PostgresCluster, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Stack]:
    """A running ingest service on a database of its own: what its teams have due, nobody takes but the test."""
    directory = tmp_path_factory.mktemp("ingest")
    known = LocalSecrets(role_passwords=dict.fromkeys(DATABASE_ROLES, ROLE_PASSWORD))
    write_private(directory / "secrets.json", json.dumps(asdict(known)))
    with cluster.database() as database:
        stack = Stack(
            directory=directory,
            database_url=database.superuser_url,
            free_ports=True,
            without=[spec.name for spec in PROCESSES if spec.name != "ingest"],
        )
        async with stack:
            yield stack


@dataclass(frozen=True, slots=True, kw_only=True)
class DisputingTeam:
    """A driven team whose profiles A, B and C disagree about where services deploy from."""

    team_id: str
    admin: Client
    profiles: dict[str, Client]
    deploys_from: Request
    after_deadlines: datetime = AFTER_DEADLINES

    async def dispute(self, subject: str, *, votes: str = "ABC") -> str:
        """Opens a case about a subject: A says main, B and C say release; returns its id."""
        says = {
            "A": (f"as ever, {subject} deploys from main", "main"),
            "B": (f"{subject} deploys from release", "release"),
            "C": (f"our checklist confirms: {subject} deploys from release", "release"),
        }
        conflict_id = ""
        for name in votes:
            text, branch = says[name]
            request = self.deploys_from(text, branch)
            request.proposal.entities[0].name = subject
            answer = await self.profiles[name].ingest.Remember(request)
            conflict_id = answer.placement.relationships[0].conflict.conflict_id
        assert conflict_id
        return conflict_id

    async def drive(self, time: datetime) -> None:
        """Sets the team's clock."""
        await self.admin.admin.DriveClock(
            admin_service_pb2.DriveClockRequest(idempotency_key=time.isoformat(), time=timestamp_of(time))
        )


@pytest.fixture
async def disputing(without_workers: Stack, deploys_from: Request) -> AsyncIterator[DisputingTeam]:
    """A team of its own on the running service."""
    stack = without_workers
    address = stack.address("ingest")
    endpoints = Endpoints(ingest=address, conflict=address, recall=address)
    admin_key = await asyncio.to_thread(make_team, stack, driven_from=BEGINNING)
    async with AsyncExitStack() as clients:
        admin = await clients.enter_async_context(Client(endpoints, admin_key))
        keys = await prepare(admin, ("A", "B", "C"))
        profiles = {name: await clients.enter_async_context(Client(endpoints, key)) for name, key in keys.items()}
        team = await admin.admin.GetTeam(admin_service_pb2.GetTeamRequest())
        yield DisputingTeam(team_id=team.team.team_id, admin=admin, profiles=profiles, deploys_from=deploys_from)


Rows = dict[str, dict[str, dict[str, object]]]


@pytest.fixture
def rows_of(without_workers: Stack) -> Callable[[str], Rows]:
    """Reads every row of a team: by table, then by primary key, the columns by name."""

    def read(team_id: str) -> Rows:
        with psycopg.connect(without_workers.url("corrigenda_auditor"), autocommit=True) as connection:
            keys = connection.execute(
                "SELECT c.conrelid::regclass::text, array_agg(a.attname ORDER BY a.attnum) FROM pg_constraint AS c "
                "JOIN pg_attribute AS a ON a.attrelid = c.conrelid AND a.attnum = ANY (c.conkey) "
                "WHERE c.contype = 'p' AND c.connamespace = 'public'::regnamespace GROUP BY 1"
            ).fetchall()
            found: Rows = {}
            for table, key in keys:
                if "team_id" in key:
                    rows = connection.execute(f"SELECT to_jsonb(t) FROM {table} AS t WHERE team_id = %s", [team_id])
                    found[table] = {" ".join(str(row[name]) for name in key): row for (row,) in rows}
            return found

    return read


Review = Callable[[str], Awaitable[list[Outcome]]]


@pytest.fixture
async def review(without_workers: Stack) -> AsyncIterator[Review]:
    """Looks at every due case of a team, as the reviewer's role; the outcomes in the order of the looks."""
    async with Database(without_workers.url("corrigenda_reviewer")) as database:
        store = ReviewStore(database, lease_seconds=60.0)
        look = Look(runner=TransactionRunner(database), new_ids=new_ids)

        async def run(team_id: str) -> list[Outcome]:
            team = await store.team_now(TeamId(team_id))
            claimed = await store.claim_cases(team, night=date(2026, 1, 10), batch=100)
            return [(await look.at(team, claim, claimed.rows[claim.conflict_id])).outcome for claim in claimed.claims]

        yield run
