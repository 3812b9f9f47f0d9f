"""A slot under a predicate that has changed: it becomes what it would have been, once."""

from __future__ import annotations

from dataclasses import replace

import pytest
from corrigenda_core.domain.changes import Changes
from corrigenda_core.domain.ids import ProfileId
from corrigenda_core.domain.predicates import Cardinality
from corrigenda_core.domain.relationships import Status
from corrigenda_core.policy.slot_change import plan_slot_scan
from corrigenda_core.policy.view_changes import apply_changes
from corrigenda_core.testing.owner_slot import OwnerSlot
from corrigenda_core.testing.slot_ledger import SlotLedger
from corrigenda_core.testing.slots import predicate

pytestmark = pytest.mark.rule("R3.6")

MANY, ONE = predicate(cardinality=Cardinality.MANY), predicate()
BOB = ProfileId("bob")


def test_values_that_held_together_follow_each_other_once_only_one_may() -> None:
    slot = OwnerSlot(MANY)
    slot.place("x 1 Jan")
    slot.place("y 1 Mar")
    assert slot.rows() == ["x 1 Jan.. active", "y 1 Mar.. active"]
    view = replace(slot.view, predicate=ONE)
    changes = plan_slot_scan(view, slot.context(), "scanned")
    after = apply_changes(view, changes)
    assert {row.object.key: row.status for row in after.rows} == {
        "text::x": Status.SUPERSEDED,
        "text::y": Status.ACTIVE,
    }
    assert {row.slot_exclusive for row in after.rows} == {True}
    assert {transition.reason for transition in changes.transitions} == {"scanned"}
    # No row says that another one replaced it: nobody said so.
    assert changes.references == ()
    assert plan_slot_scan(after, slot.context(), "scanned") == Changes()
    back = replace(after, predicate=MANY)
    restored = apply_changes(back, plan_slot_scan(back, slot.context(), "scanned"))
    assert {(row.status, row.slot_exclusive) for row in restored.rows} == {(Status.ACTIVE, False)}


def test_owners_who_did_not_exclude_each_other_disagree() -> None:
    slot = SlotLedger(MANY)
    slot.place("x 1 Jan")
    slot.place("y 1 Jan", owner=BOB)
    view = replace(slot.view, predicate=ONE)
    assert view.cases == ()
    changes = plan_slot_scan(view, slot.context(), "scanned")
    (case,) = changes.cases
    assert {position.key for position in case.positions} == {"text::x", "text::y"}
    after = apply_changes(view, changes)
    assert plan_slot_scan(after, slot.context(), "scanned") == Changes()


def test_a_slot_without_statements_has_nothing_to_say() -> None:
    slot = OwnerSlot(ONE)
    assert plan_slot_scan(slot.view, slot.context(), "scanned") == Changes()
