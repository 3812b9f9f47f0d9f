"""Q7: one key is one effect and one answer, for every RPC that mutates: after kill -9 at any failpoint, and at once."""

import asyncio
import signal
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import grpc
import psycopg
import pytest
from corrigenda.ingest.v1 import ingest_service_pb2
from corrigenda_cli.child import Child
from corrigenda_cli.demonstration_team import prepare
from corrigenda_cli.stack import Stack
from corrigenda_core.domain.ids import TeamId
from corrigenda_core.persistence.ledger_verification import verify_ledger
from corrigenda_core.ports.failpoints import Failpoint
from corrigenda_core.rpc.client import Client, Endpoints
from corrigenda_core.testing.effort import is_full_tier
from corrigenda_core.testing.failpoints import LAUNCHER, VARIABLE
from corrigenda_core.testing.made_team import made_team
from corrigenda_core.testing.mutating_requests import (
    BEGINNING,
    MUTATING,
    REQUESTS,
    SEVERAL_COMMITS,
    Asking,
    Make,
    answers_of,
    is_asked_by_the_administrator,
    merging,
    process_of,
)
from google.protobuf.message import Message

pytestmark = [pytest.mark.database, pytest.mark.rule("R5.1", "R8.1")]

Request = Callable[..., ingest_service_pb2.RememberRequest]
Rows = dict[str, dict[str, dict[str, object]]]
RowsOf = Callable[[str], Rows]

SECONDS = 60.0
CALLS_AT_ONCE = 4
COMMITTED = Failpoint.AFTER_COMMIT_BEFORE_REPLY
# One RPC of each service; the full tier kills at every point of every RPC.
KILLED = [(name, point) for name in REQUESTS for point in Failpoint]
if not is_full_tier():
    KILLED = [("Remember", COMMITTED), ("ResolveConflict", COMMITTED)]
KILLED_BETWEEN = [(name, point) for name in SEVERAL_COMMITS for point in Failpoint]
if not is_full_tier():
    KILLED_BETWEEN = [("ScanConflicts", Failpoint.BEFORE_COMMIT)]
AT_ONCE = list(REQUESTS) if is_full_tier() else ["Remember", "ResolveConflict"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Services:
    """Both services that mutate, twice: a request may reach either process."""

    stack: Stack
    addresses: dict[str, str]
    replicas: dict[str, str]
    effects: dict[Make, Counter[str]] = field(default_factory=dict)

    def client(self, key: str, addresses: dict[str, str] | None = None) -> Client:
        to = {**self.addresses, **(addresses or {})}
        return Client(Endpoints(ingest=to["ingest"], conflict=to["conflict"], recall=to["ingest"]), key)

    @asynccontextmanager
    async def another(self, name: str, settings: dict[str, str] | None = None) -> AsyncIterator[Child]:
        """One more process beside the one that the stack keeps under this name."""
        async with another(self.stack, name, settings) as child:
            yield child


@asynccontextmanager
async def another(stack: Stack, name: str, settings: dict[str, str] | None = None) -> AsyncIterator[Child]:
    kept = stack.children.get(name)
    child = await stack.start_process(name, settings, through=LAUNCHER)
    if kept is None:
        del stack.children[name]
    else:
        stack.children[name] = kept
    try:
        yield child
    finally:
        await child.stop()


@pytest.fixture(scope="module")
async def services(without_workers: Stack) -> AsyncIterator[Services]:
    async with AsyncExitStack() as running:
        names = ("conflict", "ingest", "conflict") if is_full_tier() else ("conflict",)
        started = [await running.enter_async_context(another(without_workers, name)) for name in names]
        addresses = {"ingest": without_workers.address("ingest"), "conflict": started[0].facts["address"]}
        replicas = {child.name: child.facts["address"] for child in started[1:]}
        yield Services(stack=without_workers, addresses=addresses, replicas={**addresses, **replicas})


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """A team in which a request is to be made, and by whom."""

    team_id: str
    key: str
    name: str
    request: Message

    async def answers(self, services: Services, addresses: dict[str, str] | None = None) -> list[Any]:
        async with services.client(self.key, addresses) as client:
            return await asyncio.wait_for(answers_of(client, self.name, self.request), SECONDS)


async def asked(services: Services, deploys_from: Request, name: str, make: Make) -> Asked:
    """A fresh team that is prepared for a request to an RPC."""
    made = made_team(
        services.stack.url("corrigenda_migrator"), services.stack.secrets.key_pepper, driven_from=BEGINNING
    )
    async with services.client(made.key) as admin:
        keys = {"admin": made.key, **await prepare(admin, ("A", "B"))}
        async with services.client(keys["A"]) as a, services.client(keys["B"]) as b:
            team = Asking(team_id=made.team_id, admin=admin, a=a, b=b, deploys_from=deploys_from)
            request = await make(team)
    by = "admin" if is_asked_by_the_administrator(name) else "A"
    return Asked(team_id=made.team_id, key=keys[by], name=name, request=request)


def effect(before: Rows, after: Rows) -> Counter[str]:
    """How many rows each table has got; history tables count the versions of the others."""
    grown: Counter[str] = Counter({table: len(rows) for table, rows in after.items()})
    grown.subtract({table: len(rows) for table, rows in before.items()})
    return Counter({table: more for table, more in grown.items() if more})


async def undisturbed(
    services: Services, deploys_from: Request, rows_of: RowsOf, name: str, make: Make
) -> Counter[str]:
    """The effect of one call that nothing happens to: the same in any team, so it is looked at once."""
    if make not in services.effects:
        one = await asked(services, deploys_from, name, make)
        before = rows_of(one.team_id)
        await one.answers(services)
        services.effects[make] = effect(before, rows_of(one.team_id))
    return services.effects[make]


def shown_again(answers: list[Any]) -> list[Message]:
    """Answers as they are shown again: a key's secret is shown once."""
    shown = []
    for answer in answers:
        copy = type(answer)()
        copy.CopyFrom(answer)
        if "secret" in copy.DESCRIPTOR.fields_by_name:
            copy.ClearField("secret")
        shown.append(copy)
    return shown


def ledger_verifies(stack: Stack, team_id: str) -> bool:
    with psycopg.connect(stack.url("corrigenda_auditor"), autocommit=True) as connection:
        return verify_ledger(connection, TeamId(team_id)).is_verified


def test_every_rpc_that_mutates_has_a_request() -> None:
    assert set(REQUESTS) == set(MUTATING)
    streams = {name for name, (_, method) in MUTATING.items() if method.server_streaming}
    # Of a cut stream of submissions, the client knows which are answered: test_stack_faults.py resumes one.
    assert set(SEVERAL_COMMITS) == streams - {"RememberStream"}


async def killed(services: Services, one: Asked, arming: str) -> None:
    """Makes the call to a process that is killed where it is armed."""
    process = process_of(one.name)
    async with services.another(process, {VARIABLE: arming}) as doomed:
        with pytest.raises(grpc.aio.AioRpcError) as lost:
            await one.answers(services, {process: doomed.facts["address"]})
        assert lost.value.code() is grpc.StatusCode.UNAVAILABLE
        assert await asyncio.wait_for(doomed.wait(), SECONDS) == -signal.SIGKILL


async def repeated(services: Services, one: Asked, rows_of: RowsOf) -> Rows:
    """Makes the call again and again: the rows after the first of these calls, which the others leave as they are."""
    second = await one.answers(services)
    after = rows_of(one.team_id)
    assert shown_again(await one.answers(services)) == shown_again(second)
    assert rows_of(one.team_id) == after
    assert ledger_verifies(services.stack, one.team_id)
    return after


@pytest.mark.promise("kept.once", "Q7")
@pytest.mark.parametrize(("name", "failpoint"), KILLED)
async def test_what_a_kill_interrupted_is_repeated_with_one_effect_and_one_answer(
    services: Services, deploys_from: Request, rows_of: RowsOf, name: str, failpoint: Failpoint
) -> None:
    make = REQUESTS[name]
    one = await asked(services, deploys_from, name, make)
    before = rows_of(one.team_id)
    await killed(services, one, f"{failpoint}=kill")
    interrupted = rows_of(one.team_id)
    assert (interrupted != before) is (failpoint is COMMITTED)
    after = await repeated(services, one, rows_of)
    assert effect(before, after) == await undisturbed(services, deploys_from, rows_of, name, make)


@pytest.mark.parametrize(("name", "failpoint"), KILLED_BETWEEN)
async def test_what_was_killed_at_its_second_commit_goes_on_where_it_was(
    services: Services, deploys_from: Request, rows_of: RowsOf, name: str, failpoint: Failpoint
) -> None:
    make = SEVERAL_COMMITS[name]
    one = await asked(services, deploys_from, name, make)
    before = rows_of(one.team_id)
    await killed(services, one, f"{failpoint}=kill@2")
    interrupted = rows_of(one.team_id)
    assert interrupted != before
    after = await repeated(services, one, rows_of)
    whole = await undisturbed(services, deploys_from, rows_of, name, make)
    assert effect(before, interrupted) != whole
    assert effect(before, after) == whole


@pytest.mark.skipif(not is_full_tier(), reason="full tier only: it starts two more processes for each failpoint")
@pytest.mark.parametrize("failpoint", Failpoint)
async def test_a_merge_outlives_the_service_that_it_was_passed_on_to(
    services: Services, deploys_from: Request, rows_of: RowsOf, failpoint: Failpoint
) -> None:
    one = await asked(services, deploys_from, "ResolveConflict", merging)
    before = rows_of(one.team_id)
    async with services.another("ingest", {VARIABLE: f"{failpoint}=kill"}) as doomed:
        told = {"CORRIGENDA_INGEST_ADDRESS": doomed.facts["address"]}
        async with services.another("conflict", told) as passing_on:
            with pytest.raises(grpc.aio.AioRpcError) as lost:
                await one.answers(services, {"conflict": passing_on.facts["address"]})
            assert lost.value.code() is grpc.StatusCode.UNAVAILABLE
        assert await asyncio.wait_for(doomed.wait(), SECONDS) == -signal.SIGKILL
    interrupted = rows_of(one.team_id)
    assert (interrupted != before) is (failpoint is COMMITTED)
    after = await repeated(services, one, rows_of)
    assert effect(before, after) == await undisturbed(services, deploys_from, rows_of, "ResolveConflict", merging)


@pytest.mark.promise("kept.once", "Q7")
@pytest.mark.parametrize("name", AT_ONCE)
async def test_identical_calls_at_once_have_one_effect_and_one_answer(
    services: Services, deploys_from: Request, rows_of: RowsOf, name: str
) -> None:
    one = await asked(services, deploys_from, name, REQUESTS[name])
    before = rows_of(one.team_id)
    to = (services.addresses, services.replicas)
    calls = [one.answers(services, to[number % 2]) for number in range(CALLS_AT_ONCE)]
    answered = await asyncio.gather(*calls)
    assert all(shown_again(answers) == shown_again(answered[0]) for answers in answered), answered
    assert effect(before, rows_of(one.team_id)) == await undisturbed(
        services, deploys_from, rows_of, name, REQUESTS[name]
    )
    assert ledger_verifies(services.stack, one.team_id)
