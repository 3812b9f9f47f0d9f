"""Decisions at once: whatever meets on one slot is put in order by the team's lock, and exactly one of each kind wins.

The replicas here are two conflict services with a pool and a queue of their own, so that they meet in the database;
each round waits until it sees them wait for the lock there.
"""

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, replace
from typing import Any

import grpc
import pytest
from corrigenda.conflict.v1 import conflict_service_pb2, resolution_pb2, review_item_pb2
from corrigenda.ingest.v1 import forgetting_pb2, ingest_service_pb2
from corrigenda.type.v1 import decision_pb2, relationship_pb2
from corrigenda_cli.stack import Stack
from corrigenda_conflict.requests import resolution_of
from corrigenda_conflict.use_cases.resolve_conflict import ResolveConflict
from corrigenda_conflict.use_cases.revert_resolution import RevertResolution
from corrigenda_core.deciding import Deciding, OwnerDecisions, nothing_beside, profile_actor
from corrigenda_core.domain.actors import Caller
from corrigenda_core.domain.changes import Changes
from corrigenda_core.domain.errors import Reason, Refusal
from corrigenda_core.domain.ids import DecisionId, ItemId
from corrigenda_core.domain.relationships import Status
from corrigenda_core.domain.resolutions import Answer, KeepBoth
from corrigenda_core.domain.slots import PlanContext
from corrigenda_core.persistence.database import Database
from corrigenda_core.persistence.decision_store import SlotState, item_by_id, item_in, slot_of_item
from corrigenda_core.persistence.read_transaction import ReadRunner
from corrigenda_core.persistence.transaction import TransactionRunner
from corrigenda_core.policy.resolution import plan_resolution
from corrigenda_core.ports.deadline import Deadline
from corrigenda_core.rpc.status import refusal_of
from corrigenda_core.serving import new_ids
from corrigenda_core.testing.effort import examples
from corrigenda_core.testing.meeting import TeamLock
from corrigenda_core.testing.wire_decisions import (
    Item,
    Row,
    deciding,
    forgetting,
    items_of,
    keep_existing,
    keep_new,
    owner_of,
    placed_row,
    recalled,
    reverting,
    sides,
    traced,
)

pytestmark = pytest.mark.database

NewTeam = Callable[..., Awaitable[Any]]
Request = Callable[..., ingest_service_pb2.RememberRequest]
Verifies = Callable[[str], Awaitable[bool]]

ROUNDS = examples(fast=3, full=50)
WAIT_SECONDS = 20.0
MAIN, RELEASE = "production deploys from main", "the log: production deploys from release"

LOST = frozenset({Reason.ITEM_NOT_PENDING, Reason.STALE_VERSION})


@dataclass(frozen=True, slots=True, kw_only=True)
class Replica:
    """A conflict service without its wire."""

    decisions: OwnerDecisions

    async def resolve(
        self, caller: Caller, request: conflict_service_pb2.ResolveConflictRequest
    ) -> conflict_service_pb2.ResolveConflictResponse:
        use_case = ResolveConflict(decisions=self.decisions)
        return await use_case(caller, request, resolution_of(request), Deadline.after(WAIT_SECONDS))

    async def revert(
        self, caller: Caller, request: conflict_service_pb2.RevertResolutionRequest
    ) -> conflict_service_pb2.RevertResolutionResponse:
        return await RevertResolution(decisions=self.decisions)(caller, request, Deadline.after(WAIT_SECONDS))


@pytest.fixture(scope="module")
async def replicas(stack: Stack) -> AsyncIterator[tuple[Replica, Replica]]:
    async with AsyncExitStack() as opened:
        made = []
        for _ in range(2):
            database = await opened.enter_async_context(Database(stack.url("corrigenda_conflict")))
            runner = TransactionRunner(database)
            decisions = OwnerDecisions(reader=ReadRunner(database), runner=runner, new_ids=new_ids)
            made.append(Replica(decisions=decisions))
        yield made[0], made[1]


def lock_of(stack: Stack, team_id: str) -> TeamLock:
    return TeamLock(
        holder_url=stack.url("corrigenda_migrator"), watcher_url=stack.url("corrigenda_auditor"), team_id=team_id
    )


async def at_once(stack: Stack, team_id: str, waiters: int, calls: Sequence[Awaitable[Any]]) -> list[Any]:
    """What each call comes to, answers and refusals, after they were seen to wait for the team's lock together."""
    return await lock_of(stack, team_id).meet(waiters, calls)


Asked = tuple[Any, Caller, Row, Row, Item]


async def asked(new_team: NewTeam, deploys_from: Request) -> Asked:
    """A team where A is asked about main, in force, and release, held."""
    team = await new_team(profiles=["A"])
    main = await placed_row(team["A"], deploys_from(MAIN, "main"))
    release = await placed_row(team["A"], deploys_from(RELEASE, "release"))
    (item,) = await items_of(team["A"])
    return team, owner_of(team.team_id, main), main, release, item


def won(results: Sequence[Any]) -> list[Any]:
    refusals = [one for one in results if isinstance(one, Refusal)]
    unexpected = [one for one in results if isinstance(one, BaseException) and not isinstance(one, Refusal)]
    assert not unexpected
    assert {refusal.reason for refusal in refusals} <= LOST, refusals
    return [one for one in results if not isinstance(one, Refusal)]


@pytest.mark.promise("asked.once")
@pytest.mark.rule("R5.1", "R4.16a")
async def test_of_two_decisions_on_one_item_exactly_one_wins(
    stack: Stack,
    new_team: NewTeam,
    deploys_from: Request,
    replicas: tuple[Replica, Replica],
    ledger_verifies: Verifies,
) -> None:
    """Two of each action over two replicas, each with a key of its own."""
    for round_number in range(ROUNDS):
        team, caller, main, release, item = await asked(new_team, deploys_from)
        actions: list[dict[str, Any]] = [
            {"keep_new": keep_new(release)},
            {"keep_new": keep_new(main)},
            {"keep_existing": keep_existing(main)},
            {"keep_both": resolution_pb2.KeepBoth()},
        ]
        order = [(number + round_number) % 4 for number in range(8)]
        calls = [
            replicas[number // 4].resolve(caller, deciding(item, **actions[action]))
            for number, action in enumerate(order)
        ]
        (winner,) = won(await at_once(stack, team.team_id, 2, calls))
        kept = "main" if winner.decision.kept_relationship_id == main.relationship_id else "release"
        expected = {
            decision_pb2.DECISION_KIND_KEEP_NEW: {kept},
            decision_pb2.DECISION_KIND_KEEP_EXISTING: {"main"},
            decision_pb2.DECISION_KIND_KEEP_BOTH: {"main", "release"},
        }
        assert await recalled(team["A"], min_revision=winner.revision) == expected[winner.decision.kind]
        (listed,) = await items_of(team["A"], review_item_pb2.ITEM_STATUS_RESOLVED)
        assert listed.version == item.version + 1
    assert await ledger_verifies(team.team_id)


@pytest.mark.rule("R5.1")
async def test_one_key_at_once_is_one_decision(
    stack: Stack, new_team: NewTeam, deploys_from: Request, replicas: tuple[Replica, Replica]
) -> None:
    team, caller, _, release, item = await asked(new_team, deploys_from)
    request = deciding(item, keep_new=keep_new(release))
    calls = [replica.resolve(caller, request) for replica in replicas for _ in range(2)]
    answers = await at_once(stack, team.team_id, 2, calls)
    assert all(answer == answers[0] for answer in answers), answers


@pytest.mark.rule("R4.16a", "R5.1")
async def test_s13_each_held_value_is_kept_at_once_and_one_of_them_holds(
    stack: Stack, new_team: NewTeam, deploys_from: Request, replicas: tuple[Replica, Replica]
) -> None:
    for _ in range(ROUNDS):
        team, caller, _, release, _ = await asked(new_team, deploys_from)
        trunk = await placed_row(team["A"], deploys_from("the wiki: production deploys from trunk", "trunk"))
        (item,) = await items_of(team["A"])
        assert sides(item) == {"main", "release", "trunk"}
        calls = [
            replica.resolve(caller, deciding(item, keep_new=keep_new(row)))
            for replica, row in zip(replicas, (release, trunk), strict=True)
        ]
        results = await at_once(stack, team.team_id, 2, calls)
        (winner,) = won(results)
        (loser,) = [one for one in results if isinstance(one, Refusal)]
        assert loser.reason is Reason.STALE_VERSION
        kept = "release" if winner.decision.kept_relationship_id == release.relationship_id else "trunk"
        assert await recalled(team["A"], min_revision=winner.revision) == {kept}
        (left,) = await items_of(team["A"])
        # What waits is asked about against what held when it was said: trunk came after release, release before trunk.
        asked_now = {"release": {"release", "trunk"}, "trunk": {"main", "release"}}[kept]
        assert (sides(left), str(left.version)) == (asked_now, loser.metadata["current_version"])


@pytest.mark.rule("R4.17")
async def test_of_two_undos_exactly_one_wins(
    stack: Stack, new_team: NewTeam, deploys_from: Request, replicas: tuple[Replica, Replica]
) -> None:
    team, caller, _, release, item = await asked(new_team, deploys_from)
    decided = await team["A"].conflict.ResolveConflict(deciding(item, keep_new=keep_new(release)))
    calls = [replica.revert(caller, reverting(decided.decision)) for replica in replicas]
    results = await at_once(stack, team.team_id, 2, calls)
    (undone,) = [one for one in results if not isinstance(one, BaseException)]
    (blocked,) = [one for one in results if isinstance(one, Refusal)]
    assert (blocked.reason, blocked.metadata["blocker_id"]) == (Reason.REVERT_BLOCKED, undone.decision.decision_id)
    assert await recalled(team["A"], min_revision=undone.revision) == {"main"}


@pytest.mark.rule("R4.15", "R5.1")
async def test_s21_deciding_for_a_value_while_it_is_retracted(
    stack: Stack, new_team: NewTeam, deploys_from: Request, replicas: tuple[Replica, Replica], ledger_verifies: Verifies
) -> None:
    """Two services meet on one slot: whoever comes second has seen a version that is gone."""
    for _ in range(ROUNDS):
        team, caller, _, release, item = await asked(new_team, deploys_from)
        retract = forgetting_pb2.Retract(relationship_id=release.relationship_id, expected_version=release.version)
        calls = [
            replicas[0].resolve(caller, deciding(item, keep_new=keep_new(release))),
            _refusing(team["A"].ingest.Forget(forgetting(retract=retract))),
        ]
        resolved, forgotten = await at_once(stack, team.team_id, 2, calls)
        state = (await traced(team["A"], release)).relationship
        if isinstance(resolved, Refusal):
            assert resolved.reason in LOST
            assert state.status == relationship_pb2.RELATIONSHIP_STATUS_RETRACTED
            assert await recalled(team["A"]) == {"main"}
        else:
            assert isinstance(forgotten, Refusal)
            assert forgotten.reason is Reason.STALE_VERSION
            assert state.status == relationship_pb2.RELATIONSHIP_STATUS_ACTIVE
            assert await recalled(team["A"], min_revision=resolved.revision) == {"release"}
        assert isinstance(resolved, Refusal) is not isinstance(forgotten, Refusal)
    assert await ledger_verifies(team.team_id)


async def _refusing(call: Awaitable[Any]) -> Any:
    """A call over the wire, its refusal raised as such."""
    try:
        return await call
    except grpc.aio.AioRpcError as error:
        raise refusal_of(error) or error from error


Spoil = Callable[[SlotState, Changes], Changes]


def two_values(state: SlotState, changes: Changes) -> Changes:
    """The side that was kept apart in a facet of its own stands in the other one's."""
    rows = tuple(replace(row, facet=0) for row in changes.relationships)
    transitions = tuple(replace(made, resulting=replace(made.resulting, facet=0)) for made in changes.transitions)
    return replace(changes, relationships=rows, transitions=transitions)


def no_transition(state: SlotState, changes: Changes) -> Changes:
    return replace(changes, transitions=())


def another_transition(state: SlotState, changes: Changes) -> Changes:
    """The transition says something else than the row."""
    (made,) = changes.transitions
    other = replace(made, resulting=replace(made.resulting, status=Status.REJECTED))
    return replace(changes, transitions=(other,))


def no_record(state: SlotState, changes: Changes) -> Changes:
    """Rows, references and the item name a decision that is not there."""
    return replace(changes, decision_records=())


def another_item(state: SlotState, changes: Changes) -> Changes:
    """The item is answered by a decision that nobody took."""
    (item,) = changes.items
    return replace(changes, items=(replace(item, decision_id=DecisionId(new_ids().nth(0))),))


def skipped_version(state: SlotState, changes: Changes) -> Changes:
    (row,) = changes.relationships
    (made,) = changes.transitions
    later = row.version + 1
    return replace(
        changes,
        relationships=(replace(row, version=later),),
        transitions=(replace(made, version=later),),
    )


@pytest.mark.rule("R4.8", "R4.4", "R5.1")
@pytest.mark.parametrize(
    ("spoil", "reason"),
    [
        (two_values, Reason.INTERNAL_ERROR),
        (no_transition, Reason.INTERNAL_ERROR),
        (another_transition, Reason.INTERNAL_ERROR),
        (no_record, Reason.INTERNAL_ERROR),
        (another_item, Reason.INTERNAL_ERROR),
        (skipped_version, Reason.STALE_VERSION),
    ],
)
async def test_the_database_refuses_what_a_decision_may_not_leave(
    new_team: NewTeam, deploys_from: Request, replicas: tuple[Replica, Replica], spoil: Spoil, reason: Reason
) -> None:
    """A plan that was spoilt on its way writes nothing at all; the same plan unspoilt goes through."""
    team, caller, _, release, item = await asked(new_team, deploys_from)
    item_id = ItemId(item.item_id)

    def decided(spoiling: Spoil) -> Deciding[None, None]:
        def plan(state: SlotState, context: PlanContext, _: None) -> Changes:
            answer = Answer(item=item_in(state), expected_version=item.version, resolution=KeepBoth())
            return spoiling(state, plan_resolution(state.view, context, answer))

        return Deciding(
            change_kind="resolve_conflict",
            actor=profile_actor(caller),
            slots=slot_of_item(caller.team_id, item_id),
            check=lambda _: None,
            of_slot=lambda _: [item_by_id(caller.team_id, item_id)],
            beside=nothing_beside,
            plan=plan,
            present=lambda _, __: None,
        )

    deadline = Deadline.after(WAIT_SECONDS)
    before = (await team["A"].conflict.ListReviewItems(conflict_service_pb2.ListReviewItemsRequest())).revision
    with pytest.raises(Refusal) as caught:
        await replicas[0].decisions.commit(caller, decided(spoil), idempotency=None, deadline=deadline)
    assert caught.value.reason is reason
    after = await team["A"].conflict.ListReviewItems(conflict_service_pb2.ListReviewItemsRequest())
    assert (after.revision, [one.version for one in after.items]) == (before, [item.version])
    state = (await traced(team["A"], release)).relationship
    assert state.status == relationship_pb2.RELATIONSHIP_STATUS_NEEDS_REVIEW
    committed = await replicas[0].decisions.commit(
        caller, decided(lambda _, changes: changes), idempotency=None, deadline=deadline
    )
    assert committed.revision == before + 1
