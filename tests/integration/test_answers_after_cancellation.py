"""A call that was given up leaves nothing behind that could be taken for the answer of the next one."""

import asyncio
import random
from contextlib import suppress

import pytest
from corrigenda_core.domain.errors import Refusal
from corrigenda_core.persistence.database import Database, PoolSettings
from corrigenda_core.persistence.named_sql import Query
from corrigenda_core.persistence.read_transaction import ReadRunner
from corrigenda_core.persistence.transaction import Transaction, TransactionRunner
from corrigenda_core.ports.deadline import Deadline
from corrigenda_core.testing.effort import examples
from corrigenda_core.testing.postgres import Team, ThrowawayDatabase, add_team
from corrigenda_core.testing.revisions import write_evidence

pytestmark = pytest.mark.database

ROUNDS = examples(fast=100, full=1_000)
NAP = Query(name="nap", sql="SELECT pg_sleep(0.003)")


async def test_the_next_question_gets_its_own_answer(shared_database: ThrowawayDatabase, team: Team) -> None:
    teams = [team, *(add_team(shared_database) for _ in range(3))]
    settings = PoolSettings(max_connections=4, acquire_timeout_seconds=60)
    wrong: list[object] = []
    async with Database(shared_database.url("corrigenda_ingest"), settings=settings) as database:
        runner, reader = TransactionRunner(database), ReadRunner(database)

        async def give_up(seed: int) -> None:
            """Reads and writes, each with a deadline that comes somewhere in its course."""
            chance = random.Random(seed)
            for _ in range(ROUNDS):
                mine = chance.choice(teams)

                async def plan(transaction: Transaction, mine: Team = mine) -> None:
                    write_evidence(transaction, mine.profiles[0], "x")
                    await transaction.fetch(NAP)

                deadline = Deadline.after(chance.uniform(0.001, 0.03))
                if chance.random() < 0.6:
                    work = asyncio.ensure_future(runner.run(mine.team_id, plan, deadline=deadline))
                else:
                    look = reader.run(mine.team_id, lambda view: view.fetch(NAP), deadline=deadline)
                    work = asyncio.ensure_future(look)
                # Half of the callers go away by themselves, at some point.
                await asyncio.wait({work}, timeout=chance.uniform(0, 0.03) if chance.random() < 0.5 else None)
                work.cancel()
                with suppress(Refusal, asyncio.CancelledError):
                    await work

        async def ask() -> None:
            """Statements of one shape, as the look-up of a key is one: another's answer would look like the own."""
            for number in range(10_000_000):
                question = Query(name="mine", sql="SELECT %s::bigint AS mine", parameters=[number])
                answer = await database.ask(question)
                if answer != [{"mine": number}]:
                    wrong.append((number, answer))

        asking = [asyncio.create_task(ask()) for _ in range(2)]
        await asyncio.gather(*(give_up(seed) for seed in range(8)))
        for task in asking:
            task.cancel()
        await asyncio.wait(asking)
    assert wrong == []
