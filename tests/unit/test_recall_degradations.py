"""What a recall says that it could not do as usual, over a snapshot that answers what the test wants."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, cast

import pytest
from corrigenda_core.domain.actors import Caller, KeyScope
from corrigenda_core.domain.ids import KeyId, ProfileId, TeamId
from corrigenda_core.domain.results import Degradation
from corrigenda_core.domain.views import TemporalSelector
from corrigenda_core.persistence.named_sql import Query
from corrigenda_core.persistence.read_transaction import ReadRunner
from corrigenda_core.persistence.team_clock import ClockReading
from corrigenda_core.ports.deadline import Deadline
from corrigenda_core.providers.embedder_hashing import HashingEmbedder
from corrigenda_recall.requests import RecallQuestion
from corrigenda_recall.use_cases.recall import Recall

AT = datetime(2026, 6, 1, tzinfo=UTC)
TEAM = TeamId("01900000-0000-7000-8000-000000000001")
FRAGMENT = "01900000-0000-7000-8000-000000000002"
SPACE = HashingEmbedder().space
HIT = {"fragment_id": FRAGMENT, "outlines": "row owner subject object active fact + primary"}


class Snapshot:
    """A snapshot of a team at revision 7, with these rows by the names of the queries and none else."""

    def __init__(self, rows: Mapping[str, list[dict[str, Any]]], prefetch: Sequence[Query]) -> None:
        self.team_id = TEAM
        self.reading = ClockReading(revision=7, closed_at=AT, now=AT, is_driven=False, ledger_head=b"")
        self.prefetched = {query.name: [{"revision": 7, "recorded_at": AT}] for query in prefetch}
        self._rows = rows

    async def fetch_all(self, *queries: Query) -> list[list[dict[str, Any]]]:
        return [self._rows.get(query.name, []) for query in queries]

    async def fetch_last(self, *queries: Query) -> list[list[dict[str, Any]]]:
        return await self.fetch_all(*queries)


class Snapshots:
    """Answers every read from the same rows."""

    def __init__(self, rows: Mapping[str, list[dict[str, Any]]]) -> None:
        self._rows = rows

    async def run(
        self, team_id: TeamId, read: Callable[[Any], Awaitable[Any]], *, prefetch: Sequence[Query], **_: Any
    ) -> Any:
        return await read(Snapshot(self._rows, prefetch))


@pytest.mark.rule("R9.6")
@pytest.mark.parametrize(
    ("changed", "degraded"),
    [
        ({}, ()),
        ({"search_vector": [{**HIT, "approximate": False}]}, ()),
        (
            {"search_vector": [{**HIT, "approximate": True}]},
            (Degradation.APPROXIMATE_VECTORS,),
        ),
        ({"first_waiting_revision": [{"revision": 5}]}, (Degradation.SEARCH_BEHIND,)),
        ({"first_and_last_space": [{"first": SPACE, "last": "zz"}]}, (Degradation.OTHER_EMBEDDING_SPACE,)),
    ],
)
async def test_an_answer_says_what_was_not_as_usual(
    changed: Mapping[str, list[dict[str, Any]]], degraded: tuple[Degradation, ...]
) -> None:
    rows = {
        "first_waiting_revision": [{"revision": None}],
        "first_and_last_space": [{"first": SPACE, "last": SPACE}],
        **changed,
    }
    recall = Recall(
        reader=cast("ReadRunner", Snapshots(rows)), embedder=HashingEmbedder(), embedding_timeout_seconds=5.0
    )
    caller = Caller(team_id=TEAM, profile_id=ProfileId("p"), key_id=KeyId("k"), scopes=frozenset({KeyScope.READ}))
    question = RecallQuestion(query="production", limit=10, selector=TemporalSelector(), min_revision=0)
    answer = await recall(caller, question, Deadline.after(30))
    assert answer.degraded == degraded
    assert answer.searched_revision == (4 if Degradation.SEARCH_BEHIND in degraded else 7)
    # What a branch hands over counts only if the view has a path for it.
    assert answer.total == 0
