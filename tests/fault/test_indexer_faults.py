"""kill -9 of the indexer: no request is lost, no document is wrong, and the next one goes on where it was."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from corrigenda_cli.child import Child, start_child
from corrigenda_core.persistence import tables
from corrigenda_core.persistence.database import Database, Unbounded
from corrigenda_core.persistence.transaction import Transaction, TransactionRunner
from corrigenda_core.providers.embedder_hashing import HashingEmbedder
from corrigenda_core.testing.postgres import Team, ThrowawayDatabase, add_team
from corrigenda_core.testing.revisions import actor_of, fragment_row

pytestmark = pytest.mark.database

KILLS = 20 if os.environ.get("CORRIGENDA_TEST_TIER") == "full" else 5
FRAGMENTS_PER_KILL = 40
WAIT_SECONDS = 60.0


def remember(transaction: Transaction, team: Team, first: int) -> None:
    transaction.next_moment(actor_of(team.profiles[0]), "test")
    ingest = fragment_row("", team.profiles[0], "")["fragment_id"]
    transaction.insert(tables.ingests, {"ingest_id": ingest, "profile_id": team.profiles[0], "result": b""})
    for number in range(first, first + FRAGMENTS_PER_KILL // 2):
        row = fragment_row(str(ingest), team.profiles[0], f"production deploys from branch {number}")
        transaction.insert(tables.evidence_fragments, row)
        transaction.insert(
            tables.search_refresh_intents,
            {"fragment_id": row["fragment_id"], "reason": "fragment_stored", "consumed_at": Unbounded.END},
        )


@asynccontextmanager
async def indexing(database: ThrowawayDatabase, log: Path) -> AsyncIterator[Child]:
    """An indexer process; ended with the context, if it has not ended before."""
    child = await start_child(
        name="indexer",
        module="corrigenda_recall.indexer",
        environment={
            **{name: value for name, value in os.environ.items() if not name.startswith("CORRIGENDA_")},
            "CORRIGENDA_DATABASE_URL": database.url("corrigenda_indexer"),
            "CORRIGENDA_EMBEDDER": "hashing",
            "CORRIGENDA_INDEX_POLL_MILLISECONDS": "10",
            "CORRIGENDA_INDEX_BATCH_FRAGMENTS": "2",
        },
        log_file=log,
    )
    try:
        yield child
    finally:
        await child.stop()


async def until_waiting(database: ThrowawayDatabase, at_most: int) -> None:
    """Waits until no more than so many requests are waiting; another process answers them."""
    async with asyncio.timeout(WAIT_SECONDS):
        while True:
            with database.connect() as connection:
                (waiting,) = connection.execute(
                    "SELECT count(*) FROM search_refresh_intents WHERE consumed_at = 'infinity'"
                ).fetchone() or (0,)
            if isinstance(waiting, int) and waiting <= at_most:
                return
            await asyncio.sleep(0.005)


async def test_a_killed_indexer_loses_and_spoils_nothing(fresh_database: ThrowawayDatabase, tmp_path: Path) -> None:
    teams = [add_team(fresh_database), add_team(fresh_database)]
    total = KILLS * FRAGMENTS_PER_KILL
    async with Database(fresh_database.url("corrigenda_ingest")) as database:
        runner = TransactionRunner(database)
        for first in range(0, total // 2, FRAGMENTS_PER_KILL // 2):
            for team in teams:
                await runner.run(team.team_id, lambda tx, team=team, first=first: remember(tx, team, first))
    for kill in range(1, KILLS + 1):
        async with indexing(fresh_database, tmp_path / "log") as child:
            await until_waiting(fresh_database, total - kill * FRAGMENTS_PER_KILL + FRAGMENTS_PER_KILL // 2)
            os.kill(child.pid, signal.SIGKILL)
            assert await child.wait() == -signal.SIGKILL
        with fresh_database.connect() as connection:
            # What is done has its document, whole: both are one transaction.
            (undone,) = connection.execute(
                "SELECT count(*) FROM search_refresh_intents AS i LEFT JOIN search_documents AS d"
                " USING (team_id, fragment_id) WHERE i.consumed_at < 'infinity' AND d.embedding IS NULL"
            ).fetchone() or (None,)
        assert undone == 0
    async with indexing(fresh_database, tmp_path / "log") as child:
        await until_waiting(fresh_database, 0)
        assert await child.stop() == 0
    with fresh_database.connect() as connection:
        documents = connection.execute(
            "SELECT count(*), count(DISTINCT fragment_id), min(embedding_space), max(embedding_space)"
            " FROM search_documents"
        ).fetchone()
    space = HashingEmbedder().space
    assert documents == (total, total, space, space)
