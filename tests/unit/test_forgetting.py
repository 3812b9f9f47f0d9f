"""Forgetting and its undo: what ends, what never was true, what comes back, and what stands in the way."""

from __future__ import annotations

from dataclasses import replace

import pytest
from corrigenda_core.domain.changes import OutcomeKind
from corrigenda_core.domain.decisions import Reopening
from corrigenda_core.domain.errors import Reason, Refusal
from corrigenda_core.domain.evidence import SupportDecisionKind
from corrigenda_core.domain.ids import FragmentId, ProfileId, RelationshipId, SupportId
from corrigenda_core.domain.items import ItemKind, ItemStatus
from corrigenda_core.domain.predicates import Predicate, SameMomentPolicy
from corrigenda_core.domain.relationships import Closing, ReferenceKind, Status, Tier
from corrigenda_core.domain.resolutions import DecisionKind, KeepNew
from corrigenda_core.domain.time import TimeBasis
from corrigenda_core.policy.forgetting import decide_revived, plan_end, plan_fragment_retraction, plan_retract
from corrigenda_core.policy.revert import may_revert
from corrigenda_core.testing.memory_store import profile
from corrigenda_core.testing.owner_slot import OwnerSlot
from corrigenda_core.testing.slot_ledger import support_of
from corrigenda_core.testing.slots import OWNER, SLOT, day, predicate, said

HOLD = predicate()
COMPETE = predicate(same_moment=SameMomentPolicy.COMPETE)
BOB = ProfileId("bob")


def slot_of(*lines: str, by: Predicate = HOLD) -> OwnerSlot:
    slot = OwnerSlot(by)
    for line in lines:
        slot.place(line)
    return slot


@pytest.mark.rule("R4.15")
@pytest.mark.parametrize(
    ("lines", "at", "rows"),
    [
        (["x 1 Jan"], "1 Mar", ["x 1 Jan..1 Mar superseded"]),
        (["x 1 Jan"], None, ["x 1 Jan..1 Jun superseded"]),
        (["x"], "1 Mar", ["x ..1 Mar superseded"]),
        (["x 1 Jan..1 Sep"], "1 Mar", ["x 1 Jan..1 Mar superseded"]),
        (["x 1 Jan", "y 1 Mar"], "1 Feb", ["x 1 Jan..1 Feb superseded", "y 1 Mar.. active"]),
        (["x 1 Jan"], "1 Dec", ["x 1 Jan..1 Dec superseded"]),
        (["x 1 Jan !crm"], "1 Mar", ["x 1 Jan..1 Mar superseded"]),
    ],
)
def test_what_is_no_longer_true_ends(lines: list[str], at: str | None, rows: list[str]) -> None:
    slot = slot_of(*lines)
    before = slot.rows()
    ended = slot.end("s0", at)
    assert slot.rows() == rows
    (record,) = ended.decision_records
    assert (record.kind, record.target_ids) == (DecisionKind.END, (slot.row_id("s0"),))
    (transition,) = [t for t in ended.transitions if t.closing is not None]
    assert transition.closing is not None
    assert not transition.closing.conditional
    basis = TimeBasis.RECORDED_FALLBACK if at is None else TimeBasis.STATED_TIME
    assert (transition.time_basis, transition.closing.decision_id) == (basis, record.decision_id)
    slot.revert(ended)
    assert slot.rows() == before


@pytest.mark.rule("R4.15")
@pytest.mark.parametrize(
    ("lines", "name", "at", "field"),
    [
        (["x 1 Jan"], "s0", "1 Jan", "at"),
        (["x 1 Mar"], "s0", "1 Feb", "at"),
        (["x 1 Jan", "y 1 Mar"], "s0", "1 Mar", "at"),
        (["x 1 Jan", "y 1 Jan"], "s1", "1 Mar", "relationship_id"),
    ],
)
def test_an_end_lies_inside_what_holds(lines: list[str], name: str, at: str, field: str) -> None:
    slot = slot_of(*lines)
    with pytest.raises(Refusal) as refused:
        slot.end(name, at)
    assert (refused.value.reason, refused.value.field) == (Reason.INVALID_FIELD, field)


@pytest.mark.rule("R4.6", "R4.15")
def test_a_relationship_is_forgotten_by_its_owner_as_they_saw_it() -> None:
    slot = slot_of("x 1 Jan")
    row = slot.store.row(slot.row_id("s0"))
    context = slot.context()
    for plan in (plan_end, plan_retract):
        with pytest.raises(Refusal) as refused:
            plan(slot.view, context, RelationshipId("none"))
        assert refused.value.reason is Reason.RESOURCE_NOT_FOUND
        with pytest.raises(Refusal) as refused:
            plan(slot.view, replace(context, actor=profile(BOB)), row.relationship_id)
        assert refused.value.reason is Reason.NOT_OWNER
        with pytest.raises(Refusal) as refused:
            plan(slot.view, context, row.relationship_id, expected_version=2)
        assert refused.value.reason is Reason.STALE_VERSION
        assert refused.value.metadata["current_version"] == "1"
    with pytest.raises(Refusal) as refused:
        plan_fragment_retraction(slot.view, replace(context, actor=profile(BOB)), OWNER, FragmentId("text-s0"))
    assert refused.value.reason is Reason.NOT_OWNER


@pytest.mark.rule("R4.15")
@pytest.mark.parametrize(
    ("lines", "revive", "rows", "back"),
    [
        pytest.param(["a 1 Jan", "b 1 Mar"], True, ["a 1 Jan.. active", "b 1 Mar.. retracted"], ["s0"], id="revives"),
        pytest.param(["a 1 Jan", "b 1 Mar"], False, ["a 1 Jan..1 Mar superseded", "b 1 Mar.. retracted"], [],
                     id="stays ended"),
        pytest.param(["a 1 Jan..1 Feb", "b 1 Mar"], False, ["a 1 Jan..1 Feb active", "b 1 Mar.. retracted"], [],
                     id="ended by itself"),
        pytest.param(["a 1 Jan", "b 1 Mar", "a 1 Apr"], True,
                     ["a 1 Jan.. active", "b 1 Mar.. retracted", "a nothing at 1 Apr superseded"], ["s0"],
                     id="becomes one again"),
        pytest.param(["a 1 Jan", "b 1 Mar", "a 1 Apr"], False,
                     ["a 1 Jan..1 Mar superseded", "b 1 Mar.. retracted", "a 1 Apr.. active"], [],
                     id="a gap where it was"),
        pytest.param(["a 1 Jan", "b"], False, ["a 1 Jan.. active", "b .. retracted"], [], id="was held"),
        pytest.param(["b", "a 1 Sep"], False, ["b .. retracted", "a 1 Sep.. active"], [], id="an unknown start"),
    ],
)  # fmt: skip
def test_what_never_was_true_leaves(lines: list[str], revive: bool, rows: list[str], back: list[str]) -> None:
    slot = slot_of(*lines)
    before = slot.rows()
    name = next(s.statement_id for s in slot.view.statements if s.object.key.endswith("b"))
    retracted = slot.retract(name, revive=revive)
    assert slot.rows() == rows
    assert set(decide_revived(retracted.transitions)) == {slot.row_id(one) for one in back}
    slot.revert(retracted)
    assert slot.rows() == before


@pytest.mark.rule("R4.15")
def test_what_only_counts_differently_has_not_come_back() -> None:
    slot = slot_of("a 1 Jan", "a 1 Feb")
    changed = slot.store.retract_fragment(SLOT, OWNER, FragmentId("text-s1"))
    assert [transition.relationship_id for transition in changed.transitions] == [slot.row_id("s0")]
    assert decide_revived(changed.transitions) == ()
    earlier = slot.retract("s0")
    assert decide_revived(slot.revert(earlier).transitions) == ()


@pytest.mark.rule("R4.15")
def test_without_revival_one_closing_may_need_another() -> None:
    """What comes back would have ended an older run of its own value; that run must not come back either."""
    slot = slot_of("a 1 Jan", "b 1 Mar", "c 1 Mar")
    slot.resolve(KeepNew(kept_id=slot.row_id("s2")))
    assert slot.rows()[0] == "a 1 Jan..1 Mar superseded"
    slot.retract("s2", revive=False)
    assert slot.rows() == ["a 1 Jan..1 Mar superseded", "b nothing at 1 Mar superseded", "c 1 Mar.. retracted"]


@pytest.mark.rule("R4.15")
def test_its_closings_leave_with_a_relationship_and_stay_with_a_text() -> None:
    for forget in ("relationship", "text"):
        slot = slot_of("x 1 Jan")
        slot.end("s0", "1 Mar")
        if forget == "relationship":
            slot.retract("s0")
        else:
            slot.store.retract_fragment(SLOT, OWNER, FragmentId("text-s0"))
        slot.place("x 1 Feb")
        assert slot.rows()[1] == ("x 1 Feb.. active" if forget == "relationship" else "x 1 Feb..1 Mar superseded")
    (reopening,) = [d for d in slot_with_reopening().view.decisions if isinstance(d, Reopening)]
    assert reopening.closing_decision_id != reopening.decision_id


def slot_with_reopening() -> OwnerSlot:
    slot = slot_of("x 1 Jan")
    slot.end("s0", "1 Mar")
    retracted = slot.retract("s0")
    slot.revert(retracted)
    assert slot.rows() == ["x 1 Jan..1 Mar superseded"]
    slot.retract("s0")
    return slot


@pytest.mark.rule("R4.15")
def test_nothing_is_retracted_twice_and_what_was_rejected_stays_so() -> None:
    slot = slot_of("x 1 Jan")
    slot.retract("s0")
    with pytest.raises(Refusal) as refused:
        slot.retract("s0")
    assert (refused.value.reason, refused.value.field) == (Reason.INVALID_FIELD, "relationship_id")
    with pytest.raises(Refusal) as refused:
        slot.store.retract_fragment(SLOT, OWNER, FragmentId("text-s0"))
    assert refused.value.field == "fragment_id"
    with pytest.raises(Refusal):
        slot.end("s0", "1 Mar")


@pytest.mark.rule("R4.15", "R4.3", "R4.17")
def test_one_of_two_texts_of_a_statement_is_taken_back() -> None:
    slot = OwnerSlot(HOLD)
    statement = said("x 1 Jan")[0]
    first = support_of(statement)
    second = replace(support_of(statement, fragment="other", group="other"), support_id=SupportId("other"))
    slot.store.place(statement, [first, second])
    assert slot.store.row(slot.row_id("s0")).tier is Tier.FACT
    slot.place("x 1 Feb")
    slot.store.switch(SLOT, FragmentId("text-s1"), SupportDecisionKind.REVOKE)
    changes = slot.store.retract_fragment(SLOT, OWNER, FragmentId("other"))
    row = slot.store.row(slot.row_id("s0"))
    assert (row.status, row.tier) == (Status.ACTIVE, Tier.VALIDATED_CLAIM)
    assert [decision.kind for decision in changes.support_decisions] == [SupportDecisionKind.REVOKE]
    undone = slot.store.revert(changes.decision_records[0].decision_id)
    assert [(d.kind, d.support_id) for d in undone.support_decisions] == [(SupportDecisionKind.REINSTATE, "other")]
    assert slot.store.row(slot.row_id("s0")).tier is Tier.FACT


@pytest.mark.rule("R4.3", "R4.15")
def test_losing_support_leaves_closings_in_place() -> None:
    slot = slot_of("x 1 Jan", "y 1 Mar")
    slot.end("s1", "1 Sep")
    slot.store.switch(SLOT, FragmentId("text-s1"), SupportDecisionKind.REVOKE)
    assert slot.rows() == ["x 1 Jan.. active", "y 1 Mar.. pending_evidence"]
    slot.store.switch(SLOT, FragmentId("text-s1"), SupportDecisionKind.REINSTATE)
    assert slot.rows() == ["x 1 Jan..1 Mar superseded", "y 1 Mar..1 Sep superseded"]


@pytest.mark.rule("R4.15", "R7.16")
def test_a_withdrawn_winner_asks_the_losers_and_revives_nobody() -> None:
    slot = resolved_against_ann()
    (case,) = slot.view.resolved_cases
    lost = slot.row_id("s0")
    assert slot.store.row(lost).status is Status.SUPERSEDED
    slot.retract("s1")
    assert [item for item in slot.view.items if item.kind is ItemKind.WINNER_WITHDRAWN] == []
    withdrawn = slot.retract("s2")
    (item,) = [item for item in slot.view.items if item.kind is ItemKind.WINNER_WITHDRAWN]
    assert item.version == 1
    assert (item.owner_id, item.incoming, item.reason) == (OWNER, (lost,), "winner_withdrawn")
    assert set(item.opposing) == {slot.row_id("s1"), slot.row_id("s2")}
    assert item.details == (("conflict_id", case.conflict_id),)
    assert slot.store.row(lost).status is Status.SUPERSEDED
    slot.revert(withdrawn)
    closed = slot.store.item(item.item_id)
    assert (closed.status, closed.reason) == (ItemStatus.CLOSED, "winner_restored")


def resolved_against_ann() -> OwnerSlot:
    slot = slot_of("main 1 Jan")
    slot.place("release 1 Mar", owner=BOB)
    slot.place("release 1 Mar", owner=ProfileId("eve"))
    (case,) = slot.view.cases
    slot.review(case.conflict_id, day("9 Jun"))
    return slot


@pytest.mark.rule("R4.15", "R7.16")
def test_the_closing_of_a_case_stays_for_good() -> None:
    slot = resolved_against_ann()
    slot.retract("s0")
    (closing,) = [d for d in slot.view.decisions if isinstance(d, Closing)]
    assert closing.conflict_id is not None
    assert [d for d in slot.view.decisions if isinstance(d, Reopening)] == []


@pytest.mark.rule("R4.16b", "R4.17")
def test_a_correction_is_taken_back_with_its_statement_and_reference() -> None:
    slot = slot_of("gold 1 Mar", "iron 1 May")
    before = slot.rows()
    corrected = slot.place("silver 1 Apr", corrects="s0")
    assert corrected.decision_records[0].kind is DecisionKind.CORRECT
    (reference,) = [r for r in corrected.references if r.kind is ReferenceKind.CORRECTS]
    assert reference.decision_id == corrected.decision_records[0].decision_id
    slot.revert(corrected)
    assert slot.rows() == [*before, "silver 1 Apr.. retracted"]
    assert [r.active for r in slot.view.references if r.reference_id == reference.reference_id] == [False]


@pytest.mark.rule("R4.16b")
def test_a_correction_goes_before_what_waits() -> None:
    slot = slot_of("gold 1 Mar", "iron 1 Mar")
    slot.place("silver 1 Mar", corrects="s0")
    assert slot.rows() == ["gold nothing at 1 Mar superseded", "iron 1 Mar.. needs_review", "silver 1 Mar.. active"]


@pytest.mark.rule("R4.17")
def test_only_what_shapes_the_timeline_is_taken_back_and_only_once() -> None:
    slot = slot_of("main 1 Mar", "release 1 Mar")
    keeping = slot.resolve(KeepNew(kept_id=slot.row_id("s1")))
    undone = slot.revert(keeping)
    with pytest.raises(Refusal) as refused:
        slot.revert(keeping)
    assert refused.value.reason is Reason.REVERT_BLOCKED
    decision_id = undone.decision_records[0].decision_id
    assert refused.value.metadata == {
        "blocker_type": "decision",
        "blocker_id": decision_id,
        "reverted_by": decision_id,
    }
    with pytest.raises(Refusal) as refused:
        slot.revert(undone)
    assert (refused.value.reason, refused.value.field) == (Reason.INVALID_FIELD, "decision_id")
    with pytest.raises(Refusal) as refused:
        slot.store.revert(keeping.decision_records[0].decision_id, actor=profile(BOB))
    assert refused.value.reason is Reason.NOT_OWNER


@pytest.mark.rule("R4.17")
def test_what_was_changed_and_changed_back_does_not_block_nor_do_supports() -> None:
    slot = slot_of("main 1 Mar", "release 1 Mar")
    keeping = slot.resolve(KeepNew(kept_id=slot.row_id("s1")))
    ended = slot.end("s1", "1 Sep")
    with pytest.raises(Refusal) as refused:
        slot.revert(keeping)
    assert refused.value.metadata["decision_id"] == ended.decision_records[0].decision_id
    slot.revert(ended)
    assert slot.place("release 1 Apr").outcomes[0].kind is OutcomeKind.CORROBORATED
    slot.revert(keeping)
    assert slot.rows()[0] == "main 1 Mar..1 Apr superseded"


@pytest.mark.rule("R4.17")
def test_a_blocker_is_named_also_where_its_transition_is_not_known() -> None:
    slot = slot_of("main 1 Mar", "release 1 Mar")
    keeping = slot.resolve(KeepNew(kept_id=slot.row_id("s1")))
    _, past = slot.store.past_decision(keeping.decision_records[0].decision_id)
    may_revert(slot.view, past)
    slot.place("trunk 1 Jul")
    with pytest.raises(Refusal) as refused:
        may_revert(slot.view, past)
    assert refused.value.metadata == {
        "blocker_type": "relationship",
        "blocker_id": slot.row_id("s1"),
        "relationship_id": slot.row_id("s1"),
    }
    _, known = slot.store.past_decision(keeping.decision_records[0].decision_id)
    with pytest.raises(Refusal) as refused:
        may_revert(slot.view, known)
    assert refused.value.metadata["reason"] == "placement"
    assert "decision_id" not in refused.value.metadata
    elsewhere = replace(slot.view, rows=())
    may_revert(elsewhere, past)


@pytest.mark.rule("R4.17")
def test_a_question_that_stood_before_does_not_block() -> None:
    slot = slot_of("c1 1 Mar", "v1 1 Mar", "v2 1 Mar")
    keeping = slot.resolve(KeepNew(kept_id=slot.row_id("s1")))
    assert slot.item().version == 3
    slot.revert(keeping)
    assert slot.rows() == ["c1 1 Mar.. active", "v1 1 Mar.. needs_review", "v2 1 Mar.. needs_review"]
    keeping = slot.resolve(KeepNew(kept_id=slot.row_id("s1")))
    slot.place("v3 1 Mar")
    with pytest.raises(Refusal) as refused:
        slot.revert(keeping)
    item_id = slot.item().item_id
    assert refused.value.metadata == {"blocker_type": "review_item", "blocker_id": item_id, "item_id": item_id}


@pytest.mark.rule("R4.17")
def test_an_undo_after_a_side_has_gone_closes_the_question() -> None:
    slot = slot_of("a 1 Mar", "b 1 Mar", by=COMPETE)
    keeping = slot.resolve(KeepNew(kept_id=slot.row_id("s1")))
    slot.store.switch(SLOT, FragmentId("text-s0"), SupportDecisionKind.REVOKE)
    row = slot.store.row(slot.row_id("s0"))
    assert row.status is Status.PENDING_EVIDENCE
    with pytest.raises(Refusal):
        slot.revert(keeping)
