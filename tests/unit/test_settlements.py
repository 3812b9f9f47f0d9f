"""What placement decides beyond the fold: the policy close, corrections, duplicates, and closings."""

from __future__ import annotations

from dataclasses import replace

import pytest
from corrigenda_core.domain.changes import Changes, OutcomeKind
from corrigenda_core.domain.decisions import FacetAssignment
from corrigenda_core.domain.errors import Reason, Refusal
from corrigenda_core.domain.ids import ConflictId, DecisionId, ProfileId, RelationshipId, StatementId
from corrigenda_core.domain.predicates import Predicate, SameMomentPolicy
from corrigenda_core.domain.relationships import Closing, ReferenceKind, Status
from corrigenda_core.domain.submissions import CorrectionTarget
from corrigenda_core.domain.time import ClosedToNothing, TextSpan, TimeBasis
from corrigenda_core.policy.corrections import may_correct
from corrigenda_core.policy.placement import plan_own_side
from corrigenda_core.testing.slot_ledger import SlotLedger, support_of
from corrigenda_core.testing.slots import day, predicate, said

HOLD = predicate()
COMPETE = predicate(same_moment=SameMomentPolicy.COMPETE)
CLOSE = predicate(same_moment=SameMomentPolicy.CLOSE)


def placed(*lines: str, by: Predicate = HOLD) -> SlotLedger:
    ledger = SlotLedger(by)
    for line in lines:
        ledger.place(line)
    return ledger


def closing(ledger: SlotLedger, name: str, at: str, **more: bool | ConflictId) -> Closing:
    """The closing of the row that carries a statement."""
    row = ledger.row(name)
    carried = tuple(s.statement_id for s in ledger.view.statements if s.relationship_id == row.relationship_id)
    made = Closing(
        decision_id=DecisionId(f"close-{name}"),
        relationship_id=row.relationship_id,
        facet=row.facet,
        object_key=row.object.key,
        polarity=row.polarity,
        at=day(at),
        statement_ids=carried,
        basis=TimeBasis.STATED_TIME,
    )
    return replace(made, **more)


@pytest.mark.rule("R4.10")
@pytest.mark.parametrize(
    ("lines", "kind", "rows"),
    [
        pytest.param(["main @1 Jan", "release @1 May"], OutcomeKind.CLOSED,
                     ["main ..1 Jun superseded", "release 1 Jun.. active"], id="both-unknown"),
        pytest.param(["main 1 Jan", "release @1 May"], OutcomeKind.CLOSED,
                     ["main 1 Jan..1 Jun superseded", "release 1 Jun.. active"], id="it-has-no-start"),
        pytest.param(["main @1 May !crm", "release 2 Jun"], OutcomeKind.COMPETING,
                     ["main .. active", "release 2 Jun.. competing"], id="a-record-is-ended-by-nobody-else"),
        pytest.param(["main @1 May !crm", "release 1 Mar !crm"], OutcomeKind.CLOSED,
                     ["main ..1 Mar superseded", "release 1 Mar.. active"], id="a-record-is-ended-by-its-source"),
        pytest.param(["main @1 May", "release 1 Mar"], OutcomeKind.CLOSED,
                     ["main ..1 Mar superseded", "release 1 Mar.. active"], id="the-other-has-none"),
        pytest.param(["main 1 Jan", "main @1 May", "release 1 Mar"], OutcomeKind.CLOSED,
                     ["main 1 Jan..1 Mar superseded", "release 1 Mar.. active"], id="a-witness-without-a-start"),
        pytest.param(["main 1 Mar", "release 1 Mar"], OutcomeKind.COMPETING,
                     ["main 1 Mar.. competing", "release 1 Mar.. competing"], id="equal-starts-compete"),
        pytest.param(["main 1 Jan", "release..15 May @1 May"], OutcomeKind.COMPETING,
                     ["main 1 Jan.. competing", "release 1 Jan..15 May competing"], id="it-had-ended-by-then"),
    ],
)  # fmt: skip
def test_close_settles_what_it_can(lines: list[str], kind: OutcomeKind, rows: list[str]) -> None:
    ledger = SlotLedger(CLOSE)
    for line in lines:
        outcome = ledger.place(line)
    assert outcome.kind is kind
    assert ledger.rows() == rows


@pytest.mark.rule("R4.15")
def test_a_closing_of_the_policy_holds_only_while_its_statement_stands() -> None:
    ledger = placed("main @1 May", "release 1 Mar", by=CLOSE)
    (transition,) = [t for t in ledger.last.transitions if t.closing is not None]
    assert transition.relationship_id == ledger.row_id("s0")
    assert [r.kind for r in ledger.last.references] == [ReferenceKind.REPLACES]
    ledger.retract("s1")
    assert ledger.rows() == ["main .. active", "release 1 Mar.. retracted"]


@pytest.mark.rule("R4.16b")
@pytest.mark.parametrize(
    ("before", "line", "rows"),
    [
        pytest.param(["gold 1 Mar"], "silver", ["gold nothing at 1 Mar superseded", "silver 1 Mar.. active"],
                     id="takes-its-start"),
        pytest.param(["gold"], "silver", ["gold nothing superseded", "silver .. active"], id="an-unbounded-start"),
        pytest.param(["gold 1 Mar"], "silver 1 Apr", ["gold nothing at 1 Mar superseded", "silver 1 Apr.. active"],
                     id="has-a-start-of-its-own"),
        pytest.param(["bronze 1 Jan", "gold 1 Mar"], "silver 1 Apr",
                     ["bronze 1 Jan..1 Apr superseded", "gold nothing at 1 Mar superseded", "silver 1 Apr.. active"],
                     id="what-it-alone-had-ended-comes-back"),
        pytest.param(["gold 1 Mar", "iron 1 May"], "silver 1 Apr",
                     ["gold 1 Mar..1 Apr superseded", "iron 1 May.. active", "silver 1 Apr..1 May superseded"],
                     id="another-value-starts-later"),
        pytest.param(["gold 1 Mar", "iron 1 May"], "silver",
                     ["gold nothing at 1 Mar superseded", "iron 1 May.. active", "silver 1 Mar..1 May superseded"],
                     id="in-its-place-before-a-later-one"),
        pytest.param(["gold", "iron 1 Jul"], "silver",
                     ["gold nothing superseded", "iron 1 Jul.. active", "silver ..1 Jul superseded"],
                     id="in-an-unbounded-place"),
        pytest.param(["gold 1 Mar"], "silver..1 May",
                     ["gold nothing at 1 Mar superseded", "silver 1 Mar..1 May active"],
                     id="nothing-comes-back-after-its-end"),
        pytest.param(["gold 1 Mar"], "gold 1 Apr", ["gold nothing at 1 Mar superseded", "gold 1 Apr.. active"],
                     id="the-same-value-at-another-time"),
    ],
)  # fmt: skip
def test_a_correction_takes_the_place_of_its_target(before: list[str], line: str, rows: list[str]) -> None:
    ledger = placed(*before)
    corrected = "s0" if before[0].startswith("gold") else "s1"
    target = ledger.row_id(corrected)
    outcome = ledger.place(line, corrects=corrected)
    assert (outcome.kind, outcome.rule) == (OutcomeKind.CORRECTED, "R4.16b")
    assert ledger.rows() == rows
    assert (ReferenceKind.CORRECTS, target) in [(r.kind, r.target_id) for r in ledger.last.references]


@pytest.mark.rule("R4.16b", "R4.17")
def test_only_a_revert_brings_the_target_back() -> None:
    ledger = placed("bronze 1 Jan", "gold 1 Mar")
    before = ledger.rows()
    ledger.place("silver 1 Mar", corrects="s1")
    ledger.retract("s2")
    assert ledger.rows() == ["bronze 1 Jan.. active", "gold nothing at 1 Mar superseded", "silver 1 Mar.. retracted"]
    (decision_id,) = {d.decision_id for d in ledger.view.decisions if d.decision_id != "retract-s2"}
    ledger.revert(decision_id)
    assert ledger.rows()[:2] == before


@pytest.mark.rule("R4.16b")
@pytest.mark.parametrize(
    ("before", "line", "reason"),
    [
        (["gold 1 Mar..1 Apr"], "silver 1 Apr", Reason.INVALID_FIELD),
        (["gold 1 Mar"], "silver 1 Jan..1 Mar", Reason.INVALID_FIELD),
        (["gold 1 Mar !crm"], "silver 1 Mar", Reason.SYSTEM_OF_RECORD),
        (["gold 1 Mar !crm"], "silver 1 Mar !erp", Reason.SYSTEM_OF_RECORD),
    ],
)
def test_a_correction_needs_a_target_that_it_may_replace(before: list[str], line: str, reason: Reason) -> None:
    ledger = placed(*before)
    with pytest.raises(Refusal) as refused:
        ledger.place(line, corrects="s0")
    assert refused.value.reason is reason


@pytest.mark.rule("R4.12")
def test_the_same_text_again_changes_nothing_and_revives_nothing() -> None:
    ledger = placed("gold 1 Mar")
    for prepare in (lambda: None, lambda: ledger.retract("s0")):
        prepare()
        before = ledger.view
        again = said("gold 1 Mar", first=7)[0]
        outcome = ledger.place_statement(again, support_of(again, fragment="text-s0"))
        assert (outcome.kind, outcome.relationship_id) == (OutcomeKind.DUPLICATE, ledger.row_id("s0"))
        assert ledger.view == before


@pytest.mark.rule("R4.12")
@pytest.mark.parametrize(
    ("line", "fragment", "span", "kind"),
    [
        ("gold 1 Apr", "text-s0", (0, 9), OutcomeKind.DUPLICATE),
        ("gold 1 Apr", "text-s0", (20, 29), OutcomeKind.CORROBORATED),
        ("gold 1 Apr", "text-other", (0, 9), OutcomeKind.CORROBORATED),
        ("silver 1 Apr", "text-s0", (0, 9), OutcomeKind.SUPERSEDED),
    ],
)
def test_only_the_same_passage_about_the_same_value_is_a_duplicate(
    line: str, fragment: str, span: tuple[int, int], kind: OutcomeKind
) -> None:
    ledger = SlotLedger(HOLD)
    first, second = said("gold 1 Mar", line)
    ledger.place_statement(first, replace(support_of(first), spans=(TextSpan(start=0, end=12),)))
    support = replace(support_of(second, fragment=fragment), spans=(TextSpan(start=span[0], end=span[1]),))
    assert ledger.place_statement(second, support).kind is kind


@pytest.mark.rule("R4.12")
def test_what_has_ended_or_been_taken_out_corroborates_nothing() -> None:
    ledger = placed("gold 1 Mar..1 Apr")
    assert ledger.place("gold 1 Apr").kind is OutcomeKind.INSERTED
    ledger.retract("s1")
    assert ledger.place("gold 1 Apr").kind is OutcomeKind.INSERTED
    assert ledger.rows() == ["gold 1 Mar..1 Apr active", "gold 1 Apr.. retracted", "gold 1 Apr.. active"]


@pytest.mark.rule("R4.15")
@pytest.mark.parametrize(
    ("lines", "at", "rows"),
    [
        pytest.param(["x 1 Jan"], "1 Mar", ["x 1 Jan..1 Mar superseded"], id="ends-the-run"),
        pytest.param(["x 1 Jan"], "1 Jan", ["x nothing at 1 Jan superseded"], id="closes-to-nothing"),
        pytest.param(["x"], "1 Mar", ["x ..1 Mar superseded"], id="an-unbounded-run"),
        pytest.param(["x 1 Jan", "x @1 Jun"], "1 Mar", ["x 1 Jan..1 Mar superseded"], id="with-a-later-witness"),
        pytest.param(["x 1 Mar", "x @1 Jun"], "1 Jan", ["x nothing at 1 Mar superseded"], id="all-of-a-row-leave"),
        pytest.param(["x 1 Jan..1 Feb", "x @1 Jun"], "1 Mar",
                     ["x 1 Jan..1 Feb active", "x nothing at 1 Jun superseded"], id="closed-before-it-began-again"),
    ],
)  # fmt: skip
def test_a_closing_ends_what_was_in_force_before_it(lines: list[str], at: str, rows: list[str]) -> None:
    ledger = placed(*lines)
    ledger.decide(closing(ledger, f"s{len(lines) - 1}", at))
    assert ledger.rows() == rows


@pytest.mark.rule("R4.15")
def test_a_closing_ends_its_value_whatever_carries_it_by_then_and_new_statements_begin_again() -> None:
    ledger = placed("x 1 Jan")
    ledger.decide(closing(ledger, "s0", "1 Mar"))
    assert ledger.place("x 1 Feb").kind is OutcomeKind.CORROBORATED
    assert ledger.rows() == ["x 1 Jan..1 Mar superseded"]
    ledger.retract("s0")
    assert ledger.rows() == ["x 1 Feb..1 Mar superseded"]
    ledger.place("x 1 Mar")
    assert ledger.rows() == ["x 1 Feb..1 Mar superseded", "x 1 Mar.. active"]


@pytest.mark.rule("R4.15", "R7.16")
def test_folding_reads_the_closing_of_a_case_as_the_case_wrote_it() -> None:
    ledger = placed("x 1 Jan..1 Feb", "y 1 Mar", "z 1 Mar", by=COMPETE)
    case = ConflictId("case")
    ledger.decide(closing(ledger, "s0", "1 Jun", conflict_id=case), closing(ledger, "s1", "1 Apr", conflict_id=case))
    assert ledger.rows() == ["x 1 Jan..1 Feb superseded", "y 1 Mar..1 Apr superseded", "z 1 Mar.. competing"]


@pytest.mark.rule("R4.15")
def test_a_closing_does_not_touch_a_record_that_it_was_not_made_for() -> None:
    ledger = placed("x 1 Jan")
    ledger.decide(closing(ledger, "s0", "1 Mar"))
    ledger.place("x 1 Feb !crm")
    assert ledger.rows() == ["x 1 Jan.. active"]


@pytest.mark.rule("R4.3")
def test_a_row_without_effective_support_waits_and_comes_back() -> None:
    ledger = placed("x 1 Jan", "y 1 Mar")
    lost = [replace(s, effective=s.statement_id != "s1") for s in ledger.view.statements]
    before = ledger.rows()
    ledger.replace_statements(lost)
    assert ledger.rows() == ["x 1 Jan.. active", "y 1 Mar.. pending_evidence"]
    ledger.replace_statements([replace(s, effective=True) for s in lost])
    assert ledger.rows() == before


@pytest.mark.rule("R4.3")
def test_a_statement_that_never_had_support_gets_a_row_that_waits() -> None:
    ledger = SlotLedger(HOLD)
    statement = replace(said("x 1 Jan..1 Mar")[0], effective=False)
    outcome = ledger.place_statement(statement, support_of(statement))
    assert outcome.kind is OutcomeKind.PENDING_EVIDENCE
    assert ledger.rows() == ["x 1 Jan..1 Mar pending_evidence"]
    assert outcome.relationship_id == ledger.row_id("s0")


def test_placements_of_two_owners_are_two_plans() -> None:
    ledger = SlotLedger(HOLD)
    ledger.place("x 1 Jan")
    ledger.place("y 1 Jan", owner=ProfileId("bob"))
    assert ledger.rows() == ["x 1 Jan.. active", "y 1 Jan.. active"]
    assert {row.owner_id for row in ledger.last.relationships} == {"bob"}


@pytest.mark.rule("R4.16b")
def test_a_correction_names_an_own_living_relationship_at_its_version() -> None:
    ledger = placed("gold 1 Mar")
    statement = said("silver 1 Mar", first=1)[0]
    row = ledger.row("s0")
    for changed, version, reason in (
        (replace(row, owner_id=ProfileId("bob")), None, Reason.NOT_OWNER),
        (row, 7, Reason.STALE_VERSION),
        (replace(row, status=Status.RETRACTED), None, Reason.INVALID_FIELD),
        (replace(row, validity=ClosedToNothing(at=day("1 Mar"))), None, Reason.INVALID_FIELD),
    ):
        target = CorrectionTarget(relationship_id=row.relationship_id, expected_version=version)
        with pytest.raises(Refusal) as refused:
            may_correct(statement, changed, target)
        assert refused.value.reason is reason
    missing = {statement.statement_id: CorrectionTarget(relationship_id=RelationshipId("nothing"))}
    with pytest.raises(Refusal) as refused:
        plan_own_side(ledger.view, ledger.context(), [statement], [], missing)
    assert refused.value.reason is Reason.RESOURCE_NOT_FOUND


@pytest.mark.rule("R4.16b")
def test_a_correction_goes_into_the_facet_of_its_target() -> None:
    ledger = placed("x 1 Mar", "y 1 Mar")
    keep_both = DecisionId("keep-both")
    ledger.decide(
        FacetAssignment(decision_id=keep_both, statement_id=StatementId("s0"), facet=0),
        FacetAssignment(decision_id=keep_both, statement_id=StatementId("s1"), facet=1),
    )
    ledger.place("z", corrects="s1")
    assert ledger.rows() == ["x 1 Mar.. active", "y nothing at 1 Mar superseded", "z 1 Mar.. active"]
    assert ledger.row("s2").facet == 1


@pytest.mark.rule("R4.16b")
def test_only_a_newer_record_corrects_a_record() -> None:
    ledger = placed("gold 1 Mar !crm")
    ledger.place("silver 1 Mar !crm", corrects="s0")
    assert ledger.rows() == ["gold nothing at 1 Mar superseded", "silver 1 Mar.. active"]


@pytest.mark.rule("R4.10")
def test_a_start_that_was_given_is_not_given_again() -> None:
    ledger = placed("gold @1 May", "iron @1 May", by=CLOSE)
    assert ledger.rows() == ["gold ..1 Jun superseded", "iron 1 Jun.. active"]
    outcome = ledger.place("silver", corrects="s0")
    assert outcome.kind is OutcomeKind.CORRECTED
    assert ledger.rows() == ["gold nothing superseded", "iron 1 Jun.. active", "silver ..1 Jun superseded"]


def test_a_plan_is_that_of_one_owner() -> None:
    ledger = SlotLedger(HOLD)
    assert plan_own_side(ledger.view, ledger.context(), [], []) == Changes()
    mine, theirs = said("x 1 Mar")[0], said("x 1 Mar", owner=ProfileId("bob"), first=1)[0]
    with pytest.raises(ValueError, match="one owner"):
        plan_own_side(ledger.view, ledger.context(), [mine, theirs], [])


@pytest.mark.rule("R4.10")
def test_several_statements_of_one_plan_are_placed_one_after_the_other() -> None:
    ledger = SlotLedger(HOLD)
    statements = said("x 1 Mar", "x 1 Apr", "y 1 May")
    changes = ledger.commit(
        plan_own_side(ledger.view, ledger.context(), statements, [support_of(s) for s in statements])
    )
    assert [o.kind for o in changes.outcomes] == [
        OutcomeKind.INSERTED,
        OutcomeKind.CORROBORATED,
        OutcomeKind.SUPERSEDED,
    ]
    assert ledger.rows() == ["x 1 Mar..1 May superseded", "y 1 May.. active"]
    assert [row.version for row in ledger.view.rows] == [1, 1]


@pytest.mark.rule("R4.15")
def test_a_conditional_closing_lapses_when_what_it_was_made_for_is_held() -> None:
    ledger = placed("x 1 Jan", "y 1 Mar !crm", "z 1 Mar")
    assert ledger.row("s2").status is Status.NEEDS_REVIEW
    made_for = (StatementId("s2"),)
    ledger.decide(closing(ledger, "s0", "1 Feb", conditional=True, made_for=made_for))
    assert ledger.rows()[0] == "x 1 Jan..1 Mar superseded"


@pytest.mark.rule("R4.3")
def test_a_quarantined_row_stays_quarantined_while_nothing_carries_it() -> None:
    ledger = placed("x 1 Jan")
    lost = [replace(s, effective=False) for s in ledger.view.statements]
    ledger.views[-1] = replace(
        ledger.view, rows=tuple(replace(row, status=Status.QUARANTINED) for row in ledger.view.rows)
    )
    ledger.replace_statements(lost)
    assert ledger.rows() == ["x 1 Jan.. quarantined"]


@pytest.mark.rule("R4.15")
def test_the_closing_of_one_owner_touches_no_other() -> None:
    ledger = placed("x 1 Jan")
    ledger.place("x 1 Jan", owner=ProfileId("bob"))
    ledger.decide(closing(ledger, "s0", "1 Mar"))
    assert ledger.rows() == ["x 1 Jan..1 Mar superseded", "x 1 Jan.. active"]
    ledger.place("x 1 Feb", owner=ProfileId("bob"))
    assert ledger.rows() == ["x 1 Jan..1 Mar superseded", "x 1 Jan.. active"]


@pytest.mark.rule("R4.10")
def test_close_gives_no_start_to_what_had_ended_by_then() -> None:
    assert placed("main 1 Jan", "release..15 May @1 May", by=CLOSE).view.decisions == ()


@pytest.mark.rule("R4.15")
def test_a_closing_is_that_of_one_facet() -> None:
    ledger = placed("x 1 Mar", "y 1 Mar", "y 1 Apr")
    ledger.decide(
        *(
            FacetAssignment(decision_id=DecisionId("keep-both"), statement_id=StatementId(name), facet=facet)
            for name, facet in (("s0", 0), ("s1", 1), ("s2", 0))
        )
    )
    ledger.decide(closing(ledger, "s1", "1 May"))
    assert ledger.rows() == ["x 1 Mar..1 Apr superseded", "y 1 Mar..1 May superseded", "y 1 Apr.. active"]


@pytest.mark.rule("R4.16b")
def test_a_correction_of_one_side_takes_its_place_in_the_dispute() -> None:
    ledger = placed("x 1 Mar", "y 1 Mar", by=CLOSE)
    assert ledger.place("z", corrects="s0").kind is OutcomeKind.CORRECTED
    assert ledger.rows() == ["x nothing at 1 Mar superseded", "y 1 Mar.. competing", "z 1 Mar.. competing"]


@pytest.mark.rule("R4.12")
def test_a_statement_with_a_text_of_its_own_beside_a_known_one_is_new() -> None:
    ledger = placed("gold 1 Mar")
    again = said("gold 1 Apr", first=1)[0]
    known, fresh = support_of(again, fragment="text-s0"), support_of(again)
    changes = plan_own_side(ledger.view, ledger.context(), [again], [known, fresh])
    assert changes.outcomes[0].kind is OutcomeKind.CORROBORATED
