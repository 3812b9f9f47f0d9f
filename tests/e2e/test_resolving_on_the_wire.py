"""An owner decides between own statements over the wire: what a decision changes, previews, and every refusal."""

import uuid
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from corrigenda.conflict.v1 import conflict_service_pb2, resolution_pb2, review_item_pb2
from corrigenda.ingest.v1 import ingest_service_pb2, placement_pb2
from corrigenda.type.v1 import decision_pb2, predicate_pb2, relationship_pb2
from corrigenda_core.domain.errors import Reason
from corrigenda_core.rpc.convert import timestamp_of
from corrigenda_core.testing.wire_decisions import (
    deciding,
    items_of,
    keep_existing,
    keep_new,
    placed_row,
    recalled,
    refused,
    set_same_moment,
    sides,
    states,
    traced,
)

pytestmark = pytest.mark.database

NewTeam = Callable[..., Awaitable[Any]]
Request = Callable[..., ingest_service_pb2.RememberRequest]
Verifies = Callable[[str], Awaitable[bool]]

MAIN, RELEASE, TRUNK = "production deploys from main", "the log: production deploys from release", "trunk"


Pair = tuple[Any, relationship_pb2.Relationship, relationship_pb2.Relationship, review_item_pb2.ReviewItem]


@pytest.fixture
async def pair(new_team: NewTeam, deploys_from: Request) -> Pair:
    """A team where A said main and then release, neither with a time: release is held, and A is asked."""
    team = await new_team()
    main = await placed_row(team["A"], deploys_from(MAIN, "main"))
    release = await placed_row(team["A"], deploys_from(RELEASE, "release"))
    assert release.status == relationship_pb2.RELATIONSHIP_STATUS_NEEDS_REVIEW
    (item,) = await items_of(team["A"])
    return team, main, release, item


@pytest.mark.rule("R4.16a", "R5.1")
async def test_keep_new_ends_the_other_side_and_answers_the_item(pair: Pair, ledger_verifies: Verifies) -> None:
    team, main, release, item = pair
    request = deciding(item, keep_new=keep_new(release), reason="the log is newer")
    answer = await team["A"].conflict.ResolveConflict(request)
    assert states(answer.effects.changes) == {
        "main": ("active", "superseded"),
        "release": ("needs_review", "active"),
    }
    decision = answer.decision
    assert (decision.kind, decision.kept_relationship_id, decision.reason, decision.item_id) == (
        decision_pb2.DECISION_KIND_KEEP_NEW,
        release.relationship_id,
        "the log is newer",
        item.item_id,
    )
    assert decision.actor.profile.name == "A"
    assert (answer.item.status, answer.item.version) == (review_item_pb2.ITEM_STATUS_RESOLVED, item.version + 1)
    assert await team["A"].conflict.ResolveConflict(request) == answer
    assert not await items_of(team["A"])
    (listed,) = await items_of(team["A"], review_item_pb2.ITEM_STATUS_RESOLVED)
    assert (listed.item_id, listed.version, listed.reason) == (item.item_id, item.version + 1, "keep_new")
    assert await recalled(team["A"]) == {"release"}
    # Its transitions name the decision, and the loser's says until when it held.
    trace = await traced(team["A"], main)
    (closing,) = [one for one in trace.transitions if one.decision_id == decision.decision_id]
    assert closing.closing.at == release.recorded_at
    assert await ledger_verifies(team.team_id)


@pytest.mark.rule("R4.16a")
async def test_keep_existing_rejects_what_came_in_and_nothing_else(pair: Pair) -> None:
    team, main, _, item = pair
    answer = await team["A"].conflict.ResolveConflict(deciding(item, keep_existing=keep_existing(main)))
    assert states(answer.effects.changes) == {"release": ("needs_review", "rejected")}
    assert await recalled(team["A"]) == {"main"}


@pytest.mark.rule("R4.16a")
async def test_keep_both_lets_every_side_hold_in_a_facet_of_its_own(pair: Pair, ledger_verifies: Verifies) -> None:
    team, _, release, item = pair
    answer = await team["A"].conflict.ResolveConflict(deciding(item, keep_both=resolution_pb2.KeepBoth()))
    assert states(answer.effects.changes) == {"release": ("needs_review", "active")}
    assert answer.effects.changes[0].after.facet == 1
    assert await recalled(team["A"]) == {"main", "release"}
    trace = await traced(team["A"], release)
    assert [one.kind for one in trace.references] == [relationship_pb2.REFERENCE_KIND_DISTINCT_FROM]
    assert await ledger_verifies(team.team_id)


@pytest.mark.promise("asked.preview")
@pytest.mark.rule("R4.16a")
async def test_previews_say_what_each_action_then_does(new_team: NewTeam, deploys_from: Request) -> None:
    """Each action on a slot of its own, in the same state: what it changes is what its preview showed."""
    for number in range(4):
        team = await new_team(profiles=["A"])
        main = await placed_row(team["A"], deploys_from(MAIN, "main"))
        release = await placed_row(team["A"], deploys_from(RELEASE, "release"))
        (item,) = await items_of(team["A"])
        assert [(one.action, one.relationship_id) for one in item.previews] == [
            (decision_pb2.DECISION_KIND_KEEP_NEW, release.relationship_id),
            (decision_pb2.DECISION_KIND_KEEP_NEW, main.relationship_id),
            (decision_pb2.DECISION_KIND_KEEP_EXISTING, main.relationship_id),
            (decision_pb2.DECISION_KIND_KEEP_BOTH, ""),
            (decision_pb2.DECISION_KIND_MERGE, ""),
        ]
        assert (item.previews_total, item.previews_truncated) == (5, False)
        action: dict[str, Any] = [
            {"keep_new": keep_new(release)},
            {"keep_new": keep_new(main)},
            {"keep_existing": keep_existing(main)},
            {"keep_both": resolution_pb2.KeepBoth()},
        ][number]
        answer = await team["A"].conflict.ResolveConflict(deciding(item, **action))
        shown, did = item.previews[number], answer.effects.changes
        assert not shown.refused
        assert [timeless(change) for change in shown.changes] == [timeless(change) for change in did]


def timeless(change: decision_pb2.RelationshipChange) -> decision_pb2.RelationshipChange:
    """A change without the time of its commit, which a preview cannot know."""
    bare = decision_pb2.RelationshipChange()
    bare.CopyFrom(change)
    bare.after.ClearField("recorded_at")
    bare.after.ClearField("revision")
    bare.ClearField("revived")
    return bare


@pytest.mark.error("ITEM_NOT_PENDING")
@pytest.mark.rule("R4.16a", "R5.1")
async def test_s1_an_answered_item_is_not_answered_again(pair: Pair) -> None:
    team, main, release, item = pair
    await team["A"].conflict.ResolveConflict(deciding(item, keep_new=keep_new(release)))
    refusal = await refused(team["A"].conflict.ResolveConflict(deciding(item, keep_existing=keep_existing(main))))
    assert (refusal.reason, refusal.metadata["status"]) == (Reason.ITEM_NOT_PENDING, "resolved")
    assert await recalled(team["A"]) == {"release"}


@pytest.mark.error("NOT_IN_CONFLICT")
@pytest.mark.rule("R4.16a")
async def test_s2_only_a_side_of_the_item_can_be_kept(pair: Pair, deploys_from: Request) -> None:
    team, _, release, item = pair
    other = await placed_row(team["B"], deploys_from(MAIN, "main"))
    strange = relationship_pb2.Relationship(relationship_id=str(uuid.uuid4()))
    for row, action in ((strange, "keep_new"), (other, "keep_existing"), (release, "keep_existing")):
        named = {"keep_new": keep_new, "keep_existing": keep_existing}[action](row)
        refusal = await refused(team["A"].conflict.ResolveConflict(deciding(item, **{action: named})))
        assert (refusal.reason, refusal.field) == (Reason.NOT_IN_CONFLICT, "relationship_id"), action
        assert [one.version for one in await items_of(team["A"])] == [item.version]


@pytest.mark.rule("R4.16a", "R4.14")
async def test_s3_sides_that_still_exclude_each_other_stay_a_question(new_team: NewTeam, deploys_from: Request) -> None:
    team = await new_team(profiles=["A"])
    await set_same_moment(team, predicate_pb2.SAME_MOMENT_POLICY_COMPETE)
    first = await placed_row(team["A"], deploys_from(MAIN, "main"))
    await placed_row(team["A"], deploys_from(RELEASE, "release"))
    await placed_row(team["A"], deploys_from("the wiki: production deploys from trunk", "trunk"))
    (item,) = await items_of(team["A"])
    assert (len(item.incoming), len(item.opposing)) == (1, 2)
    answer = await team["A"].conflict.ResolveConflict(deciding(item, keep_existing=keep_existing(first)))
    assert states(answer.effects.changes) == {"trunk": ("competing", "rejected")}
    assert answer.item.status == review_item_pb2.ITEM_STATUS_PENDING
    (left,) = await items_of(team["A"])
    assert sides(left) == {"main", "release"}


@pytest.mark.promise("asked.seen")
@pytest.mark.error("STALE_VERSION")
@pytest.mark.rule("R4.16a", "R5.1")
async def test_s12_a_decision_about_what_was_not_seen_is_refused(pair: Pair, deploys_from: Request) -> None:
    """The item's side is corrected: the item names the successor, at a new version."""
    team, main, release, item = pair
    target = {"relationship_id": main.relationship_id}
    successor = await placed_row(
        team["A"], deploys_from("correction: production deploys from trunk", "trunk", correction_target=target)
    )
    refusal = await refused(team["A"].conflict.ResolveConflict(deciding(item, keep_new=keep_new(release))))
    assert refusal.reason is Reason.STALE_VERSION
    (now,) = await items_of(team["A"])
    assert refusal.metadata["current_version"] == str(now.version) != str(item.version)
    assert {one.relationship_id for one in (*now.incoming, *now.opposing)} == {
        successor.relationship_id,
        release.relationship_id,
    }


@pytest.mark.rule("R4.16a", "R5.1")
async def test_s13_two_held_values_cannot_both_win_on_one_version(pair: Pair, deploys_from: Request) -> None:
    team, main, release, _ = pair
    trunk = await placed_row(team["A"], deploys_from("the wiki: production deploys from trunk", "trunk"))
    (item,) = await items_of(team["A"])
    await team["A"].conflict.ResolveConflict(deciding(item, keep_new=keep_new(release)))
    refusal = await refused(team["A"].conflict.ResolveConflict(deciding(item, keep_new=keep_new(trunk))))
    assert refusal.reason in {Reason.STALE_VERSION, Reason.ITEM_NOT_PENDING}
    (left,) = await items_of(team["A"])
    assert sides(left) == {"release", "trunk"}
    assert main.relationship_id not in {one.relationship_id for one in (*left.incoming, *left.opposing)}
    assert await recalled(team["A"]) == {"release"}


@pytest.mark.rule("R4.6")
async def test_nobody_answers_for_somebody_else(pair: Pair) -> None:
    team, _, release, item = pair
    refusal = await refused(team["B"].conflict.ResolveConflict(deciding(item, keep_new=keep_new(release))))
    assert (refusal.reason, refusal.metadata["resource_type"]) == (Reason.NOT_OWNER, "review_item")
    assert not await items_of(team["B"])
    assert [one.version for one in await items_of(team["A"])] == [item.version]


@pytest.mark.error("IDEMPOTENCY_CONFLICT")
@pytest.mark.rule("R5.1")
async def test_one_key_is_one_decision(pair: Pair) -> None:
    team, main, release, item = pair
    await team["A"].conflict.ResolveConflict(deciding(item, idempotency_key="one", keep_new=keep_new(release)))
    other = deciding(item, idempotency_key="one", keep_existing=keep_existing(main))
    assert (await refused(team["A"].conflict.ResolveConflict(other))).reason is Reason.IDEMPOTENCY_CONFLICT


@pytest.mark.error("START_NEEDED")
@pytest.mark.rule("R4.10")
async def test_a_start_is_given_where_it_is_needed_and_refused_where_it_is_not(
    new_team: NewTeam, deploys_from: Request
) -> None:
    """A held value whose own end has passed needs a start; its owner states one; another one needs none."""
    team = await new_team(profiles=["A"])
    await placed_row(team["A"], deploys_from("since 1 January 2025 production deploys from main", "main"))
    request = deploys_from("production deploys from release until 1 January 2026", "release")
    request.evidence[0].occurred_at.CopyFrom(timestamp_of(datetime(2025, 3, 1, tzinfo=UTC)))
    release = await placed_row(team["A"], request)
    assert release.status == relationship_pb2.RELATIONSHIP_STATUS_NEEDS_REVIEW
    (item,) = await items_of(team["A"])
    keep = next(one for one in item.previews if one.relationship_id == release.relationship_id)
    assert keep.refused == Reason.START_NEEDED
    refusal = await refused(team["A"].conflict.ResolveConflict(deciding(item, keep_new=keep_new(release))))
    assert (refusal.reason, refusal.metadata["relationship_id"]) == (Reason.START_NEEDED, release.relationship_id)
    began = datetime(2025, 6, 1, tzinfo=UTC)
    stated = resolution_pb2.KeepNew(relationship_id=release.relationship_id, start=timestamp_of(began))
    late = resolution_pb2.KeepNew(
        relationship_id=release.relationship_id, start=timestamp_of(began + timedelta(days=400))
    )
    assert (
        await refused(team["A"].conflict.ResolveConflict(deciding(item, keep_new=late)))
    ).reason is Reason.INVALID_FIELD
    answer = await team["A"].conflict.ResolveConflict(deciding(item, keep_new=stated))
    kept = next(one.after for one in answer.effects.changes if one.after.relationship_id == release.relationship_id)
    assert kept.validity.interval.valid_from == timestamp_of(began)


async def test_a_request_that_decides_nothing_is_refused(pair: Pair) -> None:
    team, main, _, item = pair
    twice = resolution_pb2.KeepBoth(
        starts=[
            resolution_pb2.SideStart(relationship_id=main.relationship_id, start=timestamp_of(datetime.now(UTC)))
            for _ in range(2)
        ]
    )
    for request, field in (
        (deciding(item), "keep_new"),
        (deciding(item, expected_version=0, keep_both=resolution_pb2.KeepBoth()), "expected_version"),
        (deciding(item, keep_both=twice), "keep_both.starts"),
        (deciding(item, item_id="x", keep_both=resolution_pb2.KeepBoth()), "item_id"),
    ):
        refusal = await refused(team["A"].conflict.ResolveConflict(request))
        assert (refusal.reason, field in f"{refusal.field} {refusal.message}") == (Reason.INVALID_FIELD, True), refusal


async def test_an_item_without_sides_is_decided_elsewhere(pair: Pair, deploys_from: Request) -> None:
    """Items of every kind are listed; those about a phrase have no relationships to choose from."""
    team, _, release, _ = pair
    answer = await team["A"].ingest.Remember(deploys_from("production runs on tundra", "tundra", predicate="runs on"))
    assert answer.placement.relationships[0].outcome == placement_pb2.OUTCOME_NEEDS_REVIEW
    kinds = [one.kind for one in await items_of(team["A"])]
    assert kinds == [review_item_pb2.ITEM_KIND_RELATIONSHIP, review_item_pb2.ITEM_KIND_PREDICATE]
    only = conflict_service_pb2.ListReviewItemsRequest(kinds=[review_item_pb2.ITEM_KIND_PREDICATE])
    (asked,) = (await team["A"].conflict.ListReviewItems(only)).items
    assert not asked.previews
    refusal = await refused(team["A"].conflict.ResolveConflict(deciding(asked, keep_new=keep_new(release))))
    assert (refusal.reason, refusal.field) == (Reason.INVALID_FIELD, "item_id")
    refusal = await refused(team["B"].conflict.ResolveConflict(deciding(asked, keep_new=keep_new(release))))
    assert refusal.reason is Reason.NOT_OWNER


async def test_pages_of_items_leave_nothing_out(pair: Pair, deploys_from: Request) -> None:
    team, _, _, item = pair
    for number in range(3):
        phrase = f"unknown phrase {number}"
        await team["A"].ingest.Remember(deploys_from("production runs on tundra", "tundra", predicate=phrase))
    whole = await team["A"].conflict.ListReviewItems(conflict_service_pb2.ListReviewItemsRequest())
    assert whole.total == 4
    found: list[str] = []
    token = ""
    while True:
        page = await team["A"].conflict.ListReviewItems(
            conflict_service_pb2.ListReviewItemsRequest(page_size=1, page_token=token)
        )
        assert (page.total, page.revision) == (4, whole.revision)
        found += [one.item_id for one in page.items]
        token = page.next_page_token
        if not token:
            break
    assert found == [one.item_id for one in whole.items]
    assert found[0] == item.item_id
    first = await team["A"].conflict.ListReviewItems(conflict_service_pb2.ListReviewItemsRequest(page_size=3))
    refusal = await refused(
        team["A"].conflict.ListReviewItems(
            conflict_service_pb2.ListReviewItemsRequest(statuses=[1, 2], page_token=first.next_page_token)
        )
    )
    assert refusal.reason is Reason.PAGE_TOKEN_MISMATCH


@pytest.mark.rule("R7.1", "R7.8")
async def test_a_decision_reaches_the_conflicts_of_the_team(pair: Pair, deploys_from: Request) -> None:
    """B says main as A does; A then decides for release: that opens a case, by the service that took the decision."""
    team, _, release, item = pair
    await placed_row(team["B"], deploys_from("production deploys from main", "main"))
    answer = await team["A"].conflict.ResolveConflict(deciding(item, keep_new=keep_new(release)))
    (conflict_id,) = answer.effects.conflict_ids
    opened = await team["B"].conflict.GetConflict(conflict_service_pb2.GetConflictRequest(conflict_id=conflict_id))
    assert {one.label for one in opened.conflict.positions} == {"main", "release"}
