"""Every RPC of the protos is served, asks for a key and for one of its scopes, and holds to the rules of its fields."""

from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import grpc
import pytest
from corrigenda.admin.v1 import admin_service_pb2
from corrigenda.options.v1 import key_scope_pb2
from corrigenda_cli.stack import Stack
from corrigenda_core.domain.actors import KeyScope
from corrigenda_core.domain.errors import Reason
from corrigenda_core.rpc.channels import ServiceChannel
from corrigenda_core.rpc.methods import access_of
from corrigenda_core.rpc.status import refusal_of
from corrigenda_core.rpc.wire_methods import MethodCalls, WireMethod, wire_methods
from corrigenda_core.testing.filled_messages import filled
from google.protobuf.message import Message

pytestmark = pytest.mark.database

NewTeam = Callable[..., Awaitable[Any]]


async def refused(calls: MethodCalls, method: WireMethod, request: Message, key: str) -> tuple[grpc.StatusCode, Any]:
    """The code and the reason with which a call fails; nothing if it is answered."""

    async def sent() -> AsyncIterator[Message]:
        yield request

    try:
        if method.descriptor.server_streaming:
            asked = sent() if method.descriptor.client_streaming else request
            async for _ in calls.stream(method, asked, key=key):
                pass
        else:
            await calls.call(method, request, key=key)
    except grpc.aio.AioRpcError as error:
        refusal = refusal_of(error)
        return error.code(), refusal and refusal.reason
    return grpc.StatusCode.OK, None


@pytest.fixture
async def channels(stack: Stack) -> AsyncIterator[dict[str, ServiceChannel]]:
    opened = {name: ServiceChannel(stack.address(name)) for name in ("ingest", "conflict", "recall")}
    yield opened
    for channel in opened.values():
        await channel.close()


@pytest.mark.promise("apart.keys")
@pytest.mark.rule("R11.1")
async def test_every_rpc_asks_for_a_key_and_for_one_of_its_scopes(
    channels: dict[str, ServiceChannel], new_team: NewTeam
) -> None:
    calls = MethodCalls(channels, timeout_seconds=30)
    team = await new_team(profiles=("A",))
    profile = await team.admin.admin.ListProfiles(admin_service_pb2.ListProfilesRequest())
    keys = {}
    for scope in (KeyScope.READ, KeyScope.OPERATOR):
        made = admin_service_pb2.CreateKeyRequest(
            idempotency_key=scope.value,
            profile_id=profile.profiles[-1].profile_id,
            scopes=[key_scope_pb2.KeyScope.Value(f"KEY_SCOPE_{scope.name}")],
        )
        keys[scope] = (await team.admin.admin.CreateKey(made)).secret
    for method in wire_methods():
        empty: Any = method.new_request()
        if "until_now" in empty.DESCRIPTOR.fields_by_name:
            empty.until_now = True
        code, reason = await refused(calls, method, empty, "cor_nobody")
        assert (code, reason) == (grpc.StatusCode.UNAUTHENTICATED, Reason.CREDENTIAL_INVALID), method.name
        for scope, key in keys.items():
            lacking = scope not in access_of(method.descriptor).any_of
            code, reason = await refused(calls, method, empty, key)
            assert (reason is Reason.SCOPE_MISSING) is lacking, (method.name, scope)
            assert code is not grpc.StatusCode.UNIMPLEMENTED, method.name


@pytest.mark.promise("answer.bounds")
async def test_every_rpc_is_held_to_the_rules_of_its_fields(
    channels: dict[str, ServiceChannel], new_team: NewTeam
) -> None:
    key = (await new_team(profiles=())).keys["admin"]
    calls = MethodCalls(channels, timeout_seconds=30)
    for method in wire_methods():
        request: Any = filled(method.descriptor.input_type)
        fields = [one for one in request.DESCRIPTOR.fields if one.type == one.TYPE_STRING and not one.is_repeated]
        for field in fields:
            setattr(request, field.name, "x" * 70_000)
        if fields:
            reason = (await refused(calls, method, request, key))[1]
            assert reason in {Reason.TOO_LARGE, Reason.INVALID_FIELD}, (method.name, reason)
