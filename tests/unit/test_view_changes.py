"""The pure effect of changes on a view."""

from __future__ import annotations

import uuid
from dataclasses import replace
from datetime import timedelta

import pytest
from corrigenda_core.domain.cases import CaseKind, CaseStatus, ConflictCase, SetKey
from corrigenda_core.domain.changes import Changes
from corrigenda_core.domain.decisions import Distinction
from corrigenda_core.domain.evidence import Authority, SupportDecision, SupportDecisionKind
from corrigenda_core.domain.ids import ConflictId, DecisionId, IdRange, StatementId, SupportId
from corrigenda_core.policy.refold import plan_refold
from corrigenda_core.policy.view_changes import apply_changes
from corrigenda_core.testing.slot_ledger import SlotLedger, support_of
from corrigenda_core.testing.slots import SLOT, day, predicate, said

SET_KEY = SetKey(kind=CaseKind.CURRENT_STATE, subject_id=SLOT.subject_id, predicate=SLOT.predicate)


def case(status: CaseStatus) -> ConflictCase:
    return ConflictCase(
        conflict_id=ConflictId("case"),
        set_key=SET_KEY,
        status=status,
        version=1,
        opened_at=day("1 Jun"),
        review_due_at=day("8 Jun"),
        first_contradiction_at=day("1 Jun"),
        positions=(),
    )


def test_a_case_is_live_until_it_is_closed_and_then_named_by_the_next() -> None:
    view = apply_changes(SlotLedger(predicate()).view, Changes(cases=(case(CaseStatus.OPEN),)))
    assert view.cases == (case(CaseStatus.OPEN),)
    view = apply_changes(view, Changes(cases=(case(CaseStatus.RESOLVED),)))
    assert (view.cases, view.closed_cases) == ((), ((SET_KEY, ConflictId("case")),))


@pytest.mark.rule("R4.3")
@pytest.mark.parametrize(
    ("kinds", "effective", "witness"),
    [
        ([SupportDecisionKind.REVOKE], [False, True], "2 Apr"),
        ([SupportDecisionKind.REVOKE, SupportDecisionKind.REINSTATE], [True, True], "3 May"),
        ([SupportDecisionKind.REVOKE, SupportDecisionKind.REVOKE], [False, True], "2 Apr"),
    ],
)
def test_a_switched_support_changes_the_witness_time(
    kinds: list[SupportDecisionKind], effective: list[bool], witness: str
) -> None:
    ledger = SlotLedger(predicate())
    statement = said("x")[0]
    first = replace(support_of(statement), occurred_at=day("3 May"))
    second = replace(first, support_id=SupportId("second"), occurred_at=day("2 Apr"))
    ledger.place_statement(statement, first)
    view = apply_changes(ledger.view, Changes(supports=(second,)))
    decisions = tuple(
        SupportDecision(support_id=first.support_id, kind=kind, authority=Authority.SECONDARY, reason="test")
        for kind in kinds
    )
    after = apply_changes(view, Changes(support_decisions=decisions))
    assert [support.effective for support in after.supports] == effective
    assert after.supports[0].authority is Authority.SECONDARY
    assert after.statements[0].witness_at == day(witness)
    assert all(support.relationship_id == ledger.row_id("s0") for support in after.supports)


def test_a_statement_without_effective_support_says_nothing() -> None:
    ledger = SlotLedger(predicate())
    ledger.place("x 1 Mar")
    ledger.place("y 1 Apr")
    revoked = SupportDecision(
        support_id=SupportId("support-s0"), kind=SupportDecisionKind.REVOKE, authority=Authority.PRIMARY, reason="test"
    )
    after = apply_changes(ledger.view, Changes(support_decisions=(revoked,)))
    assert [statement.effective for statement in after.statements] == [False, True]
    assert after.statements[0].witness_at == after.statements[0].recorded_at


def test_a_support_of_a_whole_row_stays_where_it_is() -> None:
    ledger = SlotLedger(predicate())
    ledger.place("x 1 Mar")
    support = replace(ledger.view.supports[0], support_id=SupportId("adopted"), statement_id=None)
    after = apply_changes(ledger.view, Changes(supports=(support,)))
    assert after.supports[1] == support


def test_references_are_switched_off_in_their_place() -> None:
    ledger = SlotLedger(predicate())
    ledger.place("x 1 Mar")
    ledger.place("y 1 Apr")
    (reference,) = ledger.view.references
    after = apply_changes(ledger.view, Changes(references_switched_off=(replace(reference, active=False),)))
    assert after.references == (replace(reference, active=False),)


@pytest.mark.rule("R4.14")
def test_a_distinction_touches_both_owners_and_moves_nothing() -> None:
    ledger = SlotLedger(predicate())
    ledger.place("x 1 Mar")
    told_apart = Distinction(decision_id=DecisionId("d"), first=StatementId("s0"), second=StatementId("s1"))
    changes = ledger.decide(told_apart)
    assert changes == Changes(decisions=(told_apart,))
    assert ledger.view.decisions == (told_apart,)
    assert ledger.decide() == Changes()


def test_ids_of_several_owners_are_apart() -> None:
    ledger = SlotLedger(predicate())
    ledger.place("x 1 Mar")
    ledger.place("x 1 Mar", owner=replace(said("x")[0], owner_id="bob").owner_id)
    lost = replace(ledger.view, statements=tuple(replace(s, effective=False) for s in ledger.view.statements))
    context = replace(ledger.context(), ids=IdRange(base=uuid.UUID("00000000-0000-7000-8000-000000000000")))
    changes = plan_refold(ledger.view, lost, context, "support")
    assert len({t.transition_id for t in changes.transitions}) == 2
    assert {row.status for row in changes.relationships} == {"pending_evidence"}


@pytest.mark.rule("R4.9")
def test_a_witness_stays_before_the_end_of_what_it_bears_out() -> None:
    """Also where a switch of its supports computes it again, so that a view is what the next reader will load."""
    statement = replace(said("gold..1 May @30 Apr")[0], witness_at=day("30 Apr"))
    support = replace(support_of(statement), occurred_at=day("10 May"))
    view = replace(SlotLedger(predicate()).view, statements=(statement,), supports=(support,))
    granted = SupportDecision(
        support_id=support.support_id, kind=SupportDecisionKind.GRANT, authority=Authority.PRIMARY, reason="test"
    )
    (after,) = apply_changes(view, Changes(support_decisions=(granted,))).statements
    assert after.witness_at == day("1 May") - timedelta(microseconds=1)
