"""Cases of valid time, disputes and time travel that need no I/O, by the numbers of the valid-time table.

V16, V20 and V21 stand with times and values, V17 with calendar days and special lanes, V23 as a grid of prepared
versions with the views and here as a story; V22, V24 on the wire and V25 need the services.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest
from corrigenda_core.domain.cases import CaseKind, CaseStatus
from corrigenda_core.domain.changes import CaseEffect, OutcomeKind
from corrigenda_core.domain.errors import Reason, Refusal
from corrigenda_core.domain.evidence import StartWindow, SupportDecisionKind
from corrigenda_core.domain.ids import FragmentId, ProfileId
from corrigenda_core.domain.items import ItemStatus
from corrigenda_core.domain.predicates import Cardinality, Predicate, RelationshipKind, SameMomentPolicy
from corrigenda_core.domain.relationships import Status, Tier
from corrigenda_core.domain.resolutions import KeepNew
from corrigenda_core.domain.time import TimeBasis
from corrigenda_core.domain.views import KnownAt, KnownAtRevision, TemporalSelector
from corrigenda_core.policy.placement import plan_placement
from corrigenda_core.policy.tiers import decide_tier
from corrigenda_core.testing.owner_slot import OwnerSlot
from corrigenda_core.testing.slot_ledger import support_of
from corrigenda_core.testing.slots import OWNER, SLOT, day, predicate, said
from hypothesis import given, settings
from hypothesis import strategies as st

HOLD = predicate()
COMPETE = predicate(same_moment=SameMomentPolicy.COMPETE)
THREE_IN_A_ROW = ["standard 1 Jan..1 Mar superseded", "gold 1 Mar..1 May superseded", "platinum 1 May.. active"]
BOB, EVE = ProfileId("bob"), ProfileId("eve")


def slot_of(*lines: str, by: Predicate = HOLD) -> OwnerSlot:
    slot = OwnerSlot(by)
    for line in lines:
        slot.place(line)
    return slot


@pytest.mark.promise("time.place")
@pytest.mark.rule("R4.10")
def test_v1_a_value_of_an_earlier_time_is_put_into_history() -> None:
    slot = slot_of("premium 1 May")
    assert slot.place("trial 1 Jan").outcomes[0].kind is OutcomeKind.INSERTED_HISTORICAL
    assert slot.rows() == ["premium 1 May.. active", "trial 1 Jan..1 May superseded"]
    assert (slot.in_force("1 Jul"), slot.in_force("1 Mar")) == (["premium"], ["trial"])


@pytest.mark.rule("R4.7")
def test_v2_a_value_of_a_later_time_waits_for_it_without_gap_or_double() -> None:
    slot = slot_of("active 1 Jan")
    assert slot.place("relocating 1 Dec").outcomes[0].kind is OutcomeKind.SUPERSEDED
    assert (slot.in_force("30 Nov"), slot.in_force("1 Dec")) == (["active"], ["relocating"])


@pytest.mark.rule("R4.7")
def test_v3_three_values_after_each_other_touch() -> None:
    slot = slot_of("standard 1 Jan", "gold 1 Mar", "platinum 1 May")
    assert slot.in_force("1 Jul") == ["platinum"]
    assert slot.rows() == THREE_IN_A_ROW


@pytest.mark.rule("R4.15")
@pytest.mark.parametrize(("revive", "standard"), [(True, "1 Jan..1 May"), (False, "1 Jan..1 Mar")])
def test_v4_what_never_was_true_gives_its_time_back_or_leaves_a_gap(revive: bool, standard: str) -> None:
    slot = slot_of("standard 1 Jan", "gold 1 Mar", "platinum 1 May")
    taken = slot.retract("s1", revive=revive)
    assert slot.rows() == [f"standard {standard} superseded", "gold 1 Mar.. retracted", "platinum 1 May.. active"]
    slot.revert(taken)
    assert slot.rows() == THREE_IN_A_ROW


@pytest.mark.rule("R4.8")
def test_v5_a_value_between_two_is_clipped_on_both_sides() -> None:
    slot = slot_of("a 1 Jan..1 Feb", "c 1 Apr", "b 15 Jan")
    assert slot.rows() == ["a 1 Jan..15 Jan superseded", "c 1 Apr.. active", "b 15 Jan..1 Apr superseded"]
    for at in ("10 Jan", "15 Jan", "31 Jan", "1 Apr"):
        assert len(slot.in_force(at)) == 1


@pytest.mark.promise("time.gap")
@pytest.mark.rule("R4.7")
def test_v6_a_stated_end_stays_and_a_gap_is_not_known() -> None:
    slot = slot_of("a 1 Jan..31 Jan", "d 1 Jun")
    assert slot.rows() == ["a 1 Jan..31 Jan active", "d 1 Jun.. active"]
    assert slot.in_force("1 Mar") == []


@pytest.mark.rule("R4.9")
def test_v7_a_known_start_is_later_than_what_was_seen_before_it() -> None:
    slot = slot_of("main @1 Jan", "release 1 Mar")
    assert slot.rows() == ["main ..1 Mar superseded", "release 1 Mar.. active"]


@pytest.mark.promise("time.unordered")
@pytest.mark.rule("R4.10", "R10.1")
@pytest.mark.parametrize(
    ("by", "kind", "rows"),
    [
        (HOLD, OutcomeKind.HELD, ["main .. active", "release .. needs_review"]),
        (COMPETE, OutcomeKind.COMPETING, ["main .. competing", "release .. competing"]),
    ],
)
def test_v8_two_without_any_time_are_held_or_compete_and_preflight_says_so(
    by: Predicate, kind: OutcomeKind, rows: list[str]
) -> None:
    slot = slot_of("main", by=by)
    statement = said("release", first=1)[0]
    preflight = plan_placement(slot.view, slot.context(), [statement], [support_of(statement)])
    changes = slot.place("release")
    assert changes.outcomes == preflight.outcomes
    assert changes.outcomes[0].kind is kind
    assert slot.rows() == rows


@pytest.mark.promise("time.text")
@pytest.mark.rule("R4.9")
def test_v9_v10_only_what_the_text_says_is_evidence_time() -> None:
    slot = slot_of("main 1 Jan")
    claimed = replace(said("release", first=1)[0], stated_start=day("1 Mar"))
    slot.store.place(claimed, [support_of(claimed)])
    assert slot.rows() == ["main 1 Jan.. active", "release .. needs_review"]
    slot.resolve(KeepNew(kept_id=slot.row_id("s1")))
    assert slot.rows() == ["main 1 Jan..1 Mar superseded", "release 1 Mar.. active"]
    assert slot.store.row(slot.row_id("s1")).start_basis is TimeBasis.STATED_TIME
    said_so = slot_of("main 1 Jan", "release 1 Mar")
    assert said_so.rows() == ["main 1 Jan..1 Mar superseded", "release 1 Mar.. active"]


@pytest.mark.rule("R4.14")
def test_v11_a_third_value_of_the_same_start_joins_the_dispute() -> None:
    slot = slot_of("x 1 Mar", "y 1 Mar", "z 1 Mar", by=COMPETE)
    assert {row.status for row in slot.view.rows} == {Status.COMPETING}
    item = slot.item()
    assert {*item.incoming, *item.opposing} == {row.relationship_id for row in slot.view.rows}


@pytest.mark.rule("R4.14", "R8.2")
def test_v12_the_last_survivor_is_active_and_earlier_views_keep_the_dispute() -> None:
    slot = slot_of("x 1 Mar", "y 1 Mar", by=COMPETE)
    item = slot.item()
    seen = slot.store.revisions[-1].moment
    slot.retract("s1")
    assert slot.rows() == ["x 1 Mar.. active", "y 1 Mar.. retracted"]
    closed = slot.store.item(item.item_id)
    assert (closed.status, closed.reason) == (ItemStatus.CLOSED, "fewer_than_two_sides")
    for known in (KnownAt(at=seen.at), KnownAtRevision(revision=seen.revision)):
        assert slot.in_force("1 Jul", selector=TemporalSelector(known=known)) == ["x", "y"]
    assert slot.in_force("1 Jul") == ["x"]


@pytest.mark.rule("R4.10")
def test_v13_a_later_start_overtakes_a_dispute_until_it_is_withdrawn() -> None:
    slot = slot_of("x 1 Mar", "y 1 Mar", "z 1 Mar", by=COMPETE)
    asked = slot.item().item_id
    slot.place("v 1 Apr")
    assert slot.rows() == [*(f"{value} 1 Mar..1 Apr competing" for value in "xyz"), "v 1 Apr.. active"]
    assert (slot.store.item(asked).status, slot.store.item(asked).reason) == (ItemStatus.CLOSED, "overtaken")
    slot.retract("s3")
    assert slot.item().item_id == asked
    assert slot.rows()[:3] == [f"{value} 1 Mar.. competing" for value in "xyz"]


@pytest.mark.rule("R4.2", "R4.15")
def test_v14_one_of_two_sources_taken_back_leaves_the_value_and_counts_again() -> None:
    slot = slot_of("x 1 Jan", "x 1 Feb")
    assert slot.store.row(slot.row_id("s0")).tier is Tier.FACT
    slot.store.retract_fragment(SLOT, OWNER, FragmentId("text-s1"))
    row = slot.store.row(slot.row_id("s0"))
    assert (row.status, row.tier) == (Status.ACTIVE, Tier.VALIDATED_CLAIM)


@pytest.mark.rule("R4.10", "R6.4")
def test_v15_the_same_source_again_corroborates_and_counts_no_more() -> None:
    slot = OwnerSlot(HOLD)
    slot.place("x 1 Jan", group="wiki")
    changes = slot.place("x 1 Feb", group="wiki")
    assert changes.outcomes[0].kind is OutcomeKind.CORROBORATED
    assert len(slot.view.rows) == 1
    assert decide_tier(slot.view.supports) is Tier.VALIDATED_CLAIM


@pytest.mark.rule("R4.11")
def test_v17_one_event_of_a_calendar_day_is_one_event() -> None:
    happened = predicate(kind=RelationshipKind.EVENT, cardinality=Cardinality.MANY)
    slot = slot_of("visit 1 Mar", "visit 1 Mar", by=happened)
    assert slot.rows() == ["visit 1 Mar.. active"]
    slot.place("visit 2 Mar")
    assert slot.rows() == ["visit 1 Mar.. active", "visit 2 Mar.. active"]


@pytest.mark.rule("R4.11", "R7.1")
def test_v18_a_denial_is_ones_own_question_or_the_teams_case() -> None:
    many = predicate(cardinality=Cardinality.MANY)
    slot = slot_of("x 1 Mar", "-x 1 Mar", by=many)
    assert slot.rows() == ["x 1 Mar.. active", "-x 1 Mar.. needs_review"]
    assert slot.item().incoming == (slot.row_id("s1"),)
    assert slot.view.cases == ()
    team = slot_of("x 1 Mar", by=many)
    outcome = team.place("-x 1 Mar", owner=BOB).outcomes[0]
    assert (outcome.kind, outcome.case_effect) == (OutcomeKind.INSERTED, CaseEffect.OPENS_CASE)
    (case,) = team.view.cases
    assert case.set_key.kind is CaseKind.POLARITY
    assert team.view.items == ()


@pytest.mark.promise("own.system-of-record")
@pytest.mark.rule("R4.13")
@pytest.mark.parametrize("line", ["silver 1 Jan", "silver 1 Mar", "silver 1 May", "silver"])
@pytest.mark.parametrize("by", [HOLD, COMPETE])
def test_v19_a_record_is_untouched_by_what_anybody_else_says(line: str, by: Predicate) -> None:
    slot = slot_of("gold 1 Mar !crm", by=by)
    record = slot.store.row(slot.row_id("s0"))
    slot.place(line)
    assert slot.store.row(slot.row_id("s0")) == record
    beside = slot.store.row(slot.row_id("s1"))
    if beside.status in {Status.NEEDS_REVIEW, Status.COMPETING}:
        with pytest.raises(Refusal) as refused:
            slot.resolve(KeepNew(kept_id=slot.row_id("s1")))
        assert refused.value.reason is Reason.SYSTEM_OF_RECORD
    slot.place("platinum 1 Jun !crm")
    assert slot.rows()[0] == "gold 1 Mar..1 Jun superseded"


@pytest.mark.promise("time.order")
@pytest.mark.rule("R4.8", "R8.2")
@settings(deadline=None)
@given(order=st.permutations([f"{value} {start}" for value, start in zip("abcdefgh", range(1, 9), strict=True)]))
def test_v22_any_serial_order_of_writers_gives_the_same_timeline(order: list[str]) -> None:
    slot = slot_of(*(f"{line} Mar" for line in order))
    for number, value in enumerate("abcdefgh", 1):
        assert slot.in_force(f"{number} Mar") == [value]
    assert slot.in_force("1 Jul") == ["h"]


@pytest.mark.rule("R7.16", "R8.2", "R8.3")
def test_v23_the_grid_of_both_time_axes_around_a_resolution() -> None:
    slot = OwnerSlot(HOLD)
    slot.store.now = day("10 Jan")
    slot.place("main 1 Jan")
    slot.store.now = day("1 Jun")
    for owner, recorded in ((BOB, "1 Jun"), (EVE, "8 Jun")):
        slot.store.now = day(recorded)
        dated(slot, "release 1 Mar", owner)
    (case,) = slot.view.cases
    plan = slot.review(case.conflict_id, day("10 Jun"))
    assert plan.changes.cases[0].status is CaseStatus.RESOLVED
    slot.store.now = day("20 Jun")
    grid = {
        known: [
            shown(slot, at, None if known == "now" else TemporalSelector(known=KnownAt(at=day(known))))
            for at in ("15 Feb", "15 Apr", "20 Jun")
        ]
        for known in ("15 May", "5 Jun", "now")
    }
    assert grid == {
        "15 May": ["main", "main", "main"],
        "5 Jun": ["main", "main release, open", "main release, open"],
        "now": ["main", "release, resolved", "release, resolved"],
    }


def dated(slot: OwnerSlot, line: str, owner: ProfileId) -> None:
    """Places a statement whose text says when it began."""
    statement = said(line, owner=owner, first=len(slot.view.statements))[0]
    assert statement.start is not None
    support = replace(support_of(statement), evidence_time=StartWindow(whole=statement.start.whole))
    slot.store.place(statement, [support])


def shown(slot: OwnerSlot, at: str, selector: TemporalSelector | None) -> str:
    picture = slot.store.picture(replace(selector or TemporalSelector(), valid_at=day(at)))
    values = sorted({edge.relationship.object.key.split(":")[-1] for edge in picture.edges})
    cases = ["open"] * len(picture.live_cases) + ["resolved"] * len(picture.resolved_cases)
    return ", ".join([" ".join(values), *cases])


@pytest.mark.rule("R10.2")
@settings(deadline=None)
@given(lines=st.lists(st.sampled_from(["a", "a 1 Mar", "b 1 Mar", "b", "-a 1 Mar", "c 1 Apr !crm"]), max_size=6))
def test_v24_preflight_is_the_same_plan(lines: list[str]) -> None:
    slot = OwnerSlot(COMPETE)
    for number, line in enumerate(lines):
        statement = said(line, first=number)[0]
        preflight = plan_placement(slot.view, slot.context(), [statement], [support_of(statement)])
        assert slot.place(line) == preflight


@pytest.mark.rule("R8.1")
def test_v25_what_was_answered_at_a_revision_never_changes() -> None:
    slot = slot_of("x 1 Mar", "y 1 Mar", by=COMPETE)
    answers: dict[int, object] = {}

    def answer(revision: int) -> object:
        selector = TemporalSelector(valid_at=day("1 Apr"), known=KnownAtRevision(revision=revision))
        return slot.store.picture(selector)

    steps: list[Callable[[], object]] = [
        lambda: slot.place("z 1 Mar", owner=BOB),
        lambda: slot.resolve(KeepNew(kept_id=slot.row_id("s0"))),
        lambda: slot.revert(slot.store.revisions[-1].changes),
        lambda: slot.review(slot.view.cases[0].conflict_id, day("1 Jul")),
        lambda: slot.store.switch(SLOT, FragmentId("text-s1"), SupportDecisionKind.REVOKE),
    ]
    for step in steps:
        revision = len(slot.store.revisions)
        answers[revision] = answer(revision), slot.view
        step()
    for revision, known in answers.items():
        assert (answer(revision), slot.store.view_at(SLOT, revision)) == known
