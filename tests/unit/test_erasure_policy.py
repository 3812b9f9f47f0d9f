"""What an erasure takes and what follows: the same tombstone everywhere, supports off, questions closed."""

from __future__ import annotations

from dataclasses import replace

import pytest
from corrigenda_core.domain.cases import CaseKind, CasePosition, CaseStatus, ConflictCase, SetKey
from corrigenda_core.domain.changes import Changes
from corrigenda_core.domain.evidence import SupportDecisionKind
from corrigenda_core.domain.ids import (
    ConflictId,
    DecisionId,
    EntityId,
    FragmentId,
    ItemId,
    PositionId,
    ProfileId,
    RelationshipId,
    StatementId,
    SupportId,
)
from corrigenda_core.domain.items import ItemKind, ItemStatus, ReviewItem
from corrigenda_core.domain.objects import EntityObject, Polarity, Slot, ValueObject
from corrigenda_core.domain.relationships import Closing, Status, Tier
from corrigenda_core.policy.erasure import (
    ERASED,
    ErasedWords,
    apply_erased_words,
    decide_erased_key,
    decide_tombstone,
    is_given_by,
    is_quoting,
    is_tombstone,
    plan_closed_questions,
    plan_evidence_erasure,
)
from corrigenda_core.policy.normalisation import decide_text_form
from corrigenda_core.policy.view_changes import apply_changes
from corrigenda_core.testing.owner_slot import OwnerSlot
from corrigenda_core.testing.slot_ledger import support_of
from corrigenda_core.testing.slots import OWNER, SLOT, day, predicate, said, text_value

pytestmark = pytest.mark.rule("R11.3")

STONE = decide_tombstone(bytes(32))
BOB = ProfileId("bob")
X = text_value("x")


def test_a_tombstone_is_told_from_a_text() -> None:
    assert STONE == "erased:" + "0" * 64
    assert [is_tombstone(text) for text in (STONE, "erased:", "erased: " + "0" * 64, "x")] == [
        True,
        False,
        False,
        False,
    ]


@pytest.mark.parametrize(
    ("words", "given"),
    [("Main", True), ("ＭＡＩＮ", True), ("main branch", False), ("mai", True)],
)
def test_words_are_given_by_a_text_that_holds_them_in_normal_form(words: str, given: bool) -> None:
    assert is_given_by(words, [decide_text_form("Production deploys from MAIN.")]) is given
    assert not is_given_by(words, [])


@pytest.mark.parametrize(
    ("text", "erased", "quoting"),
    [
        ("the branch MAIN", ["main"], True),
        ("the branch", ["main"], False),
        ("a5", ["5"], False),
        ("5", ["5"], True),
        ("anything", [""], False),
    ],
)
def test_a_text_quotes_what_it_holds_and_short_words_alone(text: str, erased: list[str], quoting: bool) -> None:
    assert is_quoting(text, erased) is quoting


def test_keys_keep_type_and_unit_and_lose_the_words() -> None:
    value = ValueObject(type=X.type, canonical="secret", unit="kg", display="Secret")
    erased = ErasedWords(values={value.key: STONE}, displays={})
    assert decide_erased_key(value.key, erased) == f"text:kg:{STONE}"
    entity = EntityObject(entity_id=SLOT.subject_id)
    assert [decide_erased_key(key, erased) for key in (X.key, "+", entity.key)] == [X.key, "+", entity.key]
    odd = ErasedWords(values={entity.key: STONE}, displays={})
    assert decide_erased_key(entity.key, odd) == entity.key


def a_case(conflict_id: str, status: CaseStatus) -> ConflictCase:
    key = SetKey(
        kind=CaseKind.POLARITY,
        subject_id=SLOT.subject_id,
        predicate=SLOT.predicate,
        scope=SLOT.scope,
        object_key=X.key,
    )
    position = CasePosition(
        position_id=PositionId(f"{conflict_id}-x"),
        key=X.key,
        members=(),
        counted_groups=0,
        authoritative_groups=0,
        support_digest="",
        first_seen_at=day("1 Jan"),
        last_seen_at=day("1 Jan"),
    )
    return ConflictCase(
        conflict_id=ConflictId(conflict_id),
        set_key=key,
        status=status,
        version=1,
        opened_at=day("1 Jan"),
        review_due_at=day("1 Feb"),
        first_contradiction_at=day("1 Jan"),
        positions=(position,),
    )


def an_item(
    kind: ItemKind,
    *,
    status: ItemStatus = ItemStatus.PENDING,
    slot: Slot | None = None,
    fragment_id: FragmentId | None = None,
    statement_id: StatementId | None = None,
    details: tuple[tuple[str, str], ...] = (),
) -> ReviewItem:
    return ReviewItem(
        item_id=ItemId(kind.value),
        version=3,
        kind=kind,
        status=status,
        owner_id=BOB,
        reason="sample",
        slot=slot,
        fragment_id=fragment_id,
        statement_id=statement_id,
        details=details,
        opened_at=day("1 Jan"),
    )


def test_every_word_of_a_slot_becomes_the_same_tombstone() -> None:
    slot = OwnerSlot(predicate())
    slot.place("x 1 Jan")
    slot.place("y 1 Mar")
    closing = Closing(
        decision_id=DecisionId("d"),
        relationship_id=RelationshipId("r"),
        facet=0,
        object_key=X.key,
        polarity=Polarity.POSITIVE,
        at=day("1 Feb"),
        statement_ids=(StatementId("s0"),),
    )
    cases = [a_case("live", CaseStatus.OPEN), a_case("resolved", CaseStatus.RESOLVED)]
    view = replace(
        slot.view,
        decisions=(*slot.view.decisions, closing),
        items=(an_item(ItemKind.RELATIONSHIP, slot=SLOT), an_item(ItemKind.QUARANTINE)),
        cases=(cases[0],),
        closed_cases=((cases[1].set_key, cases[1].conflict_id),),
        resolved_cases=(cases[1],),
    )
    erased = ErasedWords(values={X.key: STONE}, displays={(X.key, X.display): f"{STONE}!"}, scope="gone")
    after = apply_erased_words(view, erased)
    key = f"text::{STONE}"
    objects = {one.object.key for one in (*after.rows, *after.statements)}
    assert objects == {key, text_value("y").key}
    assert {one.object.display for one in after.rows if isinstance(one.object, ValueObject)} == {f"{STONE}!", "y"}
    slots = {after.slot, *(one.slot for one in (*after.rows, *after.statements))}
    assert {one.scope for one in slots} == {"gone"}
    assert [one.object_key for one in after.decisions if isinstance(one, Closing)] == [key]
    assert [item.slot and item.slot.scope for item in after.items] == ["gone", None]
    keys = [case.set_key for case in (*after.cases, *after.resolved_cases)] + [one for one, _ in after.closed_cases]
    assert {(one.scope, one.object_key) for one in keys} == {("gone", key)}
    assert {p.key for case in (*after.cases, *after.resolved_cases) for p in case.positions} == {key}
    assert apply_erased_words(view, ErasedWords(values={}, displays={})) == view


def test_entities_and_decisions_that_hold_no_words_stay_what_they_are() -> None:
    slot = OwnerSlot(predicate())
    slot.place("x 1 Jan")
    slot.retract("s0")
    entity = EntityObject(entity_id=EntityId("main"))
    rows = tuple(replace(row, object=entity) for row in slot.view.rows)
    view = replace(slot.view, rows=rows)
    after = apply_erased_words(view, ErasedWords(values={X.key: STONE}, displays={}))
    assert [row.object for row in after.rows] == [entity]
    assert after.decisions == view.decisions != ()


def test_an_erased_text_supports_nothing_and_the_slot_folds_without_it() -> None:
    slot = OwnerSlot(predicate())
    slot.place("x 1 Jan")
    slot.place("y 1 Mar")
    newer = next(support for support in slot.view.supports if support.statement_id == StatementId("s1"))
    changes = plan_evidence_erasure(slot.view, slot.context(), {newer.fragment_id})
    (switch,) = changes.support_decisions
    assert (switch.support_id, switch.kind, switch.reason) == (newer.support_id, SupportDecisionKind.REVOKE, ERASED)
    after = apply_changes(slot.view, changes)
    states = {row.object.key: (row.status, row.tier, row.validity) for row in after.rows}
    assert states[text_value("y").key][:2] == (Status.PENDING_EVIDENCE, Tier.CANDIDATE)
    # What the erased one had ended holds again.
    older = next(row for row in after.rows if row.object.key == X.key)
    assert (older.status, getattr(older.validity, "end", "none")) == (Status.ACTIVE, None)
    assert {transition.reason for transition in changes.transitions} == {ERASED}
    # Nothing is left to switch off.
    assert plan_evidence_erasure(after, slot.context(), {newer.fragment_id}) == Changes()


@pytest.mark.rule("R4.3", "R4.17")
def test_no_undo_brings_the_support_of_an_erased_text_back() -> None:
    slot = OwnerSlot(predicate())
    statement = said("x 1 Jan")[0]
    other = support_of(statement, fragment="other", group="other")
    erased = replace(other, support_id=SupportId("other"), erased=True)
    slot.store.place(statement, [support_of(statement), erased])
    changes = slot.store.retract_fragment(SLOT, OWNER, FragmentId("other"))
    assert [decision.kind for decision in changes.support_decisions] == [SupportDecisionKind.REVOKE]
    assert slot.store.revert(changes.decision_records[0].decision_id).support_decisions == ()


def test_questions_that_nobody_can_answer_are_closed() -> None:
    text, said = FragmentId("f"), StatementId("s")
    about = {
        "identity": an_item(ItemKind.IDENTITY, statement_id=said, details=(("mention_refs", "who"),)),
        "quarantine": an_item(ItemKind.QUARANTINE, fragment_id=text),
        "other": an_item(ItemKind.PREDICATE, statement_id=StatementId("t")),
        "relationship": an_item(ItemKind.RELATIONSHIP, statement_id=said),
        "resolved": an_item(ItemKind.CORRECTION, statement_id=said, status=ItemStatus.RESOLVED),
    }
    closed = plan_closed_questions(about.values(), {text}, {said})
    assert [(item.kind, item.status, item.version, item.reason, item.details) for item in closed] == [
        (ItemKind.IDENTITY, ItemStatus.CLOSED, 4, ERASED, ()),
        (ItemKind.QUARANTINE, ItemStatus.CLOSED, 4, ERASED, ()),
    ]
