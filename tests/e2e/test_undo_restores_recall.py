"""Whatever an owner decides and takes back again, every recall is what it was before, and the history stays."""

import asyncio
import random
from collections.abc import Awaitable, Callable, Sequence
from datetime import UTC, datetime
from typing import Any

import grpc
import pytest
from corrigenda.conflict.v1 import resolution_pb2
from corrigenda.ingest.v1 import ingest_service_pb2
from corrigenda.recall.v1 import recall_service_pb2, result_pb2
from corrigenda.type.v1 import decision_pb2, predicate_pb2, time_pb2
from corrigenda_core.domain.errors import Reason
from corrigenda_core.rpc.convert import timestamp_of
from corrigenda_core.rpc.status import refusal_of
from corrigenda_core.testing.effort import examples
from corrigenda_core.testing.wire_decisions import (
    Item,
    Row,
    deciding,
    ending,
    items_of,
    keep_existing,
    keep_new,
    retracting,
    reverting,
    set_same_moment,
)

pytestmark = pytest.mark.database

NewTeam = Callable[..., Awaitable[Any]]
Request = Callable[..., ingest_service_pb2.RememberRequest]
Verifies = Callable[[str], Awaitable[bool]]

COUNT = examples(fast=5, full=1_000)
PER_TEAM = 40
WAIT_SECONDS = 20.0
QUERY = "what does production deploy from"
INSTANTS = [datetime(2020, month, 15, tzinfo=UTC) for month in (2, 4)] + [datetime(2040, 1, 1, tzinfo=UTC)]
STARTS = ["", "", "since 1 March 2020 ", "since 1 March 2020 ", "since 1 May 2020 ", "since March 2020 "]
SOURCES = ["", "the log: ", "the wiki: ", "our checklist: ", "the report of the night shift: "]
POLICIES = [predicate_pb2.SAME_MOMENT_POLICY_HOLD, predicate_pb2.SAME_MOMENT_POLICY_COMPETE]


async def recalled_at(client: Any, scope: str, known: int) -> list[bytes]:
    """Every result about one scope at each instant, as it is ranked, but for versions and their commits."""
    shown = []
    for instant in INSTANTS:
        at = time_pb2.TemporalSelector(valid_at=timestamp_of(instant), revision=known)
        answer = await when_search_is_current(
            client, recall_service_pb2.RecallRequest(query=f"{QUERY} {scope}", temporal=at, limit=50)
        )
        for result in answer.results:
            kept = [path for path in result.paths if path.relationship.scope == scope]
            for path in kept:
                for name in ("version", "revision", "recorded_at"):
                    path.relationship.ClearField(name)
            if kept:
                shown.append(b"".join(path.SerializeToString(deterministic=True) for path in kept))
    return shown


async def when_search_is_current(client: Any, request: recall_service_pb2.RecallRequest) -> Any:
    deadline = asyncio.get_running_loop().time() + WAIT_SECONDS
    while True:
        answer = await client.recall.Recall(client.own_writes(request))
        if result_pb2.DEGRADATION_SEARCH_BEHIND not in answer.degraded:
            return answer
        assert asyncio.get_running_loop().time() < deadline, "search stays behind"
        await asyncio.sleep(0.02)


async def said(client: Any, deploys_from: Request, drawn: random.Random, scope: str) -> list[Row]:
    """Two to four statements that often tie, about one scope."""
    rows = []
    for number in range(drawn.randint(2, 4)):
        branch = drawn.choice(["main", "release", "trunk"])
        text = f"{SOURCES[number]}{drawn.choice(STARTS)}production deploys from {branch}"
        answer = await client.ingest.Remember(deploys_from(f"{text} ({scope})", branch, scope=scope))
        rows.append(answer.placement.relationships[0].relationship)
    return rows


def drawn_action(drawn: random.Random, item: Item) -> dict[str, Any]:
    every = [*item.incoming, *item.opposing]
    return drawn.choice(
        [
            {"keep_new": keep_new(drawn.choice(every))},
            {"keep_existing": keep_existing(drawn.choice(list(item.opposing)))},
            {"keep_both": resolution_pb2.KeepBoth()},
        ]
    )


async def decided(
    client: Any, drawn: random.Random, items: Sequence[Item], rows: Sequence[Row]
) -> tuple[decision_pb2.Decision, int] | None:
    """One decision of any kind and its revision; ``None`` if what was drawn is refused."""
    if items and drawn.random() < 0.7:
        call = client.conflict.ResolveConflict(deciding(items[0], **drawn_action(drawn, items[0])))
        answer = await call
        return answer.decision, answer.revision
    request = drawn.choice([retracting, ending])(drawn.choice(rows))
    try:
        forgotten = await client.ingest.Forget(request)
    except grpc.aio.AioRpcError as error:
        refusal = refusal_of(error)
        assert refusal is not None
        assert refusal.reason is Reason.INVALID_FIELD
        return None
    return forgotten.forgotten[0].decision, forgotten.revision


def of_scope(items: Sequence[Item], scope: str) -> list[Item]:
    return [one for one in items if scope in {row.scope for row in (*one.incoming, *one.opposing)}]


def asked(items: Sequence[Item]) -> list[tuple[str, str, list[str], list[str]]]:
    """What is asked, without the version that a decision and its undo have used up."""
    return [
        (
            one.item_id,
            one.reason,
            [row.relationship_id for row in one.incoming],
            [row.relationship_id for row in one.opposing],
        )
        for one in items
    ]


@pytest.mark.promise("undo.exact", "Q13")
@pytest.mark.rule("R4.17", "R8.1")
async def test_a_decision_and_its_undo_leave_every_recall_as_it_was(
    new_team: NewTeam, deploys_from: Request, ledger_verifies: Verifies
) -> None:
    team: Any = None
    taken_back = 0
    for number in range(COUNT):
        drawn = random.Random(number)
        if number % PER_TEAM == 0:
            team = await new_team(profiles=["A"])
        client, scope = team["A"], f"case {number}"
        if number % PER_TEAM in {0, PER_TEAM // 2}:
            await set_same_moment(team, POLICIES[number % PER_TEAM > 0])
        rows = await said(client, deploys_from, drawn, scope)
        items = of_scope(await items_of(client), scope)
        known = client.seen_revision
        before = await recalled_at(client, scope, known)
        assert before
        made = await decided(client, drawn, items, rows)
        if made is None:
            continue
        decision, revision = made
        between = await recalled_at(client, scope, revision)
        undone = await client.conflict.RevertResolution(reverting(decision))
        assert await recalled_at(client, scope, undone.revision) == before, f"example {number}"
        assert asked(of_scope(await items_of(client), scope)) == asked(items), f"example {number}"
        # What was known before the decision, and between it and its undo, is what it was.
        assert await recalled_at(client, scope, known) == before
        assert await recalled_at(client, scope, revision) == between
        taken_back += 1
    assert taken_back > COUNT // 2
    assert await ledger_verifies(team.team_id)
