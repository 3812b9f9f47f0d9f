"""What every serving process stands on: its logs, its database, who may call it, and the server itself.

A service's ``bootstrap.py`` opens the foundation, builds its use cases on it, and serves its handlers.
"""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime

import uuid_utils.compat
from prometheus_client import CollectorRegistry

from corrigenda_core.commit_metrics import CommitMetrics
from corrigenda_core.config import ProcessSettings, ServerSettings
from corrigenda_core.domain.ids import IdRange, KeyId
from corrigenda_core.domain.time import Instant
from corrigenda_core.observed import open_observation
from corrigenda_core.persistence.database import PREPARES_MAX, Database, PoolSettings
from corrigenda_core.persistence.key_store import find_key
from corrigenda_core.persistence.named_sql import load_sql
from corrigenda_core.persistence.read_transaction import ReadRunner
from corrigenda_core.persistence.team_clock import PLANNED_BY_VALUES, Planning, TeamClock
from corrigenda_core.persistence.transaction import TransactionRunner
from corrigenda_core.policy.authorization import may_call_method
from corrigenda_core.ports.failpoints import armed
from corrigenda_core.process import announce_ready, settle_memory, stop_event
from corrigenda_core.process_health import ProcessHealth
from corrigenda_core.rpc.admission import Admission
from corrigenda_core.rpc.interceptors import CallGate
from corrigenda_core.rpc.methods import methods_of
from corrigenda_core.rpc.metrics import CallMetrics
from corrigenda_core.rpc.page_tokens import PageTokens
from corrigenda_core.rpc.rate_limit import RateLimiter
from corrigenda_core.rpc.server import DependencyCheck, RpcServer, ServiceBinding
from corrigenda_core.security.caller_cache import Authenticator
from corrigenda_core.security.certificates import server_credentials
from corrigenda_core.security.keys import KnownKey


def now() -> Instant:
    """The real time."""
    return datetime.now(UTC)


def new_ids() -> IdRange:
    """A fresh range of ids, beginning at a UUIDv7 of now."""
    return IdRange(base=uuid_utils.compat.uuid7())


@dataclass(frozen=True, slots=True, kw_only=True)
class Foundation:
    """The parts that a process's own objects are built on; ``ready_facts`` are told with its ready line."""

    name: str
    database: Database
    reader: ReadRunner
    runner: TransactionRunner
    registry: CollectorRegistry
    health: ProcessHealth
    new_ids: Callable[[], IdRange]
    now: Callable[[], Instant]
    ready_facts: Mapping[str, str]

    async def database_answers(self) -> None:
        """Returns if the database does."""
        await self.database.ask(load_sql("keys.sql").query("is_there"))


@asynccontextmanager
async def open_foundation(
    settings: ProcessSettings, name: str, *, reading: Planning = PLANNED_BY_VALUES
) -> AsyncIterator[Foundation]:
    """Opens what a process needs and closes it again, in the reverse order.

    Args:
        settings: of the process.
        name: of the process.
        reading: how the statements of its readers are planned.

    Raises:
        UnsafeRole: if the process's database role may pass row-level security.
    """
    with open_observation(settings, name) as observed:
        database = Database(
            settings.database_url.get_secret_value(),
            settings=PoolSettings(
                max_connections=settings.database_connections,
                prepares_max=PREPARES_MAX if settings.database_prepares else 0,
            ),
            name=f"corrigenda {name}",
        )
        settle_memory()
        async with database:
            yield Foundation(
                name=name,
                database=database,
                reader=ReadRunner(database, team_clock=TeamClock(reading=reading)),
                runner=TransactionRunner(
                    database, failpoints=armed(), committed=CommitMetrics(observed.registry).committed
                ),
                registry=observed.registry,
                health=observed.health,
                new_ids=new_ids,
                now=now,
                ready_facts=observed.ready_facts,
            )


def page_tokens(settings: ServerSettings) -> PageTokens:
    """The page tokens of a service."""
    return PageTokens(settings.page_token_key.get_secret_value().encode())


def make_authenticator(foundation: Foundation, settings: ServerSettings) -> Authenticator:
    """What tells who a key is, in this process."""

    async def lookup(key_id: KeyId, key_hash: bytes) -> KnownKey | None:
        return await find_key(foundation.database, key_id, key_hash)

    return Authenticator(
        lookup=lookup,
        pepper=settings.key_pepper.get_secret_value().encode(),
        max_age_seconds=settings.caller_cache_seconds,
        now=foundation.now,
        monotonic_seconds=time.monotonic,
    )


async def serve(
    foundation: Foundation,
    settings: ServerSettings,
    services: Sequence[ServiceBinding],
    *,
    authenticator: Authenticator | None = None,
    checks: Mapping[str, DependencyCheck] | None = None,
) -> None:
    """Serves until the process is told to stop, then drains.

    Args:
        foundation: the process's.
        settings: its address and secrets.
        services: what is served.
        authenticator: for a process whose use cases change keys; default: one of its own.
        checks: dependencies beside the database, by name.
    """
    stop = stop_event()
    tls = settings.server_tls(settings.listen)
    admission = Admission(settings.admission_bounds)
    gate = CallGate(
        methods=methods_of(service.descriptor for service in services),
        authenticator=authenticator or make_authenticator(foundation, settings),
        may_call=may_call_method,
        limiter=RateLimiter(settings.rate_limits),
        admission=admission,
        metrics=CallMetrics(foundation.registry, admission),
    )
    server = RpcServer(
        services=services,
        gate=gate,
        checks={"database": foundation.database_answers, **(checks or {})},
        address=settings.listen,
        credentials=None if tls is None else server_credentials(tls),
        process_health=foundation.health,
    )
    address = await server.start()
    announce_ready(address=address, **foundation.ready_facts)
    await server.serve_until(stop, drain_seconds=settings.drain_seconds)
