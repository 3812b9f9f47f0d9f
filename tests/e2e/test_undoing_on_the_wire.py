"""Decisions are taken back over the wire: exactly, unless something stands on them, and every undo is on record."""

import uuid
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from corrigenda.conflict.v1 import conflict_service_pb2, resolution_pb2, review_item_pb2
from corrigenda.ingest.v1 import identity_correction_pb2, ingest_service_pb2, placement_pb2, submission_pb2
from corrigenda.recall.v1 import recall_service_pb2
from corrigenda.type.v1 import decision_pb2, predicate_pb2, relationship_pb2
from corrigenda_core.domain.errors import Reason
from corrigenda_core.testing.wire_decisions import (
    Item,
    Row,
    deciding,
    ending,
    items_of,
    keep_existing,
    keep_new,
    placed_row,
    placement,
    recalled,
    refused,
    retracting,
    reverting,
    set_same_moment,
    sides,
    states,
    traced,
)

pytestmark = pytest.mark.database

NewTeam = Callable[..., Awaitable[Any]]
Request = Callable[..., ingest_service_pb2.RememberRequest]
Verifies = Callable[[str], Awaitable[bool]]
Pair = tuple[Any, Row, Row, Item]

MAIN, RELEASE = "production deploys from main", "the log: production deploys from release"


@pytest.fixture
async def pair(new_team: NewTeam, deploys_from: Request) -> Pair:
    """A team where A said main and then release, neither with a time: release is held, and A is asked."""
    team = await new_team()
    main = await placed_row(team["A"], deploys_from(MAIN, "main"))
    release = await placed_row(team["A"], deploys_from(RELEASE, "release"))
    (item,) = await items_of(team["A"])
    return team, main, release, item


def as_it_reads(row: Row) -> Row:
    """A row without the commit that made its version."""
    bare = relationship_pb2.Relationship()
    bare.CopyFrom(row)
    for name in ("version", "revision", "recorded_at"):
        bare.ClearField(name)
    return bare


async def current(client: Any, *rows: Row) -> list[Row]:
    return [as_it_reads((await traced(client, row)).relationship) for row in rows]


ACTIONS: dict[str, Callable[[Row, Row], dict[str, Any]]] = {
    "keep_new": lambda _, release: {"keep_new": keep_new(release)},
    "keep_new of what is in force": lambda main, _: {"keep_new": keep_new(main)},
    "keep_existing": lambda main, _: {"keep_existing": keep_existing(main)},
    "keep_both": lambda _, __: {"keep_both": resolution_pb2.KeepBoth()},
}


@pytest.mark.promise("undo.exact")
@pytest.mark.rule("R4.17")
@pytest.mark.parametrize("action", ACTIONS)
async def test_a_revert_is_the_exact_prior_state(pair: Pair, action: str) -> None:
    team, main, release, item = pair
    a = team["A"]
    before = await current(a, main, release)
    decided = await a.conflict.ResolveConflict(deciding(item, **ACTIONS[action](main, release)))
    assert await current(a, main, release) != before
    request = reverting(decided.decision, reason="that was wrong")
    undone = await a.conflict.RevertResolution(request)
    assert await current(a, main, release) == before
    assert await recalled(a) == {"main"}
    assert (undone.decision.kind, undone.decision.reverts_decision_id, undone.decision.reason) == (
        decision_pb2.DECISION_KIND_REVERT,
        decided.decision.decision_id,
        "that was wrong",
    )
    (asked,) = await items_of(a)
    assert (asked.item_id, asked.version, sides(asked)) == (item.item_id, item.version + 2, {"main", "release"})
    assert [(one.item_id, one.version, one.status) for one in undone.items] == [
        (item.item_id, item.version + 2, review_item_pb2.ITEM_STATUS_PENDING)
    ]
    assert await a.conflict.RevertResolution(request) == undone
    again = await refused(a.conflict.RevertResolution(reverting(decided.decision)))
    assert (again.reason, again.metadata["blocker_id"]) == (Reason.REVERT_BLOCKED, undone.decision.decision_id)


@pytest.mark.promise("undo.blocked")
@pytest.mark.error("REVERT_BLOCKED")
@pytest.mark.rule("R4.17")
async def test_s4_a_correction_of_the_winner_blocks_and_is_named(pair: Pair, deploys_from: Request) -> None:
    team, _, release, item = pair
    a = team["A"]
    decided = await a.conflict.ResolveConflict(deciding(item, keep_new=keep_new(release)))
    target = submission_pb2.CorrectionTarget(relationship_id=release.relationship_id)
    await placed_row(a, deploys_from("correction: production deploys from trunk", "trunk", correction_target=target))
    refusal = await refused(a.conflict.RevertResolution(reverting(decided.decision)))
    assert refusal.reason is Reason.REVERT_BLOCKED
    trace = await traced(a, release)
    later = next(one for one in trace.transitions if one.transition_id == refusal.metadata["transition_id"])
    assert later.revision > decided.revision
    assert (refusal.metadata["blocker_type"], refusal.metadata["blocker_id"]) == ("decision", later.decision_id)
    assert await recalled(a) == {"trunk"}


@pytest.mark.rule("R4.17")
async def test_s5_only_the_references_of_the_decision_are_switched_off(
    new_team: NewTeam, deploys_from: Request
) -> None:
    team = await new_team(profiles=["A"])
    a = team["A"]
    await placed_row(a, deploys_from("since 1 January 2020 production deploys from old", "old"))
    main = await placed_row(a, deploys_from("since 1 March 2020 production deploys from main", "main"))
    release = await placed_row(a, deploys_from("since 1 March 2020 production deploys from release", "release"))
    (item,) = await items_of(a)
    decided = await a.conflict.ResolveConflict(deciding(item, keep_new=keep_new(release)))
    await a.conflict.RevertResolution(reverting(decided.decision))
    references = {one.decision_id: one.active for one in (await traced(a, main)).references}
    assert references == {"": True, decided.decision.decision_id: False}


@pytest.mark.rule("R4.16a", "R4.14")
async def test_s9_what_was_told_apart_is_not_asked_about_again(pair: Pair, deploys_from: Request) -> None:
    team, _, _, item = pair
    a = team["A"]
    decided = await a.conflict.ResolveConflict(deciding(item, keep_both=resolution_pb2.KeepBoth()))
    assert not await items_of(a)
    third = await placed_row(a, deploys_from("the wiki: production deploys from trunk", "trunk"))
    (asked,) = await items_of(a)
    assert [one.relationship_id for one in asked.incoming] == [third.relationship_id]
    # Two facets are in force, and a third value says nothing of which of them it disputes: every pair is with it.
    refusal = await refused(a.conflict.RevertResolution(reverting(decided.decision)))
    assert (refusal.reason, refusal.metadata["blocker_id"]) == (Reason.REVERT_BLOCKED, asked.item_id)


@pytest.mark.rule("R4.17")
async def test_s10_the_loser_stated_again_is_a_new_question_and_bars_the_undo(
    new_team: NewTeam, deploys_from: Request
) -> None:
    team = await new_team(profiles=["A"])
    a = team["A"]
    main = await placed_row(a, deploys_from("since 1 March 2020 production deploys from main", "main"))
    release = await placed_row(a, deploys_from("since 1 March 2020 production deploys from release", "release"))
    (item,) = await items_of(a)
    decided = await a.conflict.ResolveConflict(deciding(item, keep_new=keep_new(release)))
    again = await placed_row(a, deploys_from("the wiki: since 1 March 2020 production deploys from main", "main"))
    assert again.relationship_id != main.relationship_id
    (asked,) = await items_of(a)
    assert sides(asked) == {"main", "release"}
    refusal = await refused(a.conflict.RevertResolution(reverting(decided.decision)))
    assert (refusal.reason, refusal.metadata["blocker_type"], refusal.metadata["blocker_id"]) == (
        Reason.REVERT_BLOCKED,
        "review_item",
        asked.item_id,
    )
    assert await recalled(a) == {"release"}


@pytest.mark.promise("undo.blocked")
@pytest.mark.rule("R4.17")
async def test_s14_a_winner_that_was_taken_back_blocks(pair: Pair) -> None:
    team, _, release, item = pair
    a = team["A"]
    decided = await a.conflict.ResolveConflict(deciding(item, keep_new=keep_new(release)))
    forgotten = await a.ingest.Forget(retracting(release))
    (retracted,) = forgotten.forgotten
    # What it alone had ended comes back, so nothing is left to ask.
    assert states(retracted.effects.changes)["main"] == ("superseded", "active")
    refusal = await refused(a.conflict.RevertResolution(reverting(decided.decision)))
    assert (refusal.reason, refusal.metadata["blocker_id"]) == (
        Reason.REVERT_BLOCKED,
        retracted.decision.decision_id,
    )
    assert await recalled(a) == {"main"}
    assert not await items_of(a)


@pytest.mark.promise("undo.recorded")
@pytest.mark.rule("R4.17", "R5.1")
async def test_s23_every_decision_and_every_undo_is_its_own_record(pair: Pair, ledger_verifies: Verifies) -> None:
    team, main, release, item = pair
    a = team["A"]
    first = await a.conflict.ResolveConflict(deciding(item, keep_new=keep_new(release), reason="one"))
    undone = await a.conflict.RevertResolution(reverting(first.decision))
    (item,) = await items_of(a)
    second = await a.conflict.ResolveConflict(deciding(item, keep_existing=keep_existing(main), reason="two"))
    undone_again = await a.conflict.RevertResolution(reverting(second.decision))
    decisions = [one.decision.decision_id for one in (first, undone, second, undone_again)]
    assert len(set(decisions)) == 4
    made = {one.decision_id for row in (main, release) for one in (await traced(a, row)).transitions}
    assert set(decisions) <= made
    (asked,) = await items_of(a)
    assert sides(asked) == {"main", "release"}
    assert await recalled(a) == {"main"}
    # An undo is not undone; one decides again.
    refusal = await refused(a.conflict.RevertResolution(reverting(undone.decision)))
    assert (refusal.reason, refusal.field) == (Reason.INVALID_FIELD, "decision_id")
    assert await ledger_verifies(team.team_id)


@pytest.mark.promise("undo.every")
@pytest.mark.rule("R4.17", "R4.16b")
async def test_a_correction_is_taken_back_with_the_statement_that_made_it(
    new_team: NewTeam, deploys_from: Request
) -> None:
    team = await new_team(profiles=["A"])
    a = team["A"]
    wrong = await placed_row(a, deploys_from(MAIN, "main"))
    before = await current(a, wrong)
    target = submission_pb2.CorrectionTarget(relationship_id=wrong.relationship_id)
    right = await placed_row(
        a, deploys_from("correction: production deploys from release", "release", correction_target=target)
    )
    (decision_id,) = {one.decision_id for one in (await traced(a, right)).transitions}
    undone = await a.conflict.RevertResolution(reverting(decision_pb2.Decision(decision_id=decision_id)))
    assert states(undone.effects.changes)["main"][1] == "active"
    assert await current(a, wrong) == before
    assert await recalled(a) == {"main"}


@pytest.mark.promise("undo.every")
@pytest.mark.rule("R4.17", "R4.15")
@pytest.mark.parametrize("how", [retracting, ending])
async def test_what_was_forgotten_comes_back_by_its_undo(
    new_team: NewTeam,
    deploys_from: Request,
    how: Callable[[Row], ingest_service_pb2.ForgetRequest],
) -> None:
    team = await new_team(profiles=["A"])
    a = team["A"]
    old = await placed_row(a, deploys_from("since 1 January 2020 production deploys from old", "old"))
    main = await placed_row(a, deploys_from("since 1 March 2020 production deploys from main", "main"))
    before = await current(a, old, main)
    (forgotten,) = (await a.ingest.Forget(how(main))).forgotten
    assert await recalled(a) == ({"old"} if how is retracting else set())
    await a.conflict.RevertResolution(reverting(forgotten.decision))
    assert await current(a, old, main) == before
    assert await recalled(a) == {"main"}


@pytest.mark.rule("R4.6", "R4.17")
async def test_only_its_owner_takes_a_decision_back(pair: Pair) -> None:
    team, _, release, item = pair
    decided = await team["A"].conflict.ResolveConflict(deciding(item, keep_new=keep_new(release)))
    refusal = await refused(team["B"].conflict.RevertResolution(reverting(decided.decision)))
    assert (refusal.reason, refusal.metadata["resource_type"]) == (Reason.NOT_OWNER, "decision")
    assert await recalled(team["A"]) == {"release"}
    request = reverting(decided.decision, idempotency_key="undo")
    await team["A"].conflict.RevertResolution(request)
    other = conflict_service_pb2.RevertResolutionRequest(idempotency_key="undo", decision_id=item.item_id)
    assert (await refused(team["A"].conflict.RevertResolution(other))).reason is Reason.IDEMPOTENCY_CONFLICT


@pytest.mark.rule("R4.10", "R4.14", "R4.17")
async def test_v13_what_overtook_a_dispute_is_withdrawn_and_the_question_is_back(
    new_team: NewTeam, deploys_from: Request, ledger_verifies: Verifies
) -> None:
    team = await new_team(profiles=["A"])
    a = team["A"]
    await set_same_moment(team, predicate_pb2.SAME_MOMENT_POLICY_COMPETE)
    rows = [
        await placed_row(a, deploys_from(f"since 1 March 2020 production deploys from {name}", name))
        for name in ("x", "y", "z")
    ]
    (item,) = await items_of(a)
    # V11: one dispute of three, all marked where they are recalled.
    assert sides(item) == {"x", "y", "z"}
    assert await recalled(a) == {"x", "y", "z"}
    later = await placement(a, deploys_from("since 1 June 2020 production deploys from v", "v"))
    assert not await items_of(a)
    (closed,) = await items_of(a, review_item_pb2.ITEM_STATUS_CLOSED)
    assert (closed.item_id, closed.reason) == (item.item_id, "overtaken")
    for row in rows:
        now = (await traced(a, row)).relationship
        assert now.status == relationship_pb2.RELATIONSHIP_STATUS_COMPETING
        assert now.validity.interval.valid_to == later.relationship.validity.interval.valid_from
    (withdrawn,) = (await a.ingest.Forget(retracting(later.relationship))).forgotten
    assert {name for name, (_, after) in states(withdrawn.effects.changes).items() if after == "competing"} == {
        "x",
        "y",
        "z",
    }
    (again,) = await items_of(a)
    assert (again.item_id, sides(again)) == (item.item_id, {"x", "y", "z"})
    assert await ledger_verifies(team.team_id)


@pytest.mark.rule("R4.10", "R4.15")
async def test_v12_the_last_survivor_of_a_dispute_holds_and_the_past_shows_the_dispute(
    new_team: NewTeam, deploys_from: Request
) -> None:
    team = await new_team(profiles=["A"])
    a = team["A"]
    await set_same_moment(team, predicate_pb2.SAME_MOMENT_POLICY_COMPETE)
    x, y = [
        await placed_row(a, deploys_from(f"since 1 March 2020 production deploys from {name}", name))
        for name in ("x", "y")
    ]
    (item,) = await items_of(a)
    forgotten = await a.ingest.Forget(retracting(y))
    assert states(forgotten.forgotten[0].effects.changes) == {
        "x": ("competing", "active"),
        "y": ("competing", "retracted"),
    }
    (closed,) = await items_of(a, review_item_pb2.ITEM_STATUS_CLOSED)
    assert (closed.item_id, closed.reason) == (item.item_id, "fewer_than_two_sides")
    before = conflict_service_pb2.ListConflictsRequest(known={"revision": forgotten.revision - 1})
    (shown,) = (await a.conflict.ListConflicts(before)).entries
    assert (shown.review_item.item_id, shown.review_item.status) == (item.item_id, review_item_pb2.ITEM_STATUS_PENDING)
    then = recall_service_pb2.RecallRequest(
        query="what does production deploy from", temporal={"revision": forgotten.revision - 1}
    )
    known = {
        path.relationship.relationship_id
        for result in (await a.recall.Recall(then)).results
        for path in result.paths
        if path.relationship.status == relationship_pb2.RELATIONSHIP_STATUS_COMPETING
    }
    assert known == {x.relationship_id, y.relationship_id}


def deciding_placement(
    placed: placement_pb2.Placement, action: placement_pb2.PlacementAction.ValueType, **more: Any
) -> ingest_service_pb2.ResolvePlacementRequest:
    return ingest_service_pb2.ResolvePlacementRequest(
        idempotency_key=uuid.uuid4().hex,
        ingest_id=placed.ingest_id,
        placement_item_id=placed.relationships[0].item.item_id,
        action=action,
        **more,
    )


@pytest.mark.promise("undo.every")
@pytest.mark.rule("R4.17", "R5.2")
@pytest.mark.parametrize(
    "action",
    [
        placement_pb2.PLACEMENT_ACTION_ACCEPT,
        placement_pb2.PLACEMENT_ACTION_REJECT,
        placement_pb2.PLACEMENT_ACTION_CORRECT,
    ],
    ids=["accept", "reject", "correct"],
)
async def test_decisions_on_placements_are_taken_back_like_any_other(
    new_team: NewTeam,
    deploys_from: Request,
    ledger_verifies: Verifies,
    action: placement_pb2.PlacementAction.ValueType,
) -> None:
    team = await new_team(profiles=["A"])
    a = team["A"]
    main = await placed_row(a, deploys_from(MAIN, "main"))
    held = (await a.ingest.Remember(deploys_from(RELEASE, "release"))).placement
    release = held.relationships[0].relationship
    (item,) = await items_of(a)
    before = await current(a, main, release)
    more: dict[str, Any] = {}
    if action != placement_pb2.PLACEMENT_ACTION_REJECT:
        branch = "release" if action == placement_pb2.PLACEMENT_ACTION_ACCEPT else "trunk"
        said = deploys_from(f"our checklist confirms: production deploys from {branch}", branch)
        more["evidence"] = said.evidence
        if action == placement_pb2.PLACEMENT_ACTION_CORRECT:
            more["proposal"] = said.proposal
    decided = await a.ingest.ResolvePlacement(deciding_placement(held, action, **more))
    assert await current(a, main, release) != before
    await a.conflict.RevertResolution(reverting(decision_pb2.Decision(decision_id=decided.decision_id)))
    assert await current(a, main, release) == before
    assert await recalled(a) == {"main"}
    (asked,) = await items_of(a)
    assert (asked.item_id, sides(asked)) == (item.item_id, {"main", "release"})
    assert await ledger_verifies(team.team_id)


@pytest.mark.rule("R4.17", "R3.9")
async def test_what_was_moved_to_another_entity_since_bars_the_undo(pair: Pair, deploys_from: Request) -> None:
    team, _, release, item = pair
    a = team["A"]
    decided = await a.conflict.ResolveConflict(deciding(item, keep_new=keep_new(release)))
    (observation,) = (await traced(a, release)).observations
    asking = ingest_service_pb2.CorrectEntityResolutionRequest(
        idempotency_key="split",
        split=identity_correction_pb2.EntitySplit(
            entity_id=release.subject.entity_id, observation_ids=[observation.observation_id]
        ),
    )
    asking.impact_token = (await a.ingest.CorrectEntityResolution(asking)).impact_token
    asking.idempotency_key = "apply"
    moved = await a.ingest.CorrectEntityResolution(asking)
    refusal = await refused(a.conflict.RevertResolution(reverting(decided.decision)))
    assert (refusal.reason, refusal.metadata["blocker_type"], refusal.metadata["blocker_id"]) == (
        Reason.REVERT_BLOCKED,
        "decision",
        moved.decision_id,
    )
    # The move itself is no decision about what holds.
    refusal = await refused(
        a.conflict.RevertResolution(reverting(decision_pb2.Decision(decision_id=moved.decision_id)))
    )
    assert (refusal.reason, refusal.field) == (Reason.INVALID_FIELD, "decision_id")


@pytest.mark.rule("R4.17", "R4.7")
async def test_a_statement_goes_back_to_the_row_that_carried_it(new_team: NewTeam, deploys_from: Request) -> None:
    """Two runs of one value become one when what parted them is retracted, and are two again, in their own rows."""
    team = await new_team(profiles=["A"])
    a = team["A"]
    rows = [
        await placed_row(a, deploys_from(f"since 1 {month} 2020 production deploys from {name}", name))
        for month, name in (("January", "main"), ("March", "release"), ("May", "main"))
    ]
    assert len({row.relationship_id for row in rows}) == 3
    before = await current(a, *rows)
    (forgotten,) = (await a.ingest.Forget(retracting(rows[1]))).forgotten
    joined = (await traced(a, rows[2])).relationship
    assert joined.validity.HasField("closed_to_nothing")
    await a.conflict.RevertResolution(reverting(forgotten.decision))
    assert await current(a, *rows) == before
