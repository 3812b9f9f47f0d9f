"""The judge: which pairs it sees, what its answers are worth, and which of them act."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest
from corrigenda_core.domain.actors import Actor, ActorKind
from corrigenda_core.domain.errors import Reason, Refusal
from corrigenda_core.domain.ids import ItemId
from corrigenda_core.domain.items import ItemKind, ItemStatus
from corrigenda_core.domain.judging import JudgeAnswer, JudgedSide, JudgeQuestion, Look, Verdict
from corrigenda_core.domain.objects import Polarity
from corrigenda_core.domain.relationships import Status
from corrigenda_core.domain.resolutions import DecisionKind, KeepBoth, KeepExisting, KeepNew, Resolution, Same
from corrigenda_core.domain.time import KnownBound
from corrigenda_core.policy.judging import NotAsked, decide_asking, decide_verdict, plan_judgement
from corrigenda_core.testing.owner_slot import OwnerSlot
from corrigenda_core.testing.slots import OWNER, day, exactly, month, predicate

JUDGE = Actor(kind=ActorKind.JUDGE, profile_id=OWNER)
NOTHING, HOUR, WEEK = timedelta(), timedelta(hours=1), timedelta(days=7)


def slot_of(*lines: str) -> OwnerSlot:
    slot = OwnerSlot(predicate())
    for line in lines:
        slot.place(line)
    return slot


def side(name: str, start: KnownBound | None) -> JudgedSide:
    return JudgedSide(
        relationship_id=slot_of("a", "b").row_id(name),
        value=name,
        polarity=Polarity.POSITIVE,
        start=start,
        end=None,
        stated_start=None,
        witness_at=day("1 Jun"),
        recorded_at=day("1 Jun"),
        excerpts=(f"From now on we use {name}.",),
    )


def question(incoming: KnownBound | None = None, opposing: KnownBound | None = None) -> JudgeQuestion:
    return JudgeQuestion(
        item_id=ItemId("i"), item_version=1, incoming=side("s1", incoming), opposing=side("s0", opposing)
    )


OLD, NEW = question().opposing.relationship_id, question().incoming.relationship_id


def answer(verdict: str, kept: str | None = None, excerpt: str | None = None) -> JudgeAnswer:
    return JudgeAnswer(verdict=verdict, judge="judge", model="m1", reason="so it reads", kept_id=kept, excerpt=excerpt)


@pytest.mark.rule("R4.18")
@pytest.mark.parametrize(
    ("given", "verdict", "resolution"),
    [
        pytest.param(answer("same"), Verdict.SAME, Same(), id="same"),
        pytest.param(answer("keep_both"), Verdict.KEEP_BOTH, KeepBoth(), id="both"),
        pytest.param(answer("keep_new", NEW), Verdict.KEEP_NEW, KeepNew(kept_id=NEW), id="new"),
        pytest.param(answer("keep_new", OLD), Verdict.KEEP_NEW, KeepNew(kept_id=OLD), id="any side may be kept"),
        pytest.param(answer("keep_existing", OLD), Verdict.KEEP_EXISTING, KeepExisting(kept_id=OLD), id="existing"),
        pytest.param(answer("contradicts"), Verdict.CONTRADICTS, None, id="contradicts"),
        pytest.param(answer("unsure"), Verdict.UNSURE, None, id="unsure"),
        pytest.param(answer("keep_new"), Verdict.UNSURE, None, id="names nothing"),
        pytest.param(answer("keep_existing", NEW), Verdict.UNSURE, None, id="keeps the wrong side"),
        pytest.param(answer("keep_existing"), Verdict.UNSURE, None, id="keeps nothing"),
        pytest.param(answer("same", "third"), Verdict.UNSURE, None, id="names a side that does not exist"),
        pytest.param(answer("unsure", "third"), Verdict.UNSURE, None, id="unsure about nothing"),
        pytest.param(answer("delete_everything"), Verdict.UNSURE, None, id="no such verdict"),
        pytest.param(answer(""), Verdict.UNSURE, None, id="empty"),
    ],
)
def test_only_a_valid_answer_says_what_to_do(
    given: JudgeAnswer, verdict: Verdict, resolution: Resolution | None
) -> None:
    judgement = decide_verdict(question(), given)
    assert (judgement.verdict, judgement.resolution, judgement.answer) == (verdict, resolution, given)
    plain = given.verdict == verdict and given.kept_id != "third"
    assert (judgement.problem == "") is plain


@pytest.mark.rule("R4.18")
@pytest.mark.parametrize("decisive", [answer("same"), answer("keep_both"), answer("keep_new", NEW)])
@pytest.mark.parametrize(
    ("starts", "excerpt", "decides"),
    [
        ((exactly("1 Mar"), exactly("1 Mar")), None, False),
        ((exactly("1 Mar"), exactly("1 Mar")), "we use s1", True),
        ((exactly("1 Mar"), exactly("1 Mar")), "  we use s0.  ", True),
        ((exactly("1 Mar"), exactly("1 Mar")), "   ", False),
        ((exactly("1 Mar"), exactly("1 Mar")), "words of nobody", False),
        ((month("Mar"), exactly("15 Mar")), None, False),
        ((exactly("15 Mar"), month("Mar")), None, False),
        ((exactly("1 Mar"), exactly("2 Mar")), None, True),
        ((month("Mar"), exactly("1 Apr")), None, True),
        ((exactly("1 Apr"), month("Mar")), None, True),
        ((exactly("1 Mar"), None), None, True),
        ((None, exactly("1 Mar")), None, True),
    ],
)
def test_equal_starts_need_words_that_decide(
    decisive: JudgeAnswer, starts: tuple[KnownBound | None, KnownBound | None], excerpt: str | None, decides: bool
) -> None:
    judgement = decide_verdict(question(*starts), replace(decisive, excerpt=excerpt))
    assert (judgement.resolution is not None) is decides
    assert (judgement.verdict is Verdict.UNSURE) is not decides


@pytest.mark.rule("R4.18")
@pytest.mark.parametrize(
    ("lines", "reason"),
    [
        (["a", "b"], None),
        (["a", "b", "c"], NotAsked.FOR_PEOPLE),
        (["a !crm", "b"], NotAsked.SYSTEM_OF_RECORD),
        (["a", "b !crm", "c"], NotAsked.FOR_PEOPLE),
    ],
)
def test_the_judge_sees_pairs_that_are_no_record(lines: list[str], reason: NotAsked | None) -> None:
    slot = slot_of(*lines)
    found = decide_asking(slot.view, slot.item(), [], slot.store.now, minimum_age=WEEK, quiet_period=WEEK)
    assert found is reason


@pytest.mark.rule("R4.18", "R4.14")
def test_the_judge_is_not_asked_what_is_decided_or_no_question_of_values() -> None:
    slot = slot_of("a", "b")
    item = slot.item()
    ages = {"minimum_age": NOTHING, "quiet_period": WEEK}
    for changed, reason in (
        (replace(item, status=ItemStatus.RESOLVED), NotAsked.NOT_PENDING),
        (replace(item, kind=ItemKind.IDENTITY), NotAsked.NO_SIDES),
        (replace(item, opposing=()), NotAsked.FOR_PEOPLE),
    ):
        assert decide_asking(slot.view, changed, [], slot.store.now, **ages) is reason
    slot.resolve(KeepBoth())
    assert decide_asking(slot.view, item, [], slot.store.now, **ages) is NotAsked.DISTINCT
    slot.retract("s1")
    assert decide_asking(slot.view, item, [], slot.store.now, **ages) is NotAsked.FOR_PEOPLE


@pytest.mark.rule("R4.18", "R4.17")
@pytest.mark.parametrize(
    ("given", "kind", "rows"),
    [
        (answer("keep_new", NEW), DecisionKind.KEEP_NEW, ["a ..1 Jun superseded", "b 1 Jun.. active"]),
        (answer("keep_existing", OLD), DecisionKind.KEEP_EXISTING, ["a .. active", "b .. rejected"]),
        (answer("keep_both"), DecisionKind.KEEP_BOTH, ["a .. active", "b 1 Jun.. active"]),
        (answer("same"), DecisionKind.SAME, ["a .. active", "b nothing superseded"]),
        (answer("contradicts"), DecisionKind.CONTRADICTS, ["a .. active", "b .. needs_review"]),
        (answer("unsure"), DecisionKind.UNSURE, ["a .. active", "b .. needs_review"]),
    ],
)
def test_a_decisive_verdict_is_a_decision_like_any_other(
    given: JudgeAnswer, kind: DecisionKind, rows: list[str]
) -> None:
    slot = slot_of("a", "b")
    before, item = slot.view, slot.item()
    judgement = decide_verdict(question(), given)
    changes = slot.commit(plan_judgement(before, slot.store.context(JUDGE), item, judgement, minimum_age=NOTHING))
    assert slot.rows() == rows
    (record,) = changes.decision_records
    assert (record.kind, record.actor, record.reason, record.item_version) == (kind, JUDGE, "so it reads", 1)
    assert record.details == (("judge", "judge"), ("model", "m1"), ("verdict", given.verdict))
    if kind in {DecisionKind.UNSURE, DecisionKind.CONTRADICTS}:
        assert slot.view == before
        return
    slot.revert(changes)
    assert [(row.status, row.validity, row.facet) for row in slot.view.rows] == [
        (row.status, row.validity, row.facet) for row in before.rows
    ]


@pytest.mark.rule("R4.18")
@pytest.mark.parametrize(
    ("given", "acts"),
    [
        (answer("keep_new", NEW), False),
        (answer("keep_existing", OLD), False),
        (answer("keep_both"), True),
        (answer("same"), True),
    ],
)
def test_a_young_pair_loses_no_side_and_is_judged_again_when_it_is_of_age(given: JudgeAnswer, acts: bool) -> None:
    slot = slot_of("a", "b")
    item = slot.item()
    context = slot.store.context(JUDGE)
    judgement = decide_verdict(question(), given)
    changes = plan_judgement(slot.view, context, item, judgement, minimum_age=HOUR)
    assert (changes.relationships != ()) is acts
    if acts:
        return
    (record,) = slot.commit(changes).decision_records
    assert record.kind is DecisionKind.UNSURE
    assert ("problem", "too_young") in record.details
    look = Look(record=record, at=context.moment.at)
    recorded = slot.store.row(item.incoming[0]).first_recorded_at
    asked = [
        decide_asking(slot.view, item, [look], recorded + age, minimum_age=HOUR, quiet_period=WEEK)
        for age in (HOUR - timedelta(microseconds=1), HOUR)
    ]
    assert asked == [NotAsked.ASKED_BEFORE, None]
    of_age = slot.store.context(JUDGE)
    of_age = replace(of_age, moment=replace(of_age.moment, at=recorded + HOUR))
    assert plan_judgement(slot.view, of_age, item, judgement, minimum_age=HOUR).relationships != ()


@pytest.mark.rule("R4.18")
def test_a_look_at_another_item_or_version_says_nothing() -> None:
    slot = slot_of("a", "b")
    item = slot.item()
    judgement = decide_verdict(question(), answer("unsure"))
    changes = plan_judgement(slot.view, slot.store.context(JUDGE), item, judgement, minimum_age=NOTHING)
    (record,) = changes.decision_records
    ages = {"minimum_age": NOTHING, "quiet_period": WEEK}
    for changed in (replace(record, item_version=2), replace(record, item_id=ItemId("other"))):
        looks = [Look(record=changed, at=slot.store.now)]
        assert decide_asking(slot.view, item, looks, slot.store.now, **ages) is None
    looks = [Look(record=record, at=slot.store.now)]
    assert decide_asking(slot.view, item, looks, slot.store.now, **ages) is NotAsked.ASKED_BEFORE


@pytest.mark.rule("R4.18", "R4.6")
def test_the_judge_works_for_one_profile() -> None:
    slot = slot_of("a", "b")
    judgement = decide_verdict(question(), answer("unsure"))
    elsewhere = Actor(kind=ActorKind.JUDGE)
    with pytest.raises(Refusal) as refused:
        plan_judgement(slot.view, slot.store.context(elsewhere), slot.item(), judgement, minimum_age=NOTHING)
    assert refused.value.reason is Reason.NOT_OWNER
    assert slot.store.row(slot.row_id("s1")).status is Status.NEEDS_REVIEW


def test_a_question_shows_at_most_six_others() -> None:
    replace(question(), others=("x",) * 6)
    with pytest.raises(ValueError, match="at most 6"):
        replace(question(), others=("x",) * 7)
