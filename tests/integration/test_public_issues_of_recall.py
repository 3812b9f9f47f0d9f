"""Rows of the public-issues table about reading: both axes of time, and no empty answer where something failed."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from datetime import UTC, datetime
from typing import Any

import pytest
from corrigenda.ingest.v1 import ingest_service_pb2
from corrigenda.recall.v1 import recall_service_pb2 as messages
from corrigenda.type.v1 import time_pb2
from corrigenda_core.domain.actors import Caller, KeyScope
from corrigenda_core.domain.errors import Reason, Refusal
from corrigenda_core.domain.ids import KeyId
from corrigenda_core.persistence.database import Database
from corrigenda_core.persistence.read_transaction import ReadRunner
from corrigenda_core.ports.deadline import Deadline
from corrigenda_core.ports.providers import Vectors
from corrigenda_core.providers.embedder_hashing import HashingEmbedder
from corrigenda_core.rpc.convert import timestamp_of
from corrigenda_core.rpc.page_tokens import PageTokens
from corrigenda_core.testing.postgres import PostgresCluster, ThrowawayDatabase, add_team
from corrigenda_recall.requests import recall_question_of
from corrigenda_recall.use_cases.get_relationship import GetRelationship
from corrigenda_recall.use_cases.get_source_history import GetSourceHistory
from corrigenda_recall.use_cases.list_changes import ListChanges
from corrigenda_recall.use_cases.list_predicates import ListPredicates
from corrigenda_recall.use_cases.recall import Recall
from corrigenda_recall.use_cases.search_entities import SearchEntities
from corrigenda_recall.use_cases.timeline import Timeline
from corrigenda_recall.use_cases.trace import Trace

pytestmark = pytest.mark.database

NewTeam = Callable[..., Awaitable[Any]]
Request = Callable[..., ingest_service_pb2.RememberRequest]

SOME_ID = "01900000-0000-7000-8000-000000000000"


# --- P19


def at(month: int | None = None, *, revision: int | None = None) -> time_pb2.TemporalSelector:
    selector = time_pb2.TemporalSelector()
    if month is not None:
        selector.valid_at.CopyFrom(timestamp_of(datetime(2026, month, 15, tzinfo=UTC)))
    if revision is not None:
        selector.revision = revision
    return selector


def known(moment: Any, month: int | None = None) -> time_pb2.TemporalSelector:
    selector = at(month)
    selector.known_at.CopyFrom(moment)
    return selector


@pytest.mark.rule("R8.2", "R8.1")
async def test_p19_what_was_true_then_and_what_was_known_then_are_asked_together_and_apart(
    new_team: NewTeam, deploys_from: Request
) -> None:
    """What held in February, asked in two states of knowledge, by every look-up that takes both axes."""
    team = await new_team(profiles=("A",))
    author = team["A"]
    first = await author.ingest.Remember(deploys_from("since 1 January 2026 production deploys from main", "main"))
    second = await author.ingest.Remember(
        deploys_from("since 1 February 2026 production deploys from release", "release")
    )
    subject = first.placement.relationships[0].relationship.subject.entity_id
    earlier = await author.recall.GetRelationship(
        messages.GetRelationshipRequest(
            relationship_id=first.placement.relationships[0].relationship.relationship_id,
            temporal=at(revision=first.revision),
        )
    )
    for temporal, holds in (
        (at(1), "main"),
        (at(2), "release"),
        (at(2, revision=first.revision), "main"),
        (at(revision=first.revision), "main"),
        (known(earlier.known_at), "main"),
        (known(earlier.known_at, 2), "main"),
        (at(2, revision=second.revision), "release"),
        (at(), "release"),
    ):
        shown = await author.recall.Timeline(messages.TimelineRequest(entity_id=subject, temporal=temporal))
        in_force = [
            entry.relationship.relationship.object.entity.name for entry in shown.entries if entry.relationship.in_force
        ]
        assert in_force == [holds], temporal


# --- P25


class BrokenEmbedder(HashingEmbedder):
    """An embedder with a mistake in it, which is another thing than one that does not answer."""

    async def embed(self, texts: Sequence[str]) -> Vectors:
        raise TypeError("can't compare offset-naive and offset-aware datetimes")


def caller_of(database: ThrowawayDatabase) -> Caller:
    team = add_team(database)
    return Caller(
        team_id=team.team_id, profile_id=team.profiles[0], key_id=KeyId("key"), scopes=frozenset({KeyScope.READ})
    )


def question() -> Any:
    return recall_question_of(messages.RecallRequest(query="where does production deploy from"))


async def refused(answer: Awaitable[Any]) -> Reason | None:
    """Why a look-up is refused, if it is."""
    try:
        await answer
    except Refusal as refusal:
        return refusal.reason
    return None


async def first_of(stream: AsyncIterator[Any]) -> Any:
    return await anext(stream)


TOKENS = PageTokens(b"t" * 32)
# What each look-up reads besides the clock: without it, it fails in the middle.
READS: dict[str, tuple[str, Callable[[ReadRunner, Caller, Deadline], Awaitable[Any]]]] = {
    "recall": (
        "search_refresh_intents",
        lambda reader, caller, deadline: Recall(
            reader=reader, embedder=HashingEmbedder(), embedding_timeout_seconds=5.0
        )(caller, question(), deadline),
    ),
    "trace": (
        "relationships_history",
        lambda reader, caller, deadline: Trace(reader=reader, page_tokens=TOKENS)(
            caller, messages.TraceRequest(relationship_id=SOME_ID), deadline
        ),
    ),
    "timeline": (
        "entities",
        lambda reader, caller, deadline: Timeline(reader=reader, page_tokens=TOKENS)(
            caller, messages.TimelineRequest(entity_id=SOME_ID), deadline
        ),
    ),
    "relationship": (
        "relationships_history",
        lambda reader, caller, deadline: GetRelationship(reader=reader)(
            caller, messages.GetRelationshipRequest(relationship_id=SOME_ID), deadline
        ),
    ),
    "entities": (
        "entities",
        lambda reader, caller, deadline: SearchEntities(reader=reader, page_tokens=TOKENS)(
            caller, messages.SearchEntitiesRequest(name="production"), deadline
        ),
    ),
    "predicates": (
        "predicates_history",
        lambda reader, caller, deadline: ListPredicates(reader=reader, page_tokens=TOKENS)(
            caller, messages.ListPredicatesRequest(), deadline
        ),
    ),
    "source history": (
        "evidence_fragments",
        lambda reader, caller, deadline: GetSourceHistory(reader=reader)(
            caller, messages.GetSourceHistoryRequest(source_group="wiki"), deadline
        ),
    ),
    "changes": (
        "ledger",
        lambda reader, caller, deadline: first_of(
            ListChanges(reader=reader)(caller, messages.ListChangesRequest(), deadline, asyncio.Event())
        ),
    ),
}


@pytest.fixture(scope="module")
def broken(cluster: PostgresCluster) -> Iterator[ThrowawayDatabase]:
    with cluster.database() as database:
        yield database


@pytest.mark.parametrize("name", READS)
async def test_p25_a_look_up_that_fails_says_so_and_finds_not_nothing(broken: ThrowawayDatabase, name: str) -> None:
    """A team that has nothing gets an empty answer, or is told so; the same look-up over a broken table never does."""
    table, look_up = READS[name]
    caller = caller_of(broken)
    async with Database(broken.url("corrigenda_recall")) as database:
        reader = ReadRunner(database)
        assert await refused(look_up(reader, caller, Deadline.after(30))) in (None, Reason.RESOURCE_NOT_FOUND)
        with broken.connect() as connection:
            connection.execute(f"ALTER TABLE {table} RENAME TO gone".encode())
            try:
                assert await refused(look_up(reader, caller, Deadline.after(30))) is Reason.INTERNAL_ERROR
            finally:
                connection.execute(f"ALTER TABLE gone RENAME TO {table}".encode())


async def test_p25_a_mistake_of_the_embedder_is_an_error_and_no_poorer_answer(broken: ThrowawayDatabase) -> None:
    async with Database(broken.url("corrigenda_recall")) as database:
        recall = Recall(reader=ReadRunner(database), embedder=BrokenEmbedder(), embedding_timeout_seconds=5.0)
        with pytest.raises(TypeError):
            await recall(caller_of(broken), question(), Deadline.after(30))
