"""Fixtures that many tests share: PostgreSQL, a migrated database, teams in it, and the whole stack on the wire."""

import asyncio
import json
import os
import subprocess
import sys
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any

import pytest
from corrigenda.admin.v1 import admin_service_pb2
from corrigenda.ingest.v1 import ingest_service_pb2, submission_pb2
from corrigenda.options.v1 import key_scope_pb2
from corrigenda.type.v1 import evidence_pb2, predicate_pb2, relationship_pb2
from corrigenda_cli.local_secrets import DATABASE_ROLES, LocalSecrets, write_private
from corrigenda_cli.stack import Stack
from corrigenda_core.rpc.client import Client, Endpoints
from corrigenda_core.testing.effort import examples, is_full_tier
from corrigenda_core.testing.made_team import made_team
from corrigenda_core.testing.next_release import migrate_on
from corrigenda_core.testing.otlp_collector import OtlpCollector
from corrigenda_core.testing.pooler import PROGRAM_VARIABLE as POOLER_VARIABLE
from corrigenda_core.testing.pooler import transaction_pooler
from corrigenda_core.testing.postgres import (
    ROLE_PASSWORD,
    PostgresCluster,
    Team,
    ThrowawayDatabase,
    add_team,
    postgres_cluster,
)
from hypothesis import HealthCheck, settings

# The normal tier tries the same examples in every run, so that it fails by a change and never by chance; the full tier
# looks for new ones, prints how to try a failure again, and remembers it. Time is no property: a machine may be busy.
settings.register_profile(
    "corrigenda",
    max_examples=examples(fast=100, full=1_000),
    derandomize=not is_full_tier(),
    print_blob=True,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("corrigenda")


@pytest.fixture(scope="session")
def cluster() -> Iterator[PostgresCluster]:
    """The server of this session with a migrated template; started by the first test that needs it."""
    with postgres_cluster() as made:
        yield made


@pytest.fixture(scope="session")
def shared_database(cluster: PostgresCluster) -> Iterator[ThrowawayDatabase]:
    """One migrated database for all tests that keep to a team of their own: nothing crosses a team."""
    with cluster.database() as database:
        yield database


@pytest.fixture
def fresh_database(cluster: PostgresCluster) -> Iterator[ThrowawayDatabase]:
    """A migrated database of the test's own."""
    with cluster.database() as database:
        yield database


@pytest.fixture
def team(shared_database: ThrowawayDatabase) -> Team:
    """An open team with two profiles in the shared database."""
    return add_team(shared_database)


# A migrated database for the stack, of a kind that no test can make for itself: one that is distributed.
STACK_URL_VARIABLE = "CORRIGENDA_TEST_STACK_DATABASE_URL"


@pytest.fixture(scope="session")
def collector() -> Iterator[OtlpCollector]:
    """Where the running stack sends its metrics, and the traces that a caller asks it to keep."""
    running = OtlpCollector()
    yield running
    running.close()


@pytest.fixture(scope="session")
async def stack(
    cluster: PostgresCluster, collector: OtlpCollector, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Stack]:
    """The whole stack as its users see it, every process of its own, on a database of its own.

    If a pooler is named (see `corrigenda_core.testing.pooler`), the processes reach the database through it alone.
    """
    directory = tmp_path_factory.mktemp("stack")
    # The roles of a test server belong to all its databases: their passwords are what the cluster has set.
    known = LocalSecrets(role_passwords=dict.fromkeys(DATABASE_ROLES, ROLE_PASSWORD))
    write_private(directory / "secrets.json", json.dumps(asdict(known)))
    async with AsyncExitStack() as opened:
        url = os.environ.get(STACK_URL_VARIABLE) or opened.enter_context(cluster.database()).superuser_url
        migrate_on(url)
        program = os.environ.get(POOLER_VARIABLE)
        pooler_url = opened.enter_context(transaction_pooler(program, url)) if program else None
        with pytest.MonkeyPatch.context() as observed:
            for name, value in {
                "CORRIGENDA_METRICS_LISTEN": "127.0.0.1:0",
                "CORRIGENDA_OTLP_ENDPOINT": collector.endpoint,
                "CORRIGENDA_TRACE_SAMPLE_RATIO": "0",
                "OTEL_BSP_SCHEDULE_DELAY": "200",
            }.items():
                observed.setenv(name, value)
            running = await opened.enter_async_context(
                Stack(directory=directory, database_url=url, pooler_url=pooler_url, free_ports=True)
            )
        yield running


@pytest.fixture
def ledger_verifies(stack: Stack) -> Callable[[str], Awaitable[bool]]:
    """Tells whether `corrigenda verify-ledger` says that a team's history is what was committed."""
    environment = {**os.environ, "CORRIGENDA_DATABASE_URL": stack.url("corrigenda_auditor")}

    async def verifies(team_id: str) -> bool:
        command = [sys.executable, "-m", "corrigenda_cli", "verify-ledger", "--team", team_id]
        finished = await asyncio.to_thread(subprocess.run, command, env=environment, capture_output=True, check=False)
        return finished.returncode == 0

    return verifies


@dataclass(frozen=True, slots=True, kw_only=True)
class WireTeam:
    """A team on the running stack: an administrator, and profiles with keys that read and write."""

    team_id: str
    admin: Client
    profiles: Mapping[str, Client]
    keys: Mapping[str, str]

    def __getitem__(self, name: str) -> Client:
        return self.profiles[name]


@pytest.fixture
async def new_team(stack: Stack) -> AsyncIterator[Callable[..., Awaitable[WireTeam]]]:
    """Makes teams on the running stack, each with profiles A, B, C and the predicate ``deploys_from``."""
    async with AsyncExitStack() as clients:

        async def make(*, driven_from: datetime | None = None, profiles: Sequence[str] = ("A", "B", "C")) -> WireTeam:
            return await _wire_team(stack, clients, driven_from, profiles)

        yield make


async def _wire_team(
    stack: Stack, clients: AsyncExitStack, driven_from: datetime | None, profiles: Sequence[str]
) -> WireTeam:
    made = made_team(stack.url("corrigenda_migrator"), stack.secrets.key_pepper, driven_from=driven_from)
    endpoints = Endpoints(
        ingest=stack.address("ingest"), conflict=stack.address("conflict"), recall=stack.address("recall")
    )
    admin = await clients.enter_async_context(Client(endpoints, made.key))
    await admin.admin.RegisterPredicate(
        admin_service_pb2.RegisterPredicateRequest(
            idempotency_key="deploys_from",
            definition=predicate_pb2.PredicateDefinition(
                key="deploys_from",
                aliases=["deploys from"],
                relationship_kind=predicate_pb2.RELATIONSHIP_KIND_STATE,
                current_cardinality=predicate_pb2.CARDINALITY_ONE,
            ),
        )
    )
    keys = {}
    for name in profiles:
        profile = await admin.admin.CreateProfile(
            admin_service_pb2.CreateProfileRequest(idempotency_key=f"profile {name}", name=name)
        )
        key = await admin.admin.CreateKey(
            admin_service_pb2.CreateKeyRequest(
                idempotency_key=f"key {name}",
                profile_id=profile.profile.profile_id,
                scopes=[key_scope_pb2.KEY_SCOPE_READ, key_scope_pb2.KEY_SCOPE_WRITE],
            )
        )
        keys[name] = key.secret
    opened = {name: await clients.enter_async_context(Client(endpoints, secret)) for name, secret in keys.items()}
    return WireTeam(team_id=made.team_id, admin=admin, profiles=opened, keys={"admin": made.key, **keys})


@pytest.fixture
def deploys_from() -> Callable[..., ingest_service_pb2.RememberRequest]:
    """Makes the request that says where production deploys from."""
    return _deploys_from


def _deploys_from(
    text: str,
    branch: str,
    *,
    key: str | None = None,
    predicate: str = "deploys_from",
    cited: submission_pb2.Citation | None = None,
    **more: Any,
) -> ingest_service_pb2.RememberRequest:
    return ingest_service_pb2.RememberRequest(
        idempotency_key=key or uuid.uuid4().hex,
        evidence=[submission_pb2.EvidenceItem(content=text, source_type=evidence_pb2.SOURCE_TYPE_CONVERSATION)],
        proposal=submission_pb2.Proposal(
            entities=[
                submission_pb2.ProposedEntity(ref="env", name="production", entity_kind="environment"),
                submission_pb2.ProposedEntity(ref="branch", name=branch, entity_kind="git_branch"),
            ],
            relationships=[
                submission_pb2.ProposedRelationship(
                    proposal_id="p1",
                    subject_ref="env",
                    predicate=predicate,
                    object_ref="branch",
                    polarity=relationship_pb2.POLARITY_POSITIVE,
                    modality=relationship_pb2.MODALITY_STATEMENT,
                    evidence=[cited or submission_pb2.Citation(evidence_index=0, start=0, end=len(text))],
                    **more,
                )
            ],
        ),
    )
