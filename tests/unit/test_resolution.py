"""Resolutions beyond the acceptance table: starts, facets, records, merges, what is refused, and what is previewed."""

from __future__ import annotations

from dataclasses import replace

import pytest
from corrigenda_core.domain.actors import Actor, ActorKind
from corrigenda_core.domain.changes import Changes, OutcomeKind
from corrigenda_core.domain.decisions import SameValue
from corrigenda_core.domain.errors import Reason, Refusal
from corrigenda_core.domain.evidence import Authority, SupportDecision, SupportDecisionKind
from corrigenda_core.domain.ids import DecisionId, ItemId, ProfileId, RelationshipId, StatementId
from corrigenda_core.domain.items import ItemKind, ItemStatus
from corrigenda_core.domain.predicates import Cardinality, Predicate, SameMomentPolicy
from corrigenda_core.domain.relationships import Closing, ReferenceKind, Statement, Status, Tier
from corrigenda_core.domain.resolutions import (
    Accept,
    Answer,
    DecisionKind,
    DecisionRecord,
    KeepBoth,
    KeepExisting,
    KeepNew,
    Merge,
    Provenance,
    Reject,
    Resolution,
    Same,
)
from corrigenda_core.domain.time import Instant, Interval, TimeBasis
from corrigenda_core.policy.placement_actions import ACTIONS, WITHOUT_ITEM, may_take
from corrigenda_core.policy.previews import plan_previews
from corrigenda_core.policy.resolution import may_answer_item, plan_resolution
from corrigenda_core.policy.same_values import apply_same_values
from corrigenda_core.testing.memory_store import profile
from corrigenda_core.testing.owner_slot import OwnerSlot
from corrigenda_core.testing.slot_ledger import support_of
from corrigenda_core.testing.slots import OWNER, day, predicate, said

HOLD = predicate()
COMPETE = predicate(same_moment=SameMomentPolicy.COMPETE)


def slot_of(*lines: str, by: Predicate = HOLD) -> OwnerSlot:
    slot = OwnerSlot(by)
    for line in lines:
        slot.place(line)
    return slot


def refused(slot: OwnerSlot, resolution: Resolution) -> Refusal:
    before = slot.view
    with pytest.raises(Refusal) as raised:
        slot.resolve(resolution)
    assert slot.view == before
    return raised.value


@pytest.mark.rule("R4.16a", "R4.10")
@pytest.mark.parametrize(
    ("lines", "kept", "by", "rows"),
    [
        pytest.param(["a 1 Jan", "b"], "s1", HOLD, ["a 1 Jan..1 Jun superseded", "b 1 Jun.. active"],
                     id="held without a start: when it was recorded"),
        pytest.param(["a", "b"], "s1", HOLD, ["a ..1 Jun superseded", "b 1 Jun.. active"], id="both without"),
        pytest.param(["a 1 Jan", "b"], "s0", HOLD, ["a 1 Jan.. active", "b nothing superseded"],
                     id="the one in force stays from its start"),
        pytest.param(["a", "b"], "s0", HOLD, ["a .. active", "b nothing superseded"],
                     id="what is in force keeps its unknown start"),
        pytest.param(["a 1 Mar", "b Mar"], "s1", HOLD, ["a nothing at 1 Mar superseded", "b 1 Mar.. active"],
                     id="a month that may have begun earlier"),
        pytest.param(["a Mar", "b 15 Mar"], "s1", HOLD, ["a 1 Mar..15 Mar superseded", "b 15 Mar.. active"],
                     id="what may have begun earlier did"),
        pytest.param(["a", "b"], "s1", COMPETE, ["a ..1 Jun superseded", "b 1 Jun.. active"],
                     id="competing without a start"),
        pytest.param(["a", "b"], "s0", COMPETE, ["a 1 Jun.. active", "b ..1 Jun superseded"],
                     id="a competing side gets its start as well"),
        pytest.param(["a 1 Jan", "b"], "s0", COMPETE, ["a 1 Jan.. active", "b nothing at 1 Jan superseded"],
                     id="a side that shared the start is closed to nothing"),
        pytest.param(["a 1 Mar", "b 1 Mar", "c 1 Mar"], "s1", COMPETE,
                     ["a nothing at 1 Mar superseded", "b 1 Mar.. active", "c nothing at 1 Mar superseded"],
                     id="three competing"),
        pytest.param(["a 1 Jan", "a", "b 1 Jan"], "s2", HOLD, ["a nothing at 1 Jan superseded", "b 1 Jan.. active"],
                     id="a witness of the loser leaves with it"),
        pytest.param(["a 1 Mar", "b 1 Jan..1 Feb", "c 1 Mar"], "s2", HOLD,
                     ["a nothing at 1 Mar superseded", "b 1 Jan..1 Feb active", "c 1 Mar.. active"],
                     id="what has ended before takes no part"),
    ],
)  # fmt: skip
def test_the_kept_side_starts_where_it_is_known_to_and_ends_the_others(
    lines: list[str], kept: str, by: Predicate, rows: list[str]
) -> None:
    slot = slot_of(*lines, by=by)
    before = slot.view
    keeping = slot.resolve(KeepNew(kept_id=slot.row_id(kept)))
    assert slot.rows() == rows
    assert slot.view.items == ()
    slot.revert(keeping)
    assert [replace(row, version=1, revision=1, recorded_at=day("1 Jun")) for row in slot.view.rows] == [
        replace(row, version=1, revision=1, recorded_at=day("1 Jun")) for row in before.rows
    ]


@pytest.mark.rule("R4.16a")
def test_keeping_what_is_in_force_ends_nothing_that_it_does_not_exclude() -> None:
    """The third value, without a start, excludes two that follow each other."""
    slot = slot_of("a 1 Jan", "b 1 Mar", "c @1 Feb")
    assert set(slot.item().opposing) == {slot.row_id("s0")}
    slot = OwnerSlot(COMPETE)
    for line in ("a 1 Jan", "b 1 Mar", "c @1 Apr"):
        slot.place(line)
    slot.resolve(KeepNew(kept_id=slot.row_id("s1")))
    assert slot.rows() == ["a 1 Jan..1 Mar superseded", "b 1 Mar.. active", "c nothing at 1 Mar superseded"]


@pytest.mark.rule("R4.16a", "R4.10")
def test_a_start_is_stated_where_its_own_end_has_passed() -> None:
    slot = slot_of("a 1 Jan", "b..15 May @1 Feb")
    needed = refused(slot, KeepNew(kept_id=slot.row_id("s1")))
    assert (needed.reason, needed.field) == (Reason.START_NEEDED, "start")
    assert needed.metadata == {"relationship_id": slot.row_id("s1"), "end": day("15 May").isoformat()}
    assert refused(slot, KeepNew(kept_id=slot.row_id("s1"), start=day("15 May"))).reason is Reason.INVALID_FIELD
    slot.resolve(KeepNew(kept_id=slot.row_id("s1"), start=day("14 May")))
    assert slot.rows() == ["a 1 Jan..14 May superseded", "b 14 May..15 May active"]
    assert slot.store.row(slot.row_id("s1")).start_basis is TimeBasis.STATED_TIME


@pytest.mark.rule("R4.16a")
@pytest.mark.parametrize("kept", ["s0", "s1"])
def test_a_start_that_nobody_needs_is_refused(kept: str) -> None:
    slot = slot_of("a", "b 1 Mar")
    slot.retract("s1")
    slot.place("b 1 Mar..1 Apr")
    slot = slot_of("a", "b 1 Mar") if kept == "s1" else slot_of("a", "b")
    stated = KeepNew(kept_id=slot.row_id(kept), start=day("1 Feb"))
    assert refused(slot, stated).reason is Reason.INVALID_FIELD


@pytest.mark.rule("R4.16a")
def test_what_a_retraction_of_the_winner_gives_back() -> None:
    slot = slot_of("a 1 Jan", "b")
    slot.resolve(KeepNew(kept_id=slot.row_id("s1")))
    slot.retract("s1")
    assert slot.rows() == ["a 1 Jan.. active", "b .. retracted"]


@pytest.mark.rule("R4.16a")
def test_keep_both_parts_what_cannot_be_ordered_and_moves_nothing_else() -> None:
    slot = slot_of("old 1 Jan", "a 1 Mar", "later 1 Sep", "b 1 Mar")
    before = [row for row in slot.view.rows if row.status is not Status.NEEDS_REVIEW]
    keeping = slot.resolve(KeepBoth())
    assert slot.rows() == [
        "old 1 Jan..1 Mar superseded",
        "a 1 Mar..1 Sep superseded",
        "later 1 Sep.. active",
        "b 1 Mar.. active",
    ]
    assert [row.facet for row in slot.view.rows] == [0, 0, 0, 1]
    assert [row for row in slot.view.rows if row in before] == before
    assert slot.in_force("1 Apr") == ["a", "b"]
    slot.place("b2 1 Oct")
    assert slot.view.items != ()
    slot.retract("s4")
    slot.revert(keeping)
    assert slot.rows()[3] == "b 1 Mar.. needs_review"


@pytest.mark.rule("R4.16a")
def test_keeping_one_facets_value_ends_what_fits_into_several() -> None:
    slot = slot_of("a 1 Mar", "b 1 Mar")
    slot.resolve(KeepBoth())
    slot.place("c 1 May")
    assert slot.store.row(slot.row_id("s2")).status is Status.NEEDS_REVIEW
    slot.resolve(KeepNew(kept_id=slot.row_id("s0")))
    assert slot.rows() == ["a 1 Mar.. active", "b 1 Mar.. active", "c nothing at 1 May superseded"]


@pytest.mark.rule("R4.16a")
def test_a_start_that_a_decision_gave_is_known_to_the_next_one() -> None:
    slot = slot_of("a 1 Jan", "b")
    slot.resolve(KeepNew(kept_id=slot.row_id("s1"), start=day("1 May")))
    slot.place("c @2 Jun")
    again = slot.resolve(KeepNew(kept_id=slot.row_id("s1")))
    assert slot.rows() == ["a 1 Jan..1 May superseded", "b 1 May.. active", "c nothing superseded"]
    assert closed_at(again) == [day("1 May")]


def closed_at(changes: Changes) -> list[Instant]:
    return [decision.at for decision in changes.decisions if isinstance(decision, Closing)]


@pytest.mark.rule("R4.16a", "R4.16b")
def test_an_unbounded_start_stays_one() -> None:
    slot = slot_of("gold")
    slot.place("silver", corrects="s0")
    slot.place("iron @2 Jun")
    keeping = slot.resolve(KeepNew(kept_id=slot.row_id("s1")))
    assert slot.rows() == ["gold nothing superseded", "silver .. active", "iron nothing superseded"]
    (silver,) = [s for s in slot.view.statements if s.statement_id == "s1"]
    assert closed_at(keeping) == [silver.recorded_at]


@pytest.mark.rule("R4.16a", "R4.10")
def test_a_side_of_several_statements_begins_with_the_first() -> None:
    slot = slot_of("a", "a", "b", by=COMPETE)
    keeping = slot.resolve(KeepNew(kept_id=slot.row_id("s0")))
    first = min(statement.recorded_at for statement in slot.view.statements)
    assert closed_at(keeping) == [first]
    assert slot.store.row(slot.row_id("s1")).validity == Interval(start=first)


@pytest.mark.rule("R4.16a")
def test_what_had_ended_before_the_kept_side_began_is_not_ended_again() -> None:
    slot = slot_of("x 1 Jan..1 Apr", "y @1 Feb", by=COMPETE)
    assert closed_at(slot.resolve(KeepNew(kept_id=slot.row_id("s1")))) == []
    assert slot.rows() == ["x 1 Jan..1 Apr active", "y 1 Jun.. active"]


@pytest.mark.rule("R4.16a")
def test_a_loser_that_ended_when_it_was_recorded_leaves_all_the_same() -> None:
    slot = slot_of("b..1 Jun @1 Feb", "a 1 Jan", by=COMPETE)
    slot.resolve(KeepNew(kept_id=slot.row_id("s1")))
    assert slot.rows() == ["b nothing at 1 Jan superseded", "a 1 Jan.. active"]


@pytest.mark.rule("R4.13", "R4.16a")
def test_a_record_elsewhere_is_no_obstacle() -> None:
    many = predicate(cardinality=Cardinality.MANY, same_moment=SameMomentPolicy.COMPETE)
    slot = slot_of("a 1 Mar !crm", "-a 1 Apr", "b 1 Mar", "-b 1 Mar", by=many)
    (item,) = [item for item in slot.view.items if slot.row_id("s3") in item.incoming]
    slot.store.resolve(item.item_id, KeepNew(kept_id=slot.row_id("s3")))
    assert slot.rows()[2:] == ["b nothing at 1 Mar superseded", "-b 1 Mar.. active"]


@pytest.mark.rule("R4.18")
def test_what_is_the_same_as_itself_in_the_end_is_read_as_it_is() -> None:
    first, second, third = said("a 1 Mar", "b 1 Mar", "c 1 Mar")
    decision_id = DecisionId("d")

    def same(one: Statement, other: Statement) -> SameValue:
        return SameValue(decision_id=decision_id, statement_id=one.statement_id, same_as=other.statement_id)

    round_about = apply_same_values([first, second], [same(first, second), same(second, first)])
    assert round_about == (first, second)
    chained = apply_same_values([first, second, third], [same(first, second), same(second, third)])
    assert [statement.object for statement in chained] == [third.object] * 3
    assert apply_same_values([first], [same(first, second)]) == (first,)


@pytest.mark.rule("R4.16a")
def test_a_later_statement_finds_its_facet() -> None:
    slot = slot_of("a 1 Mar", "b 1 Mar")
    slot.resolve(KeepBoth())
    assert slot.place("b 1 Apr").outcomes[0].kind is OutcomeKind.CORROBORATED
    assert slot.place("early 1 Jan").outcomes[0].kind is OutcomeKind.INSERTED_HISTORICAL
    assert slot.store.row(slot.row_id("s3")).facet == 0
    slot.end("s0", "1 May")
    slot.place("c 1 Jul")
    assert slot.store.row(slot.row_id("s4")).facet == 1
    assert slot.rows()[1] == "b 1 Mar..1 Jul superseded"


@pytest.mark.rule("R4.16a")
@pytest.mark.parametrize(
    ("lines", "by", "facets", "starts"),
    [
        (["a 1 Mar", "b 1 Mar", "c 1 Mar"], COMPETE, [0, 1, 2], ["1 Mar"] * 3),
        (["a 1 Mar", "b 1 Mar", "c 1 Mar"], HOLD, [0, 1, 2], ["1 Mar"] * 3),
        (["a 1 Mar", "b", "b"], HOLD, [0, 1], ["1 Mar", "1 Jun"]),
        (["a", "b"], COMPETE, [0, 1], ["1 Jun", "1 Jun"]),
    ],
)
def test_keep_both_gives_each_value_a_facet_and_a_start(
    lines: list[str], by: Predicate, facets: list[int], starts: list[str]
) -> None:
    slot = slot_of(*lines, by=by)
    slot.resolve(KeepBoth())
    living = [row for row in slot.view.rows if row.status is Status.ACTIVE]
    assert [row.facet for row in living] == facets
    assert [described.split(" ", 1)[1] for described in slot.rows()][: len(facets)] == [
        f"{start}.. active" for start in starts
    ]
    assert slot.view.items == ()


@pytest.mark.rule("R4.16a", "R4.10")
def test_keep_both_with_stated_starts() -> None:
    slot = slot_of("a 1 Jan", "b..15 May @1 Feb")
    assert refused(slot, KeepBoth()).reason is Reason.START_NEEDED
    foreign = KeepBoth(starts=((RelationshipId("other"), day("1 Feb")),))
    assert refused(slot, foreign).reason is Reason.NOT_IN_CONFLICT
    in_force = KeepBoth(starts=((slot.row_id("s0"), day("1 Feb")),))
    assert refused(slot, in_force).reason is Reason.INVALID_FIELD
    slot.resolve(KeepBoth(starts=((slot.row_id("s1"), day("1 Feb")),)))
    assert slot.rows() == ["a 1 Jan.. active", "b 1 Feb..15 May active"]


@pytest.mark.rule("R4.16a")
def test_a_denial_can_stand_beside_what_it_denies() -> None:
    slot = slot_of("a 1 Mar", "-a 1 Mar", by=predicate(cardinality=Cardinality.MANY))
    slot.resolve(KeepBoth())
    assert slot.rows() == ["a 1 Mar.. active", "-a 1 Mar.. active"]


@pytest.mark.rule("R4.13", "R4.16a")
@pytest.mark.parametrize("by", [HOLD, COMPETE])
def test_nothing_that_an_owner_decides_overrules_a_record(by: Predicate) -> None:
    slot = slot_of("gold 1 Mar !crm", "silver 1 Mar", by=by)
    for action in (KeepNew(kept_id=slot.row_id("s1")), KeepBoth(), Same()):
        assert refused(slot, action).reason is Reason.SYSTEM_OF_RECORD
    slot.resolve(KeepExisting(kept_id=slot.row_id("s0")))
    assert slot.rows() == ["gold 1 Mar.. active", "silver 1 Mar.. rejected"]


@pytest.mark.rule("R4.13", "R4.16a")
def test_a_record_of_another_source_is_not_rejected_for_a_record() -> None:
    slot = slot_of("gold 1 Mar !crm", "silver 1 Mar !erp")
    assert refused(slot, KeepExisting(kept_id=slot.row_id("s0"))).reason is Reason.SYSTEM_OF_RECORD
    slot = slot_of("gold 1 Mar !crm", "silver 1 Mar !crm")
    both = slot.resolve(KeepBoth())
    assert slot.rows() == ["gold 1 Mar.. active", "silver 1 Mar.. active"]
    slot.revert(both)
    slot.resolve(KeepNew(kept_id=slot.row_id("s1")))
    assert slot.rows() == ["gold nothing at 1 Mar superseded", "silver 1 Mar.. active"]


@pytest.mark.rule("R4.13", "R4.16a")
@pytest.mark.parametrize("by", [HOLD, COMPETE])
def test_what_is_kept_does_not_come_to_stand_against_a_record(by: Predicate) -> None:
    """The item asks about two values; the start that one would get is the time of a record."""
    slot = slot_of("a 1 Mar..1 Apr", "gold 1 Apr !crm", "b @20 Mar", by=by)
    item = slot.item()
    assert slot.row_id("s1") not in item.opposing
    with pytest.raises(Refusal) as raised:
        slot.resolve(KeepNew(kept_id=slot.row_id("s2"), start=None))
    assert raised.value.reason is Reason.SYSTEM_OF_RECORD


@pytest.mark.rule("R4.16a", "R4.7")
def test_a_sentence_that_repeats_a_side_is_the_successor() -> None:
    slot = slot_of("a 1 Mar", "b 1 Mar")
    changes = slot.merge("a 1 Mar", slot.item().version)
    assert slot.rows() == ["a 1 Mar.. active", "b nothing at 1 Mar superseded"]
    assert slot.row_id("s2") == slot.row_id("s0")
    merged = [(r.source_id, r.target_id) for r in changes.references if r.kind is ReferenceKind.MERGED_INTO]
    assert merged == [(slot.row_id("s1"), slot.row_id("s0"))]
    slot.revert(changes)
    assert slot.rows() == ["a 1 Mar.. active", "b 1 Mar.. needs_review", "a 1 Mar.. retracted"]
    assert slot.view.items != ()


@pytest.mark.rule("R4.16a")
def test_a_sentence_without_a_start_begins_when_it_was_recorded() -> None:
    slot = slot_of("a 1 Mar", "b 1 Mar", by=COMPETE)
    slot.merge("both", slot.item().version)
    assert slot.rows() == ["a 1 Mar..1 Jun competing", "b 1 Mar..1 Jun competing", "both 1 Jun.. active"]
    assert slot.view.items == ()


@pytest.mark.rule("R4.16a")
def test_a_merge_lapses_with_the_sentence() -> None:
    slot = slot_of("a 1 Mar", "b 1 Mar")
    slot.merge("both 1 Apr", slot.item().version)
    slot.retract("s2")
    assert slot.rows() == ["a 1 Mar.. active", "b 1 Mar.. needs_review", "both 1 Apr.. retracted"]


@pytest.mark.rule("R4.16a")
def test_a_merge_needs_a_sentence_of_the_owner() -> None:
    slot = slot_of("a 1 Mar", "b 1 Mar")
    slot.place("c 1 Apr", owner=ProfileId("bob"))
    for statement_id in ("s2", "none"):
        assert refused(slot, Merge(statement_id=StatementId(statement_id))).reason is Reason.INVALID_FIELD


@pytest.mark.rule("R4.18")
@pytest.mark.parametrize("by", [HOLD, COMPETE])
def test_the_same_in_other_words_moves_the_supports(by: Predicate) -> None:
    slot = slot_of("big_apple 1 Mar", "new_york 1 Mar", by=by)
    before = slot.view
    same = slot.resolve(Same())
    assert slot.rows() == ["big_apple 1 Mar.. active", "new_york nothing at 1 Mar superseded"]
    assert slot.row_id("s1") == slot.row_id("s0")
    assert {support.relationship_id for support in slot.view.supports} == {slot.row_id("s0")}
    assert slot.store.row(slot.row_id("s0")).tier is Tier.FACT
    (merged,) = [r for r in same.references if r.kind is ReferenceKind.MERGED_INTO]
    assert merged.target_id == slot.row_id("s0")
    slot.place("new_york 1 Mar")
    assert slot.view.items != ()
    slot.retract("s2")
    slot.revert(same)
    restored = {row.relationship_id: row for row in slot.view.rows}
    for row in before.rows:
        now = restored[row.relationship_id]
        assert (now.status, now.validity) == (row.status, row.validity)


@pytest.mark.rule("R4.18")
def test_only_a_pair_can_be_the_same() -> None:
    slot = slot_of("a 1 Mar", "b 1 Mar", "c 1 Mar")
    assert refused(slot, Same()).reason is Reason.INVALID_FIELD


@pytest.mark.rule("R5.2", "R4.2")
def test_accepting_with_new_evidence_keeps_what_came_in_and_assigns_nothing() -> None:
    slot = slot_of("a 1 Mar", "b 1 Mar")
    incoming = next(s for s in slot.view.statements if s.statement_id == "s1")
    again = replace(support_of(incoming, fragment="again"), support_id=support_of(said("x", first=9)[0]).support_id)
    grant = SupportDecision(
        support_id=again.support_id, kind=SupportDecisionKind.GRANT, authority=Authority.PRIMARY, reason="accepted"
    )
    changes = slot.resolve(Accept(supports=(again,), grants=(grant,)))
    assert slot.rows() == ["a nothing at 1 Mar superseded", "b 1 Mar.. active"]
    assert changes.decision_records[0].kind is DecisionKind.ACCEPT
    assert slot.store.row(slot.row_id("s1")).tier is Tier.VALIDATED_CLAIM
    assert {s.fragment_id for s in slot.view.supports if s.relationship_id == slot.row_id("s1")} == {"text-s1", "again"}


@pytest.mark.rule("R5.2")
def test_rejecting_needs_no_side_to_stay() -> None:
    slot = slot_of("a 1 Mar", "b 1 Mar")
    changes = slot.resolve(Reject())
    assert slot.rows() == ["a 1 Mar.. active", "b 1 Mar.. rejected"]
    assert (changes.decision_records[0].kind, changes.decision_records[0].kept_id) == (DecisionKind.REJECT, None)


@pytest.mark.rule("R5.1")
def test_a_decision_is_recorded_with_all_that_it_was_taken_from() -> None:
    slot = slot_of("a 1 Mar", "b 1 Mar")
    item = slot.item()
    changes = slot.store.resolve(
        item.item_id,
        KeepNew(kept_id=slot.row_id("s1")),
        provenance=Provenance(reason="the migration is done", details=(("ticket", "7"),)),
    )
    (record,) = changes.decision_records
    assert record == DecisionRecord(
        decision_id=record.decision_id,
        kind=DecisionKind.KEEP_NEW,
        actor=profile(OWNER),
        item_id=item.item_id,
        item_version=1,
        target_ids=(slot.row_id("s0"), slot.row_id("s1")),
        kept_id=slot.row_id("s1"),
        reason="the migration is done",
        details=(("ticket", "7"),),
    )
    assert {transition.decision_id for transition in changes.transitions} == {record.decision_id}
    resolved = slot.store.item(item.item_id)
    assert (resolved.status, resolved.reason, resolved.decision_id) == (
        ItemStatus.RESOLVED,
        "keep_new",
        record.decision_id,
    )


@pytest.mark.rule("R5.1", "R4.6")
def test_who_may_answer_which_item() -> None:
    slot = slot_of("a 1 Mar", "b 1 Mar")
    item = slot.item()
    context = slot.context()
    may_answer_item(context, item, item.version)
    judge = Actor(kind=ActorKind.JUDGE, profile_id=OWNER)
    may_answer_item(replace(context, actor=judge), item, item.version)
    for actor in (profile(ProfileId("bob")), Actor(kind=ActorKind.JUDGE, profile_id=ProfileId("bob"))):
        with pytest.raises(Refusal) as raised:
            may_answer_item(replace(context, actor=actor), item, item.version)
        assert raised.value.reason is Reason.NOT_OWNER
    with pytest.raises(Refusal) as raised:
        may_answer_item(context, replace(item, kind=ItemKind.IDENTITY), item.version)
    assert raised.value.reason is Reason.INVALID_FIELD


@pytest.mark.rule("R4.16a")
def test_an_answer_that_decides_nothing_is_a_new_version_all_the_same() -> None:
    """Two values wait beside two others; nothing of the dispute changes, and yet nobody answers one version twice."""
    slot = slot_of("a 1 Mar", "b 1 Mar")
    item = slot.item()
    other = replace(item, item_id=ItemId("other"))
    answer = Answer(item=other, expected_version=1, resolution=KeepExisting(kept_id=slot.row_id("s0")))
    changes = plan_resolution(slot.view, slot.context(), answer)
    assert {one.item_id: (one.version, one.status) for one in changes.items} == {
        item.item_id: (2, ItemStatus.CLOSED),
        "other": (2, ItemStatus.PENDING),
    }


@pytest.mark.rule("R4.16a")
def test_previews_show_every_action_and_write_nothing() -> None:
    slot = slot_of("a 1 Jan", "b..15 May @1 Feb")
    before = slot.view
    previews = plan_previews(slot.view, slot.context(), slot.item())
    assert slot.view == before
    shown = {
        (preview.kind.value, preview.kept_id): preview.refused
        or [(one.status.value, other.status.value) for one, other in zip(preview.before, preview.after, strict=True)]
        for preview in previews
    }
    held, in_force = slot.row_id("s1"), slot.row_id("s0")
    assert shown == {
        ("keep_new", held): Reason.START_NEEDED,
        ("keep_new", in_force): [("needs_review", "superseded")],
        ("keep_existing", in_force): [("needs_review", "rejected")],
        ("keep_both", None): Reason.START_NEEDED,
        ("merge", None): [("active", "superseded"), ("needs_review", "superseded")],
    }


@pytest.mark.rule("R5.2")
def test_which_action_answers_what() -> None:
    assert set(ACTIONS) == set(ItemKind)
    taken = {action for actions in ACTIONS.values() for action in actions} | WITHOUT_ITEM
    assert {action.value for action in taken} == {
        "acknowledge",
        "select_entity",
        "confirm_new_entity",
        "select_predicate",
        "propose_predicate",
        "accept",
        "reject",
        "correct",
        "retry_verification",
        "release_quarantine",
    }
    may_take(DecisionKind.ACCEPT, ItemKind.RELATIONSHIP)
    may_take(DecisionKind.RETRY_VERIFICATION, None)
    for kind in (ItemKind.QUARANTINE, None):
        with pytest.raises(Refusal) as raised:
            may_take(DecisionKind.ACCEPT, kind)
        assert raised.value.metadata["allowed"] != ""


def test_a_record_of_a_decision_is_whole() -> None:
    whole = {"decision_id": "d", "kind": DecisionKind.END, "actor": profile(OWNER)}
    for wrong in ({"item_id": "i"}, {"reverts": "d"}, {"kind": DecisionKind.REVERT}):
        with pytest.raises(ValueError, match="decision"):
            DecisionRecord(**(whole | wrong))  # type: ignore[arg-type]
