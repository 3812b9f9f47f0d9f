"""The team that a local stack and the demonstration begin with: an administrator, predicates, profiles with keys."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import datetime

import psycopg
from corrigenda.admin.v1 import admin_service_pb2
from corrigenda.options.v1 import key_scope_pb2
from corrigenda_core.persistence.team_store import create_team
from corrigenda_core.rpc.client import Client, Endpoints
from corrigenda_core.serving import new_ids, now

from corrigenda_cli.stack import Stack
from corrigenda_cli.vocabulary import Vocabulary, parse_vocabulary, vocabulary_text
from corrigenda_cli.vocabulary_loading import register_vocabulary

NAME = "demonstration"
STARTER = "software-teams"


def make_team(stack: Stack, *, driven_from: datetime | None = None) -> str:
    """Makes the team on a running stack and returns the key of its administrator.

    Args:
        stack: the running stack.
        driven_from: where its driven clock begins; ``None`` for a team that follows real time.
    """
    with psycopg.connect(stack.url("corrigenda_migrator"), autocommit=True) as connection:
        team = create_team(
            connection,
            name=NAME,
            admin_name="admin",
            driven_from=driven_from,
            ids=new_ids(),
            now=now(),
            pepper=stack.secrets.key_pepper.encode(),
        )
    return team.key


def make_team_with_profiles(stack: Stack, profiles: Sequence[str]) -> dict[str, str]:
    """Makes the team with its profiles and the starter vocabulary.

    Returns:
        The keys by profile, the administrator's under ``admin``.
    """
    admin_key = make_team(stack)
    return {"admin": admin_key, **asyncio.run(_prepared(stack, admin_key, profiles))}


async def _prepared(stack: Stack, admin_key: str, profiles: Sequence[str]) -> dict[str, str]:
    ingest, recall = stack.address("ingest"), stack.address("recall")
    async with Client(Endpoints(ingest=ingest, conflict=ingest, recall=recall), admin_key) as admin:
        await register_vocabulary(admin, _starter(), update=False)
        return await _make_profiles(admin, profiles)


def _starter() -> Vocabulary:
    return parse_vocabulary(vocabulary_text(STARTER))


async def prepare(admin: Client, profiles: Sequence[str]) -> dict[str, str]:
    """Registers the predicate of the demonstration and makes the profiles.

    Returns:
        A key that reads and writes, by profile.
    """
    (deploys_from,) = (entry.definition for entry in _starter().entries if entry.definition.key == "deploys_from")
    await admin.admin.RegisterPredicate(
        admin_service_pb2.RegisterPredicateRequest(idempotency_key=f"{NAME}: deploys_from", definition=deploys_from)
    )
    return await _make_profiles(admin, profiles)


async def _make_profiles(admin: Client, profiles: Sequence[str]) -> dict[str, str]:
    keys = {}
    for name in profiles:
        profile = await admin.admin.CreateProfile(
            admin_service_pb2.CreateProfileRequest(idempotency_key=f"{NAME}: {name}", name=name)
        )
        key = await admin.admin.CreateKey(
            admin_service_pb2.CreateKeyRequest(
                idempotency_key=f"{NAME}: key of {name}",
                profile_id=profile.profile.profile_id,
                label=NAME,
                scopes=[key_scope_pb2.KEY_SCOPE_READ, key_scope_pb2.KEY_SCOPE_WRITE],
            )
        )
        keys[name] = key.secret
    return keys
