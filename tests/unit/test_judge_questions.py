"""What a judge is shown of a pair: both statements with their times, sources and texts, and a few others."""

from __future__ import annotations

from dataclasses import replace

import pytest
from corrigenda_core.domain.entities import EntityName
from corrigenda_core.domain.ids import EntityId, FragmentId, PredicateKey, RelationshipId
from corrigenda_core.domain.objects import EntityObject, Polarity, Slot, ValueObject, ValueType
from corrigenda_core.domain.relationships import Relationship, Status
from corrigenda_core.domain.slots import SlotView
from corrigenda_core.domain.time import ClosedToNothing, Interval, TextSpan
from corrigenda_core.policy.judge_questions import (
    EXCERPT_CODE_POINTS,
    MOST_EXCERPTS,
    SURROUNDING_CODE_POINTS,
    JudgedText,
    plan_judge_question,
)
from corrigenda_core.testing.owner_slot import OwnerSlot
from corrigenda_core.testing.slots import SLOT, day, predicate

NAMES = {EntityId("account"): "the account"}


def held(*lines: str) -> OwnerSlot:
    slot = OwnerSlot(predicate())
    for line in lines:
        slot.place(line)
    return slot


def cited(view: SlotView, *spans: tuple[int, int]) -> SlotView:
    """The view with every support citing these passages."""
    given = tuple(TextSpan(start=start, end=end) for start, end in spans)
    return replace(view, supports=tuple(replace(support, spans=given) for support in view.supports))


def texts(view: SlotView, content: str) -> dict[FragmentId, JudgedText]:
    return {one.fragment_id: JudgedText(content=content, source="conversation by ann") for one in view.supports}


@pytest.mark.rule("R4.18")
def test_a_question_shows_both_sides_with_their_times_and_texts() -> None:
    slot = held("gold @1 Mar", "silver @1 Apr")
    view = cited(slot.view, (0, 4))
    question = plan_judge_question(view, slot.item(), texts=texts(view, "what was said"), names=NAMES)
    assert (question.subject, question.predicate, question.scope) == ("the account", "tier", "")
    assert (question.item_id, question.item_version) == (slot.item().item_id, slot.item().version)
    incoming, opposing = question.sides
    assert (incoming.relationship_id, opposing.relationship_id) == (slot.row_id("s1"), slot.row_id("s0"))
    assert (incoming.value, opposing.value) == ("silver", "gold")
    assert (incoming.witness_at, opposing.witness_at) == (day("1 Apr"), day("1 Mar"))
    assert (incoming.start, incoming.end, incoming.stated_start) == (None, None, None)
    assert incoming.excerpts == ("what was said",)
    assert incoming.sources == ("conversation by ann",)


def test_the_earliest_start_and_the_latest_end_of_a_row_are_shown() -> None:
    slot = held("gold 1 Mar", "gold 1 Apr..1 Sep", "silver")
    question = plan_judge_question(slot.view, slot.item(), texts={}, names=NAMES)
    starts = {side.value: (side.start and side.start.at, side.end and side.end.at) for side in question.sides}
    assert starts == {"gold": (day("1 Mar"), day("1 Sep")), "silver": (None, None)}


@pytest.mark.parametrize(
    ("spans", "shown"),
    [
        ([(1000, 1010)], [(1000 - SURROUNDING_CODE_POINTS, 1010 + SURROUNDING_CODE_POINTS)]),
        ([(0, 5)], [(0, 5 + SURROUNDING_CODE_POINTS)]),
        ([(2990, 3000)], [(2990 - SURROUNDING_CODE_POINTS, 3000)]),
        ([(1300, 1310), (1000, 1010)], [(1000 - SURROUNDING_CODE_POINTS, 1310 + SURROUNDING_CODE_POINTS)]),
        ([(300, 310), (2000, 2010)], [(60, 550), (1760, 2250)]),
        ([(0, 3000)], [(0, EXCERPT_CODE_POINTS)]),
        # A passage that the text does not have (it may be a tombstone by now) shows nothing.
        ([(5000, 5010)], []),
    ],
)
def test_cited_passages_come_with_their_surroundings(
    spans: list[tuple[int, int]], shown: list[tuple[int, int]]
) -> None:
    content = "".join(chr(0x4E00 + number) for number in range(3000))
    slot = held("gold", "silver")
    view = cited(slot.view, *spans)
    question = plan_judge_question(view, slot.item(), texts=texts(view, content), names=NAMES)
    assert question.incoming.excerpts == tuple(content[start:end] for start, end in shown)


def test_what_no_longer_supports_is_not_shown_and_the_rest_is_bounded() -> None:
    slot = held("gold", "silver")
    many = cited(slot.view, *((at * 2000, at * 2000 + 5) for at in range(10)))
    shown = plan_judge_question(many, slot.item(), texts=texts(many, "x" * 25_000), names=NAMES)
    assert len(shown.incoming.excerpts) == MOST_EXCERPTS
    revoked = replace(many, supports=tuple(replace(support, effective=False) for support in many.supports))
    unseen = plan_judge_question(revoked, slot.item(), texts=texts(many, "x" * 25_000), names=NAMES)
    assert (unseen.incoming.excerpts, unseen.incoming.sources) == ((), ())


def test_a_judge_is_asked_about_two_sides_only() -> None:
    slot = held("gold", "silver")
    alone = replace(slot.item(), incoming=())
    with pytest.raises(ValueError, match="two sides"):
        plan_judge_question(slot.view, alone, texts={}, names=NAMES)


def other(number: int, **more: object) -> Relationship:
    row = held("gold", "silver").view.rows[0]
    given: dict[str, object] = {
        "relationship_id": RelationshipId(f"other {number}"),
        "slot": Slot(subject_id=SLOT.subject_id, predicate=PredicateKey("paid_by"), scope="eu"),
        "object": ValueObject(type=ValueType.NUMBER, canonical=str(number), unit="EUR", display=str(number)),
        "status": Status.ACTIVE,
        "validity": Interval(start=day("1 Mar"), end=day("1 Apr")),
    }
    return replace(row, **(given | more))


@pytest.mark.parametrize(
    ("validity", "told"),
    [
        (Interval(start=day("1 Mar")), " from 2026-03-01T00:00:00+00:00"),
        (Interval(end=day("1 Mar")), " until 2026-03-01T00:00:00+00:00"),
    ],
)
def test_an_end_that_nobody_knows_is_not_told(validity: Interval, told: str) -> None:
    slot = held("gold", "silver")
    others = [other(1, validity=validity)]
    question = plan_judge_question(slot.view, slot.item(), texts={}, names=NAMES, others=others)
    assert question.others == (f"the account paid by 1 EUR (eu){told}",)


def test_a_scope_that_nobody_named_is_not_told() -> None:
    slot = held("gold", "silver")
    others = [other(1, slot=Slot(subject_id=SLOT.subject_id, predicate=PredicateKey("paid_by")), validity=Interval())]
    question = plan_judge_question(slot.view, slot.item(), texts={}, names=NAMES, others=others)
    assert question.others == ("the account paid by 1 EUR",)


def test_a_few_other_living_statements_are_told_in_words() -> None:
    slot = held("gold", "silver")
    others = [
        other(1),
        other(2, status=Status.RETRACTED),
        other(3, validity=ClosedToNothing()),
        other(4, polarity=Polarity.NEGATIVE, object=EntityObject(entity_id=EntityId("bank")), validity=Interval()),
        slot.view.rows[0],
        *(other(number) for number in range(10, 20)),
    ]
    names = NAMES | {EntityId("bank"): EntityName(entity_id=EntityId("bank"), kind="bank", name="a bank").name}
    question = plan_judge_question(slot.view, slot.item(), texts={}, names=names, others=others)
    assert question.others[:2] == (
        "the account paid by 1 EUR (eu) from 2026-03-01T00:00:00+00:00 until 2026-04-01T00:00:00+00:00",
        "the account does not: paid by a bank (eu)",
    )
    assert len(question.others) == 6
