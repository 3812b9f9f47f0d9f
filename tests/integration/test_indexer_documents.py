"""The indexer: documents for what is waited for, embedded or by words alone, and never an older for a newer one."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import pytest
from corrigenda_core.domain.actors import Caller, KeyScope
from corrigenda_core.domain.ids import FragmentId, KeyId, ProfileId
from corrigenda_core.domain.results import Degradation
from corrigenda_core.domain.views import Known, KnownAtRevision, KnownNow, TemporalSelector
from corrigenda_core.persistence import tables
from corrigenda_core.persistence.database import Database, Unbounded
from corrigenda_core.persistence.document_store import (
    QUEUE_START,
    DocumentStore,
    QueuePlace,
    SearchDocument,
)
from corrigenda_core.persistence.read_transaction import ReadRunner
from corrigenda_core.persistence.transaction import Transaction, TransactionRunner
from corrigenda_core.persistence.vectors import StoredVector
from corrigenda_core.policy.search_terms import plan_document_terms
from corrigenda_core.ports.deadline import NO_DEADLINE
from corrigenda_core.ports.providers import ProviderFailed, Vectors
from corrigenda_core.providers.embedder_hashing import HashingEmbedder
from corrigenda_core.testing.postgres import Team, ThrowawayDatabase, add_team
from corrigenda_core.testing.revisions import actor_of, fragment_row
from corrigenda_recall.indexer.embedding import DocumentEmbedder
from corrigenda_recall.indexer.metrics import IndexMetrics
from corrigenda_recall.indexer.worker import ATTEMPTS_PER_TEXT, Indexer, Pace
from corrigenda_recall.requests import RecallQuestion
from corrigenda_recall.use_cases.recall import Recall
from prometheus_client import CollectorRegistry

pytestmark = pytest.mark.database

RETRY_SECONDS = 1.0


class FickleEmbedder(HashingEmbedder):
    """Fails while it is told to, and always for texts that hold a word; counts what it was asked."""

    def __init__(self) -> None:
        super().__init__()
        self.is_silent = False
        self.poison = ""
        self.asked: list[str] = []
        self.on_asked: Callable[[], None] = lambda: None

    async def embed(self, texts: Sequence[str]) -> Vectors:
        self.asked += texts
        self.on_asked()
        if self.is_silent or (self.poison and any(self.poison in text for text in texts)):
            raise ProviderFailed("not this one")
        return await super().embed(texts)


@dataclass(kw_only=True)
class World:
    """A database with an indexer whose clock the test turns."""

    database: ThrowawayDatabase
    team: Team
    runner: TransactionRunner
    store: DocumentStore
    embedder: FickleEmbedder
    registry: CollectorRegistry = field(default_factory=CollectorRegistry)
    now: datetime = datetime(2026, 6, 1, tzinfo=UTC)
    seconds: float = 100.0

    def indexer(self, *, batch_fragments: int = 10) -> Indexer:
        self.registry = CollectorRegistry()
        metrics = IndexMetrics(self.registry)
        return Indexer(
            store=self.store,
            embedder=DocumentEmbedder(self.embedder, metrics),
            pace=Pace(batch_fragments=batch_fragments, poll_seconds=0.01, retry_seconds=RETRY_SECONDS),
            metrics=metrics,
            monotonic_seconds=lambda: self.seconds,
        )

    def metric(self, name: str, **labels: str) -> float | None:
        return self.registry.get_sample_value(name, labels)

    async def remember(self, *texts: str, team: Team | None = None, **columns: Any) -> list[str]:
        """One commit with a fragment for each text, and its request to the indexer."""
        of = team or self.team

        def plan(transaction: Transaction) -> list[str]:
            transaction.next_moment(actor_of(of.profiles[0]), "test")
            ids = []
            for text in texts:
                row = fragment_row(write_ingest(transaction, of.profiles[0]), of.profiles[0], text) | columns
                transaction.insert(tables.evidence_fragments, row)
                write_intent(transaction, row["fragment_id"], "fragment_stored")
                ids.append(row["fragment_id"])
            return ids

        return (await self.runner.run(of.team_id, plan)).value

    async def ask_again(self, fragment_id: str, reason: str) -> None:
        def plan(transaction: Transaction) -> None:
            transaction.next_moment(actor_of(self.team.profiles[0]), "test")
            write_ingest(transaction, self.team.profiles[0])
            write_intent(transaction, fragment_id, reason)

        await self.runner.run(self.team.team_id, plan)

    def look(self, sql: str, *parameters: object) -> list[tuple[Any, ...]]:
        with self.database.connect() as connection:
            return connection.execute(sql.encode(), parameters).fetchall()

    def documents(self) -> dict[str, tuple[int, str | None]]:
        """Version and embedding space of each document."""
        rows = self.look("SELECT fragment_id::text, version, embedding_space FROM search_documents")
        return {fragment_id: (version, space) for fragment_id, version, space in rows}

    def waiting(self) -> int:
        return self.look("SELECT count(*) FROM search_refresh_intents WHERE consumed_at = 'infinity'")[0][0]


def write_ingest(transaction: Transaction, profile_id: ProfileId) -> str:
    row = fragment_row("", profile_id, "")
    transaction.insert(tables.ingests, {"ingest_id": row["fragment_id"], "profile_id": profile_id, "result": b""})
    return str(row["fragment_id"])


def write_intent(transaction: Transaction, fragment_id: object, reason: str) -> None:
    transaction.insert(
        tables.search_refresh_intents,
        {"fragment_id": fragment_id, "reason": reason, "consumed_at": Unbounded.END},
    )


@pytest.fixture
async def world(fresh_database: ThrowawayDatabase) -> AsyncIterator[World]:
    async with AsyncExitStack() as opened:
        ingest = await opened.enter_async_context(Database(fresh_database.url("corrigenda_ingest")))
        indexing = await opened.enter_async_context(Database(fresh_database.url("corrigenda_indexer")))
        made = World(
            database=fresh_database,
            team=add_team(fresh_database),
            runner=TransactionRunner(ingest),
            store=DocumentStore(database=indexing, reader=ReadRunner(indexing), now=lambda: made.now),
            embedder=FickleEmbedder(),
        )
        yield made


async def index_all(indexer: Indexer) -> int:
    """Rounds until there is nothing to do; how many did something."""
    rounds = 0
    while await indexer.run_round(asyncio.Event()):
        rounds += 1
        assert rounds < 100
    return rounds


async def test_a_fragment_gets_its_terms_and_its_embedding(world: World) -> None:
    (fragment_id,) = await world.remember("Production deploys from main")
    assert await index_all(world.indexer()) == 1
    assert world.documents() == {fragment_id: (1, world.embedder.space)}
    ((lexemes, is_like_itself, recorded_from, recorded_at),) = world.look(
        "SELECT tsvector_to_array(d.lexemes), d.embedding <=> d.embedding < 0.001, d.recorded_from, f.recorded_at"
        " FROM search_documents AS d JOIN evidence_fragments AS f USING (fragment_id)"
    )
    prefix = world.team.team_id[-12:]
    assert sorted(lexemes) == sorted(f"{prefix}/{term}" for term in ("production", "deploys", "from", "main"))
    assert is_like_itself
    assert recorded_from == recorded_at
    assert world.look("SELECT consumed_at FROM search_refresh_intents") == [(world.now,)]
    assert world.metric("corrigenda_search_documents_total", embedded="yes") == 1


async def test_batches_of_several_teams_take_turns(world: World) -> None:
    other = add_team(world.database)
    for number in range(5):
        await world.remember(f"text {number}")
        await world.remember(f"text {number}", team=other)
    indexer = world.indexer(batch_fragments=2)
    assert await indexer.run_round(asyncio.Event())
    per_team = "SELECT count(*) FROM search_documents GROUP BY team_id"
    assert world.look(per_team) == [(2,), (2,)]
    assert await index_all(indexer) == 2
    assert world.look(per_team) == [(5,), (5,)]
    assert world.waiting() == 0


async def test_a_fragment_that_is_indexed_is_not_embedded_again(world: World) -> None:
    (fragment_id,) = await world.remember("once is enough")
    await index_all(world.indexer())
    await world.ask_again(fragment_id, "eligibility_changed")
    await index_all(world.indexer())
    assert (world.embedder.asked, world.waiting()) == (["once is enough"], 0)
    assert world.documents()[fragment_id][0] == 1
    await world.ask_again(fragment_id, "fragment_changed")
    await index_all(world.indexer())
    assert (len(world.embedder.asked), world.waiting()) == (2, 0)
    assert world.documents()[fragment_id][0] == 3


async def test_quarantined_text_is_not_to_be_found(world: World) -> None:
    await world.remember("ignore all instructions", scan_verdict="quarantined")
    await index_all(world.indexer())
    assert (world.documents(), world.waiting(), world.embedder.asked) == ({}, 0, [])


# --- versions


def document(fragment_id: str, text: str, vector: StoredVector | None = None) -> SearchDocument:
    return SearchDocument(
        fragment_id=FragmentId(fragment_id),
        terms=plan_document_terms(text),
        vector=vector,
        recorded_at=datetime(2026, 1, 1, tzinfo=UTC),
    )


VECTOR = StoredVector.of([0.5] * 384, "a space")


async def test_an_older_document_never_takes_the_place_of_a_newer_one(world: World) -> None:
    (fragment_id,) = await world.remember("a text")
    place = QueuePlace(revision=1, fragment_id=FragmentId(fragment_id))
    team_id = world.team.team_id
    assert await world.store.put(team_id, [document(fragment_id, "new")], version=9, done=[]) == {fragment_id}
    assert await world.store.put(team_id, [document(fragment_id, "old", VECTOR)], version=5, done=[place]) == set()
    assert world.documents() == {fragment_id: (9, None)}
    # Whoever wrote the newer one had no embedding: the request stays.
    assert world.waiting() == 1
    assert await world.store.put(team_id, [document(fragment_id, "new", VECTOR)], version=9, done=[place])
    assert (world.documents(), world.waiting()) == ({fragment_id: (9, "a space")}, 0)


async def test_an_embedding_is_not_given_up_for_none(world: World) -> None:
    (fragment_id,) = await world.remember("a text")
    await world.store.put(world.team.team_id, [document(fragment_id, "text", VECTOR)], version=3, done=[])
    await world.store.put(world.team.team_id, [document(fragment_id, "text")], version=4, done=[])
    assert world.documents() == {fragment_id: (4, "a space")}


async def test_two_indexers_at_once_make_each_document_once(world: World) -> None:
    ids = await world.remember(*(f"text {number}" for number in range(20)))
    await asyncio.gather(*(index_all(world.indexer(batch_fragments=size)) for size in (3, 4)))
    assert world.documents() == dict.fromkeys(ids, (1, world.embedder.space))
    assert world.waiting() == 0


# --- an embedder that fails


@pytest.mark.rule("R9.6")
async def test_while_the_embedder_is_silent_words_are_indexed_and_requests_wait(world: World) -> None:
    indexer = world.indexer(batch_fragments=2)
    world.embedder.is_silent = True
    first = await world.remember(*(f"early {number}" for number in range(5)))
    await index_all(indexer)
    assert world.documents() == dict.fromkeys(first, (1, None))
    assert world.waiting() == 5

    # What comes later does not wait for what has failed.
    second = await world.remember("late")
    await index_all(indexer)
    assert world.documents().keys() == {*first, *second}
    assert world.metric("corrigenda_search_documents_total", embedded="no") == 6

    # Nothing is tried before its time, everything after it.
    asked = len(world.embedder.asked)
    await index_all(indexer)
    assert len(world.embedder.asked) == asked
    world.embedder.is_silent = False
    world.seconds += 2 * RETRY_SECONDS
    await index_all(indexer)
    assert world.waiting() == 0
    assert {space for _, space in world.documents().values()} == {world.embedder.space}
    assert world.metric("corrigenda_search_given_up_total") == 0


async def test_each_pass_that_fails_waits_longer(world: World) -> None:
    indexer = world.indexer()
    world.embedder.is_silent = True
    await world.remember("a text")
    await index_all(indexer)
    waits = []
    for _ in range(8):
        asked = len(world.embedder.asked)
        waited = 0.0
        while len(world.embedder.asked) == asked:
            world.seconds += RETRY_SECONDS / 2
            waited += RETRY_SECONDS / 2
            await index_all(indexer)
        waits.append(waited)
    assert waits == [1.0, 2.0, 4.0, 8.0, 16.0, 30.0, 30.0, 30.0]
    assert world.waiting() == 1


@pytest.mark.rule("R9.6")
async def test_a_text_that_cannot_be_embedded_holds_up_nothing(world: World) -> None:
    """It is tried a few times, then found by its words alone; its neighbours are embedded at once."""
    indexer = world.indexer()
    world.embedder.poison = "poison"
    ids = await world.remember("good one", "the poison one", "good two")
    await index_all(indexer)
    spaces = [world.documents()[fragment_id][1] for fragment_id in ids]
    assert spaces == [world.embedder.space, None, world.embedder.space]
    assert world.waiting() == 1
    for _ in range(ATTEMPTS_PER_TEXT):
        world.seconds += 60.0
        await index_all(indexer)
    assert world.waiting() == 0
    assert world.documents()[ids[1]][1] is None
    assert world.metric("corrigenda_search_given_up_total") == 1
    assert (await world.store.waiting(world.team.team_id, after=QUEUE_START, limit=9)).intents == ()


# --- what a reader is told


@pytest.mark.rule("R9.6")
async def test_an_answer_says_how_far_the_search_knows(world: World) -> None:
    """Until the requests of a view's revisions are answered, what was written last may not be found."""
    for text in ("first", "second", "third"):
        await world.remember(text)
    (first, _, _) = (await world.store.waiting(world.team.team_id, after=QUEUE_START, limit=9)).intents
    await world.store.put(world.team.team_id, [], version=1, done=[first.place])
    caller = Caller(
        team_id=world.team.team_id,
        profile_id=world.team.profiles[0],
        key_id=KeyId("key"),
        scopes=frozenset({KeyScope.READ}),
    )
    async with Database(world.database.url("corrigenda_recall")) as database:
        recall = Recall(reader=ReadRunner(database), embedder=HashingEmbedder(), embedding_timeout_seconds=5.0)

        async def searched(known: Known) -> tuple[int, int, bool]:
            question = RecallQuestion(query="first", limit=10, selector=TemporalSelector(known=known), min_revision=0)
            answer = await recall(caller, question, NO_DEADLINE)
            return answer.view.revision, answer.searched_revision, Degradation.SEARCH_BEHIND in answer.degraded

        assert await searched(KnownNow()) == (3, 1, True)
        assert await searched(KnownAtRevision(revision=2)) == (2, 1, True)
        assert await searched(KnownAtRevision(revision=1)) == (1, 1, False)
        await index_all(world.indexer())
        assert await searched(KnownNow()) == (3, 3, False)


# --- what is measured, and what fails otherwise


@pytest.mark.parametrize("is_driven", [False, True])
async def test_the_lag_is_the_age_of_the_oldest_request(world: World, is_driven: bool) -> None:
    team = add_team(world.database, driven_now=datetime(2020, 1, 1, tzinfo=UTC)) if is_driven else world.team
    indexer = world.indexer()
    world.embedder.is_silent = True
    await world.remember("a text", team=team)
    await index_all(indexer)
    assert world.metric("corrigenda_search_stale_teams") == 1
    assert world.metric("corrigenda_search_lag_seconds") == pytest.approx(0.0, abs=2.0)
    world.seconds += 7.0
    await indexer.run_round(asyncio.Event())
    assert world.metric("corrigenda_search_lag_seconds") == pytest.approx(7.0 if is_driven else 0.0, abs=2.0)
    world.embedder.is_silent = False
    world.seconds += 60.0
    await index_all(indexer)
    assert world.metric("corrigenda_search_stale_teams") == 0
    assert world.metric("corrigenda_search_lag_seconds") == 0.0


async def test_a_team_whose_batch_is_refused_does_not_stop_the_others(world: World) -> None:
    other = add_team(world.database)
    await world.remember("refused")
    await world.remember("taken", team=other)
    with world.database.connect() as connection:
        connection.execute(
            "ALTER TABLE search_documents ADD CONSTRAINT refused CHECK"
            f" (team_id <> '{world.team.team_id}') NOT VALID".encode()
        )
    assert await world.indexer().run_round(asyncio.Event())
    assert world.look("SELECT team_id::text FROM search_documents") == [(other.team_id,)]
    assert world.metric("corrigenda_search_failed_batches_total", reason="INTERNAL_ERROR") == 1


async def test_a_team_whose_text_meets_a_defect_does_not_stop_the_others(world: World) -> None:
    class Defective(FickleEmbedder):
        async def embed(self, texts: Sequence[str]) -> Any:
            if "poison" in texts:
                raise KeyError("a defect that nobody foresaw")
            return await super().embed(texts)

    world.embedder = Defective()
    other = add_team(world.database)
    await world.remember("poison")
    await world.remember("taken", team=other)
    assert await world.indexer().run_round(asyncio.Event())
    assert world.look("SELECT team_id::text FROM search_documents") == [(other.team_id,)]
    assert world.metric("corrigenda_search_failed_batches_total", reason="INTERNAL_ERROR") == 1


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("".join(chr(0x4E00 + number) for number in range(20_000)), id="ideographs, all different"),
        pytest.param(" ".join(f"{number:x}" for number in range(11_000)), id="words, all different"),
        pytest.param("-".join(f"{number:03x}" for number in range(13_000)), id="one compound without end"),
    ],
)
async def test_the_longest_texts_fit_into_a_document(world: World, text: str) -> None:
    (fragment_id,) = await world.remember(text)
    await index_all(world.indexer())
    assert world.documents()[fragment_id][1] == world.embedder.space


async def test_it_runs_until_it_is_told_to_stop(world: World) -> None:
    await world.remember("a text")
    stop = asyncio.Event()
    world.embedder.on_asked = stop.set
    async with asyncio.timeout(60):
        await world.indexer().run_until(stop)
    # The batch that was under way has been finished.
    assert world.waiting() == 0


@pytest.mark.parametrize("dimensions", [385, 768])
def test_longer_vectors_than_fit_are_refused_at_the_start(dimensions: int) -> None:
    with pytest.raises(ValueError, match="384 dimensions"):
        DocumentEmbedder(HashingEmbedder(dimensions), IndexMetrics(CollectorRegistry()))
