"""Keys over the wire: two live keys of a line, lists without secrets, and how soon an ended key is refused."""

import asyncio
import time
import uuid
from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import Any

import grpc
import psycopg
import pytest
from corrigenda.admin.v1 import admin_service_pb2 as admin
from corrigenda.options.v1 import key_scope_pb2
from corrigenda.recall.v1 import recall_service_pb2
from corrigenda_cli.stack import Stack
from corrigenda_core.config import ServerSettings
from corrigenda_core.domain.errors import Reason
from corrigenda_core.rpc.client import Client, Endpoints
from corrigenda_core.rpc.convert import instant_of, timestamp_of
from corrigenda_core.rpc.status import refusal_of
from corrigenda_core.serving import now
from corrigenda_core.testing.wire_decisions import refused

pytestmark = [pytest.mark.database, pytest.mark.rule("R11.1")]

NewTeam = Callable[..., Awaitable[Any]]

BOUND_SECONDS: float = ServerSettings.model_fields["caller_cache_seconds"].default
SLACK_SECONDS = 5.0


async def reason_of(call: Awaitable[Any]) -> Reason | None:
    """Why a call is refused; ``None`` if it is answered."""
    try:
        await call
    except grpc.aio.AioRpcError as error:
        refusal = refusal_of(error)
        return refusal and refusal.reason
    return None


def client(stack: Stack, secret: str) -> Client:
    endpoints = Endpoints(
        ingest=stack.address("ingest"), conflict=stack.address("conflict"), recall=stack.address("recall")
    )
    return Client(endpoints, secret)


def rotation(key_id: str, **more: Any) -> admin.RotateKeyRequest:
    return admin.RotateKeyRequest(idempotency_key=uuid.uuid4().hex, key_id=key_id, **more)


async def made_key(team: Any, *scopes: Any, **more: Any) -> admin.CreateKeyResponse:
    profile = await team.admin.admin.CreateProfile(
        admin.CreateProfileRequest(idempotency_key=uuid.uuid4().hex, name=uuid.uuid4().hex)
    )
    request = admin.CreateKeyRequest(
        idempotency_key=uuid.uuid4().hex,
        profile_id=profile.profile.profile_id,
        label="a program",
        scopes=scopes or (key_scope_pb2.KEY_SCOPE_READ, key_scope_pb2.KEY_SCOPE_ADMIN),
        **more,
    )
    made: admin.CreateKeyResponse = await team.admin.admin.CreateKey(request)
    return made


async def test_a_rotated_key_and_its_successor_are_both_live(stack: Stack, new_team: NewTeam) -> None:
    team = await new_team(profiles=())
    first = await made_key(team)
    request = rotation(first.key.key_id)
    second = await team.admin.admin.RotateKey(request)
    assert second.key.replaces_key_id == second.replaced.key_id == first.key.key_id
    assert (second.key.profile_id, second.key.label, list(second.key.scopes)) == (
        first.key.profile_id,
        "a program",
        list(first.key.scopes),
    )
    assert (second.key.live, second.replaced.live) == (True, True)
    left = instant_of(second.replaced.expires_at) - instant_of(second.key.created_at)
    assert left == timedelta(days=1)
    for secret in (first.secret, second.secret):
        async with client(stack, secret) as holder:
            assert (await holder.admin.GetTeam(admin.GetTeamRequest())).team.team_id == team.team_id
    again = await team.admin.admin.RotateKey(request)
    assert (again.key, again.secret) == (second.key, "")


@pytest.mark.rule("R11.1")
async def test_whoever_may_read_may_know_the_teams_zone(stack: Stack, new_team: NewTeam) -> None:
    team = await new_team(profiles=())
    reading = await made_key(team, key_scope_pb2.KEY_SCOPE_READ)
    async with client(stack, reading.secret) as holder:
        assert (await holder.admin.GetTeam(admin.GetTeamRequest())).team.policy.time_zone == "UTC"
    writing = await made_key(team, key_scope_pb2.KEY_SCOPE_WRITE)
    async with client(stack, writing.secret) as holder:
        assert (await refused(holder.admin.GetTeam(admin.GetTeamRequest()))).reason is Reason.SCOPE_MISSING


async def test_at_most_two_keys_of_a_line_are_live(stack: Stack, new_team: NewTeam) -> None:
    team = await new_team(profiles=())
    first = await made_key(team)
    second = await team.admin.admin.RotateKey(rotation(first.key.key_id))
    twice = await refused(team.admin.admin.RotateKey(rotation(first.key.key_id)))
    assert (twice.reason, twice.field) == (Reason.INVALID_FIELD, "key_id")
    assert twice.metadata["successor_key_id"] == second.key.key_id
    async with client(stack, first.secret) as holder:
        await holder.admin.GetTeam(admin.GetTeamRequest())
        third = await team.admin.admin.RotateKey(rotation(second.key.key_id))
        # The process that answered has forgotten what it knew of the oldest key.
        assert (await refused(holder.admin.GetTeam(admin.GetTeamRequest()))).reason is Reason.CREDENTIAL_INVALID
    listed = await team.admin.admin.ListKeys(admin.ListKeysRequest(profile_id=first.key.profile_id))
    assert [key.key_id for key in listed.keys] == [second.key.key_id, third.key.key_id]
    ended = await refused(team.admin.admin.RotateKey(rotation(first.key.key_id)))
    assert (ended.reason, ended.message) == (Reason.INVALID_FIELD, "the key is not live: make a new one instead")


@pytest.mark.error("CREDENTIAL_EXPIRED")
async def test_an_overlap_only_shortens_a_life_and_an_expiry_lies_ahead(stack: Stack, new_team: NewTeam) -> None:
    team = await new_team(profiles=())
    expires_at = now() + timedelta(hours=1)
    first = await made_key(team, expires_at=timestamp_of(expires_at))
    past = rotation(first.key.key_id, expires_at=timestamp_of(now() - timedelta(seconds=1)))
    assert (await refused(team.admin.admin.RotateKey(past))).field == "expires_at"
    long = await team.admin.admin.RotateKey(rotation(first.key.key_id, overlap_seconds=2_592_000))
    assert instant_of(long.replaced.expires_at) == expires_at
    assert not long.key.HasField("expires_at")
    async with client(stack, long.secret) as holder:
        await holder.admin.GetTeam(admin.GetTeamRequest())
        none = await team.admin.admin.RotateKey(rotation(long.key.key_id, overlap_seconds=0))
        assert not none.replaced.live
        assert (await refused(holder.admin.GetTeam(admin.GetTeamRequest()))).reason is Reason.CREDENTIAL_EXPIRED


@pytest.mark.promise("apart.keys")
async def test_a_revoked_key_is_refused_at_once_by_ingest_and_in_time_by_the_others(
    stack: Stack, new_team: NewTeam
) -> None:
    team = await new_team(profiles=())
    made = await made_key(team, key_scope_pb2.KEY_SCOPE_READ)
    async with client(stack, made.secret) as holder:
        await holder.admin.ListProfiles(admin.ListProfilesRequest())
        await holder.recall.ListPredicates(recall_service_pb2.ListPredicatesRequest())
        began = time.monotonic()
        revoked = await team.admin.admin.RevokeKey(
            admin.RevokeKeyRequest(idempotency_key="revoke", key_id=made.key.key_id, reason="left")
        )
        assert not revoked.key.live
        here = await refused(holder.admin.ListProfiles(admin.ListProfilesRequest()))
        assert here.reason is Reason.CREDENTIAL_INVALID
        listing = recall_service_pb2.ListPredicatesRequest()
        while (reason := await reason_of(holder.recall.ListPredicates(listing))) is None:
            assert time.monotonic() - began < BOUND_SECONDS + SLACK_SECONDS, "a revoked key lives on"
            await asyncio.sleep(0.05)
        assert reason is Reason.CREDENTIAL_INVALID


@pytest.mark.promise("apart.keys")
async def test_keys_are_listed_page_by_page_and_without_what_makes_them_keys(stack: Stack, new_team: NewTeam) -> None:
    team = await new_team(profiles=("A", "B"))
    made = await made_key(team)
    await team.admin.admin.RevokeKey(admin.RevokeKeyRequest(idempotency_key="revoke", key_id=made.key.key_id))
    live = await team.admin.admin.ListKeys(admin.ListKeysRequest())
    assert live.total == len(live.keys) == 3
    found: list[str] = []
    request = admin.ListKeysRequest(include_ended=True, page_size=1)
    while True:
        page = await team.admin.admin.ListKeys(request)
        assert page.total == 4
        found += [key.key_id for key in page.keys]
        if not page.next_page_token:
            break
        request.page_token = page.next_page_token
    assert found == sorted(found)
    assert len(found) == 4
    shown = str(await team.admin.admin.ListKeys(admin.ListKeysRequest(include_ended=True)))
    with psycopg.connect(stack.url("corrigenda_auditor"), autocommit=True) as connection:
        hashes = connection.execute("SELECT key_hash FROM api_keys WHERE team_id = %s", [team.team_id]).fetchall()
    for secret in (*team.keys.values(), made.secret, *(value.hex() for (value,) in hashes)):
        assert secret not in shown
    async with client(stack, team.keys["A"]) as reader:
        assert (await refused(reader.admin.ListKeys(admin.ListKeysRequest()))).reason is Reason.SCOPE_MISSING


async def test_alerts_are_listed_page_by_page_the_latest_first(stack: Stack, new_team: NewTeam) -> None:
    team = await new_team(profiles=())
    with psycopg.connect(stack.url("corrigenda_reviewer"), autocommit=True) as connection:
        for minute in (1, 2, 3):
            connection.execute("BEGIN")
            connection.execute(f"SET LOCAL app.team_id = '{team.team_id}'")
            connection.execute(
                "INSERT INTO alerts (team_id, alert_id, kind, reason, details, raised_at)"
                " VALUES (%s, gen_random_uuid(), 'attempts_exhausted', 'attempt ' || %s, '{}', %s)",
                [team.team_id, str(minute), now() + timedelta(minutes=minute)],
            )
            connection.execute("COMMIT")
    reasons: list[str] = []
    request = admin.ListAlertsRequest(page_size=2)
    while True:
        page = await team.admin.admin.ListAlerts(request)
        assert page.total == 3
        reasons += [alert.reason for alert in page.alerts]
        if not page.next_page_token:
            break
        request.page_token = page.next_page_token
    assert reasons == ["attempt 3", "attempt 2", "attempt 1"]
    assert {alert.kind for alert in page.alerts} == {"attempts_exhausted"}
