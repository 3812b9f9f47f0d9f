"""Q12: whoever writes to a slot at once leaves one live case per conflict set and one value in force per owner.

The writers have a queue of their own each, so that they meet in the database, over two pools as two processes do.
"""

from __future__ import annotations

import asyncio
import random
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AsyncExitStack
from datetime import UTC, datetime
from typing import Any

import psycopg
import pytest
from corrigenda.ingest.v1 import ingest_service_pb2 as ingest
from corrigenda_core.domain.actors import Caller, KeyScope
from corrigenda_core.domain.errors import Reason, Refusal
from corrigenda_core.domain.ids import KeyId, TeamId
from corrigenda_core.persistence.database import Database, PoolSettings, Row
from corrigenda_core.persistence.ledger_verification import verify_ledger
from corrigenda_core.persistence.named_sql import Query
from corrigenda_core.persistence.read_transaction import ReadRunner
from corrigenda_core.persistence.team_clock import TeamClock
from corrigenda_core.persistence.transaction import Transaction, TransactionRunner
from corrigenda_core.policy.time_words import decide_time_bounds
from corrigenda_core.ports.deadline import Deadline
from corrigenda_core.providers.extraction_validation import ValidatedExtractor
from corrigenda_core.providers.extractor_local import LocalExtractor
from corrigenda_core.providers.validation import ValidatedVerifier
from corrigenda_core.providers.verifier_local import LocalVerifier
from corrigenda_core.rpc.idempotent import idempotency_of
from corrigenda_core.serving import new_ids, now
from corrigenda_core.testing.anomalies import UnlockedTeamClock
from corrigenda_core.testing.effort import examples
from corrigenda_core.testing.postgres import Team, ThrowawayDatabase, add_team
from corrigenda_core.testing.revisions import write_predicate
from corrigenda_core.testing.wire_submissions import PREDICATE_ROWS
from corrigenda_ingest.outside import OutsideLook
from corrigenda_ingest.proposing import Proposer
from corrigenda_ingest.requests import submission_of
from corrigenda_ingest.responses import PlacementMessages
from corrigenda_ingest.use_cases.remember import Remember
from corrigenda_ingest.verification_tokens import VerificationTokens

pytestmark = pytest.mark.database

Submission = Callable[..., ingest.RememberRequest]

PARTS, ROUNDS = examples(fast=1, full=25), examples(fast=2, full=20)
OWNERS, WRITERS = 4, 32
# So many of them are seen to wait for the team's lock before any of them gets it.
MEET = 8
SECONDS = 30.0
BEGAN = datetime(2026, 6, 1, 12, tzinfo=UTC)
# One value for a slot, and three ways to deal with what cannot be ordered.
PREDICATES = ("deploys_from", "owned_by", "hosted_on")
VALUES = ("main", "release", "trunk")
STARTS = ("", "", "since 1 March 2026 ", "since 1 April 2026 ", "since May 2026 ", "until 1 April 2026 ")

TWO_LIVE_CASES = """
SELECT a.conflict_id, b.conflict_id FROM conflict_cases_history AS a JOIN conflict_cases_history AS b
USING (team_id, kind, subject_id, predicate, scope, object_key)
WHERE team_id = %s AND a.conflict_id < b.conflict_id
AND a.status IN ('open', 'overdue') AND b.status IN ('open', 'overdue')
AND tstzrange(a.recorded_from, a.recorded_to) && tstzrange(b.recorded_from, b.recorded_to)
"""
TWO_VALUES = """
SELECT a.relationship_id, b.relationship_id FROM relationships_history AS a JOIN relationships_history AS b
USING (team_id, owner_id, subject_id, predicate, scope)
WHERE team_id = %s AND a.relationship_id < b.relationship_id AND a.object_key <> b.object_key
AND a.polarity = '+' AND b.polarity = '+'
AND a.status IN ('active', 'superseded') AND b.status IN ('active', 'superseded')
AND tstzrange(a.valid_from, a.valid_to) && tstzrange(b.valid_from, b.valid_to)
AND tstzrange(a.recorded_from, a.recorded_to) && tstzrange(b.recorded_from, b.recorded_to)
"""
"""Two values in force at one instant, as anything at all was known at any instant."""


class Writer:
    """Remembers as one process with one caller does."""

    def __init__(self, database: Database, caller: Caller, runner: TransactionRunner) -> None:
        self._caller = caller
        reader = ReadRunner(database)
        extractor = ValidatedExtractor(LocalExtractor(decide_time_bounds), call_timeout_seconds=5.0, retries=0)
        look = OutsideLook(
            reader=reader,
            proposer=Proposer(reader=reader, extractor=extractor),
            verifier=ValidatedVerifier(LocalVerifier(decide_time_bounds), call_timeout_seconds=5.0, retries=0),
            tokens=VerificationTokens(b"a key that only this test knows, long enough", now=now),
            new_ids=new_ids,
        )
        self._remember = Remember(look=look, runner=runner)

    async def __call__(self, request: ingest.RememberRequest) -> ingest.RememberResponse:
        committed = await self._remember(
            self._caller,
            submission_of(request, key=request.idempotency_key),
            idempotency=idempotency_of(request, self._caller.profile_id, ingest.RememberResponse),
            present=lambda planned, facts: PlacementMessages(self._caller, planned, facts).response(),
            deadline=Deadline.after(SECONDS),
        )
        return committed.value


@pytest.fixture(scope="module")
async def pools(shared_database: ThrowawayDatabase) -> AsyncIterator[tuple[Database, Database]]:
    async with AsyncExitStack() as opened:
        url = shared_database.url("corrigenda_ingest")
        # Two writers share a connection, and a busy machine may let them wait for it.
        settings = PoolSettings(acquire_timeout_seconds=SECONDS)
        one, two = (Database(url, settings=settings) for _ in range(2))
        yield (await opened.enter_async_context(one), await opened.enter_async_context(two))


async def writing_team(database: ThrowawayDatabase, pool: Database) -> Team:
    """A team whose clock stands still, so that a moment tells nothing apart."""
    team = add_team(database, profiles=OWNERS, driven_now=BEGAN)

    def plan(transaction: Transaction) -> None:
        for row in PREDICATE_ROWS:
            write_predicate(transaction, team.profiles[0], row, None)

    await TransactionRunner(pool).run(team.team_id, plan)
    return team


def callers_of(team: Team) -> list[Caller]:
    return [
        Caller(team_id=team.team_id, profile_id=owner, key_id=KeyId("key"), scopes=frozenset({KeyScope.WRITE}))
        for owner in team.profiles
    ]


def writers_of(team: Team, pools: Sequence[Database], clock: TeamClock) -> list[Writer]:
    """Every owner as often as the others, through either pool."""
    callers = callers_of(team)
    return [
        Writer(pool, callers[number // 2 % OWNERS], TransactionRunner(pool, team_clock=clock))
        for number in range(WRITERS)
        for pool in [pools[number % 2]]
    ]


def saying(
    deploys_from: Submission, start: str, subject: str, predicate: str, value: str, key: str = ""
) -> ingest.RememberRequest:
    key = key or uuid.uuid4().hex
    words = f"note {key[:6]}: {start}{subject} {predicate.replace('_', ' ')} {value}"
    request = deploys_from(words, value, key=key, predicate=predicate)
    request.proposal.entities[0].name = subject
    return request


def said(chance: random.Random, deploys_from: Submission, subject: str, predicate: str) -> ingest.RememberRequest:
    """Some value of the slot, from some time on, which may be that of another one."""
    key = uuid.UUID(int=chance.getrandbits(128)).hex
    return saying(deploys_from, chance.choice(STARTS), subject, predicate, chance.choice(VALUES), key)


async def at_once(
    database: ThrowawayDatabase, team: Team, calls: Sequence[Awaitable[Any]], meet: int = MEET
) -> list[Any]:
    """What the calls come to, answers and exceptions, after they were seen to wait for the team's lock together."""
    waiting = (
        "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND cardinality("
        "pg_blocking_pids(pid)) > 0"
    )
    with psycopg.connect(database.superuser_url) as holder, database.connect() as watcher:
        holder.execute("SELECT 1 FROM team_clock WHERE team_id = %s FOR UPDATE", [team.team_id])
        tasks = [asyncio.ensure_future(call) for call in calls]
        deadline = asyncio.get_running_loop().time() + SECONDS
        while True:
            (met,) = watcher.execute(waiting).fetchone() or (0,)
            if isinstance(met, int) and met >= meet:
                break
            assert asyncio.get_running_loop().time() < deadline, f"only {met} wait for the lock"
            await asyncio.sleep(0.005)
    return await asyncio.gather(*tasks, return_exceptions=True)


def count(database: ThrowawayDatabase, team: Team, table: str) -> int:
    with database.connect() as connection:
        (found,) = connection.execute(
            f"SELECT count(*) FROM {table} WHERE team_id = %s", [team.team_id]
        ).fetchone() or (0,)
    assert isinstance(found, int)
    return found


def broken(database: ThrowawayDatabase, team: Team) -> list[tuple[object, ...]]:
    """Pairs that may not be: live cases of one set, values of one owner and slot in force at one instant."""
    with database.connect() as connection:
        cases = connection.execute(TWO_LIVE_CASES, [team.team_id]).fetchall()
        return cases + connection.execute(TWO_VALUES, [team.team_id]).fetchall()


def verifies(database: ThrowawayDatabase, team: Team) -> bool:
    with database.connect() as connection:
        return verify_ledger(connection, team.team_id).is_verified


@pytest.mark.promise("time.one-value", "Q12")
@pytest.mark.rule("R4.8", "R7.3", "R8.1")
@pytest.mark.parametrize("part", range(PARTS))
async def test_32_writers_leave_one_live_case_and_one_value_in_force(
    shared_database: ThrowawayDatabase, pools: tuple[Database, Database], deploys_from: Submission, part: int
) -> None:
    team = await writing_team(shared_database, pools[0])
    writers = writers_of(team, pools, TeamClock())
    for number in range(ROUNDS):
        chance = random.Random(part * ROUNDS + number)
        subject, predicate = f"service-{number}", PREDICATES[(part + number) % len(PREDICATES)]
        calls = [writer(said(chance, deploys_from, subject, predicate)) for writer in writers]
        refused = [one for one in await at_once(shared_database, team, calls) if isinstance(one, BaseException)]
        assert not refused, (number, refused[0])
    # The history has every version, so what was wrong for one instant of one round is still there.
    assert broken(shared_database, team) == []
    assert count(shared_database, team, "ingests") == ROUNDS * WRITERS
    # The writers did meet on their slots. Where all owners happen to begin with one value, there is no case.
    assert count(shared_database, team, "conflict_cases") >= ROUNDS // 2
    assert count(shared_database, team, "relationships") > ROUNDS * OWNERS
    assert verifies(shared_database, team)


@pytest.mark.promise("Q12")
@pytest.mark.rule("R8.1")
async def test_without_the_teams_lock_the_database_refuses_and_nothing_is_half_written(
    shared_database: ThrowawayDatabase, pools: tuple[Database, Database], deploys_from: Submission
) -> None:
    """The anomaly switch: the rounds above would notice, and the net below the lock holds."""
    team = await writing_team(shared_database, pools[0])
    chance = random.Random(12)
    calls = [
        writer(said(chance, deploys_from, "service", "deploys_from"))
        for writer in writers_of(team, pools, UnlockedTeamClock())
    ]
    answers = await at_once(shared_database, team, calls, meet=2)
    refused = [one for one in answers if isinstance(one, Refusal)]
    written = [one for one in answers if isinstance(one, ingest.RememberResponse)]
    assert len(refused) + len(written) == WRITERS
    assert {one.reason for one in refused} <= {Reason.STALE_VERSION, Reason.CONTENTION, Reason.INTERNAL_ERROR}
    assert refused
    assert written
    assert_written_whole(shared_database, team, len(written))


def assert_written_whole(database: ThrowawayDatabase, team: Team, submissions: int) -> None:
    """So many submissions of one statement each are stored, and of any other nothing."""
    for table in ("ingests", "observations", "evidence_fragments", "idempotency_records"):
        assert count(database, team, table) == submissions, table
    assert broken(database, team) == []
    assert verifies(database, team)


class SightedEarlier(TransactionRunner):
    """Plans on what was there before the others wrote, although it takes the lock as it should."""

    def __init__(self, database: Database, looked: asyncio.Barrier) -> None:
        super().__init__(database)
        self._looked = looked

    async def run(self, team_id: TeamId, plan: Any, *, prefetch: Sequence[Query] = (), **more: Any) -> Any:
        """Runs the plan on the rows of a transaction that ended before any of the others began."""
        seen: dict[str, list[Row]] = {}
        await super().run(team_id, lambda transaction: seen.update(transaction.prefetched), prefetch=prefetch)
        await self._looked.wait()

        async def on_what_was_seen(transaction: Transaction) -> Any:
            transaction.prefetched = seen
            return await plan(transaction)

        return await super().run(team_id, on_what_was_seen, prefetch=prefetch, **more)


@pytest.mark.parametrize(
    ("seeded", "owners", "constraint"),
    [
        pytest.param("owned_by", (1, 1), "relationships_one_value_in_force_excl", id="one owner, two values"),
        pytest.param("deploys_from", (1, 2), "conflict_cases_live_key", id="two owners, two cases"),
    ],
)
@pytest.mark.rule("R4.8", "R7.3")
async def test_what_was_planned_on_an_old_sight_is_refused_by_the_constraint(
    shared_database: ThrowawayDatabase,
    pools: tuple[Database, Database],
    deploys_from: Submission,
    seeded: str,
    owners: tuple[int, int],
    constraint: str,
) -> None:
    team = await writing_team(shared_database, pools[0])
    callers = callers_of(team)
    first = saying(deploys_from, "", "service", seeded, "main")
    for value in VALUES[1:]:
        # What everybody names is known from here on, so that one look shows all that there is.
        first.proposal.entities.add(ref=value, name=value, entity_kind="git_branch")
    await Writer(pools[0], callers[0], TransactionRunner(pools[0]))(first)
    looked = asyncio.Barrier(len(owners))
    calls = [
        Writer(pool, callers[owner], SightedEarlier(pool, looked))(
            saying(deploys_from, "since 1 March 2026 ", "service", "deploys_from", value)
        )
        for pool, owner, value in zip(pools, owners, VALUES[1:], strict=True)
    ]
    answers = await asyncio.gather(*calls, return_exceptions=True)
    (refused,) = [one for one in answers if isinstance(one, Refusal)]
    (_,) = [one for one in answers if isinstance(one, ingest.RememberResponse)]
    assert refused.metadata["constraint"] == constraint
    assert_written_whole(shared_database, team, 2)
