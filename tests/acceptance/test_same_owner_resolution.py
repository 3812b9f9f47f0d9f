"""Cases of one owner's conflicts that need no I/O, by the numbers of the same-owner table.

S17 and S20 need search and providers; of S7, S8, S21 and S22 the planners' part is here, one after the other instead of
at once. S16 stands with the normal forms.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest
from corrigenda_core.domain.actors import Actor, ActorKind
from corrigenda_core.domain.changes import OutcomeKind
from corrigenda_core.domain.errors import Reason, Refusal
from corrigenda_core.domain.evidence import SupportDecisionKind
from corrigenda_core.domain.ids import DecisionId, FragmentId, RelationshipId, SupportId
from corrigenda_core.domain.items import ItemStatus, ReviewItem
from corrigenda_core.domain.judging import JudgeAnswer, JudgedSide, JudgeQuestion, Look, Verdict
from corrigenda_core.domain.predicates import Predicate, SameMomentPolicy
from corrigenda_core.domain.relationships import Closing, ReferenceKind, Relationship, Status
from corrigenda_core.domain.resolutions import DecisionKind, KeepBoth, KeepExisting, KeepNew
from corrigenda_core.policy.forgetting import plan_end
from corrigenda_core.policy.judging import NotAsked, decide_asking, decide_verdict, plan_judgement
from corrigenda_core.testing.owner_slot import OwnerSlot
from corrigenda_core.testing.slot_ledger import described, support_of
from corrigenda_core.testing.slots import OWNER, SLOT, day, predicate, said

COMPETE = predicate(same_moment=SameMomentPolicy.COMPETE)
JUDGE = Actor(kind=ActorKind.JUDGE, profile_id=OWNER)


def slot_of(*lines: str, by: Predicate | None = None) -> OwnerSlot:
    slot = OwnerSlot(by or predicate())
    for line in lines:
        slot.place(line)
    return slot


def refusal_of(what: object, *arguments: object, **named: object) -> Refusal:
    assert callable(what)
    with pytest.raises(Refusal) as refused:
        what(*arguments, **named)
    return refused.value


@pytest.mark.rule("R4.16a")
def test_s1_an_answered_item_is_not_answered_again() -> None:
    slot = slot_of("main 1 Mar", "release 1 Mar")
    item = slot.item()
    slot.resolve(KeepNew(kept_id=slot.row_id("s1")))
    before = slot.view
    refused = refusal_of(
        slot.store.resolve, item.item_id, KeepExisting(kept_id=slot.row_id("s0")), expected_version=item.version
    )
    assert refused.reason is Reason.ITEM_NOT_PENDING
    assert refused.metadata["status"] == ItemStatus.RESOLVED
    assert slot.view == before


@pytest.mark.rule("R4.16a")
@pytest.mark.parametrize("action", [KeepExisting, KeepNew])
def test_s2_only_a_side_of_the_item_can_be_kept(action: type[KeepExisting] | type[KeepNew]) -> None:
    slot = slot_of("main 1 Mar", "release 1 Mar", "trunk 1 Jan")
    refused = refusal_of(slot.resolve, action(kept_id=slot.row_id("s2")))
    assert (refused.reason, refused.field) == (Reason.NOT_IN_CONFLICT, "relationship_id")


@pytest.mark.rule("R4.16a")
def test_s2_the_incoming_is_not_an_existing_side() -> None:
    slot = slot_of("main 1 Mar", "release 1 Mar")
    refused = refusal_of(slot.resolve, KeepExisting(kept_id=slot.row_id("s1")))
    assert refused.reason is Reason.NOT_IN_CONFLICT


@pytest.mark.rule("R4.16a", "R4.14")
@pytest.mark.parametrize(
    ("by", "rows"),
    [
        pytest.param(COMPETE, ["c1 1 Mar.. competing", "c2 1 Mar.. competing", "i 1 Mar.. rejected"], id="compete"),
        pytest.param(predicate(), ["c1 1 Mar.. active", "c2 1 Mar.. needs_review", "i 1 Mar.. rejected"], id="hold"),
    ],
)
def test_s3_sides_that_still_exclude_each_other_stay_a_question(by: Predicate, rows: list[str]) -> None:
    slot = slot_of("c1 1 Mar", "c2 1 Mar", "i 1 Mar", by=by)
    slot.resolve(KeepExisting(kept_id=slot.row_id("s0")))
    assert slot.rows() == rows
    item = slot.item()
    assert {*item.incoming, *item.opposing} == {slot.row_id("s0"), slot.row_id("s1")}
    slot.resolve(KeepExisting(kept_id=slot.row_id("s0")))
    assert slot.rows() == ["c1 1 Mar.. active", "c2 1 Mar.. rejected", "i 1 Mar.. rejected"]
    assert slot.view.items == ()


@pytest.mark.rule("R4.17")
def test_s4_a_correction_of_the_winner_blocks_the_undo() -> None:
    slot = slot_of("main 1 Mar", "release 1 Mar")
    keeping = slot.resolve(KeepNew(kept_id=slot.row_id("s1")))
    correction = slot.place("beta 1 Mar", corrects="s1")
    refused = refusal_of(slot.revert, keeping)
    assert refused.reason is Reason.REVERT_BLOCKED
    named = {(t.relationship_id, t.transition_id) for t in correction.transitions}
    assert (refused.metadata["relationship_id"], refused.metadata["transition_id"]) in named
    assert refused.metadata["decision_id"] == correction.decision_records[0].decision_id
    assert slot.in_force("1 Jul") == ["beta"]


@pytest.mark.rule("R4.17")
def test_s5_only_references_of_the_decision_are_switched_off() -> None:
    slot = slot_of("old 1 Jan", "main 1 Mar", "release 1 Mar")
    earlier = [r for r in slot.view.references if r.kind is ReferenceKind.REPLACES]
    assert [r.target_id for r in earlier] == [slot.row_id("s0")]
    keeping = slot.resolve(KeepNew(kept_id=slot.row_id("s2")))
    written = [r for r in slot.view.references if r.decision_id is not None]
    assert (ReferenceKind.REPLACES, slot.row_id("s2"), slot.row_id("s1")) in [
        (r.kind, r.source_id, r.target_id) for r in written
    ]
    slot.revert(keeping)
    active = {r.reference_id: r.active for r in slot.view.references}
    assert all(active[r.reference_id] for r in earlier)
    assert not any(active[r.reference_id] for r in written)


@pytest.mark.rule("R4.16a")
def test_s6_a_sentence_that_says_what_a_third_says_joins_it() -> None:
    slot = slot_of("main 1 Mar", "release 1 Mar", "trunk 1 May")
    third = slot.row_id("s2")
    merging = slot.merge("trunk 1 Apr", slot.item().version)
    assert slot.row_id("s3") == third
    assert {d.relationship_id for d in merging.decisions if isinstance(d, Closing)} == {
        slot.row_id("s0"),
        slot.row_id("s1"),
    }
    assert slot.rows() == [
        "main 1 Mar..1 Apr superseded",
        "release nothing at 1 Mar superseded",
        "trunk 1 Apr.. active",
    ]
    merged = [(r.source_id, r.target_id) for r in slot.view.references if r.kind is ReferenceKind.MERGED_INTO]
    assert sorted(merged) == sorted([(slot.row_id("s0"), third), (slot.row_id("s1"), third)])


@pytest.mark.rule("R4.12")
def test_s7_the_same_text_again_is_one_relationship() -> None:
    slot = OwnerSlot(predicate())
    kinds = []
    for number in range(5):
        statement = said("main 1 Mar", first=number)[0]
        support = replace(support_of(statement, fragment="text"), support_id=SupportId(f"support-{number}"))
        kinds.append(slot.store.place(statement, [support]).outcomes[0].kind)
    assert kinds == [OutcomeKind.INSERTED, *[OutcomeKind.DUPLICATE] * 4]
    assert slot.rows() == ["main 1 Mar.. active"]
    assert len(slot.view.statements) == len(slot.view.supports) == 1


@pytest.mark.rule("R4.10")
def test_s8_two_that_contradict_are_one_question() -> None:
    slot = slot_of("main 1 Mar", "release 1 Mar")
    assert len(slot.view.items) == 1


@pytest.mark.rule("R4.16a", "R4.14")
def test_s9_after_keep_both_only_pairs_with_the_third_are_asked_about() -> None:
    slot = slot_of("main 1 Mar", "release 1 Mar")
    slot.resolve(KeepBoth())
    assert slot.rows() == ["main 1 Mar.. active", "release 1 Mar.. active"]
    assert [row.facet for row in slot.view.rows] == [0, 1]
    (distinct,) = [r for r in slot.view.references if r.kind is ReferenceKind.DISTINCT_FROM]
    assert {distinct.source_id, distinct.target_id} == {slot.row_id("s0"), slot.row_id("s1")}
    assert slot.place("beta 1 May").outcomes[0].kind is OutcomeKind.HELD
    item = slot.item()
    assert item.incoming == (slot.row_id("s2"),)
    assert set(item.opposing) == {slot.row_id("s0"), slot.row_id("s1")}
    slot.resolve(KeepExisting(kept_id=slot.row_id("s0")))
    assert slot.view.items == ()


@pytest.mark.rule("R4.12", "R4.17")
def test_s10_the_loser_said_again_is_a_new_question_and_bars_the_undo() -> None:
    slot = slot_of("main 1 Mar", "release 1 Mar")
    keeping = slot.resolve(KeepNew(kept_id=slot.row_id("s1")))
    slot.place("main 1 Mar")
    item = slot.item()
    assert item.opposing == (slot.row_id("s1"),)
    refused = refusal_of(slot.revert, keeping)
    assert (refused.reason, refused.metadata) == (
        Reason.REVERT_BLOCKED,
        {"blocker_type": "review_item", "blocker_id": item.item_id, "item_id": item.item_id},
    )
    slot.resolve(KeepExisting(kept_id=slot.row_id("s1")))
    slot.revert(keeping)
    assert slot.rows() == ["main 1 Mar.. active", "release 1 Mar.. needs_review", "main 1 Mar.. rejected"]


@pytest.mark.rule("R4.12", "R4.17")
def test_s10_the_loser_said_of_a_later_time_is_a_new_episode() -> None:
    slot = slot_of("main 1 Mar", "release 1 Mar")
    keeping = slot.resolve(KeepNew(kept_id=slot.row_id("s1")))
    assert slot.place("main 1 May").outcomes[0].kind is OutcomeKind.SUPERSEDED
    refused = refusal_of(slot.revert, keeping)
    assert refused.metadata["relationship_id"] == slot.row_id("s1")


@pytest.mark.rule("R4.10", "R4.14")
def test_s11_equal_to_one_side_it_corroborates_and_the_pair_stays_pending() -> None:
    slot = slot_of("c1 1 Mar", "c2 1 Mar", by=COMPETE)
    assert slot.place("c1 1 Mar").outcomes[0].kind is OutcomeKind.CORROBORATED
    item = slot.item()
    assert {*item.incoming, *item.opposing} == {slot.row_id("s0"), slot.row_id("s1")}
    assert slot.rows() == ["c1 1 Mar.. competing", "c2 1 Mar.. competing"]


@pytest.mark.rule("R4.16a", "R4.16b")
def test_s12_a_correction_while_the_item_is_pending_is_a_new_version() -> None:
    slot = slot_of("c1 1 Mar", "i 1 Mar")
    seen = slot.item()
    slot.place("c2 1 Mar", corrects="s0")
    refused = refusal_of(slot.resolve, KeepNew(kept_id=slot.row_id("s1")), expected_version=seen.version)
    assert refused.reason is Reason.STALE_VERSION
    assert slot.item().item_id == seen.item_id
    assert slot.item().opposing == (slot.row_id("s2"),)


@pytest.mark.rule("R4.16a", "R4.14")
@pytest.mark.parametrize("first", ["s1", "s2"])
def test_s13_keeping_one_of_two_held_values_asks_about_the_other_anew(first: str) -> None:
    slot = slot_of("c1 1 Mar", "v1 1 Mar", "v2 1 Mar")
    second = "s1" if first == "s2" else "s2"
    seen = slot.item()
    slot.resolve(KeepNew(kept_id=slot.row_id(first)))
    refused = refusal_of(slot.resolve, KeepNew(kept_id=slot.row_id(second)), expected_version=seen.version)
    assert refused.reason is Reason.STALE_VERSION
    assert slot.item().opposing == (slot.row_id(first),)
    assert [row.status for row in slot.view.rows].count(Status.ACTIVE) == 1
    slot.resolve(KeepNew(kept_id=slot.row_id(second)))
    assert slot.store.row(slot.row_id(second)).status is Status.ACTIVE
    assert slot.view.items == ()


@pytest.mark.rule("R4.17")
def test_s14_forgetting_the_winner_bars_the_undo() -> None:
    slot = slot_of("main 1 Mar", "release 1 Mar")
    keeping = slot.resolve(KeepNew(kept_id=slot.row_id("s1")))
    slot.retract("s1")
    assert slot.rows() == ["main 1 Mar.. active", "release 1 Mar.. retracted"]
    assert refusal_of(slot.revert, keeping).reason is Reason.REVERT_BLOCKED


def question(slot: OwnerSlot, item: ReviewItem) -> JudgeQuestion:
    def side(row: Relationship) -> JudgedSide:
        statements = [s for s in slot.view.statements if s.relationship_id == row.relationship_id]
        return JudgedSide(
            relationship_id=row.relationship_id,
            value=row.object.key,
            polarity=row.polarity,
            start=statements[0].start,
            end=statements[0].end,
            stated_start=None,
            witness_at=statements[0].witness_at,
            recorded_at=statements[0].recorded_at,
            excerpts=(f"we moved to {row.object.key} for good",),
        )

    rows = {row.relationship_id: row for row in slot.view.rows}
    return JudgeQuestion(
        item_id=item.item_id,
        item_version=item.version,
        incoming=side(rows[item.incoming[0]]),
        opposing=side(rows[item.opposing[0]]),
    )


@pytest.mark.rule("R4.18")
def test_s15_a_side_that_does_not_exist_is_no_answer() -> None:
    slot = slot_of("main", "release")
    item = slot.item()
    answer = JudgeAnswer(verdict="keep_new", judge="j", model="m", kept_id="somebody else", reason="because")
    judgement = decide_verdict(question(slot, item), answer)
    assert (judgement.verdict, judgement.resolution) == (Verdict.UNSURE, None)
    before = slot.view
    changes = slot.commit(plan_judgement(before, slot.store.context(JUDGE), item, judgement, minimum_age=timedelta()))
    (record,) = changes.decision_records
    assert (record.kind, record.actor, record.item_version) == (DecisionKind.UNSURE, JUDGE, item.version)
    assert ("problem", "the answer names a side that does not exist") in record.details
    assert ("verdict", "keep_new") in record.details
    assert slot.view == before


@pytest.mark.rule("R4.16a")
def test_s18_a_merge_ends_its_inputs_and_reports_what_the_sentence_does_not_carry() -> None:
    slot = slot_of("main 1 Mar..1 Sep", "release 1 Mar")
    item = slot.item()
    changes = slot.merge("trunk 1 Apr..1 Sep", item.version)
    assert slot.rows() == [
        "main 1 Mar..1 Apr superseded",
        "release nothing at 1 Mar superseded",
        "trunk 1 Apr..1 Sep active",
    ]
    (record,) = changes.decision_records
    assert (record.kind, record.kept_id, record.details) == (DecisionKind.MERGE, slot.row_id("s2"), ())
    slot.revert(changes)
    assert slot.rows() == ["main 1 Mar..1 Sep active", "release 1 Mar.. needs_review", "trunk 1 Apr..1 Sep retracted"]
    again = slot.merge("stem 1 Apr", slot.item().version)
    (record,) = again.decision_records
    assert record.details == (("lost_end", f"{slot.row_id('s0')} {day('1 Sep').isoformat()}"),)


@pytest.mark.rule("R4.16a")
def test_s18_a_sentence_about_something_else_is_refused_and_not_stored() -> None:
    slot = slot_of("main 1 Mar", "release 1 Mar")
    before = slot.view
    elsewhere = replace(SLOT, scope="eu")
    refused = refusal_of(slot.merge, "trunk 1 Apr", slot.item().version, scope=elsewhere)
    assert refused.reason is Reason.INVALID_FIELD
    assert slot.view == before
    assert slot.store.view(elsewhere).rows == ()


@pytest.mark.rule("R4.18")
def test_s19_an_unsure_judge_is_asked_again_only_after_a_change_or_a_quiet_period() -> None:
    slot = slot_of("main", "release")
    item = slot.item()
    judgement = decide_verdict(question(slot, item), JudgeAnswer(verdict="unsure", judge="j"))
    changes = slot.commit(
        plan_judgement(slot.view, slot.store.context(JUDGE), item, judgement, minimum_age=timedelta())
    )
    looked_at = slot.store.now
    looks = [Look(record=changes.decision_records[0], at=looked_at)]
    ages = {"minimum_age": timedelta(), "quiet_period": timedelta(days=7)}

    def asked(after: timedelta) -> NotAsked | None:
        return decide_asking(slot.view, slot.item(), looks, looked_at + after, **ages)

    assert asked(timedelta(days=6)) is NotAsked.ASKED_BEFORE
    assert asked(timedelta(days=7)) is None
    slot.place("trunk", corrects="s0")
    assert slot.item().version > item.version
    assert asked(timedelta(days=1)) is None


@pytest.mark.rule("R4.16a", "R4.3")
def test_s21_a_decision_about_evidence_that_is_gone_by_then_is_stale() -> None:
    slot = slot_of("main 1 Mar", "release 1 Mar", "beta 1 Mar")
    seen = slot.item()
    slot.store.switch(SLOT, FragmentId("text-s1"), SupportDecisionKind.REVOKE)
    refused = refusal_of(slot.resolve, KeepNew(kept_id=slot.row_id("s1")), expected_version=seen.version)
    assert refused.reason is Reason.STALE_VERSION
    assert slot.row_id("s1") not in {*slot.item().incoming, *slot.item().opposing}
    slot.store.switch(SLOT, FragmentId("text-s2"), SupportDecisionKind.REVOKE)
    refused = refusal_of(slot.store.resolve, seen.item_id, KeepBoth(), expected_version=seen.version)
    assert refused.reason is Reason.ITEM_NOT_PENDING


@pytest.mark.rule("R4.15")
def test_s22_an_unknown_relationship_is_not_found() -> None:
    slot = slot_of("main 1 Mar")
    refused = refusal_of(plan_end, slot.view, slot.context(), RelationshipId("nothing like an id"))
    assert refused.reason is Reason.RESOURCE_NOT_FOUND


@pytest.mark.rule("R4.17")
def test_s23_each_decision_and_each_undo_is_its_own_record() -> None:
    slot = slot_of("main 1 Mar", "release 1 Mar")
    before = described(slot.view.rows)
    done: list[tuple[DecisionKind, DecisionId | None]] = []
    for kept in ("s1", "s0"):
        taken = slot.resolve(KeepNew(kept_id=slot.row_id(kept)))
        slot.revert(taken)
    for revision in slot.store.revisions:
        done += [(record.kind, record.reverts) for record in revision.changes.decision_records]
    kinds = [kind for kind, _ in done]
    assert kinds == [DecisionKind.KEEP_NEW, DecisionKind.REVERT] * 2
    reverted = [reverts for _, reverts in done if reverts is not None]
    assert len(set(reverted)) == 2
    assert described(slot.view.rows) == before
    assert slot.item().version == 5
