"""A team with one agent on a throw-away stack, its clock driven, for the accuracy benchmarks.

Everything that a benchmark does to it goes through the public gRPC API; only the team itself is made as
``corrigenda teams create`` makes it.
"""

from __future__ import annotations

import asyncio
import sys
import tempfile
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import asynccontextmanager
from datetime import datetime, timedelta
from pathlib import Path

from corrigenda.admin.v1 import admin_service_pb2
from corrigenda.options.v1 import key_scope_pb2
from corrigenda.recall.v1 import recall_service_pb2, result_pb2
from corrigenda.type.v1 import predicate_pb2, relationship_pb2, time_pb2
from corrigenda_cli.demonstration_team import make_team
from corrigenda_cli.stack import Stack
from corrigenda_core.config import LogFormat, LogLevel
from corrigenda_core.observability import configure_logging
from corrigenda_core.rpc.client import Client, Endpoints
from corrigenda_core.rpc.convert import timestamp_of

AGENT = "agent"
KIND = "thing"
"""The kind of every entity: the data name no kinds, and a chain goes from the object of one fact to the next one."""

RESULTS = 50
INDEX_WAIT_SECONDS = 600.0
POLL_SECONDS = 0.2


class AccuracyTeam:
    """What a benchmark does with the team: drive its clock, remember as its agent, and ask.

    ``agent`` and ``admin`` are clients of the public API.
    """

    def __init__(self, admin: Client, agent: Client) -> None:
        self.admin = admin
        self.agent = agent
        self._recalled: dict[tuple[str, bytes], list[relationship_pb2.Relationship]] = {}

    async def drive(self, time: datetime) -> None:
        """Sets the team's clock; every time is driven to once."""
        await self.admin.admin.DriveClock(
            admin_service_pb2.DriveClockRequest(idempotency_key=f"clock: {time.isoformat()}", time=timestamp_of(time))
        )

    async def searchable(self) -> None:
        """Waits until what was remembered last can be found.

        Raises:
            TimeoutError: it could not be found in time.
        """
        request = recall_service_pb2.RecallRequest(query="anything", min_revision=self.agent.seen_revision)
        async with asyncio.timeout(INDEX_WAIT_SECONDS):
            while True:
                answer = await self.agent.recall.Recall(request)
                if result_pb2.DEGRADATION_SEARCH_BEHIND not in answer.degraded:
                    return
                await asyncio.sleep(POLL_SECONDS)

    async def recall(
        self, query: str, temporal: time_pb2.TemporalSelector | None = None
    ) -> list[relationship_pb2.Relationship]:
        """The relationships by which Recall's results are eligible, the best result first, each once."""
        key = (query, temporal.SerializeToString(deterministic=True) if temporal else b"")
        if key not in self._recalled:
            answer = await self.agent.recall.Recall(
                recall_service_pb2.RecallRequest(query=query, limit=RESULTS, temporal=temporal)
            )
            found = {
                path.relationship.relationship_id: path.relationship
                for result in answer.results
                for path in result.paths
            }
            self._recalled[key] = list(found.values())
        return self._recalled[key]


def state(
    key: str,
    phrase: str,
    basis: predicate_pb2.SupersessionBasis.ValueType,
    cardinality: predicate_pb2.Cardinality.ValueType = predicate_pb2.CARDINALITY_ONE,
) -> predicate_pb2.PredicateDefinition:
    """The definition of a state predicate with the one phrase by which the evidence says it."""
    return predicate_pb2.PredicateDefinition(
        key=key,
        aliases=[phrase] if phrase != key.replace("_", " ") else [],
        relationship_kind=predicate_pb2.RELATIONSHIP_KIND_STATE,
        current_cardinality=cardinality,
        supersession_basis=basis,
    )


@asynccontextmanager
async def throw_away_team(
    predicates: Sequence[predicate_pb2.PredicateDefinition], *, driven_from: datetime
) -> AsyncIterator[AccuracyTeam]:
    """The team on a stack of its own, with its predicates registered."""
    # What a script prints is its result alone.
    configure_logging(level=LogLevel.WARNING, format=LogFormat.CONSOLE, process="bench")
    with tempfile.TemporaryDirectory() as folder:
        stack = Stack(
            directory=Path(folder),
            free_ports=True,
            throw_away=True,
            without=["conflict", "reviewer", "gateway"],
            say=lambda text: print(f"… {text}", file=sys.stderr, flush=True),
        )
        async with stack:
            ingest = stack.address("ingest")
            endpoints = Endpoints(ingest=ingest, conflict=ingest, recall=stack.address("recall"))
            async with Client(endpoints, make_team(stack, driven_from=driven_from)) as admin:
                await _register(admin, predicates)
                async with Client(endpoints, await _agent_key(admin)) as agent:
                    yield AccuracyTeam(admin, agent)


async def _register(admin: Client, predicates: Iterable[predicate_pb2.PredicateDefinition]) -> None:
    for definition in predicates:
        await admin.admin.RegisterPredicate(
            admin_service_pb2.RegisterPredicateRequest(
                idempotency_key=f"predicate: {definition.key}", definition=definition
            )
        )


async def _agent_key(admin: Client) -> str:
    made = await admin.admin.CreateProfile(
        admin_service_pb2.CreateProfileRequest(idempotency_key="profile", name=AGENT)
    )
    key = await admin.admin.CreateKey(
        admin_service_pb2.CreateKeyRequest(
            idempotency_key="key",
            profile_id=made.profile.profile_id,
            label=AGENT,
            scopes=[key_scope_pb2.KEY_SCOPE_READ, key_scope_pb2.KEY_SCOPE_WRITE],
        )
    )
    secret: str = key.secret
    return secret


def day_before(time: datetime) -> datetime:
    """Where the clock begins, so that what is prepared comes before everything that is remembered."""
    return time - timedelta(days=1)
