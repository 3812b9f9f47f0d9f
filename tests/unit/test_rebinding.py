"""What a correction of identity does to timelines: statements take along what was decided about them."""

from __future__ import annotations

from dataclasses import replace

import pytest
from corrigenda_core.domain.changes import Changes
from corrigenda_core.domain.decisions import Reopening
from corrigenda_core.domain.entities import BoundObservation, Entity
from corrigenda_core.domain.ids import DecisionId, EntityId, PredicateKey, StatementId
from corrigenda_core.domain.objects import EntityObject, Object, Slot
from corrigenda_core.domain.predicates import Cardinality
from corrigenda_core.domain.relationships import Closing, ReferenceKind, Relationship, Status
from corrigenda_core.domain.resolutions import DecisionKind, DecisionRecord, KeepBoth, KeepNew
from corrigenda_core.domain.slots import PlanContext, SlotView
from corrigenda_core.policy.identity_correction import IdentityCorrection, plan_merge, plan_split
from corrigenda_core.policy.rebinding import plan_rebinding
from corrigenda_core.testing.memory_store import profile
from corrigenda_core.testing.owner_slot import OwnerSlot
from corrigenda_core.testing.slot_ledger import described, support_of
from corrigenda_core.testing.slots import OWNER, SLOT, day, predicate, said

ACCOUNT, OTHER = SLOT.subject_id, EntityId("another account")
THERE = replace(SLOT, subject_id=OTHER)


def bound(view: SlotView, *waiting: BoundObservation) -> list[BoundObservation]:
    """The statements of a slot as observations, and some that are none."""
    stated = [
        BoundObservation(
            observation_id=one.statement_id,
            owner_id=one.owner_id,
            subject_id=one.slot.subject_id,
            object=one.object,
            predicate=one.slot.predicate,
            polarity=one.polarity,
            relationship_id=one.relationship_id,
        )
        for one in view.statements
    ]
    return [*stated, *waiting]


def waiting(name: str, predicate_key: str | None, named: Object | None = None) -> BoundObservation:
    return BoundObservation(
        observation_id=StatementId(name),
        owner_id=OWNER,
        subject_id=ACCOUNT,
        object=named,
        predicate=None if predicate_key is None else PredicateKey(predicate_key),
    )


def record(kind: DecisionKind) -> DecisionRecord:
    return DecisionRecord(decision_id=DecisionId("correction"), kind=kind, actor=profile(OWNER))


def split(slot: OwnerSlot, *chosen: str, entity_id: EntityId = ACCOUNT, view: SlotView | None = None) -> Changes:
    """Moves statements of the slot to another entity."""
    view = view or slot.view
    correction = plan_split(
        caller=OWNER,
        entity_id=entity_id,
        new_entity_id=OTHER,
        observations=bound(view, waiting("unknown phrase", None), waiting("unverified", "tier")),
        chosen={StatementId(one) for one in chosen} or None,
    )
    return planned(correction, view, slot.context(), DecisionKind.SPLIT_ENTITY)


def planned(correction: IdentityCorrection, view: SlotView, context: PlanContext, kind: DecisionKind) -> Changes:
    views = {
        slot: view if slot == view.slot else SlotView(slot=slot, predicate=view.predicate) for slot in correction.slots
    }
    return plan_rebinding(views, correction, context, record(kind))


def rows_at(changes: Changes, slot: Slot) -> list[str]:
    return described([row for row in changes.relationships if row.slot == slot])


def row_of(changes: Changes, statement_id: str) -> Relationship:
    row_id = next(one.relationship_id for one in changes.statements if one.statement_id == statement_id)
    return next(row for row in changes.relationships if row.relationship_id == row_id)


@pytest.mark.rule("R3.9")
def test_a_divided_row_keeps_what_stays() -> None:
    slot = OwnerSlot(predicate())
    slot.place("alpha 1 Mar")
    slot.place("alpha 1 Apr")
    left = slot.row_id("s0")
    changes = split(slot, "s1")
    assert [(one.statement_id, one.slot.subject_id) for one in changes.statements] == [("s1", OTHER)]
    assert rows_at(changes, THERE) == ["alpha 1 Apr.. active"]
    assert left not in {row.relationship_id for row in changes.relationships if row.status is Status.SUPERSEDED}
    (link,) = changes.references
    assert (link.kind, link.source_id, link.target_id) == (
        ReferenceKind.SPLIT_FROM,
        row_of(changes, "s1").relationship_id,
        left,
    )
    assert [one.decision_id for one in changes.decision_records] == ["correction"]
    assert {one.statement_id for one in changes.carriages} == {"s1"}


@pytest.mark.rule("R3.9", "R4.7")
def test_both_timelines_are_folded_again() -> None:
    slot = OwnerSlot(predicate())
    slot.place("alpha 1 Mar")
    slot.place("beta 1 Apr")
    slot.place("gamma 1 May")
    assert slot.rows() == ["alpha 1 Mar..1 Apr superseded", "beta 1 Apr..1 May superseded", "gamma 1 May.. active"]
    changes = split(slot, "s1")
    # What the moved one had ended goes on, and where it is now nothing ends it.
    assert rows_at(changes, SLOT) == ["alpha 1 Mar..1 May superseded", "beta nothing at 1 Apr superseded"]
    assert rows_at(changes, THERE) == ["beta 1 Apr.. active"]


@pytest.mark.rule("R3.9", "R4.15")
def test_what_was_ended_stays_ended_where_it_goes() -> None:
    slot = OwnerSlot(predicate())
    slot.place("alpha 1 Mar")
    slot.end("s0", "1 May")
    changes = split(slot, "s0")
    assert rows_at(changes, THERE) == ["alpha 1 Mar..1 May superseded"]
    closings = [one for one in changes.decisions if isinstance(one, Closing)]
    assert [(one.decision_id, one.at, one.statement_ids) for one in closings] == [("correction", day("1 May"), ("s0",))]


def kept_new() -> OwnerSlot:
    """A slot whose owner has decided for the newer of two values that could not be ordered."""
    slot = OwnerSlot(predicate())
    slot.place("alpha 1 Mar")
    slot.place("beta")
    slot.resolve(KeepNew(kept_id=slot.row_id("s1")))
    assert slot.rows() == ["alpha 1 Mar..1 Jun superseded", "beta 1 Jun.. active"]
    return slot


@pytest.mark.rule("R3.9", "R4.15")
def test_what_a_decision_has_ended_stays_ended_where_the_reason_does_not_go() -> None:
    changes = split(kept_new(), "s0")
    assert rows_at(changes, THERE) == ["alpha 1 Mar..1 Jun superseded"]
    (closing,) = [one for one in changes.decisions if isinstance(one, Closing)]
    assert (closing.made_for, closing.conditional) == ((), False)


@pytest.mark.rule("R3.9", "R4.15")
def test_what_a_decision_has_ended_still_depends_on_what_it_was_made_for_where_both_go() -> None:
    changes = split(kept_new(), "s0", "s1")
    assert rows_at(changes, THERE) == ["alpha 1 Mar..1 Jun superseded", "beta 1 Jun.. active"]
    (closing,) = [one for one in changes.decisions if isinstance(one, Closing)]
    assert (closing.made_for, closing.conditional) == (("s1",), True)


@pytest.mark.rule("R3.9", "R4.15")
def test_a_closing_that_has_lapsed_is_left_behind() -> None:
    slot = kept_new()
    slot.retract("s1")
    assert slot.rows()[0] == "alpha 1 Mar.. active"
    assert rows_at(split(slot, "s0"), THERE) == ["alpha 1 Mar.. active"]


@pytest.mark.rule("R3.9", "R4.15")
def test_a_closing_that_was_reopened_is_left_behind() -> None:
    slot = OwnerSlot(predicate())
    slot.place("alpha 1 Mar")
    slot.end("s0", "1 May")
    closing = next(one for one in slot.view.decisions if isinstance(one, Closing))
    reopening = Reopening(
        decision_id=DecisionId("reopened"),
        statement_id=StatementId("s0"),
        closing_decision_id=closing.decision_id,
        relationship_id=closing.relationship_id,
    )
    view = replace(slot.view, decisions=(*slot.view.decisions, reopening))
    changes = split(slot, "s0", view=view)
    assert rows_at(changes, THERE) == ["alpha 1 Mar.. active"]
    assert not [one for one in changes.decisions if isinstance(one, Closing)]


@pytest.mark.rule("R3.9", "R4.14")
def test_what_was_told_apart_stays_told_apart() -> None:
    slot = OwnerSlot(predicate())
    slot.place("alpha 1 Mar")
    slot.place("beta 1 Mar")
    slot.resolve(KeepBoth())
    changes = split(slot)
    assert rows_at(changes, THERE) == ["alpha 1 Mar.. active", "beta 1 Mar.. active"]
    assert len({row_of(changes, name).facet for name in ("s0", "s1")}) == 2
    # A decision that goes along is no new one; what waits moves by itself and is no statement.
    assert not changes.decisions
    assert {one.statement_id for one in changes.statements} == {"s0", "s1"}
    assert not changes.items


@pytest.mark.rule("R3.9")
def test_what_was_decided_about_others_stays_with_them() -> None:
    slot = OwnerSlot(predicate())
    slot.place("alpha 1 Mar")
    slot.place("beta 1 Mar")
    slot.resolve(KeepBoth())
    changes = split(slot, "s1")
    assert rows_at(changes, THERE) == ["beta 1 Mar.. active"]
    assert rows_at(changes, SLOT) == ["beta nothing at 1 Mar superseded"]


@pytest.mark.rule("R3.9")
def test_a_row_that_is_split_off_by_its_object_stays_in_its_slot() -> None:
    slot = OwnerSlot(predicate(cardinality=Cardinality.MANY))
    main = EntityId("main")
    for line in ("alpha 1 Mar", "alpha 1 Apr"):
        statement = replace(slot._next(line, OWNER, SLOT), object=EntityObject(entity_id=main))
        slot.store.place(statement, [support_of(statement)])
    changes = split(slot, "s1", "s0", entity_id=main)
    now = row_of(changes, "s0")
    assert (now.slot, now.object) == (SLOT, EntityObject(entity_id=OTHER))
    assert {one.kind for one in changes.references} == {ReferenceKind.SPLIT_FROM}
    assert len(changes.references) == 1


@pytest.mark.rule("R3.9")
def test_a_merge_joins_rows_that_say_the_same() -> None:
    slot = OwnerSlot(predicate())
    slot.place("alpha 1 Mar")
    (there,) = [replace(one, slot=THERE) for one in said("alpha 1 Feb", first=9)]
    placed = slot.store.place(there, [support_of(there)])
    kept = placed.statements[0].relationship_id
    correction = plan_merge(
        caller=OWNER,
        source=Entity(entity_id=ACCOUNT, kind="account", names=frozenset({"a"})),
        target=Entity(entity_id=OTHER, kind="account", names=frozenset({"b"})),
        observations=[*bound(slot.view), *bound(slot.store.view(THERE))],
    )
    views = {SLOT: slot.view, THERE: slot.store.view(THERE)}
    changes = plan_rebinding(views, correction, slot.context(), record(DecisionKind.MERGE_ENTITIES))
    assert [one.relationship_id for one in changes.statements] == [kept]
    assert [(one.kind, one.source_id, one.target_id) for one in changes.references] == [
        (ReferenceKind.MERGED_INTO, slot.row_id("s0"), kept)
    ]
    assert rows_at(changes, SLOT) == ["alpha nothing at 1 Mar superseded"]
    assert changes.decision_records[0].kind is DecisionKind.MERGE_ENTITIES


def test_ids_of_two_slots_never_meet() -> None:
    slot = OwnerSlot(predicate())
    for line in ("alpha 1 Mar", "beta 1 Apr", "gamma 1 May"):
        slot.place(line)
    changes = split(slot, "s1", "s2")
    ids = [one.transition_id for one in changes.transitions]
    assert len(set(ids)) == len(ids)
