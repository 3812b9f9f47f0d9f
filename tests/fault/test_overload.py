"""Q19: at three times what a service can do, it still does nearly all of that, in time, and advises whom it refuses."""

import asyncio
import json
import os
import statistics
import time
import uuid
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass
from typing import Any

import psutil
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
# Who was admitted gets the answer in time, but for the first ones, by which the service learns what it can do.
LATE_SHARE = 0.02
SERVICE = ingest_service_pb2.DESCRIPTOR.services_by_name["IngestService"]
# A service whose calls take a place for a tenth of a second each, and no time of this machine.
PLACES, WORK_SECONDS = 4, 0.1

# A machine that others use, too, changes what a service can do within seconds, and delays those who wait for answers:
# only rounds count in which others had little of it. The fast tier proves the queue itself (test_admission.py).
ROUNDS, ROUNDS_MAX, OTHERS_SHARE = 3, 6, 0.15
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


def are_refused_with_advice(outcome: Outcome) -> None:
    """What the property promises to those who are not admitted."""
    assert outcome.refused > 0
    assert (outcome.unadvised, outcome.failed) == (0, {})


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
    assert outcome.late <= LATE_SHARE * outcome.offered, outcome.figures()
    are_refused_with_advice(outcome)


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

        rounds: list[Round] = []
        while len(rounds) < ROUNDS_MAX and sum(one.is_quiet for one in rounds) < ROUNDS:
            first = len(rounds) * 10_000_000
            before, began = ours_and_all(), time.monotonic()
            capacity = await closed_loop(call, callers=16, seconds=5.0, first=first)
            per_second = TIMES_CAPACITY * capacity.answered_per_second
            outcome = await open_loop(call, per_second=per_second, seconds=10.0, first=first + 5_000_000)
            ours, all_of_them = (after - then for after, then in zip(ours_and_all(), before, strict=True))
            of_others = (all_of_them - ours) / (time.monotonic() - began) / (os.cpu_count() or 1)
            rounds.append(Round(capacity=capacity, outcome=outcome, share_of_others=of_others))
    print(json.dumps([one.figures() for one in rounds]))
    quiet = [one for one in rounds if one.is_quiet]
    if not quiet:
        pytest.skip(f"others used {min(one.share_of_others for one in rounds):.0%} of this machine and more")
    assert statistics.median(one.goodput_share for one in quiet) >= GOODPUT_SHARE
    assert statistics.median(one.outcome.late / one.outcome.offered for one in quiet) <= LATE_SHARE
    for one in quiet:
        are_refused_with_advice(one.outcome)


@dataclass(frozen=True, slots=True, kw_only=True)
class Round:
    """A capacity, and what became of three times as many calls right after."""

    capacity: Outcome
    outcome: Outcome
    share_of_others: float

    @property
    def is_quiet(self) -> bool:
        return self.share_of_others <= OTHERS_SHARE

    @property
    def goodput_share(self) -> float:
        return self.outcome.answered_per_second / self.capacity.answered_per_second

    def figures(self) -> dict[str, Any]:
        return {
            "capacity": self.capacity.figures(),
            "overload": self.outcome.figures(),
            "goodput_share": round(self.goodput_share, 3),
            "share_of_others": round(self.share_of_others, 3),
        }


def ours_and_all() -> tuple[float, float]:
    """Processor seconds that this process and those below it have used, and that everybody has."""
    own = psutil.Process()
    ours = sum(one.user + one.system for one in (each.cpu_times() for each in (own, *own.children(recursive=True))))
    total = psutil.cpu_times()
    return ours, sum(total) - total.idle - total.iowait
