"""Q20: a frozen database holds no answer back beyond its deadline; a service that is told to stop leaves in order."""

import asyncio
import json
import uuid
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import grpc
import pytest
from corrigenda.admin.v1 import admin_service_pb2
from corrigenda.ingest.v1 import ingest_service_pb2
from corrigenda_cli.child import Child
from corrigenda_cli.demonstration_team import make_team, prepare
from corrigenda_cli.stack import Stack
from corrigenda_core.rpc.client import Client, Endpoints
from corrigenda_core.testing.effort import examples
from corrigenda_core.testing.tcp_proxy import TcpProxy

pytestmark = pytest.mark.database

Request = Callable[..., ingest_service_pb2.RememberRequest]
FREEZES = examples(fast=3, full=50)
DRAINS = examples(fast=1, full=20)
DEADLINE_SECONDS = 0.6
LATE_SECONDS = 0.2
HELD_SECONDS = 3.0
WAIT_SECONDS = 60.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Behind:
    """An ingest service whose database stands behind a proxy."""

    child: Child
    log: Path
    proxy: TcpProxy

    def client(self, key: str) -> Client:
        address = self.child.facts["address"]
        return Client(Endpoints(ingest=address, conflict=address, recall=address), key, retries=False)

    def calls(self, request_id: str) -> list[float]:
        """How long the calls of a request id took, in seconds, as the service itself has logged."""
        lines = [json.loads(line) for line in self.log.read_text().splitlines() if '"rpc"' in line]
        return [line["duration_ms"] / 1000 for line in lines if line.get("request_id") == request_id]

    async def told(self, request_id: str, number: int, *, seconds: float) -> list[float]:
        """The same, once the service has told of so many calls; a ``TimeoutError`` if it does not in time."""
        async with asyncio.timeout(seconds):
            while True:
                took = self.calls(request_id)
                if len(took) == number:
                    return took
                await asyncio.sleep(0.02)


@asynccontextmanager
async def behind(stack: Stack) -> AsyncIterator[Behind]:
    url = stack.url("corrigenda_ingest")
    kept = stack.children["ingest"]
    async with TcpProxy(url) as proxy:
        child = await stack.start_process("ingest", {"CORRIGENDA_DATABASE_URL": proxy.url(url)})
        stack.children["ingest"] = kept
        try:
            yield Behind(child=child, log=stack.logs / "ingest.log", proxy=proxy)
        finally:
            proxy.thaw()
            await child.stop()


async def keys_of_team(stack: Stack) -> tuple[str, dict[str, str]]:
    address = stack.address("ingest")
    admin_key = await asyncio.to_thread(make_team, stack, driven_from=None)
    async with Client(Endpoints(ingest=address, conflict=address, recall=address), admin_key) as admin:
        return admin_key, await prepare(admin, ("A", "B"))


async def ended(call: "grpc.aio.UnaryUnaryCall[object, object]") -> grpc.StatusCode:
    try:
        await call
    except grpc.aio.AioRpcError as error:
        return error.code()
    return grpc.StatusCode.OK


@pytest.mark.promise("answer.deadline", "Q20")
async def test_no_answer_is_later_than_its_deadline_while_the_database_is_frozen(
    without_workers: Stack, deploys_from: Request
) -> None:
    admin_key, keys = await keys_of_team(without_workers)
    late: list[float] = []
    async with (
        behind(without_workers) as service,
        service.client(admin_key) as admin,
        service.client(keys["A"]) as a,
    ):
        for number in range(FREEZES):
            await a.ingest.Remember(deploys_from("production deploys from main", "main"), timeout=WAIT_SECONDS)
            frozen = f"frozen-{number}"
            service.proxy.freeze()
            # One whose key is known, one whose key has to be looked up, and one that administers.
            async with service.client(keys["B"]) as unknown:
                met: dict[str, object] = {"timeout": DEADLINE_SECONDS, "metadata": (("x-request-id", frozen),)}
                codes = await asyncio.gather(
                    ended(a.ingest.Remember(deploys_from("production deploys from release", "release"), **met)),
                    ended(unknown.ingest.Remember(deploys_from("production deploys from trunk", "trunk"), **met)),
                    ended(admin.admin.GetTeam(admin_service_pb2.GetTeamRequest(), **met)),
                )
            assert set(codes) <= {grpc.StatusCode.DEADLINE_EXCEEDED, grpc.StatusCode.UNAVAILABLE}
            # It stays frozen until the service has answered: whoever waits for the database is answered by the thaw.
            with suppress(TimeoutError):
                await service.told(frozen, len(codes), seconds=HELD_SECONDS)
            service.proxy.thaw()
            # Once it flows again the service answers as ever: nothing of its pool is lost.
            await admin.admin.GetTeam(admin_service_pb2.GetTeamRequest(), timeout=WAIT_SECONDS)
            took = await service.told(frozen, len(codes), seconds=WAIT_SECONDS)
            late += [one for one in took if one > DEADLINE_SECONDS + LATE_SECONDS]
    # A busy machine may be late by itself, now and then; who waits for the database is late every time.
    assert len(late) <= max(2, FREEZES * len(codes) // 10), f"later than the deadline + 200 ms: {late}"


@pytest.mark.promise("Q20")
async def test_a_service_that_is_told_to_stop_finishes_its_calls_takes_no_new_ones_and_leaves_with_status_0(
    without_workers: Stack, deploys_from: Request
) -> None:
    admin_key, keys = await keys_of_team(without_workers)
    for _ in range(DRAINS):
        async with behind(without_workers) as service, service.client(keys["A"]) as a:
            acknowledged: list[int] = []
            enough = asyncio.Event()

            async def write(
                author: Client = a, answered: list[int] = acknowledged, enough: asyncio.Event = enough
            ) -> grpc.StatusCode:
                while True:
                    text = f"{uuid.uuid4()}: production deploys from main"
                    try:
                        answer = await author.ingest.Remember(deploys_from(text, "main"), timeout=WAIT_SECONDS)
                    except grpc.aio.AioRpcError as error:
                        return error.code()
                    answered.append(answer.revision)
                    if len(answered) >= 20:
                        enough.set()

            writers = [asyncio.create_task(write()) for _ in range(4)]
            async with asyncio.timeout(WAIT_SECONDS):
                await enough.wait()
            status = await service.child.stop()
            codes = await asyncio.gather(*writers)
        assert status == 0
        assert set(codes) <= {grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.CANCELLED}
        address = without_workers.address("ingest")
        async with Client(Endpoints(ingest=address, conflict=address, recall=address), admin_key) as admin:
            team = await admin.admin.GetTeam(admin_service_pb2.GetTeamRequest())
        assert team.revision >= max(acknowledged)
        assert len(set(acknowledged)) == len(acknowledged)
