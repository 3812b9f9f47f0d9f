"""Supports that a source takes away or whose authority it changes: what a slot says afterwards, for every owner."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest
from corrigenda_core.domain.cases import CaseAction
from corrigenda_core.domain.changes import Changes
from corrigenda_core.domain.evidence import Authority, SupportDecision, SupportDecisionKind
from corrigenda_core.domain.ids import FragmentId, ProfileId, SupportId
from corrigenda_core.domain.relationships import Tier
from corrigenda_core.domain.sources import RetiredFragment
from corrigenda_core.policy.adoption import plan_adoption
from corrigenda_core.policy.revert import plan_revert
from corrigenda_core.policy.support_switches import plan_fragment_retirement, plan_support_switches
from corrigenda_core.testing.owner_slot import OwnerSlot
from corrigenda_core.testing.slot_ledger import support_of
from corrigenda_core.testing.slots import OWNER, SLOT, predicate

BOB = ProfileId("bob")


def slot_of(*lines: str) -> OwnerSlot:
    slot = OwnerSlot(predicate())
    for line in lines:
        slot.place(line)
    return slot


def fragment_of(slot: OwnerSlot, name: str) -> FragmentId:
    return next(support.fragment_id for support in slot.view.supports if support.statement_id == name)


def retire(slot: OwnerSlot, *names: str) -> Changes:
    gone = [RetiredFragment(fragment_id=fragment_of(slot, name)) for name in names]
    return slot.commit(plan_fragment_retirement(slot.view, slot.context(), gone))


@pytest.mark.rule("R4.2", "R4.3")
def test_acceptance_v14_one_of_two_sources_is_taken_away() -> None:
    slot = slot_of("x 1 Mar", "x 1 Mar")
    (row,) = slot.view.rows
    assert row.tier is Tier.FACT
    changes = retire(slot, "s0")
    assert slot.rows() == ["x 1 Mar.. active"]
    (row,) = slot.view.rows
    assert row.tier is Tier.VALIDATED_CLAIM
    assert [(d.kind, d.reason) for d in changes.support_decisions] == [
        (SupportDecisionKind.REVOKE, "revision_superseded")
    ]
    assert [transition.reason for transition in changes.transitions] == ["revision_superseded"]


@pytest.mark.rule("R2.5", "R4.3")
def test_what_loses_its_last_support_leaves_the_timeline_and_what_it_had_ended_comes_back() -> None:
    slot = slot_of("x 1 Jan", "y 1 Mar")
    retire(slot, "s1")
    assert slot.rows() == ["x 1 Jan.. active", "y 1 Mar.. pending_evidence"]


@pytest.mark.rule("R2.5")
def test_every_owner_who_stands_on_the_text_is_told_and_the_case_follows() -> None:
    slot = slot_of("x 1 Mar")
    slot.place("y 1 Mar", owner=BOB)
    (case,) = slot.view.cases
    changes = retire(slot, "s0", "s1")
    assert {row.owner_id for row in changes.relationships} == {"ann", "bob"}
    assert [event.action for event in changes.case_events] == [CaseAction.REFRESHED]
    (after,) = slot.view.cases
    assert after.version == case.version + 1
    assert all(not position.members for position in after.positions)


def test_a_text_that_supports_nothing_here_changes_nothing() -> None:
    slot = slot_of("x 1 Mar")
    elsewhere = RetiredFragment(fragment_id=FragmentId("elsewhere"))
    assert plan_fragment_retirement(slot.view, slot.context(), [elsewhere]) == Changes()
    retire(slot, "s0")
    assert retire(slot, "s0") == Changes()


@pytest.mark.rule("R2.9")
def test_what_its_author_has_replaced_says_so() -> None:
    slot = slot_of("x 1 Mar")
    replaced = RetiredFragment(fragment_id=fragment_of(slot, "s0"), superseded_by=FragmentId("new"))
    changes = slot.commit(plan_fragment_retirement(slot.view, slot.context(), [replaced]))
    assert [decision.reason for decision in changes.support_decisions] == ["superseded_by_author"]
    assert [transition.reason for transition in changes.transitions] == ["superseded_by_author"]


@pytest.mark.rule("R2.3", "R4.2")
def test_another_authority_changes_the_tier_and_nothing_else() -> None:
    slot = slot_of("x 1 Mar")
    (support,) = slot.view.supports
    granted = SupportDecision(
        support_id=support.support_id,
        kind=SupportDecisionKind.GRANT,
        authority=Authority.AUTHORITATIVE,
        reason="source_registry_changed",
    )
    slot.commit(plan_support_switches(slot.view, slot.context(), [granted], "source_registry_changed"))
    (row,) = slot.view.rows
    assert (slot.rows(), row.tier) == (["x 1 Mar.. active"], Tier.FACT)
    lowered = replace(granted, authority=Authority.PRIMARY)
    slot.commit(plan_support_switches(slot.view, slot.context(), [lowered], "source_registry_changed"))
    (row,) = slot.view.rows
    assert (slot.rows(), row.tier) == (["x 1 Mar.. active"], Tier.VALIDATED_CLAIM)


@pytest.mark.rule("R2.5", "R4.17")
def test_an_undo_switches_nothing_on_that_its_source_has_left_behind_since() -> None:
    """A text is taken back, its source moves on, and the first decision is reverted: the text stays out."""
    slot = slot_of("x 1 Mar")
    (statement,) = slot.view.statements
    second = replace(support_of(statement, fragment="another"), support_id=SupportId("second"))
    granted = SupportDecision(
        support_id=second.support_id,
        kind=SupportDecisionKind.GRANT,
        authority=Authority.PRIMARY,
        reason="adopted",
    )
    slot.commit(plan_adoption(slot.view, slot.context(), statement, second, granted, ()))
    changes = slot.store.retract_fragment(SLOT, OWNER, fragment_of(slot, "s0"))
    slot.store.now += timedelta(minutes=1)
    (decision,) = changes.decision_records
    _, past = slot.store.past_decision(decision.decision_id)

    def reinstated(*, retired: bool) -> list[SupportDecisionKind]:
        supports = tuple(replace(s, retired=retired and not s.effective) for s in slot.view.supports)
        view = replace(slot.view, supports=supports)
        return [one.kind for one in plan_revert(view, slot.context(), OWNER, past).support_decisions]

    assert reinstated(retired=False) == [SupportDecisionKind.REINSTATE]
    assert reinstated(retired=True) == []
