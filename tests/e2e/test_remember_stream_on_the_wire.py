"""RememberStream over the wire: every submission gets its result in order, refusals too, and keys make it resumable."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from typing import Any

import grpc
import pytest
from corrigenda.admin.v1 import admin_service_pb2
from corrigenda.errors.v1 import error_reason_pb2
from corrigenda.ingest.v1 import ingest_service_pb2, placement_pb2
from corrigenda.options.v1 import key_scope_pb2
from corrigenda_cli.stack import Stack
from corrigenda_core.domain.errors import Reason
from corrigenda_core.rpc.client import Client, Endpoints
from corrigenda_core.rpc.status import refusal_of

pytestmark = pytest.mark.database

MISSING = "01900000-0000-7000-8000-000000000000"

NewTeam = Callable[..., Awaitable[Any]]
Request = Callable[..., ingest_service_pb2.RememberRequest]
Verifies = Callable[[str], Awaitable[bool]]


async def sent(requests: Sequence[Any]) -> AsyncIterator[ingest_service_pb2.RememberStreamRequest]:
    for request in requests:
        yield ingest_service_pb2.RememberStreamRequest(submission=request)


async def streamed(client: Any, requests: Sequence[Any]) -> list[ingest_service_pb2.RememberStreamResponse]:
    return [answer async for answer in client.ingest.RememberStream(sent(requests))]


def reason_of(answer: ingest_service_pb2.RememberStreamResponse) -> str:
    if answer.WhichOneof("result") == "response":
        return "stored"
    return error_reason_pb2.ErrorReason.Name(answer.refusal.reason).removeprefix("ERROR_REASON_")


def services(deploys_from: Request, count: int) -> list[ingest_service_pb2.RememberRequest]:
    """One statement each about as many services, which all deploy from one of three branches."""
    requests = []
    for number in range(count):
        branch = ("main", "release", "trunk")[number % 3]
        request = deploys_from(f"service-{number} deploys from {branch}", branch, key=f"bulk {number}")
        request.proposal.entities[0].name = f"service-{number}"
        requests.append(request)
    return requests


async def test_a_bulk_load_is_answered_in_order_and_a_refusal_ends_nothing(
    new_team: NewTeam, deploys_from: Request, ledger_verifies: Verifies
) -> None:
    team = await new_team()
    requests = services(deploys_from, 150)
    refused = {
        3: ("INVALID_FIELD", "submission.idempotency_key"),
        40: ("QUOTE_NOT_FOUND", "submission.proposal.relationships[0].evidence[0].quote"),
        41: ("RESOURCE_NOT_FOUND", "submission.proposal.relationships[0].correction_target.relationship_id"),
        99: ("TOO_LARGE", "submission.evidence[0].content"),
        120: ("IDEMPOTENCY_CONFLICT", "submission.idempotency_key"),
        149: ("INVALID_FIELD", "submission.evidence"),
    }
    requests[3].idempotency_key = ""
    requests[40].proposal.relationships[0].evidence[0].quote = "nothing of it"
    for name in ("start", "end"):
        requests[40].proposal.relationships[0].evidence[0].ClearField(name)
    requests[41].proposal.relationships[0].correction_target.relationship_id = MISSING
    requests[99].evidence[0].content = "x" * 65537
    requests[120].idempotency_key = "bulk 7"
    requests[149].ClearField("evidence")
    answers = await streamed(team["A"], requests)
    assert [one.index for one in answers] == list(range(150))
    assert [one.idempotency_key for one in answers] == [one.idempotency_key for one in requests]
    for place, answer in enumerate(answers):
        if place in refused:
            assert (reason_of(answer), answer.refusal.metadata["field"]) == refused[place]
            assert not answer.refusal.HasField("retry_after_seconds")
            continue
        assert answer.response.placement.relationships[0].outcome == placement_pb2.OUTCOME_INSERTED
    revisions = [one.revision for one in answers if one.WhichOneof("result") == "response"]
    assert revisions == sorted(set(revisions))
    # Whichever way it comes again: a key stands for its submission.
    assert await team["A"].ingest.Remember(requests[8]) == answers[8].response
    again = await streamed(team["A"], requests[4:12])
    assert [one.response for one in again] == [one.response for one in answers[4:12]]
    assert await ledger_verifies(team.team_id)


async def test_a_result_comes_while_the_stream_goes_on(new_team: NewTeam, deploys_from: Request) -> None:
    """Who waits for a result before sending on is not kept waiting for a batch to fill."""
    team = await new_team()
    call = team["A"].ingest.RememberStream()
    for number, request in enumerate(services(deploys_from, 4)):
        await call.write(ingest_service_pb2.RememberStreamRequest(submission=request))
        answer = await call.read()
        assert (answer.index, reason_of(answer)) == (number, "stored")
    await call.done_writing()
    assert await call.read() is grpc.aio.EOF


async def test_a_foreign_id_in_a_stream_answers_like_a_missing_one(new_team: NewTeam, deploys_from: Request) -> None:
    mine, other = await new_team(), await new_team()
    foreign = await other["A"].ingest.Remember(deploys_from("production deploys from main", "main"))
    answers = []
    for id_ in (foreign.placement.relationships[0].relationship.relationship_id, MISSING):
        request = deploys_from("production deploys from main", "main")
        request.proposal.relationships[0].correction_target.relationship_id = id_
        (answer,) = await streamed(mine["A"], [request])
        metadata = {**answer.refusal.metadata, "resource_id": MISSING}
        answers.append((reason_of(answer), answer.refusal.message, metadata))
    assert answers[0] == answers[1]
    assert answers[0][0] == "RESOURCE_NOT_FOUND"


async def refused(call: Awaitable[Any]) -> Reason:
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await call
    refusal = refusal_of(caught.value)
    assert refusal is not None
    return refusal.reason


async def test_a_stream_ends_with_the_key_that_it_was_opened_with(
    stack: Stack, new_team: NewTeam, deploys_from: Request
) -> None:
    team = await new_team()
    address = stack.address("ingest")
    async with Client(Endpoints(ingest=address, conflict=address, recall=address), "cor_no_such_key") as nobody:
        assert await refused(streamed(nobody, services(deploys_from, 1))) is Reason.CREDENTIAL_INVALID
    call = team["A"].ingest.RememberStream()
    first, second = services(deploys_from, 2)
    await call.write(ingest_service_pb2.RememberStreamRequest(submission=first))
    assert reason_of(await call.read()) == "stored"
    for one in (await team.admin.admin.ListKeys(admin_service_pb2.ListKeysRequest())).keys:
        if list(one.scopes) == [key_scope_pb2.KEY_SCOPE_READ, key_scope_pb2.KEY_SCOPE_WRITE]:
            await team.admin.admin.RevokeKey(
                admin_service_pb2.RevokeKeyRequest(idempotency_key=one.key_id, key_id=one.key_id)
            )
    await call.write(ingest_service_pb2.RememberStreamRequest(submission=second))
    assert await refused(asyncio.wait_for(call.read(), 30)) is Reason.CREDENTIAL_INVALID
