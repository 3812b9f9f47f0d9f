"""The RPC kit over the wire: a real server on a loopback port with a small servicer of its own."""

from __future__ import annotations

import asyncio
import json
import shutil
import sys
import time
import uuid
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import grpc
import pytest
import pytest_asyncio
import structlog
from corrigenda.ingest.v1 import ingest_service_pb2, ingest_service_pb2_grpc, placement_pb2, submission_pb2
from corrigenda.type.v1 import evidence_pb2
from corrigenda_core.domain.actors import Caller, KeyScope
from corrigenda_core.domain.errors import Reason, Refusal
from corrigenda_core.domain.ids import KeyId, ProfileId, TeamId
from corrigenda_core.observability import describe_exception
from corrigenda_core.policy.authorization import may_call_method
from corrigenda_core.process_health import ProcessHealth
from corrigenda_core.rpc.admission import Admission, AdmissionBounds
from corrigenda_core.rpc.calls import current_call
from corrigenda_core.rpc.client import Client, Endpoints
from corrigenda_core.rpc.interceptors import DEADLINE_DEFAULT_SECONDS, DEADLINE_MAX_SECONDS, CallGate
from corrigenda_core.rpc.methods import methods_of
from corrigenda_core.rpc.metrics import CallMetrics
from corrigenda_core.rpc.rate_limit import RateLimit, RateLimiter, RateLimits
from corrigenda_core.rpc.retrying import BUDGET_TOKENS
from corrigenda_core.rpc.server import MESSAGE_BYTES_MAX, RpcServer, ServiceBinding
from corrigenda_core.rpc.status import DETAILS_KEY, refusal_of
from google.rpc import error_details_pb2, status_pb2
from grpc_health.v1 import health_pb2, health_pb2_grpc
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import StatusCode, format_trace_id
from prometheus_client import CollectorRegistry

SERVICE = ingest_service_pb2.DESCRIPTOR.services_by_name["IngestService"]
REMEMBER, GET_PLACEMENT = f"/{SERVICE.full_name}/Remember", f"/{SERVICE.full_name}/GetPlacement"
WRITER, READER, STRANGER = "cor_writer", "cor_reader", "cor_operator"
SCOPES = {WRITER: {KeyScope.WRITE}, READER: {KeyScope.READ}, STRANGER: {KeyScope.OPERATOR}}
CANARY = "canary-9d3f-never-in-a-log"
INGEST_ID = "0190a6e2-0000-7000-8000-000000000001"
WAIT_SECONDS = 60.0


class Keys:
    """An authenticator with three keys of one team."""

    async def authenticate(self, secret: str) -> Caller:
        if secret not in SCOPES:
            raise Refusal(Reason.CREDENTIAL_INVALID, "the call needs a valid key")
        return Caller(
            team_id=TeamId("team"),
            profile_id=ProfileId("profile"),
            key_id=KeyId(secret.removeprefix("cor_")),
            scopes=frozenset(SCOPES[secret]),
        )


class Ingest(ingest_service_pb2_grpc.IngestServiceServicer):
    """Answers with who called; Remember does what its idempotency key says."""

    def __init__(self) -> None:
        self.entered = asyncio.Event()
        self.release = asyncio.Event()
        self.cancelled = asyncio.Event()

    async def Remember(self, request: Any, context: Any) -> Any:
        match request.idempotency_key:
            case "defect":
                raise RuntimeError(f"duplicate key: {request.evidence[0].content}")
            case "own timeout":
                raise TimeoutError
            case "refused by the database":
                metadata = {"sqlstate": "23514", "constraint": "a_check"}
                raise Refusal(Reason.INTERNAL_ERROR, "the database refused the change", metadata=metadata)
            case "refuse":
                raise Refusal(Reason.CONTENTION, "concurrent writes", retry_after_seconds=0.25)
            case "refuse for long":
                raise Refusal(Reason.CONTENTION, "concurrent writes", retry_after_seconds=2.0)
            case "stale":
                raise Refusal(Reason.STALE_VERSION, "somebody was faster")
            case "wait":
                self.entered.set()
                try:
                    await self.release.wait()
                except asyncio.CancelledError:
                    self.cancelled.set()
                    raise
        return ingest_service_pb2.RememberResponse(revision=7)

    async def GetPlacement(self, request: Any, context: Any) -> Any:
        call = current_call()
        placement = placement_pb2.Placement(ingest_id=request.ingest_id)
        placement.author.profile_id = call.caller.profile_id
        placement.author.name = f"{call.request_id} {call.remaining_seconds:.0f}"
        return ingest_service_pb2.GetPlacementResponse(placement=placement, revision=5)


class Running:
    """A started server and what the tests look at."""

    def __init__(self, *, limits: RateLimits, bounds: AdmissionBounds) -> None:
        self.registry = CollectorRegistry()
        self.ingest = Ingest()
        self.database_answers = True
        self.process_health = ProcessHealth()
        self.server = RpcServer(
            services=[
                ServiceBinding(
                    descriptor=SERVICE,
                    register=lambda server: ingest_service_pb2_grpc.add_IngestServiceServicer_to_server(
                        self.ingest, server
                    ),
                )
            ],
            gate=CallGate(
                methods=methods_of([SERVICE]),
                authenticator=Keys(),
                may_call=may_call_method,
                limiter=RateLimiter(limits),
                metrics=CallMetrics(self.registry),
                admission=Admission(bounds),
            ),
            checks={"database": self.check_database},
            check_interval_seconds=0.02,
            process_health=self.process_health,
        )

    async def check_database(self) -> None:
        if not self.database_answers:
            raise ConnectionError("no database")

    def client(self, secret: str = WRITER, *, retries: bool = False) -> Client:
        """A client that shows every answer; one that ``retries`` shows what a program sees."""
        address = self.server.address
        return Client(Endpoints(ingest=address, conflict=address, recall=address), secret, retries=retries)


Start = Callable[..., Any]


@pytest_asyncio.fixture
async def start() -> AsyncIterator[Start]:
    running: list[Running] = []

    async def begin(*, limits: RateLimits | None = None, bounds: AdmissionBounds | None = None) -> Running:
        started = Running(limits=limits or RateLimits(), bounds=bounds or AdmissionBounds())
        await started.server.start()
        running.append(started)
        return started

    yield begin
    for started in running:
        started.ingest.release.set()
        await started.server.stop(drain_seconds=0)


def remember(key: str = "k", content: str = "production deploys from main") -> ingest_service_pb2.RememberRequest:
    item = submission_pb2.EvidenceItem(content=content, source_type=evidence_pb2.SOURCE_TYPE_MANUAL)
    return ingest_service_pb2.RememberRequest(idempotency_key=key, evidence=[item])


def placement() -> ingest_service_pb2.GetPlacementRequest:
    return ingest_service_pb2.GetPlacementRequest(ingest_id=INGEST_ID)


async def refused(call: Any) -> tuple[grpc.aio.AioRpcError, Refusal]:
    """The error of a call that must fail, and the refusal that it carries."""
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await call
    refusal = refusal_of(caught.value)
    assert refusal is not None
    return caught.value, refusal


async def raw(address: str, path: str, payload: bytes, *metadata: tuple[str, str]) -> bytes:
    """Calls with bytes as they are."""
    async with grpc.aio.insecure_channel(address) as channel:
        answer: bytes = await channel.unary_unary(path)(payload, metadata=metadata)
        return answer


async def test_a_handler_learns_the_caller_the_request_id_and_the_deadline(start: Start) -> None:
    running = await start()
    async with running.client(READER) as client:
        call = client.ingest.GetPlacement(placement(), metadata=(("x-request-id", "abc-1"),))
        answer = await call
        trailing = dict(await call.trailing_metadata())
    assert answer.placement.author.profile_id == "profile"
    assert answer.placement.author.name == f"abc-1 {DEADLINE_DEFAULT_SECONDS:.0f}"
    assert trailing["x-request-id"] == "abc-1"
    assert client.seen_revision == 5
    assert client.own_writes(placement()).min_revision == 5


@pytest.mark.parametrize(("asked_seconds", "given"), [(150, 150), (180, 180), (181, 180), (3_600, 180)])
async def test_a_caller_asks_for_no_more_time_than_the_greatest_deadline(
    start: Start, asked_seconds: int, given: int
) -> None:
    running = await start()
    async with running.client(READER) as client:
        answer = await client.ingest.GetPlacement(placement(), timeout=asked_seconds)
    # What is left in the handler, to the whole second, after a little of it has passed. gRPC rounds long times up.
    most = min(given + 1, DEADLINE_MAX_SECONDS)
    assert given - 5 <= int(answer.placement.author.name.split()[-1]) <= most


@pytest.mark.parametrize(
    ("size_bytes", "code"),
    [
        pytest.param(MESSAGE_BYTES_MAX, grpc.StatusCode.INVALID_ARGUMENT, id="at the bound: read, and then refused"),
        pytest.param(MESSAGE_BYTES_MAX + 1, grpc.StatusCode.RESOURCE_EXHAUSTED, id="one byte more: not read"),
    ],
)
async def test_a_message_has_at_most_its_bound_in_bytes(start: Start, size_bytes: int, code: grpc.StatusCode) -> None:
    running = await start()
    request = remember(content="x" * size_bytes)
    request.evidence[0].content = "x" * (2 * size_bytes - request.ByteSize())
    assert request.ByteSize() == size_bytes
    async with running.client(WRITER) as client:
        with pytest.raises(grpc.aio.AioRpcError) as refused_:
            await client.ingest.Remember(request)
    assert refused_.value.code() is code


async def test_a_request_id_that_could_forge_a_log_line_is_replaced(start: Start) -> None:
    running = await start()
    async with running.client(READER) as client:
        call = client.ingest.GetPlacement(placement(), metadata=(("x-request-id", "a b"),))
        await call
        assert uuid.UUID(dict(await call.trailing_metadata())["x-request-id"])


@pytest.mark.parametrize(
    ("metadata", "reason"),
    [
        pytest.param((), Reason.CREDENTIAL_INVALID, id="no key"),
        pytest.param((("authorization", "Bearer wrong"),), Reason.CREDENTIAL_INVALID, id="malformed key"),
        pytest.param((("authorization", "Bearer cor_wrong"),), Reason.CREDENTIAL_INVALID, id="unknown key"),
        pytest.param((("authorization", f"Basic {READER}"),), Reason.CREDENTIAL_INVALID, id="other scheme"),
        pytest.param((("authorization", f"Bearer {STRANGER}"),), Reason.SCOPE_MISSING, id="other scope"),
        pytest.param((("authorization", f"Bearer {READER}"),), Reason.INVALID_FIELD, id="admitted, then validated"),
    ],
)
async def test_a_caller_is_refused_before_anything_is_parsed(
    start: Start, metadata: tuple[tuple[str, str], ...], reason: Reason
) -> None:
    running = await start()
    _, refusal = await refused(raw(running.server.address, GET_PLACEMENT, b"\xff no message", *metadata))
    assert refusal.reason is reason


async def test_a_missing_scope_is_named(start: Start) -> None:
    running = await start()
    async with running.client(READER) as client:
        error, refusal = await refused(client.ingest.Remember(remember()))
    assert error.code() is grpc.StatusCode.PERMISSION_DENIED
    assert refusal.metadata == {"needed": "write"}


async def test_an_invalid_request_names_every_breach(start: Start) -> None:
    running = await start()
    request = remember(key="k" * 129, content="x" * 65_537)
    async with running.client() as client:
        error, refusal = await refused(client.ingest.Remember(request))
    assert error.code() is grpc.StatusCode.INVALID_ARGUMENT
    assert (refusal.reason, refusal.field) == (Reason.TOO_LARGE, "idempotency_key")
    assert refusal.metadata == {"field": "idempotency_key", "bound": "max_bytes", "offered": "129", "allowed": "128"}
    assert violated_fields(error) == ["idempotency_key", "evidence[0].content"]


def violated_fields(error: grpc.aio.AioRpcError) -> list[str]:
    sent = dict(error.trailing_metadata() or ())[DETAILS_KEY]
    assert isinstance(sent, bytes)
    bad_request = error_details_pb2.BadRequest()
    assert any(detail.Unpack(bad_request) for detail in status_pb2.Status.FromString(sent).details)
    return [violation.field for violation in bad_request.field_violations]


@pytest.mark.error("CONTENTION")
async def test_a_refusal_of_a_handler_reaches_the_client_whole(start: Start) -> None:
    running = await start()
    async with running.client() as client:
        error, refusal = await refused(client.ingest.Remember(remember("refuse")))
    assert error.code() is grpc.StatusCode.ABORTED
    assert (refusal.reason, refusal.retry_after_seconds) == (Reason.CONTENTION, 0.25)


@pytest.mark.error("INTERNAL_ERROR")
async def test_a_defect_answers_with_an_incident_id_and_nothing_else(start: Start) -> None:
    running = await start()
    with structlog.testing.capture_logs() as logs:
        async with running.client() as client:
            error, refusal = await refused(client.ingest.Remember(remember("defect", CANARY)))
    assert (error.code(), refusal.reason) == (grpc.StatusCode.INTERNAL, Reason.INTERNAL_ERROR)
    assert refusal.metadata.keys() == {"incident_id"}
    [incident] = [line for line in logs if line["event"] == "incident"]
    assert incident["incident_id"] == refusal.metadata["incident_id"]
    assert incident["exceptions"] == ["builtins.RuntimeError"]
    described = describe_exception(None, "error", dict(incident))
    assert any(place.startswith("test_rpc_server.py:") for place in described["exception_at"])
    assert CANARY not in json.dumps(described) + str(error)


async def test_what_the_database_refuses_is_an_incident_too(start: Start) -> None:
    running = await start()
    with structlog.testing.capture_logs() as logs:
        async with running.client() as client:
            _, refusal = await refused(client.ingest.Remember(remember("refused by the database")))
    assert refusal.metadata.keys() == {"incident_id"}
    [incident] = [line for line in logs if line["event"] == "incident"]
    assert incident["incident_id"] == refusal.metadata["incident_id"]
    assert (incident["sqlstate"], incident["constraint"]) == ("23514", "a_check")


async def test_a_timeout_of_the_handler_itself_is_a_defect_and_no_deadline(start: Start) -> None:
    running = await start()
    async with running.client() as client:
        _, refusal = await refused(client.ingest.Remember(remember("own timeout")))
    assert refusal.reason is Reason.INTERNAL_ERROR


async def test_each_call_leaves_one_log_line_and_one_count_without_payload_or_secret(start: Start) -> None:
    running = await start()
    with structlog.testing.capture_logs() as logs:
        async with running.client() as client:
            await client.ingest.Remember(remember(content=CANARY))
            await refused(client.ingest.Remember(remember("refuse", CANARY)))
    assert [(line["event"], line["code"], line.get("reason")) for line in logs] == [
        ("rpc", "OK", None),
        ("rpc", "ABORTED", "CONTENTION"),
    ]
    assert {line["key_id"] for line in logs} == {"writer"}
    assert CANARY not in json.dumps(logs)
    assert WRITER not in json.dumps(logs)
    count = running.registry.get_sample_value
    assert count("corrigenda_rpc_calls_total", {"method": REMEMBER, "code": "OK", "reason": ""}) == 1
    assert count("corrigenda_rpc_calls_total", {"method": REMEMBER, "code": "ABORTED", "reason": "CONTENTION"}) == 1
    assert count("corrigenda_rpc_in_flight") == 0


async def test_a_trace_goes_on_from_the_client_into_the_server(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    exporter = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    tracer = provider.get_tracer("test")
    monkeypatch.setattr("corrigenda_core.rpc.interceptors._tracer", tracer)
    running = await start()
    with structlog.testing.capture_logs() as logs, tracer.start_as_current_span("caller") as caller:
        async with running.client() as client:
            await client.ingest.Remember(remember(content=CANARY))
            await refused(client.ingest.Remember(remember("defect", CANARY)))
    served, failed, _ = exporter.get_finished_spans()
    assert served.name == REMEMBER[1:]
    assert served.parent is not None
    assert served.parent.span_id == caller.get_span_context().span_id
    assert (served.status.is_unset, failed.status.status_code) == (True, StatusCode.ERROR)
    trace_id = format_trace_id(caller.get_span_context().trace_id)
    assert {line["trace_id"] for line in logs if line["event"] == "rpc"} == {trace_id}
    assert CANARY not in served.to_json() + failed.to_json()


ONCE = RateLimit(calls_per_second=0.001, burst_calls=1)


@pytest.mark.error("RATE_LIMITED")
async def test_a_key_that_calls_too_often_is_told_when_to_come_back(start: Start) -> None:
    running = await start(limits=RateLimits(key=ONCE))
    async with running.client(READER) as client, running.client() as other:
        await client.ingest.GetPlacement(placement())
        error, refusal = await refused(client.ingest.GetPlacement(placement()))
        await other.ingest.GetPlacement(placement())
    assert error.code() is grpc.StatusCode.RESOURCE_EXHAUSTED
    assert refusal.reason is Reason.RATE_LIMITED
    assert refusal.metadata["quota"] == "calls_per_second_of_key"
    assert refusal.retry_after_seconds == pytest.approx(1000, rel=0.01)


async def test_all_keys_of_a_team_share_its_quota(start: Start) -> None:
    running = await start(limits=RateLimits(team=ONCE))
    async with running.client(READER) as client, running.client() as other:
        await client.ingest.GetPlacement(placement())
        _, refusal = await refused(other.ingest.GetPlacement(placement()))
    assert (refusal.reason, refusal.metadata["quota"]) == (Reason.RATE_LIMITED, "calls_per_second_of_team")


@pytest.mark.error("OVERLOADED")
@pytest.mark.promise("Q19")
async def test_more_calls_than_the_server_holds_are_refused_before_anything_is_done_for_them(start: Start) -> None:
    running = await start(bounds=AdmissionBounds(calls_at_once=1, calls_waiting=0))
    async with running.client() as client, running.client("cor_nobody") as nobody:
        held = asyncio.ensure_future(client.ingest.Remember(remember("wait")))
        await running.ingest.entered.wait()
        error, refusal = await refused(client.ingest.Remember(remember()))
        # Not even the key was looked at.
        _, unknown = await refused(nobody.ingest.Remember(remember()))
        running.ingest.release.set()
        assert (await held).revision == 7
        for _ in range(3):
            await client.ingest.Remember(remember())
    assert error.code() is grpc.StatusCode.RESOURCE_EXHAUSTED
    assert refusal.reason is unknown.reason is Reason.OVERLOADED
    assert refusal.retry_after_seconds is not None


async def test_a_call_waits_for_a_place_for_half_of_its_time_and_gets_it_in_its_turn(start: Start) -> None:
    running = await start(bounds=AdmissionBounds(calls_at_once=1, calls_waiting=1))
    async with running.client() as client:
        held = asyncio.ensure_future(client.ingest.Remember(remember("wait")))
        await running.ingest.entered.wait()
        began = time.monotonic()
        _, refusal = await refused(client.ingest.Remember(remember(), timeout=2.0))
        assert (refusal.reason, time.monotonic() - began < 2.0) == (Reason.OVERLOADED, True)
        waiting = asyncio.ensure_future(client.ingest.Remember(remember()))
        running.ingest.release.set()
        assert ((await held).revision, (await waiting).revision) == (7, 7)


async def test_a_client_repeats_what_is_safe_to_repeat_as_soon_as_the_server_says(start: Start) -> None:
    running = await start(bounds=AdmissionBounds(calls_at_once=1, calls_waiting=0))
    with structlog.testing.capture_logs() as logs:
        async with running.client(retries=True) as client:
            held = asyncio.ensure_future(client.ingest.Remember(remember("wait")))
            await running.ingest.entered.wait()
            repeated = asyncio.ensure_future(client.ingest.Remember(remember()))
            async with asyncio.timeout(WAIT_SECONDS):
                while True:
                    if logs:
                        break
                    await asyncio.sleep(0.01)
            running.ingest.release.set()
            assert ((await held).revision, (await repeated).revision) == (7, 7)
            # Three more attempts and no more; and none where the server says that it is of no use.
            _, contended = await refused(client.ingest.Remember(remember("refuse")))
            _, stale = await refused(client.ingest.Remember(remember("stale")))
    assert {line["reason"] for line in logs if line["code"] == "RESOURCE_EXHAUSTED"} == {"OVERLOADED"}
    assert (contended.reason, stale.reason) == (Reason.CONTENTION, Reason.STALE_VERSION)
    assert [line.get("reason") for line in logs].count("CONTENTION") == 4
    assert [line.get("reason") for line in logs].count("STALE_VERSION") == 1


async def test_a_refusal_arrives_where_the_deadline_leaves_no_time_for_another_try(start: Start) -> None:
    running = await start()
    async with running.client(retries=True) as client:
        # With the connection made, nothing of the call's time goes into it.
        await client.ingest.GetPlacement(placement())
        _, refusal = await refused(client.ingest.Remember(remember("refuse for long"), timeout=1.9))
    assert refusal.reason is Reason.CONTENTION


async def test_a_budget_ends_retries_while_a_server_is_ill(start: Start) -> None:
    running = await start()
    calls = 30
    with structlog.testing.capture_logs() as logs:
        async with running.client(retries=True) as client:
            await asyncio.gather(*(refused(client.ingest.Remember(remember("refuse"))) for _ in range(calls)))
    # Without a budget there would be four attempts of each.
    assert calls <= len(logs) <= calls + BUDGET_TOKENS


@pytest.mark.promise("answer.deadline")
async def test_a_deadline_ends_the_handler(start: Start) -> None:
    running = await start()
    async with running.client() as client:
        # With the connection made, the call is in the handler long before its deadline.
        await client.ingest.GetPlacement(placement())
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await client.ingest.Remember(remember("wait"), timeout=1.0)
        assert caught.value.code() in {grpc.StatusCode.DEADLINE_EXCEEDED, grpc.StatusCode.UNAVAILABLE}
        async with asyncio.timeout(WAIT_SECONDS):
            await running.ingest.cancelled.wait()


async def test_the_server_ends_a_call_without_a_deadline_at_its_own(
    start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("corrigenda_core.rpc.interceptors.DEADLINE_DEFAULT_SECONDS", 0.5)
    running = await start()
    call = raw(
        running.server.address,
        REMEMBER,
        remember("wait").SerializeToString(),
        ("authorization", f"Bearer {WRITER}"),
    )
    async with asyncio.timeout(WAIT_SECONDS):
        error, refusal = await refused(call)
    assert error.code() is grpc.StatusCode.UNAVAILABLE
    assert refusal.reason is Reason.STORE_UNAVAILABLE
    assert running.ingest.cancelled.is_set()


async def test_a_caller_that_goes_away_cancels_the_handler(start: Start) -> None:
    running = await start()
    with structlog.testing.capture_logs() as logs:
        async with running.client() as client:
            call = asyncio.ensure_future(client.ingest.Remember(remember("wait")))
            await running.ingest.entered.wait()
            call.cancel()
            async with asyncio.timeout(WAIT_SECONDS):
                await running.ingest.cancelled.wait()
            await client.ingest.GetPlacement(placement())
    assert [line["code"] for line in logs] == ["CANCELLED", "OK"]


@pytest.mark.promise("answer.drains")
async def test_a_stopping_server_ends_what_is_in_flight_and_takes_nothing_new(start: Start) -> None:
    running = await start()
    stop = asyncio.Event()
    serving = asyncio.create_task(running.server.serve_until(stop))
    async with running.client() as client:
        held = asyncio.ensure_future(client.ingest.Remember(remember("wait")))
        await running.ingest.entered.wait()
        stop.set()
        async with running.client() as late, asyncio.timeout(WAIT_SECONDS):
            code = grpc.StatusCode.OK
            while code is grpc.StatusCode.OK:
                code = await code_of_call(late)
        # The library itself answers a call that arrives on an old connection meanwhile, as cancelled.
        assert code in {grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.CANCELLED}
        assert not held.done()
        running.ingest.release.set()
        assert (await held).revision == 7
    await serving
    assert not running.process_health.is_ready


async def code_of_call(client: Client) -> grpc.StatusCode:
    try:
        await client.ingest.GetPlacement(placement())
    except grpc.aio.AioRpcError as error:
        return error.code()
    return grpc.StatusCode.OK


async def test_health_follows_each_dependency_and_needs_no_key(start: Start) -> None:
    running = await start()
    async with grpc.aio.insecure_channel(running.server.address) as channel:
        health = health_pb2_grpc.HealthStub(channel)
        watched = health.Watch(health_pb2.HealthCheckRequest(service=SERVICE.full_name))
        assert (await watched.read()).status == health_pb2.HealthCheckResponse.SERVING
        running.database_answers = False
        async with asyncio.timeout(WAIT_SECONDS):
            assert (await watched.read()).status == health_pb2.HealthCheckResponse.NOT_SERVING
        answer = await health.Check(health_pb2.HealthCheckRequest(service="dependency/database"))
        assert answer.status == health_pb2.HealthCheckResponse.NOT_SERVING
        assert not running.process_health.is_ready
        running.database_answers = True
        async with asyncio.timeout(WAIT_SECONDS):
            assert (await watched.read()).status == health_pb2.HealthCheckResponse.SERVING
        assert running.process_health.is_ready
        watched.cancel()


async def curl(address: str, *arguments: str, data: dict[str, Any] | None = None) -> tuple[int, dict[str, Any]]:
    """Runs ``buf curl`` by reflection; returns its exit status and the JSON it printed."""
    buf = shutil.which("buf", path=str(Path(sys.executable).parent))
    assert buf is not None
    process = await asyncio.create_subprocess_exec(
        buf, "curl", "--http2-prior-knowledge", "--protocol", "grpc", *arguments,
        *(("-d", json.dumps(data)) if data is not None else ()),
        address,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )  # fmt: skip
    stdout, stderr = await process.communicate()
    assert process.returncode is not None
    return process.returncode, json.loads(stdout or stderr)


async def test_a_person_can_call_by_reflection_alone(start: Start) -> None:
    running = await start()
    url = f"http://{running.server.address}{GET_PLACEMENT}"
    status, answer = await curl(
        url, "--header", f"authorization: Bearer {READER}", data={"ingest_id": INGEST_ID, "min_revision": 1}
    )
    assert status == 0
    assert answer["placement"]["ingestId"] == INGEST_ID


async def test_a_person_sees_why_a_call_is_refused(start: Start) -> None:
    running = await start()
    status, answer = await curl(
        f"http://{running.server.address}{GET_PLACEMENT}", "--header", f"authorization: Bearer {READER}", data={}
    )
    assert status != 0
    assert answer["code"] == "invalid_argument"
    assert answer["message"] == "ingest_id must be set"


async def test_a_second_server_cannot_take_the_same_port(start: Start) -> None:
    running = await start()
    with pytest.raises(RuntimeError):
        RpcServer(
            services=[],
            gate=CallGate(
                methods={},
                authenticator=Keys(),
                may_call=may_call_method,
                limiter=RateLimiter(RateLimits()),
                admission=Admission(AdmissionBounds()),
                metrics=CallMetrics(CollectorRegistry()),
            ),
            checks={},
            address=running.server.address,
        )
