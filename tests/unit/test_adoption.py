"""Adoption: what an owner's relationship gains by a text of another profile, and what stays that profile's."""

from __future__ import annotations

from dataclasses import replace

import pytest
from corrigenda_core.domain.cases import CaseAction
from corrigenda_core.domain.changes import Changes
from corrigenda_core.domain.errors import Reason, Refusal
from corrigenda_core.domain.evidence import Authority, Support, SupportDecision, SupportDecisionKind
from corrigenda_core.domain.ids import FragmentId, ProfileId, RelationshipId, SupportId
from corrigenda_core.domain.relationships import ReferenceKind, Tier
from corrigenda_core.domain.sources import RetiredFragment
from corrigenda_core.domain.time import TextSpan
from corrigenda_core.policy.adoption import (
    REFERENCES_MAX,
    CarriedByText,
    decide_adopting_statement,
    is_adopted,
    plan_adoption,
)
from corrigenda_core.policy.support_switches import plan_fragment_retirement
from corrigenda_core.testing.owner_slot import OwnerSlot
from corrigenda_core.testing.slots import OWNER, SLOT, predicate

BOB, EVE = ProfileId("bob"), ProfileId("eve")
TEXT = FragmentId("text of bob")
PASSAGE = TextSpan(start=10, end=20)


def slot_of(*lines: str) -> OwnerSlot:
    slot = OwnerSlot(predicate())
    for line in lines:
        slot.place(line)
    return slot


def support_by_text(slot: OwnerSlot, number: int = 0) -> Support:
    return Support(
        support_id=SupportId(f"adopted {number}"),
        fragment_id=TEXT,
        author=BOB,
        recorded_at=slot.context().moment.at,
        authority=Authority.PRIMARY,
        source_group="group of bob",
        adopted_from_fragment_id=TEXT,
        spans=(PASSAGE,),
    )


def grant(support: Support, kind: SupportDecisionKind = SupportDecisionKind.GRANT) -> SupportDecision:
    return SupportDecision(support_id=support.support_id, kind=kind, authority=support.authority, reason="adopted")


def adopt(slot: OwnerSlot, name: str, *carried: CarriedByText, number: int = 0) -> Changes:
    context = slot.context()
    statement = decide_adopting_statement(slot.view, context, slot.row_id(name), None)
    support = support_by_text(slot, number)
    return slot.commit(plan_adoption(slot.view, context, statement, support, grant(support), carried))


def carried(name: str, start: int = 0, end: int = 100) -> CarriedByText:
    return CarriedByText(relationship_id=RelationshipId(name), spans=(TextSpan(start=start, end=end),))


@pytest.mark.rule("R2.8")
def test_an_adopted_text_is_another_support_of_the_last_statement_that_carries_the_row() -> None:
    slot = slot_of("x 1 Mar", "x 1 Mar")
    (row,) = slot.view.rows
    changes = adopt(slot, "s0")
    (support,) = changes.supports
    assert (support.statement_id, support.relationship_id) == ("s1", row.relationship_id)
    assert (support.author, support.source_group, support.fragment_id) == (BOB, "group of bob", TEXT)
    # It moves no time and makes no row.
    assert slot.rows() == ["x 1 Mar.. active"]
    assert is_adopted(slot.view, row.relationship_id, support)
    assert not is_adopted(slot.view, RelationshipId("another"), support)


@pytest.mark.rule("R2.8", "R4.2")
def test_the_tier_follows_from_the_text_of_another_witness() -> None:
    slot = slot_of("x 1 Mar")
    changes = adopt(slot, "s0")
    (row,) = slot.view.rows
    assert row.tier is Tier.FACT
    assert [transition.reason for transition in changes.transitions] == ["evidence_adopted"]


@pytest.mark.rule("R2.8", "R4.3", "R7.1")
def test_what_had_lost_its_support_is_in_force_again_and_opens_a_case() -> None:
    slot = slot_of("x 1 Mar")
    slot.commit(
        plan_fragment_retirement(slot.view, slot.context(), [RetiredFragment(fragment_id=FragmentId("text-s0"))])
    )
    slot.place("y 1 Mar", owner=EVE)
    assert not slot.view.cases
    changes = adopt(slot, "s0")
    assert slot.rows() == ["x 1 Mar.. active", "y 1 Mar.. active"]
    assert [event.action for event in changes.case_events] == [CaseAction.OPENED]


@pytest.mark.rule("R2.8")
def test_it_refers_to_what_the_author_states_on_the_same_passage() -> None:
    slot = slot_of("x 1 Mar")
    same, elsewhere, beside = carried("same", 0, 11), carried("elsewhere", 20, 30), carried("beside", 0, 10)
    changes = adopt(slot, "s0", same, elsewhere, beside)
    assert [(r.kind, r.source_id, r.target_id) for r in changes.references] == [
        (ReferenceKind.ADOPTS_EVIDENCE_FROM, slot.row_id("s0"), "same")
    ]
    # Where nothing is stated on the passage, the whole text is what was adopted; what stands is not said again.
    others = [carried(f"r{n:02}", 20, 30) for n in range(REFERENCES_MAX + 1)]
    again = adopt(slot, "s0", *others, number=1)
    assert [r.target_id for r in again.references] == [f"r{n:02}" for n in range(REFERENCES_MAX)]
    assert not adopt(slot, "s0", same, number=2).references


@pytest.mark.rule("R4.6")
@pytest.mark.parametrize(
    ("owner", "version", "reason"),
    [(BOB, None, Reason.NOT_OWNER), (OWNER, 7, Reason.STALE_VERSION)],
)
def test_only_its_owner_lets_a_relationship_stand_on_more(
    owner: ProfileId, version: int | None, reason: Reason
) -> None:
    slot = slot_of("x 1 Mar")
    context = slot.context()
    context = replace(context, actor=replace(context.actor, profile_id=owner))
    with pytest.raises(Refusal) as refused:
        decide_adopting_statement(slot.view, context, slot.row_id("s0"), version)
    assert refused.value.reason is reason


def test_what_nothing_carries_stands_on_nothing() -> None:
    slot = slot_of("x 1 Mar")
    slot.retract("s0")
    with pytest.raises(Refusal) as refused:
        decide_adopting_statement(slot.view, slot.context(), slot.row_id("s0"), None)
    assert (refused.value.reason, refused.value.field) == (Reason.INVALID_FIELD, "relationship_id")
    with pytest.raises(Refusal) as missing:
        decide_adopting_statement(slot.view, slot.context(), RelationshipId("none"), None)
    assert missing.value.reason is Reason.RESOURCE_NOT_FOUND


def test_an_adoption_grants() -> None:
    slot = slot_of("x 1 Mar")
    context, support = slot.context(), support_by_text(slot)
    statement = decide_adopting_statement(slot.view, context, slot.row_id("s0"), None)
    with pytest.raises(ValueError, match="grants"):
        plan_adoption(slot.view, context, statement, support, grant(support, SupportDecisionKind.REVOKE), ())
    assert statement.slot == SLOT
