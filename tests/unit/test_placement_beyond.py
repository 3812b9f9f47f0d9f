"""What a placement does beyond its owner's rows: references to others' rows, and team cases."""

from __future__ import annotations

from dataclasses import replace

import pytest
from corrigenda_core.domain.changes import CaseEffect, Changes, OutcomeKind
from corrigenda_core.domain.errors import Reason, Refusal
from corrigenda_core.domain.ids import EntityId, PredicateKey, ProfileId, SupportId
from corrigenda_core.domain.objects import Slot
from corrigenda_core.domain.predicates import Cardinality, SameMomentPolicy
from corrigenda_core.domain.relationships import ReferenceKind, Relationship
from corrigenda_core.domain.submissions import CorrectionTarget
from corrigenda_core.policy.case_side import plan_case_side
from corrigenda_core.policy.placement import plan_placement
from corrigenda_core.policy.refold import plan_refold
from corrigenda_core.testing.slot_ledger import SlotLedger, described, support_of
from corrigenda_core.testing.slots import OWNER, predicate, said

BOB, EVE = ProfileId("bob"), ProfileId("eve")


def place(
    ledger: SlotLedger,
    line: str,
    owner: ProfileId,
    names: Relationship | None = None,
    version: int | None = None,
    named: tuple[Relationship, ...] = (),
) -> Changes:
    statement = said(line, owner=owner, first=len(ledger.view.statements))[0]
    targets = {}
    if names is not None:
        target = CorrectionTarget(relationship_id=names.relationship_id, expected_version=version)
        targets[statement.statement_id] = target
    context = ledger.context(owner)
    return ledger.commit(plan_placement(ledger.view, context, [statement], [support_of(statement)], targets, named))


def test_a_second_owner_opens_a_case_and_a_third_joins_it() -> None:
    ledger = SlotLedger(predicate())
    effects = []
    for line, owner in (("main 1 Jan", OWNER), ("release 1 Mar", BOB), ("beta 1 Apr", EVE), ("release 1 Apr", BOB)):
        (outcome,) = place(ledger, line, owner).outcomes
        effects.append((outcome.kind, outcome.case_effect))
    assert effects == [
        (OutcomeKind.INSERTED, CaseEffect.NONE),
        (OutcomeKind.INSERTED, CaseEffect.OPENS_CASE),
        (OutcomeKind.INSERTED, CaseEffect.JOINS_CASE),
        (OutcomeKind.CORROBORATED, CaseEffect.NONE),
    ]
    (case,) = ledger.view.cases
    assert len(case.positions) == 3
    assert [row.version for row in ledger.view.rows] == [1, 2, 1]


def test_placed_rows_refer_to_those_of_others() -> None:
    ledger = SlotLedger(predicate())
    place(ledger, "main 1 Jan", OWNER)
    later = place(ledger, "release 1 Mar", BOB).references
    same = place(ledger, "main 1 Feb", EVE).references
    assert [(r.kind, r.target_id) for r in later] == [(ReferenceKind.CORRECTS, ledger.row_id("s0"))]
    assert {(r.kind, r.target_id) for r in same} == {
        (ReferenceKind.CONFIRMS, ledger.row_id("s0")),
        (ReferenceKind.CHALLENGES, ledger.row_id("s1")),
    }


def test_a_held_statement_says_nothing_about_others() -> None:
    ledger = SlotLedger(predicate())
    place(ledger, "main 1 Jan", OWNER)
    place(ledger, "release 1 Mar", BOB)
    changes = place(ledger, "beta 1 Mar", BOB)
    assert (changes.outcomes[0].kind, changes.references) == (OutcomeKind.HELD, ())


def test_the_relationship_of_another_owner_is_addressed_and_not_changed() -> None:
    ledger = SlotLedger(predicate())
    place(ledger, "main 1 Jan", OWNER)
    changes = place(ledger, "release", BOB, names=ledger.row("s0"))
    assert [(r.kind, r.target_id) for r in changes.references] == [(ReferenceKind.CORRECTS, ledger.row_id("s0"))]
    assert {row.owner_id for row in changes.relationships} == {BOB}


@pytest.mark.parametrize(
    ("slot", "version", "reason"),
    [
        (Slot(subject_id=EntityId("other"), predicate=PredicateKey("tier")), None, Reason.INVALID_FIELD),
        (Slot(subject_id=EntityId("account"), predicate=PredicateKey("other")), None, Reason.INVALID_FIELD),
        (Slot(subject_id=EntityId("account"), predicate=PredicateKey("tier"), scope="x"), 4, Reason.STALE_VERSION),
        (Slot(subject_id=EntityId("account"), predicate=PredicateKey("tier"), scope="x"), 1, None),
    ],
)
def test_whom_a_statement_may_address(slot: Slot, version: int | None, reason: Reason | None) -> None:
    ledger = SlotLedger(predicate())
    place(ledger, "main 1 Jan", OWNER)
    elsewhere = replace(ledger.row("s0"), slot=slot, relationship_id=replace(ledger.row("s0")).relationship_id + "x")
    if reason is None:
        changes = place(ledger, "release 1 Mar", BOB, names=elsewhere, version=version, named=(elsewhere,))
        assert elsewhere.relationship_id in {r.target_id for r in changes.references}
        return
    with pytest.raises(Refusal) as refused:
        place(ledger, "release 1 Mar", BOB, names=elsewhere, version=version, named=(elsewhere,))
    assert refused.value.reason is reason


@pytest.mark.rule("R4.16b")
def test_an_own_relationship_is_corrected_and_its_case_follows() -> None:
    ledger = SlotLedger(predicate(same_moment=SameMomentPolicy.COMPETE))
    place(ledger, "main 1 Jan", OWNER)
    place(ledger, "release 1 Mar", BOB)
    version = ledger.view.cases[0].version
    changes = place(ledger, "beta", BOB, names=ledger.row("s1"))
    assert changes.outcomes[0].kind is OutcomeKind.CORRECTED
    assert changes.outcomes[0].case_effect is CaseEffect.JOINS_CASE
    assert changes.cases[0].version == version + 1


def test_a_correction_leaves_one_case_and_opens_another() -> None:
    ledger = SlotLedger(predicate(cardinality=Cardinality.MANY))
    place(ledger, "main 1 Jan", OWNER)
    place(ledger, "-main 1 Jan", BOB)
    place(ledger, "-release 1 Jan", BOB)
    (left,) = ledger.view.cases
    changes = place(ledger, "release", OWNER, names=ledger.row("s0"))
    (outcome,) = changes.outcomes
    assert outcome.case_effect is CaseEffect.OPENS_CASE
    assert {case.conflict_id for case in changes.cases} == {left.conflict_id, outcome.conflict_id}


def test_a_support_of_no_statement_changes_nothing_of_a_placement() -> None:
    plain, supported = SlotLedger(predicate()), SlotLedger(predicate())
    for ledger in (plain, supported):
        place(ledger, "main 1 Jan", OWNER)
    aside = replace(support_of(said("main 1 Jan")[0]), support_id=SupportId("aside"), statement_id=None)
    view = replace(supported.view, supports=(*supported.view.supports, aside))
    statement = said("release 1 Mar", first=1)[0]
    context = supported.context(OWNER)
    planned = plan_placement(view, context, [statement], [support_of(statement)], {}, ())
    assert described(planned.relationships) == described(place(plain, "release 1 Mar", OWNER).relationships)


def test_any_change_of_rows_refreshes_their_case() -> None:
    ledger = SlotLedger(predicate())
    place(ledger, "main 1 Jan", OWNER)
    place(ledger, "release 1 Mar", BOB)
    lost = replace(
        ledger.view,
        statements=tuple(replace(s, effective=s.owner_id != BOB) for s in ledger.view.statements),
        supports=tuple(replace(s, effective=s.author != BOB) for s in ledger.view.supports),
    )
    context = ledger.context()
    changes = plan_case_side(lost, plan_refold(ledger.view, lost, context, "support"), context)
    assert [case.conflict_id for case in changes.cases] == [ledger.view.cases[0].conflict_id]
    ids = [t.transition_id for t in changes.transitions] + [e.event_id for e in changes.case_events]
    assert len(set(ids)) == len(ids) == 2


@pytest.mark.rule("R4.12")
def test_a_duplicate_says_nothing_about_others() -> None:
    ledger = SlotLedger(predicate())
    place(ledger, "main 1 Jan", OWNER)
    again = said("main 1 Jan", first=1)[0]
    place(ledger, "release 1 Mar", BOB)
    changes = plan_placement(ledger.view, ledger.context(), [again], [support_of(again, fragment="text-s0")])
    assert changes == Changes(outcomes=changes.outcomes)
    assert changes.outcomes[0].kind is OutcomeKind.DUPLICATE
