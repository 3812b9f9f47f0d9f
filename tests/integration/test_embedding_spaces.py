"""A new embedding model: documents are embedded anew one by one, and are found by meaning all the while."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from typing import Any

import numpy as np
import pytest
from corrigenda.ingest.v1 import ingest_service_pb2
from corrigenda.recall.v1 import recall_service_pb2
from corrigenda_cli.__main__ import main
from corrigenda_cli.stack import Stack
from corrigenda_core.domain.actors import Caller, KeyScope
from corrigenda_core.domain.ids import KeyId, ProfileId, TeamId
from corrigenda_core.domain.results import Degradation
from corrigenda_core.persistence.database import Database
from corrigenda_core.persistence.read_transaction import ReadRunner
from corrigenda_core.persistence.space_store import FIRST_PLACE, SpaceCounts, SpaceStore
from corrigenda_core.persistence.vectors import StoredVector
from corrigenda_core.policy.ranking import Branch
from corrigenda_core.ports.deadline import Deadline
from corrigenda_core.ports.providers import Embedder, ProviderFailed, StoredSample, Vectors
from corrigenda_core.providers.embedder_guarded import GuardedEmbedder
from corrigenda_core.providers.embedder_hashing import HashingEmbedder
from corrigenda_core.providers.embedder_minilm import minilm_embedder
from corrigenda_core.testing.wire_recall import current_recall
from corrigenda_recall.indexer.embedding import DocumentEmbedder
from corrigenda_recall.indexer.metrics import IndexMetrics
from corrigenda_recall.indexer.respacing import Respaced, Respacer
from corrigenda_recall.requests import recall_question_of
from corrigenda_recall.use_cases.recall import Recall
from prometheus_client import CollectorRegistry

pytestmark = pytest.mark.database

NewTeam = Callable[..., Awaitable[Any]]
Request = Callable[..., ingest_service_pb2.RememberRequest]

# Fewer dimensions than the database holds: the rest is zero.
NEW = HashingEmbedder(64)
TEXTS = {"main": "production deploys from main", "trunk": "staging deploys from trunk", "old": "demo deploys from old"}


class Stubborn(HashingEmbedder):
    """Cannot embed texts that hold a word."""

    poison = "trunk"

    async def embed(self, texts: Sequence[str]) -> Vectors:
        if any(self.poison in text for text in texts):
            raise ProviderFailed("not this one")
        return await super().embed(texts)


@pytest.fixture
async def spaces(stack: Stack) -> AsyncIterator[SpaceStore]:
    async with Database(stack.url("corrigenda_indexer")) as database:
        yield SpaceStore(database=database, reader=ReadRunner(database))


@pytest.fixture
async def reader(stack: Stack) -> AsyncIterator[ReadRunner]:
    async with Database(stack.url("corrigenda_recall")) as database:
        yield ReadRunner(database)


@pytest.fixture
async def team(new_team: NewTeam, deploys_from: Request) -> Any:
    """A team with three texts, which the running indexer has embedded."""
    made = await new_team(profiles=("A",))
    for branch, text in TEXTS.items():
        request = deploys_from(text, branch)
        request.proposal.entities[0].name = text.split()[0]
        await made["A"].ingest.Remember(request)
    await current_recall(made["A"], recall_service_pb2.RecallRequest(query="deploys"))
    return made


def respacer(spaces: SpaceStore, embedder: Embedder) -> Respacer:
    metrics = IndexMetrics(CollectorRegistry())
    return Respacer(store=spaces, embedder=DocumentEmbedder(embedder, metrics), metrics=metrics, check_seconds=60.0)


async def found(reader: ReadRunner, team: Any, embedder: Embedder, previous: Embedder | None = None) -> Any:
    """How many texts the vector branch finds, and what the answer says was degraded."""
    use_case = Recall(reader=reader, embedder=embedder, previous_embedder=previous, embedding_timeout_seconds=20.0)
    caller = Caller(
        team_id=TeamId(team.team_id),
        profile_id=ProfileId(team.team_id),
        key_id=KeyId("key"),
        scopes=frozenset({KeyScope.READ}),
    )
    request = recall_service_pb2.RecallRequest(query="which branch is shipped")
    answer = await use_case(caller, recall_question_of(request), Deadline.after(30))
    by_vector = [
        result for result in answer.results if Branch.VECTOR in {share.branch for share in result.ranked.shares}
    ]
    return len(by_vector), answer.degraded


@pytest.mark.rule("R9.1", "R9.6")
async def test_old_vectors_serve_until_the_new_ones_are_there(
    spaces: SpaceStore, reader: ReadRunner, team: Any
) -> None:
    team_id = TeamId(team.team_id)
    old = minilm_embedder(threads=1)
    assert await found(reader, team, old) == (3, ())
    # A new model whose space nothing is in: words answer, and the answer says why.
    assert await found(reader, team, NEW) == (0, (Degradation.OTHER_EMBEDDING_SPACE,))
    (first, *_) = await spaces.waiting(team_id, NEW.space, after=FIRST_PLACE, limit=9)
    (vector,) = (await NEW.embed([first.content])).tolist()
    assert await spaces.put(team_id, [(first, StoredVector.of(vector, NEW.space))]) == 1
    assert await spaces.counts(team_id, NEW.space) == SpaceCounts(in_space=1, in_others=2, unembedded=0)
    # Half way, every text is found by the one or the other.
    assert await found(reader, team, NEW, old) == (3, ())
    assert await found(reader, team, old) == (2, (Degradation.OTHER_EMBEDDING_SPACE,))
    done = await respacer(spaces, NEW).respace(team_id, asyncio.Event())
    assert (done.done, done.failed, done.reachable) == (2, 0, True)
    assert await found(reader, team, NEW) == (3, ())
    assert await found(reader, team, NEW, old) == (3, ())
    await old.close()


async def test_what_was_written_meanwhile_is_not_overwritten(spaces: SpaceStore, team: Any) -> None:
    team_id = TeamId(team.team_id)
    (first, *_) = await spaces.waiting(team_id, NEW.space, after=FIRST_PLACE, limit=9)
    vector = StoredVector.of([1.0], NEW.space)
    assert await spaces.put(team_id, [(first, vector)]) == 1
    # It is in the new space now, and another indexer that read it before comes too late.
    assert await spaces.put(team_id, [(first, vector)]) == 0


async def test_a_text_that_cannot_be_embedded_keeps_its_vector(spaces: SpaceStore, team: Any) -> None:
    team_id = TeamId(team.team_id)
    seen: list[Respaced] = []
    done = await respacer(spaces, Stubborn(64)).respace(team_id, asyncio.Event(), progress=seen.append)
    assert (done.done, done.failed, done.reachable, done.seen) == (2, 1, True, 3)
    assert seen == [done]
    assert await spaces.counts(team_id, NEW.space) == SpaceCounts(in_space=2, in_others=1, unembedded=0)


async def test_rounds_end_where_nobody_answers_and_go_on_later(spaces: SpaceStore, team: Any) -> None:
    class Silent(HashingEmbedder):
        async def embed(self, texts: Sequence[str]) -> Vectors:
            raise ProviderFailed("silent")

    team_id = TeamId(team.team_id)
    assert not (await respacer(spaces, Silent(64)).respace(team_id, asyncio.Event())).reachable
    assert (await spaces.counts(team_id, NEW.space)).in_space == 0
    stop = asyncio.Event()
    stop.set()
    assert (await respacer(spaces, NEW).respace(team_id, stop)).seen == 0


async def test_the_command_shows_progress_and_what_is_left(
    stack: Stack, spaces: SpaceStore, team: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("CORRIGENDA_DATABASE_URL", stack.url("corrigenda_indexer"))
    monkeypatch.setenv("CORRIGENDA_EMBEDDER", "hashing")
    arguments = ["reindex", "--team", team.team_id, "--json"]
    assert await asyncio.to_thread(main, arguments) == 0
    printed = capsys.readouterr()
    assert json.loads(printed.out) == {
        "space": HashingEmbedder().space,
        "teams": {team.team_id: {"embedded": 3, "left": 0}},
    }
    assert f"team {team.team_id}: 3 of 3" in printed.err
    assert await asyncio.to_thread(main, arguments) == 0
    assert json.loads(capsys.readouterr().out)["teams"] == {team.team_id: {"embedded": 0, "left": 0}}
    assert (await spaces.counts(TeamId(team.team_id), HashingEmbedder().space)).in_space == 3
    monkeypatch.setenv("CORRIGENDA_EMBEDDER", "openai")
    assert await asyncio.to_thread(main, arguments) == 2
    assert "CORRIGENDA_EMBEDDER_MODEL" in capsys.readouterr().err


async def test_a_team_that_is_behind_in_its_space_is_found(spaces: SpaceStore, team: Any) -> None:
    team_id = TeamId(team.team_id)
    assert team_id in await spaces.teams(NEW.space, 10_000)
    await respacer(spaces, NEW).respace(team_id, asyncio.Event())
    assert team_id not in await spaces.teams(NEW.space, 10_000)
    sample = await spaces.sample(NEW.space)
    assert sample is not None
    (vector,) = await NEW.embed([sample.content])
    assert np.allclose(sample.vector[:64], vector, atol=1e-2)
    assert await spaces.sample("a space that nothing is in") is None


# --- the guard


async def stored(text: str, vector: Sequence[float]) -> StoredSample:
    return StoredSample(content=text, vector=(*vector, *[0.0] * 300))


@pytest.mark.parametrize(("text", "fits"), [("production deploys from main", True), ("something else", False)])
async def test_a_model_that_changed_behind_its_name_is_not_believed(text: str, fits: bool) -> None:
    (vector,) = (await NEW.embed([text])).tolist()
    asked = []

    async def sample() -> StoredSample:
        asked.append(1)
        return await stored("production deploys from main", vector)

    guarded = GuardedEmbedder(NEW, sample)
    assert (guarded.space, guarded.dimensions) == (NEW.space, 64)
    for _ in range(2):
        if fits:
            assert (await guarded.embed(["hello"])).shape == (1, 64)
        else:
            with pytest.raises(ProviderFailed, match="other vectors"):
                await guarded.embed(["hello"])
    assert len(asked) == 1
    await guarded.close()


async def test_a_first_model_is_believed() -> None:
    async def nothing() -> None:
        return None

    assert (await GuardedEmbedder(NEW, nothing).embed(["hello"])).shape == (1, 64)


async def test_a_service_that_does_not_answer_is_compared_later() -> None:
    (vector,) = (await NEW.embed(["a text"])).tolist()

    class Slow(HashingEmbedder):
        up = False

        async def embed(self, texts: Sequence[str]) -> Vectors:
            if not self.up:
                raise ProviderFailed("down")
            return await super().embed(texts)

    async def sample() -> StoredSample:
        return await stored("a text", vector)

    slow = Slow(64)
    guarded = GuardedEmbedder(slow, sample)
    with pytest.raises(ProviderFailed, match="down"):
        await guarded.embed(["hello"])
    slow.up = True
    assert (await guarded.embed(["hello"])).shape == (1, 64)
