"""Whatever an owner decides and takes back again, every recall is what it was before, and the history stays."""

import random
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import grpc
import pytest
from corrigenda.conflict.v1 import resolution_pb2
from corrigenda.ingest.v1 import ingest_service_pb2
from corrigenda.recall.v1 import recall_service_pb2
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
from corrigenda_core.testing.wire_recall import current_recall

pytestmark = pytest.mark.database

NewTeam = Callable[..., Awaitable[Any]]
Request = Callable[..., ingest_service_pb2.RememberRequest]
Verifies = Callable[[str], Awaitable[bool]]

COUNT = examples(fast=12, full=1_000)
# As many slots as one recall shows whole: they share a team, and each of its comparisons.
PER_TEAM = 12
RESULTS_MAX = 50
QUERY = "what does production deploy from"
INSTANTS = [datetime(2020, month, 15, tzinfo=UTC) for month in (2, 4)] + [datetime(2040, 1, 1, tzinfo=UTC)]
STARTS = ["", "", "since 1 March 2020 ", "since 1 March 2020 ", "since 1 May 2020 ", "since March 2020 "]
SOURCES = ["", "the log: ", "the wiki: ", "our checklist: ", "the report of the night shift: "]
POLICIES = [predicate_pb2.SAME_MOMENT_POLICY_HOLD, predicate_pb2.SAME_MOMENT_POLICY_COMPETE]

Shown = tuple[str, bytes]
"""The scope of a result with its paths, but for versions and their commits."""


async def recalled_at(client: Any, known: int) -> list[Shown]:
    """Every result at each instant, as it is ranked."""
    shown = []
    for instant in INSTANTS:
        at = time_pb2.TemporalSelector(valid_at=timestamp_of(instant), revision=known)
        request = recall_service_pb2.RecallRequest(query=QUERY, temporal=at, limit=RESULTS_MAX)
        answer = await current_recall(client, client.own_writes(request))
        assert not answer.results_truncated
        for result in answer.results:
            for path in result.paths:
                for name in ("version", "revision", "recorded_at"):
                    path.relationship.ClearField(name)
            paths = b"".join(path.SerializeToString(deterministic=True) for path in result.paths)
            shown.append((result.paths[0].relationship.scope, paths))
    return shown


def scopes(shown: Sequence[Shown]) -> dict[str, list[bytes]]:
    """The same by scope, so that a failure says which example it is."""
    found: dict[str, list[bytes]] = {}
    for scope, paths in shown:
        found.setdefault(scope, []).append(paths)
    return found


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


@dataclass(kw_only=True)
class Example:
    """One slot: what was said in it, what was asked about it, and the decision that is taken back."""

    drawn: random.Random
    scope: str
    rows: list[Row]
    items: list[Item] = field(default_factory=list)
    decision: decision_pb2.Decision | None = None


@pytest.mark.promise("undo.exact", "Q13")
@pytest.mark.rule("R4.17", "R8.1")
async def test_a_decision_and_its_undo_leave_every_recall_as_it_was(
    new_team: NewTeam, deploys_from: Request, ledger_verifies: Verifies
) -> None:
    taken_back, visible = 0, 0
    for first in range(0, COUNT, PER_TEAM):
        team = await new_team(profiles=["A"])
        await set_same_moment(team, POLICIES[first // PER_TEAM % 2])
        numbers = range(first, min(first + PER_TEAM, COUNT))
        undone, seen = await _taken_back(team["A"], deploys_from, numbers)
        taken_back, visible = taken_back + undone, visible + seen
    assert taken_back > COUNT // 2
    assert visible > COUNT // 4
    assert await ledger_verifies(team.team_id)


async def _taken_back(client: Any, deploys_from: Request, numbers: Sequence[int]) -> tuple[int, int]:
    """How many decisions of these examples were taken, and taken back; and how many were seen in between."""
    every = []
    for number in numbers:
        drawn, scope = random.Random(number), f"case {number}"
        rows = await said(client, deploys_from, drawn, scope)
        every.append(Example(drawn=drawn, scope=scope, rows=rows))
    asked_before = await items_of(client)
    known = client.seen_revision
    before = await recalled_at(client, known)
    assert scopes(before).keys() == {one.scope for one in every}
    decided_at = known
    for one in every:
        one.items = of_scope(asked_before, one.scope)
        made = await decided(client, one.drawn, one.items, one.rows)
        if made is not None:
            one.decision, decided_at = made
    between = await recalled_at(client, decided_at)
    decisions = [one.decision for one in every if one.decision is not None]
    random.Random(numbers[0]).shuffle(decisions)
    undone_at = decided_at
    for decision in decisions:
        undone_at = (await client.conflict.RevertResolution(reverting(decision))).revision
    after = await recalled_at(client, undone_at)
    assert scopes(after) == scopes(before)
    assert after == before
    assert asked(await items_of(client)) == asked(asked_before)
    # What was known before the decisions, and between them and their undo, is what it was.
    assert await recalled_at(client, known) == before
    assert await recalled_at(client, decided_at) == between
    changed = [scope for scope, shown in scopes(before).items() if scopes(between).get(scope) != shown]
    return len(decisions), len(changed)
