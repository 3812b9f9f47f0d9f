"""Q19: at three times what a service can do, it still does nearly all of that, in time, and advises whom it refuses."""

import asyncio
import json
import os
import statistics
import uuid
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack
from typing import Any

import pytest
from corrigenda.ingest.v1 import ingest_service_pb2, ingest_service_pb2_grpc, placement_pb2
from corrigenda_cli.demonstration_team import make_team, prepare
from corrigenda_cli.stack import Stack
from corrigenda_core.domain.actors import Caller, KeyScope
from corrigenda_core.domain.ids import KeyId, ProfileId, TeamId
from corrigenda_core.policy.authorization import may_call_method
from corrigenda_core.rpc.admission import Admission, AdmissionBounds
from corrigenda_core.rpc.client import Client, Endpoints
from corrigenda_core.rpc.interceptors import CallGate
from corrigenda_core.rpc.methods import methods_of
from corrigenda_core.rpc.metrics import CallMetrics
from corrigenda_core.rpc.rate_limit import RateLimiter, RateLimits
from corrigenda_core.rpc.server import RpcServer, ServiceBinding
from corrigenda_core.testing.effort import is_full_tier
from corrigenda_core.testing.open_loop import Outcome, closed_loop, open_loop
from prometheus_client import CollectorRegistry

Request = Callable[..., ingest_service_pb2.RememberRequest]
TIMES_CAPACITY = 3
GOODPUT_SHARE = 0.8
SERVICE = ingest_service_pb2.DESCRIPTOR.services_by_name["IngestService"]
# A service whose calls take a place for a tenth of a second each, and no time of this machine.
PLACES, WORK_SECONDS = 4, 0.1

# Capacity is measured before and after each round of overload, and the middle round counts: a machine that others use
# changes what a service can do within seconds. The fast tier proves the queue itself (test_admission.py).
ROUNDS = 3
full_tier = pytest.mark.skipif(not is_full_tier(), reason="full tier only: it loads a service in real time")


class Anybody:
    """Every key is one of the same author."""

    async def authenticate(self, _secret: str) -> Caller:
        return Caller(
            team_id=TeamId("t"), profile_id=ProfileId("p"), key_id=KeyId("k"), scopes=frozenset({KeyScope.READ})
        )


class Slow(ingest_service_pb2_grpc.IngestServiceServicer):
    """Answers after a while."""

    async def GetPlacement(self, request: Any, context: Any) -> Any:
        await asyncio.sleep(WORK_SECONDS)
        return ingest_service_pb2.GetPlacementResponse(placement=placement_pb2.Placement(ingest_id=request.ingest_id))


@pytest.fixture
async def slow() -> AsyncIterator[Client]:
    server = RpcServer(
        services=[
            ServiceBinding(
                descriptor=SERVICE,
                register=lambda server: ingest_service_pb2_grpc.add_IngestServiceServicer_to_server(Slow(), server),
            )
        ],
        gate=CallGate(
            methods=methods_of([SERVICE]),
            authenticator=Anybody(),
            may_call=may_call_method,
            limiter=RateLimiter(RateLimits()),
            metrics=CallMetrics(CollectorRegistry()),
            admission=Admission(AdmissionBounds(calls_at_once=PLACES, calls_waiting=100)),
        ),
        checks={},
    )
    address = await server.start()
    async with Client(Endpoints(ingest=address, conflict=address, recall=address), "cor_any", retries=False) as client:
        yield client
    await server.stop(drain_seconds=0)


def is_advised_and_in_time(outcome: Outcome) -> None:
    """What the property promises to each call."""
    assert outcome.refused > 0
    assert (outcome.unadvised, outcome.failed) == (0, {})
    # Who was admitted gets the answer in time, but for the first ones, by which the service learns what it can do.
    assert outcome.late <= outcome.offered // 50, outcome.figures()


@full_tier
@pytest.mark.promise("Q19")
async def test_more_than_a_service_can_do_does_not_keep_it_from_what_it_can(slow: Client) -> None:
    async def call(_: int) -> object:
        return await slow.ingest.GetPlacement(
            ingest_service_pb2.GetPlacementRequest(ingest_id=str(uuid.uuid4())), timeout=1.5
        )

    capacity_per_second = PLACES / WORK_SECONDS
    outcome = await open_loop(call, per_second=TIMES_CAPACITY * capacity_per_second, seconds=2.0)
    assert outcome.answered_per_second >= GOODPUT_SHARE * capacity_per_second, outcome.figures()
    is_advised_and_in_time(outcome)


@pytest.mark.database
@full_tier
@pytest.mark.promise("Q19")
async def test_ingest_at_three_times_its_capacity(without_workers: Stack, deploys_from: Request) -> None:
    address = without_workers.address("ingest")
    endpoints = Endpoints(ingest=address, conflict=address, recall=address)
    run = uuid.uuid4().hex
    authors: list[Client] = []
    async with AsyncExitStack() as clients:
        for _ in range(8):
            admin_key = await asyncio.to_thread(make_team, without_workers, driven_from=None)
            async with Client(endpoints, admin_key) as admin:
                keys = await prepare(admin, ("A",))
            authors.append(await clients.enter_async_context(Client(endpoints, keys["A"], retries=False)))

        async def call(number: int) -> object:
            request = deploys_from(f"service-{number} deploys from main", "main", key=f"{run}-{number}")
            request.proposal.entities[0].name = f"service-{number}"
            return await authors[number % len(authors)].ingest.Remember(request, timeout=2.0)

        capacities, outcomes = [], []
        for place in range(ROUNDS + 1):
            first = place * 10_000_000
            capacities.append(await closed_loop(call, callers=16, seconds=5.0, first=first))
            if place < ROUNDS:
                per_second = TIMES_CAPACITY * capacities[-1].answered_per_second
                outcomes.append(await open_loop(call, per_second=per_second, seconds=10.0, first=first + 5_000_000))
    shares = [
        outcome.answered_per_second / min(before.answered_per_second, after.answered_per_second)
        for before, outcome, after in zip(capacities, outcomes, capacities[1:], strict=False)
    ]
    figures = {
        "capacity": [one.figures() for one in capacities],
        "overload": [one.figures() for one in outcomes],
        "shares": [round(share, 3) for share in shares],
        "cores": os.cpu_count(),
    }
    print(json.dumps(figures))
    assert statistics.median(shares) >= GOODPUT_SHARE, figures
    for outcome in outcomes:
        is_advised_and_in_time(outcome)
