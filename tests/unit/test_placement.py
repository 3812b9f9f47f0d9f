"""Placement and what it leaves: rows, transitions, references, items and outcomes of one owner's slot."""

from __future__ import annotations

from dataclasses import replace

import pytest
from corrigenda_core.domain.changes import OutcomeKind
from corrigenda_core.domain.ids import ConflictId, DecisionId, RelationshipId, StatementId
from corrigenda_core.domain.items import ItemStatus
from corrigenda_core.domain.predicates import Predicate, SameMomentPolicy
from corrigenda_core.domain.relationships import Closing, ReferenceKind, Status, Tier
from corrigenda_core.testing.slot_ledger import SlotLedger
from corrigenda_core.testing.slots import predicate

HOLD = predicate()
COMPETE = predicate(same_moment=SameMomentPolicy.COMPETE)
CLOSE = predicate(same_moment=SameMomentPolicy.CLOSE)


def placed(lines: list[str], by: Predicate = HOLD) -> SlotLedger:
    ledger = SlotLedger(by)
    for line in lines:
        ledger.place(line)
    return ledger


@pytest.mark.rule("R4.10", "R4.7")
@pytest.mark.parametrize(
    ("lines", "last", "kind", "rows"),
    [
        pytest.param(["premium 1 May"], "trial 1 Jan", OutcomeKind.INSERTED_HISTORICAL,
                     ["premium 1 May.. active", "trial 1 Jan..1 May superseded"], id="V1"),
        pytest.param(["active 1 Jan"], "relocating 1 Dec", OutcomeKind.SUPERSEDED,
                     ["active 1 Jan..1 Dec superseded", "relocating 1 Dec.. active"], id="V2"),
        pytest.param(["standard 1 Jan", "gold 1 Mar"], "platinum 1 May", OutcomeKind.SUPERSEDED,
                     ["standard 1 Jan..1 Mar superseded", "gold 1 Mar..1 May superseded", "platinum 1 May.. active"],
                     id="V3"),
        pytest.param(["a 1 Jan..1 Feb", "c 1 Apr"], "b 15 Jan", OutcomeKind.INSERTED_HISTORICAL,
                     ["a 1 Jan..15 Jan superseded", "c 1 Apr.. active", "b 15 Jan..1 Apr superseded"], id="V5"),
        pytest.param(["a 1 Jan..31 Jan"], "d 1 Jun", OutcomeKind.INSERTED,
                     ["a 1 Jan..31 Jan active", "d 1 Jun.. active"], id="V6"),
        pytest.param(["main @1 Jan"], "release 1 Mar", OutcomeKind.SUPERSEDED,
                     ["main ..1 Mar superseded", "release 1 Mar.. active"], id="V7"),
        pytest.param(["main"], "release", OutcomeKind.HELD, ["main .. active", "release .. needs_review"], id="V8"),
        pytest.param(["main 1 Jan"], "release @1 Jun", OutcomeKind.HELD,
                     ["main 1 Jan.. active", "release .. needs_review"], id="V9"),
        pytest.param(["x 1 Jan", "x 1 May"], "y 1 Mar", OutcomeKind.EPISODE_DIVIDED,
                     ["x 1 Jan..1 Mar superseded", "x 1 May.. active", "y 1 Mar..1 May superseded"], id="divided"),
        pytest.param(["x 1 Jan"], "x 1 May", OutcomeKind.CORROBORATED, ["x 1 Jan.. active"], id="corroborated"),
    ],
)  # fmt: skip
def test_outcomes_and_rows(lines: list[str], last: str, kind: OutcomeKind, rows: list[str]) -> None:
    ledger = placed(lines)
    outcome = ledger.place(last)
    assert outcome.kind is kind
    assert sorted(ledger.rows()) == sorted(rows)
    assert outcome.relationship_id == ledger.row_id(f"s{len(lines)}")


@pytest.mark.rule("R4.10", "R4.14")
def test_a_third_value_joins_the_dispute() -> None:
    ledger = placed(["x 1 Mar", "y 1 Mar"], COMPETE)
    opened = ledger.view.items
    outcome = ledger.place("z 1 Mar")
    assert outcome.kind is OutcomeKind.COMPETING
    assert outcome.opposing == tuple(sorted([ledger.row_id("s0"), ledger.row_id("s1")]))
    assert ledger.rows() == ["x 1 Mar.. competing", "y 1 Mar.. competing", "z 1 Mar.. competing"]
    (item,) = ledger.view.items
    assert (item.item_id, item.version) == (opened[0].item_id, 2)
    assert {*item.incoming, *item.opposing} == {row.relationship_id for row in ledger.view.rows}


@pytest.mark.rule("R4.10")
def test_several_values_held_against_one_are_one_question() -> None:
    ledger = placed(["x 1 Mar", "y 1 Mar", "z 1 Mar"])
    (item,) = ledger.view.items
    assert item.incoming == (ledger.row_id("s2"),)
    assert item.opposing == (ledger.row_id("s0"), ledger.row_id("s1"))
    assert item.version == 2


@pytest.mark.rule("R4.14")
def test_the_last_survivor_of_a_dispute_becomes_active() -> None:
    ledger = placed(["x 1 Mar", "y 1 Mar"], COMPETE)
    before = ledger.view
    changes = ledger.retract("s1")
    assert ledger.rows() == ["x 1 Mar.. active", "y 1 Mar.. retracted"]
    (item,) = changes.items
    assert (item.status, item.reason) == (ItemStatus.CLOSED, "fewer_than_two_sides")
    assert {row.status for row in before.rows} == {Status.COMPETING}


@pytest.mark.rule("R4.10")
def test_a_later_start_overtakes_a_dispute_until_it_is_withdrawn() -> None:
    ledger = placed(["x 1 Mar", "y 1 Mar", "z 1 Mar"], COMPETE)
    assert ledger.place("v 1 Apr").kind is OutcomeKind.SUPERSEDED
    assert ledger.rows() == [*(f"{value} 1 Mar..1 Apr competing" for value in "xyz"), "v 1 Apr.. active"]
    (item,) = ledger.last.items
    assert (item.status, item.reason) == (ItemStatus.CLOSED, "overtaken")
    ledger.retract("s3")
    (again,) = ledger.last.items
    assert (again.item_id, again.status) == (item.item_id, ItemStatus.PENDING)
    assert ledger.rows()[:3] == [f"{value} 1 Mar.. competing" for value in "xyz"]


@pytest.mark.rule("R4.15", "R4.7")
def test_retraction_revives_what_the_rest_says_and_clips_it() -> None:
    ledger = placed(["standard 1 Jan", "gold 1 Mar", "platinum 1 May"])
    ledger.retract("s1")
    assert ledger.rows() == [
        "standard 1 Jan..1 May superseded",
        "gold 1 Mar.. retracted",
        "platinum 1 May.. active",
    ]


@pytest.mark.rule("R4.2")
def test_retracting_one_of_two_texts_keeps_the_row_and_counts_again() -> None:
    ledger = placed(["x 1 Jan", "x 1 Feb"])
    assert (ledger.row("s0").tier, ledger.row("s0").version) == (Tier.FACT, 2)
    ledger.retract("s1")
    assert (ledger.row("s0").status, ledger.row("s0").tier) == (Status.ACTIVE, Tier.VALIDATED_CLAIM)


@pytest.mark.rule("R4.10")
def test_the_same_source_again_changes_nothing() -> None:
    ledger = SlotLedger(HOLD)
    ledger.place("x 1 Jan", group="g")
    outcome = ledger.place("x 1 Feb", group="g")
    assert (outcome.kind, outcome.notes) == (OutcomeKind.CORROBORATED, ())
    assert ledger.last.relationships == ()
    assert len(ledger.view.rows) == 1


@pytest.mark.rule("R4.4")
def test_every_changed_row_has_exactly_one_transition() -> None:
    ledger = placed(["a 1 Jan", "b 1 Mar"])
    changed = {(row.relationship_id, row.version) for row in ledger.last.relationships}
    assert {(t.relationship_id, t.version) for t in ledger.last.transitions} == changed
    assert len(ledger.last.transitions) == 2
    (reference,) = ledger.last.references
    assert (reference.kind, reference.source_id) == (ReferenceKind.REPLACES, ledger.row_id("s1"))


@pytest.mark.rule("R4.7")
def test_rows_that_become_one_are_joined_into_the_oldest() -> None:
    ledger = placed(["x 1 Jan", "y 1 Feb", "x 1 Mar"])
    ledger.views[-1] = replace(ledger.view, rows=ledger.view.rows[::-1])
    ledger.retract("s1")
    assert ledger.rows() == ["x 1 Jan.. active", "y 1 Feb.. retracted", "x nothing at 1 Mar superseded"]
    assert [r.kind for r in ledger.last.references] == [ReferenceKind.MERGED_INTO]
    assert ledger.row("s2") == ledger.row("s0")


@pytest.mark.rule("R4.10")
@pytest.mark.parametrize(
    ("lines", "last", "notes"),
    [
        (["x 1 Mar"], "x 1 Apr", ()),
        (["x 1 Mar"], "x 1 Jan", ("start_moved",)),
        (["x 1 Mar"], "x 1 Apr..1 May", ("end_moved",)),
        (["x 1 Mar..1 Apr", "x 1 Apr..1 May"], "x 15 Mar..1 Jun", ("rows_joined",)),
        (["x 1 Mar"], "x @1 May", ()),
        (["x 1 Mar"], "x @1 Feb", ("start_moved",)),
    ],
)
def test_corroboration_says_what_it_moved(lines: list[str], last: str, notes: tuple[str, ...]) -> None:
    ledger = placed(lines)
    outcome = ledger.place(last)
    assert (outcome.kind, outcome.notes) == (OutcomeKind.CORROBORATED, notes)


@pytest.mark.rule("R4.8")
def test_whoever_was_in_no_conflict_with_those_who_stay_is_admitted() -> None:
    ledger = placed(["x 1 Mar", "y Mar", "z 20 Mar"])
    assert ledger.rows() == ["x 1 Mar..20 Mar superseded", "y 1 Mar.. needs_review", "z 20 Mar.. active"]


@pytest.mark.rule("R4.10")
@pytest.mark.parametrize(
    ("lines", "rows"),
    [
        (["-x 1 Mar..5 Mar", "y 1 Mar"], ["-x 1 Mar..5 Mar active", "y 1 Mar.. active"]),
        (["-x 1 Mar", "y 1 Jan..5 Mar"], ["-x 1 Mar.. active", "y 1 Jan..5 Mar active"]),
        (["-x 1 Mar", "y 1 Jan"], ["-x 1 Mar.. active", "y 1 Jan.. active"]),
    ],
)
def test_without_one_place_for_it_a_statement_is_held_under_every_policy(lines: list[str], rows: list[str]) -> None:
    ledger = placed(lines, COMPETE)
    assert ledger.place("x @10 Mar").kind is OutcomeKind.HELD
    assert ledger.rows() == [*rows, "x .. needs_review"]


@pytest.mark.rule("R4.13")
def test_a_claim_without_a_start_shares_the_unbounded_start_of_the_record_that_it_disputes() -> None:
    ledger = placed(["gold !crm", "silver"], COMPETE)
    assert ledger.rows() == ["gold .. active", "silver .. competing"]


@pytest.mark.rule("R4.14")
def test_two_disputes_of_one_slot_are_two_questions() -> None:
    ledger = placed(["x 1 Mar", "y 1 Mar", "w 1 Apr", "z 1 Apr"])
    first, second = ledger.view.items
    assert (first.incoming, first.opposing) == ((ledger.row_id("s1"),), (ledger.row_id("s0"),))
    assert (second.incoming, second.opposing) == ((ledger.row_id("s3"),), (ledger.row_id("s2"),))


def test_rows_that_no_statement_was_carried_by_are_left_alone() -> None:
    ledger = placed(["x 1 Mar"])
    waiting = replace(ledger.row("s0"), relationship_id=RelationshipId("unverified"), status=Status.PENDING_EVIDENCE)
    ledger.views[-1] = replace(ledger.view, rows=(*ledger.view.rows, waiting))
    ledger.place("y 1 Apr")
    assert waiting in ledger.view.rows


@pytest.mark.rule("R4.15", "R7.16")
def test_the_closing_of_a_case_ends_whatever_carries_its_value_by_then() -> None:
    ledger = placed(["x 1 Mar", "y 1 Mar"], COMPETE)
    row = ledger.row("s0")
    ledger.decide(
        Closing(
            decision_id=DecisionId("case"),
            relationship_id=row.relationship_id,
            facet=0,
            object_key=row.object.key,
            polarity=row.polarity,
            at=row.first_recorded_at,
            statement_ids=(StatementId("s0"),),
            conflict_id=ConflictId("case"),
        )
    )
    ledger.place("x 1 Mar")
    ledger.retract("s0")
    assert ledger.rows() == ["x 1 Mar..1 Jun superseded", "y 1 Mar.. competing"]


@pytest.mark.rule("R4.10")
def test_only_what_ended_because_of_a_statement_is_replaced_by_it() -> None:
    ledger = placed(["premium 1 May", "trial 1 Jan"])
    assert ledger.last.references == ()
    ledger.place("trial 1 Feb")
    assert ledger.row("s1").version == 2
    assert ledger.last.references == ()
