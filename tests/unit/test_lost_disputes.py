"""Sides of one owner's dispute that lose a team case: what they become, and that folding again agrees."""

from __future__ import annotations

from dataclasses import replace

import pytest
from corrigenda_core.domain.cases import CaseStatus
from corrigenda_core.domain.changes import Changes
from corrigenda_core.domain.ids import ProfileId
from corrigenda_core.domain.predicates import SameMomentPolicy
from corrigenda_core.domain.relationships import Relationship
from corrigenda_core.policy.refold import plan_owner_refold
from corrigenda_core.testing.memory_store import MemoryStore, NetTorn
from corrigenda_core.testing.owner_slot import OwnerSlot
from corrigenda_core.testing.slot_ledger import described
from corrigenda_core.testing.slots import OWNER, SLOT, day, predicate

COMPETE = predicate(same_moment=SameMomentPolicy.COMPETE)


@pytest.mark.rule("R7.16", "R4.8")
@pytest.mark.parametrize(
    ("lines", "rows"),
    [
        pytest.param(["x 1 Jan"], ["x 1 Jan..1 Jun superseded"], id="alone"),
        pytest.param(["x 1 Jan", "y 1 Jan"], ["x 1 Jan..1 Jun competing", "y 1 Jan..1 Jun competing"], id="two"),
        pytest.param(["x", "y"], ["x ..1 Jun competing", "y ..1 Jun competing"], id="two without a start"),
        pytest.param(["x 1 Jan", "won 1 Jan"], ["x 1 Jan..1 Jun superseded", "won 1 Jan.. competing"],
                     id="the other side wins"),
        pytest.param(["x 1 Jan", "y 1 Jan", "won 1 Jan"],
                     ["x 1 Jan..1 Jun competing", "y 1 Jan..1 Jun competing", "won 1 Jan.. competing"],
                     id="two lose to a third"),
        pytest.param(["x 1 Jul", "y 1 Jul"], ["x nothing at 1 Jul superseded", "y nothing at 1 Jul superseded"],
                     id="closed to nothing"),
        pytest.param(["won 1 Mar !crm", "x 1 Apr"], ["won 1 Mar.. active", "x 1 Apr..1 Jun competing"],
                     id="beside a record"),
        pytest.param(["old 1 Mar..1 May !crm", "x 1 Apr"], ["old 1 Mar..1 May active", "x 1 Apr..1 Jun competing"],
                     id="beside a record that has ended"),
    ],
)  # fmt: skip
def test_losers_do_not_come_to_hold_at_once(lines: list[str], rows: list[str]) -> None:
    slot = OwnerSlot(COMPETE)
    for line in lines:
        slot.place(line)
    slot.store.now = day("1 Jun")
    for number in range(4):
        slot.place("won", owner=ProfileId(f"owner-{number}"))
    (case,) = slot.view.cases
    plan = slot.review(case.conflict_id, day("20 Jun"))
    assert plan.changes.cases[0].status is CaseStatus.RESOLVED
    view = slot.view
    assert described(row for row in view.rows if row.owner_id == OWNER) == rows
    assert plan_owner_refold(view, view, OWNER, slot.context(), "again").changes.relationships == ()


@pytest.mark.rule("R4.10", "R7.16")
def test_nobody_is_asked_about_sides_that_have_all_lost() -> None:
    slot = OwnerSlot(COMPETE)
    for line in ("x 1 Jan", "y 1 Jan"):
        slot.place(line)
    item = slot.item()
    for number in range(4):
        slot.place("won", owner=ProfileId(f"owner-{number}"))
    slot.review(slot.view.cases[0].conflict_id, day("20 Jun"))
    slot.place("x 1 Jul")
    assert slot.store.item(item.item_id).version == 2
    assert slot.view.items == ()


def test_the_store_refuses_what_the_database_would() -> None:
    slot = OwnerSlot(COMPETE)
    slot.place("x 1 Jan")
    placed = slot.place("y 1 Mar")
    (row,) = [row for row in placed.relationships if row.version == 1]
    store = slot.store

    def again(changed: Relationship) -> Changes:
        transitions = tuple(
            replace(t, version=changed.version) for t in placed.transitions if t.relationship_id == row.relationship_id
        )
        return Changes(relationships=(changed,), transitions=transitions)

    whole = replace(row, version=2, validity=replace(row.validity, start=day("1 Feb")))
    for torn, message in (
        (replace(again(whole), transitions=()), "exactly one transition"),
        (again(replace(whole, version=3)), "does not follow"),
        (again(whole), "two values are in force"),
        (replace(slot_ended(), decision_records=()), "no record"),
    ):
        with pytest.raises(NetTorn, match=message):
            store.commit(SLOT, torn)
    store.commit(SLOT, again(whole), nets=False)
    assert isinstance(store, MemoryStore)


def slot_ended() -> Changes:
    slot = OwnerSlot(COMPETE)
    slot.place("x 1 Jan")
    return replace(slot.end("s0", "1 Mar"), relationships=(), transitions=())
