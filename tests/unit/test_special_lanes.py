"""Lanes beside the one of a single-valued state: many values, denials, events, records and facets."""

from __future__ import annotations

import pytest
from corrigenda_core.domain.changes import OutcomeKind
from corrigenda_core.domain.decisions import FacetAssignment
from corrigenda_core.domain.ids import DecisionId, StatementId
from corrigenda_core.domain.predicates import Cardinality, Predicate, RelationshipKind, SameMomentPolicy
from corrigenda_core.domain.relationships import Status
from corrigenda_core.testing.slot_ledger import SlotLedger
from corrigenda_core.testing.slots import predicate

HOLD = predicate()
COMPETE = predicate(same_moment=SameMomentPolicy.COMPETE)
MANY = predicate(cardinality=Cardinality.MANY)
EVENT = predicate(kind=RelationshipKind.EVENT)


@pytest.mark.rule("R4.11")
@pytest.mark.parametrize(
    ("by", "lines", "last", "rows"),
    [
        pytest.param(MANY, ["x 1 Jan", "y 1 Mar"], OutcomeKind.COEXISTS, ["x 1 Jan.. active", "y 1 Mar.. active"],
                     id="many-coexist"),
        pytest.param(MANY, ["x 1 Jan", "x 1 Mar"], OutcomeKind.CORROBORATED, ["x 1 Jan.. active"], id="many-same"),
        pytest.param(MANY, ["x 1 Jan", "-x 1 Mar"], OutcomeKind.SUPERSEDED,
                     ["x 1 Jan..1 Mar superseded", "-x 1 Mar.. active"], id="V18-denied-later"),
        pytest.param(MANY, ["x 1 Jan", "-x 1 Jan"], OutcomeKind.HELD,
                     ["x 1 Jan.. active", "-x 1 Jan.. needs_review"], id="V18-denied-at-once"),
        pytest.param(MANY, ["x", "-y"], OutcomeKind.COEXISTS, ["x .. active", "-y .. active"], id="other-object"),
        pytest.param(HOLD, ["x 1 Jan", "-x 1 Mar", "y 1 Apr"], OutcomeKind.INSERTED,
                     ["x 1 Jan..1 Mar superseded", "-x 1 Mar.. active", "y 1 Apr.. active"], id="a-denial-is-no-value"),
        pytest.param(HOLD, ["x 1 Jan", "-x 1 Mar", "y 1 Apr", "x 1 May"], OutcomeKind.SUPERSEDED,
                     ["x 1 Jan..1 Mar superseded", "-x 1 Mar..1 May superseded", "y 1 Apr..1 May superseded",
                      "x 1 May.. active"], id="asserted-again"),
        pytest.param(EVENT, ["x 1 Mar", "x 1 Mar"], OutcomeKind.CORROBORATED, ["x 1 Mar.. active"], id="V17-same-day"),
        pytest.param(EVENT, ["x 1 Mar", "x 2 Mar"], OutcomeKind.COEXISTS, ["x 1 Mar.. active", "x 2 Mar.. active"],
                     id="V17-another-day"),
        pytest.param(EVENT, ["x @1 Mar", "x @1 May"], OutcomeKind.CORROBORATED, ["x .. active"], id="both-undated"),
        pytest.param(EVENT, ["x..1 Mar @1 Feb", "x @1 May"], OutcomeKind.CORROBORATED, ["x .. active"],
                     id="it-happened-before"),
        pytest.param(EVENT, ["x 1 Mar", "x @1 Mar"], OutcomeKind.COEXISTS, ["x 1 Mar.. active", "x .. active"],
                     id="one-undated"),
        pytest.param(EVENT, ["x 1 Mar", "-x 1 Mar"], OutcomeKind.HELD, ["x 1 Mar.. active", "-x 1 Mar.. needs_review"],
                     id="denied-event"),
        pytest.param(EVENT, ["x 1 Mar", "-x 2 Mar"], OutcomeKind.COEXISTS, ["x 1 Mar.. active", "-x 2 Mar.. active"],
                     id="denied-on-another-day"),
    ],
)  # fmt: skip
def test_many_values_denials_and_events(by: Predicate, lines: list[str], last: OutcomeKind, rows: list[str]) -> None:
    ledger = SlotLedger(by)
    for line in lines:
        outcome = ledger.place(line)
    assert outcome.kind is last
    assert ledger.rows() == rows


@pytest.mark.rule("R4.13")
@pytest.mark.parametrize(
    ("lines", "on_hold", "competing"),
    [
        pytest.param(["gold 1 Mar !crm", "silver 1 Apr"], ["gold 1 Mar.. active", "silver 1 Apr.. needs_review"],
                     ["gold 1 Mar.. active", "silver 1 Apr.. competing"], id="V19-later"),
        pytest.param(["gold 1 Mar !crm", "silver 1 Mar"], ["gold 1 Mar.. active", "silver 1 Mar.. needs_review"],
                     ["gold 1 Mar.. active", "silver 1 Mar.. competing"], id="V19-at-once"),
        pytest.param(["gold 1 Mar !crm", "silver"], ["gold 1 Mar.. active", "silver .. needs_review"],
                     ["gold 1 Mar.. active", "silver 1 Mar.. competing"], id="V19-no-start"),
        pytest.param(["silver 1 Mar", "gold 1 Mar !crm"], ["silver 1 Mar.. needs_review", "gold 1 Mar.. active"],
                     ["silver 1 Mar.. competing", "gold 1 Mar.. active"], id="the-record-comes-later"),
        pytest.param(["gold 1 Mar !crm", "silver 1 Feb"], ["gold 1 Mar.. active", "silver 1 Feb..1 Mar superseded"],
                     ["gold 1 Mar.. active", "silver 1 Feb..1 Mar superseded"], id="before-the-record"),
        pytest.param(["gold 1 Mar !crm", "silver 1 May !crm"],
                     ["gold 1 Mar..1 May superseded", "silver 1 May.. active"],
                     ["gold 1 Mar..1 May superseded", "silver 1 May.. active"], id="a-newer-revision"),
        pytest.param(["gold 1 Mar !crm", "silver 1 May !erp"], ["gold 1 Mar.. active", "silver 1 May.. needs_review"],
                     ["gold 1 Mar.. active", "silver 1 May.. competing"], id="another-record"),
        pytest.param(["gold 1 Mar !crm", "gold 1 Apr..1 May"], ["gold 1 Mar.. active"], ["gold 1 Mar.. active"],
                     id="others-do-not-end-it"),
        pytest.param(["gold..1 May @1 Apr", "gold 1 May", "gold @1 Apr !crm"],
                     ["gold .. active", "gold nothing at 1 May superseded"],
                     ["gold .. active", "gold nothing at 1 May superseded"], id="a-record-takes-an-end-away"),
        pytest.param(["gold 1 Jan !crm", "iron 1 Mar !crm", "silver @1 Apr"],
                     ["gold 1 Jan..1 Mar superseded", "iron 1 Mar.. active", "silver .. needs_review"],
                     ["gold 1 Jan..1 Mar superseded", "iron 1 Mar.. active", "silver 1 Mar.. competing"],
                     id="beside-the-record-of-its-time"),
        pytest.param(["gold 1 Mar !crm", "silver 1 Apr", "silver 1 May"],
                     ["gold 1 Mar.. active", "silver 1 Apr.. needs_review", "silver 1 May.. needs_review"],
                     ["gold 1 Mar.. active", "silver 1 Apr.. competing"], id="two-who-dispute-it"),
    ],
)  # fmt: skip
def test_nobody_else_touches_a_system_of_record(lines: list[str], on_hold: list[str], competing: list[str]) -> None:
    for by, rows in ((HOLD, on_hold), (COMPETE, competing)):
        ledger = SlotLedger(by)
        for line in lines:
            ledger.place(line)
        assert ledger.rows() == rows


@pytest.mark.rule("R4.13")
def test_whoever_disputes_a_record_is_asked_and_told_the_rule() -> None:
    ledger = SlotLedger(HOLD)
    ledger.place("gold 1 Mar !crm")
    outcome = ledger.place("silver 1 Apr")
    assert (outcome.kind, outcome.rule) == (OutcomeKind.HELD, "R4.13")
    (item,) = ledger.view.items
    assert (item.reason, item.opposing) == ("system_of_record", (ledger.row_id("s0"),))
    assert ledger.row("s0").version == 1


def test_an_end_that_is_no_end_of_what_waits_is_not_shown() -> None:
    """Bounds agree where statements are made; a row of one that slipped through still has a validity."""
    ledger = SlotLedger(HOLD)
    ledger.place("x 1 Mar")
    ledger.place("y 1 Mar..1 Feb")
    assert ledger.rows() == ["x 1 Mar.. active", "y 1 Mar.. needs_review"]


@pytest.mark.rule("R4.14")
def test_every_dispute_has_a_question_of_its_own() -> None:
    """Objects of a predicate with many values are denied one by one; nobody's question turns into another one."""
    ledger = SlotLedger(MANY)
    for line in ("x 1 Jan", "-x 1 Feb", "-x @1 Mar", "y 1 Jan", "-y 1 Jan"):
        ledger.place(line)
    (asked,) = ledger.view.items
    # What remains of the denial has no start any more, and it was recorded before the other dispute.
    ledger.retract("s1")
    assert ledger.row("s2").status is Status.NEEDS_REVIEW
    kept, opened = ledger.view.items
    assert kept == asked
    assert (kept.incoming, kept.opposing) == ((ledger.row_id("s4"),), (ledger.row_id("s3"),))
    assert (opened.incoming, opened.opposing) == ((ledger.row_id("s2"),), (ledger.row_id("s0"),))


def parted() -> SlotLedger:
    """X and Y both in force from 1 March, in two facets."""
    ledger = SlotLedger(HOLD)
    ledger.place("x 1 Mar")
    ledger.place("y 1 Mar")
    ledger.decide(
        *(
            FacetAssignment(decision_id=DecisionId("keep-both"), statement_id=StatementId(name), facet=facet)
            for name, facet in (("s0", 0), ("s1", 1))
        )
    )
    return ledger


@pytest.mark.rule("R4.16a")
@pytest.mark.parametrize(
    ("line", "status", "facet"),
    [
        ("x 1 Apr", Status.ACTIVE, 0),
        ("y 1 Apr", Status.ACTIVE, 1),
        ("y", Status.ACTIVE, 1),
        ("z 1 Apr", Status.NEEDS_REVIEW, 0),
        ("z 1 Feb", Status.SUPERSEDED, 0),
        ("-y 1 Apr", Status.ACTIVE, 1),
    ],
)
def test_a_later_statement_goes_to_the_facet_that_has_its_value(line: str, status: Status, facet: int) -> None:
    ledger = parted()
    assert ledger.rows() == ["x 1 Mar.. active", "y 1 Mar.. active"]
    ledger.place(line)
    row = ledger.row("s2")
    assert (row.status, row.facet) == (status, facet)


@pytest.mark.rule("R4.16a")
def test_what_fits_into_several_facets_asks_about_the_newcomer_alone() -> None:
    ledger = parted()
    assert ledger.view.items == ()
    outcome = ledger.place("z 1 Apr")
    assert outcome.rule == "R4.16a"
    (item,) = ledger.view.items
    assert item.incoming == (ledger.row_id("s2"),)
    assert item.opposing == (ledger.row_id("s0"), ledger.row_id("s1"))
