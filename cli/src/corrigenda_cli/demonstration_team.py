"""The team that a local stack begins with: three profiles with a key each, and one predicate."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import psycopg
from corrigenda.admin.v1 import admin_service_pb2
from corrigenda.options.v1 import key_scope_pb2
from corrigenda.type.v1 import predicate_pb2
from corrigenda_core.persistence.team_store import create_team
from corrigenda_core.rpc.client import Client, Endpoints
from corrigenda_core.serving import new_ids, now

from corrigenda_cli.stack import Stack


def make_team(stack: Stack, profiles: Sequence[str]) -> dict[str, str]:
    """Makes the team on a running stack; the keys by profile, the administrator's under ``admin``."""
    with psycopg.connect(stack.url("corrigenda_migrator"), autocommit=True) as connection:
        team = create_team(
            connection,
            name="demonstration",
            admin_name="admin",
            driven_from=None,
            ids=new_ids(),
            now=now(),
            pepper=stack.secrets.key_pepper.encode(),
        )
    return {"admin": team.key, **asyncio.run(_profiles(stack, team.key, profiles))}


async def _profiles(stack: Stack, admin_key: str, profiles: Sequence[str]) -> dict[str, str]:
    address = stack.address("ingest")
    keys = {}
    async with Client(Endpoints(ingest=address, conflict=address, recall=address), admin_key) as client:
        await client.admin.RegisterPredicate(
            admin_service_pb2.RegisterPredicateRequest(
                idempotency_key="demonstration: deploys_from",
                definition=predicate_pb2.PredicateDefinition(
                    key="deploys_from",
                    aliases=["deploys from"],
                    relationship_kind=predicate_pb2.RELATIONSHIP_KIND_STATE,
                    current_cardinality=predicate_pb2.CARDINALITY_ONE,
                ),
            )
        )
        for name in profiles:
            profile = await client.admin.CreateProfile(
                admin_service_pb2.CreateProfileRequest(idempotency_key=f"demonstration: {name}", name=name)
            )
            key = await client.admin.CreateKey(
                admin_service_pb2.CreateKeyRequest(
                    idempotency_key=f"demonstration: key of {name}",
                    profile_id=profile.profile.profile_id,
                    label="demonstration",
                    scopes=[key_scope_pb2.KEY_SCOPE_READ, key_scope_pb2.KEY_SCOPE_WRITE],
                )
            )
            keys[name] = key.secret
    return keys
