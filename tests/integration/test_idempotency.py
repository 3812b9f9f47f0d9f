"""Stored responses on PostgreSQL: the same key and request have one effect and one answer."""

import asyncio
from collections.abc import AsyncIterator

import pytest
from corrigenda_core.domain.errors import Reason, Refusal
from corrigenda_core.domain.ids import IdempotencyKey, ProfileId
from corrigenda_core.persistence.database import Database
from corrigenda_core.persistence.idempotency import (
    IdempotencyRequest,
    find_response,
    request_hash_of,
    stored_response,
)
from corrigenda_core.persistence.transaction import Transaction, TransactionRunner
from corrigenda_core.testing.anomalies import UnrecordedRequests
from corrigenda_core.testing.postgres import Team, ThrowawayDatabase
from corrigenda_core.testing.revisions import write_evidence

pytestmark = [pytest.mark.database, pytest.mark.rule("R5.1")]


@pytest.fixture(scope="module")
async def ingest(shared_database: ThrowawayDatabase) -> AsyncIterator[Database]:
    async with Database(shared_database.url("corrigenda_ingest")) as database:
        yield database


def request(
    profile_id: ProfileId, key: str = "k", body: bytes = b"a", rpc: str = "Remember"
) -> IdempotencyRequest[int]:
    return IdempotencyRequest(
        profile_id=profile_id,
        key=IdempotencyKey(key),
        rpc=rpc,
        request_hash=request_hash_of(rpc, body),
        encode=lambda revision: str(revision).encode(),
        decode=lambda stored: int(stored),
    )


def plan_for(team: Team, profile: int = 0) -> object:
    def plan(transaction: Transaction) -> int:
        return write_evidence(transaction, team.profiles[profile], "x").revision

    return plan


async def test_a_repeated_request_gets_the_stored_response(ingest: Database, team: Team) -> None:
    runner = TransactionRunner(ingest)
    asked = request(team.profiles[0])
    first = await runner.run(team.team_id, plan_for(team), idempotency=asked)
    other = await runner.run(team.team_id, plan_for(team))
    again = await runner.run(team.team_id, plan_for(team), idempotency=asked)
    assert (first.value, first.revision, first.replayed) == (1, 1, False)
    assert other.revision == 2
    assert (again.value, again.revision, again.replayed) == (1, 1, True)


@pytest.mark.promise("kept.other-request")
@pytest.mark.parametrize("changed", [{"body": b"b"}, {"rpc": "Forget"}])
async def test_another_request_under_a_used_key_is_refused(
    ingest: Database, team: Team, changed: dict[str, object]
) -> None:
    runner = TransactionRunner(ingest)
    await runner.run(team.team_id, plan_for(team), idempotency=request(team.profiles[0]))
    with pytest.raises(Refusal) as refused:
        await runner.run(team.team_id, plan_for(team), idempotency=request(team.profiles[0], **changed))
    assert refused.value.reason is Reason.IDEMPOTENCY_CONFLICT
    assert (await runner.run(team.team_id, lambda tx: tx.reading.revision)).value == 1


async def test_a_key_belongs_to_its_profile(ingest: Database, team: Team) -> None:
    runner = TransactionRunner(ingest)
    answers = [
        await runner.run(team.team_id, plan_for(team, profile), idempotency=request(team.profiles[profile], body=body))
        for profile, body in ((0, b"a"), (1, b"b"))
    ]
    assert [(answer.value, answer.replayed) for answer in answers] == [(1, False), (2, False)]


async def test_one_key_at_once_in_several_processes_has_one_effect(
    shared_database: ThrowawayDatabase, team: Team
) -> None:
    url = shared_database.url("corrigenda_ingest")
    async with Database(url) as one, Database(url) as two:
        runners = [TransactionRunner(one), TransactionRunner(two)]
        asked = request(team.profiles[0])
        answers = await asyncio.gather(
            *(runner.run(team.team_id, plan_for(team), idempotency=asked) for runner in runners for _ in range(8))
        )
    assert {answer.value for answer in answers} == {1}
    assert [answer.replayed for answer in answers].count(False) == 1


@pytest.mark.promise("Q7")
async def test_without_the_record_every_repetition_would_have_an_effect_of_its_own(
    shared_database: ThrowawayDatabase, team: Team
) -> None:
    """The anomaly switch: the tests above and the sweep over all RPCs compare effects, and there are many of them."""
    url = shared_database.url("corrigenda_ingest")
    async with Database(url) as one, Database(url) as two:
        runners = [UnrecordedRequests(one), UnrecordedRequests(two)]
        asked = request(team.profiles[0])
        answers = await asyncio.gather(
            *(runner.run(team.team_id, plan_for(team), idempotency=asked) for runner in runners for _ in range(8))
        )
        other = await runners[0].run(team.team_id, plan_for(team), idempotency=request(team.profiles[0], body=b"b"))
    assert sorted(answer.value for answer in answers) == list(range(1, 17))
    assert not any(answer.replayed for answer in answers)
    assert other.value == 17


async def test_the_answer_of_a_request_that_changed_nothing_is_stored_too(ingest: Database, team: Team) -> None:
    runner = TransactionRunner(ingest)
    asked = request(team.profiles[0])
    first = await runner.run(team.team_id, lambda tx: 7, idempotency=asked)
    again = await runner.run(team.team_id, lambda tx: 8, idempotency=asked)
    assert (first.value, again.value, again.replayed) == (7, 7, True)


async def test_a_refused_request_leaves_its_key_unused(ingest: Database, team: Team) -> None:
    runner = TransactionRunner(ingest)

    def refuse(transaction: Transaction) -> int:
        raise Refusal(Reason.NOT_OWNER, "no")

    with pytest.raises(Refusal, match="no"):
        await runner.run(team.team_id, refuse, idempotency=request(team.profiles[0]))
    answer = await runner.run(team.team_id, plan_for(team), idempotency=request(team.profiles[0], body=b"another"))
    assert not answer.replayed


async def test_each_request_of_a_batch_has_its_own_record(ingest: Database, team: Team) -> None:
    runner = TransactionRunner(ingest)
    asked = [request(team.profiles[0], key=f"k{number}") for number in range(3)]

    def plan(transaction: Transaction) -> None:
        for item in asked:
            transaction.answer(item, write_evidence(transaction, team.profiles[0], "x").revision)

    await runner.run(team.team_id, plan)
    found = await runner.run(
        team.team_id,
        lambda tx: stored_response(tx.prefetched["find_response"]),
        prefetch=[find_response(team.team_id, team.profiles[0], IdempotencyKey("k2"))],
    )
    assert found.value is not None
    assert (found.value.response, found.value.revision) == (b"3", 3)
    assert (await runner.run(team.team_id, plan_for(team), idempotency=asked[1])).value == 2
