"""Algebra of the timeline: order of arrival, a brute-force reading, uniqueness, fixpoints and totality."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from itertools import combinations

import pytest
from corrigenda_core.domain.decisions import FacetAssignment, GivenStart, Removal, RemovalReason, TimelineDecision
from corrigenda_core.domain.ids import DecisionId, RelationshipId, StatementId
from corrigenda_core.domain.objects import Polarity
from corrigenda_core.domain.predicates import Cardinality, Predicate, RelationshipKind, SameMomentPolicy
from corrigenda_core.domain.relationships import Closing, Relationship, Statement, Status
from corrigenda_core.domain.time import EARLIEST, LATEST, Interval, TimeBasis
from corrigenda_core.policy.extents import decide_exact_bound
from corrigenda_core.policy.lanes import is_excluding_value, value_of
from corrigenda_core.policy.refold import plan_owner_refold
from corrigenda_core.policy.timeline import Episode, fold_slot
from corrigenda_core.testing.effort import examples
from corrigenda_core.testing.slot_ledger import SlotLedger, support_of
from corrigenda_core.testing.slots import OWNER, SLOT, day, month, predicate, text_value
from hypothesis import given, settings
from hypothesis import strategies as st

few = settings(max_examples=examples(fast=60, full=1000), deadline=None)

FIRST = day("1 Mar")
DAYS = 30
_SETTLED = {Status.ACTIVE, Status.SUPERSEDED}


def on(number: int) -> datetime:
    return FIRST + timedelta(days=number)


def said(number: int, value: str, start: int | None, end: int | None) -> Statement:
    return Statement(
        statement_id=StatementId(f"s{number}"),
        owner_id=OWNER,
        slot=SLOT,
        object=text_value(value),
        start=None if start is None else decide_exact_bound(on(start), TimeBasis.EVIDENCE_TIME),
        end=None if end is None else decide_exact_bound(on(end), TimeBasis.EVIDENCE_TIME),
        witness_at=on(DAYS),
        recorded_at=on(DAYS + number),
        sequence=number,
    )


@st.composite
def ordered_statements(draw: st.DrawFn) -> list[Statement]:
    """Statements with pairwise different known starts, in an order of recording that has nothing to do with them."""
    starts = draw(st.lists(st.integers(0, DAYS - 2), unique=True, min_size=1, max_size=8))
    made = []
    for number, start in enumerate(starts):
        end = draw(st.none() | st.integers(start + 1, DAYS - 1))
        made.append(said(number, draw(st.sampled_from("abc")), start, end))
    return made


def read_day_by_day(statements: Sequence[Statement]) -> list[str | None]:
    """What is in force on each day, found by living through the days one after the other."""
    in_force: str | None = None
    carrying: list[Statement] = []
    days: list[str | None] = []
    for number in range(DAYS):
        for one in sorted(carrying, key=lambda s: s.start.at if s.start else EARLIEST, reverse=True):
            if one.end is not None:
                if one.end.at <= on(number):
                    in_force, carrying = None, []
                break
        for one in statements:
            if one.start is not None and one.start.at == on(number):
                if in_force != one.object.key:
                    in_force, carrying = one.object.key, []
                carrying.append(one)
        days.append(in_force)
    return days


def read_rows(rows: Sequence[Relationship | Episode]) -> list[str | None]:
    found: list[str | None] = []
    for number in range(DAYS):
        keys = [r.object.key for r in rows if r.status in _SETTLED and is_in(r, on(number))]
        assert len(keys) <= 1
        found.append(keys[0] if keys else None)
    return found


def is_in(row: Relationship | Episode, at: datetime) -> bool:
    validity = row.validity
    if not isinstance(validity, Interval):
        return False
    return (validity.start is None or validity.start <= at) and (validity.end is None or at < validity.end)


@pytest.mark.promise("time.order")
@pytest.mark.rule("R4.7", "R4.8", "R4.15")
@few
@given(data=st.data(), statements=ordered_statements())
def test_arrival_and_retraction_in_any_order_leave_the_same_timeline(
    data: st.DataObject, statements: list[Statement]
) -> None:
    gone = data.draw(st.sets(st.sampled_from([s.statement_id for s in statements])))
    steps = [("place", s.statement_id) for s in statements] + [("retract", name) for name in sorted(gone)]
    living = []
    for _ in range(2):
        ledger = SlotLedger(predicate())
        for step, name in _possible(data.draw(st.permutations(steps))):
            if step == "place":
                number = len(ledger.view.statements)
                statement = replace(next(s for s in statements if s.statement_id == name), sequence=number)
                ledger.place_statement(statement, support_of(statement))
            else:
                ledger.retract(name)
        assert read_rows(ledger.view.rows) == read_day_by_day([s for s in statements if s.statement_id not in gone])
        living.append(
            sorted(
                (row.object.key, str(row.validity), row.status)
                for row in ledger.view.rows
                if row.status in _SETTLED and isinstance(row.validity, Interval)
            )
        )
    assert living[0] == living[1]


def _possible(steps: Sequence[tuple[str, StatementId]]) -> list[tuple[str, StatementId]]:
    """The steps with each retraction somewhere behind its placement."""
    order = {step: number for number, step in enumerate(steps)}
    return sorted(steps, key=lambda step: max(order[step], order["place", step[1]] + 0.5 * (step[0] == "retract")))


@st.composite
def any_statements(draw: st.DrawFn) -> list[Statement]:
    made = []
    for number in range(draw(st.integers(0, 8))):
        start = draw(st.none() | st.integers(0, 12))
        end = draw(st.none() | st.integers(0, 16))
        one = said(number, draw(st.sampled_from("abc")), start, end)
        record = draw(st.integers(0, 5)) == 0
        made.append(
            replace(
                one,
                start=draw(st.sampled_from([one.start, one.start, one.start, month("Mar"), exactly_at_the_edge(draw)])),
                polarity=draw(st.sampled_from([Polarity.POSITIVE, Polarity.POSITIVE, Polarity.NEGATIVE])),
                witness_at=draw(st.integers(0, 20).map(on) | st.sampled_from([EARLIEST, LATEST])),
                effective=draw(st.integers(0, 7)) > 0,
                record=record,
                source=draw(st.sampled_from(["crm", "erp"])) if record else None,
            )
        )
    return made


def exactly_at_the_edge(draw: st.DrawFn) -> object:
    return draw(st.sampled_from([EARLIEST, LATEST]).map(lambda at: decide_exact_bound(at, TimeBasis.STATED_TIME)))


@st.composite
def any_decisions(draw: st.DrawFn, statements: Sequence[Statement]) -> list[TimelineDecision]:
    if not statements:
        return []
    decisions: list[TimelineDecision] = []
    for number in range(draw(st.integers(0, 4))):
        decision_id = DecisionId(f"d{number}")
        one = draw(st.sampled_from(statements))
        name = one.statement_id
        some = tuple(
            draw(st.lists(st.sampled_from([s.statement_id for s in statements]), unique=True, min_size=1, max_size=3))
        )
        at = on(draw(st.integers(0, 16)))
        basis = TimeBasis.RECORDED_FALLBACK
        decisions.append(
            draw(
                st.sampled_from(
                    [
                        Removal(
                            decision_id=decision_id,
                            statement_id=name,
                            reason=draw(st.sampled_from(list(RemovalReason))),
                        ),
                        FacetAssignment(decision_id=decision_id, statement_id=name, facet=draw(st.integers(0, 2))),
                        GivenStart(
                            decision_id=decision_id,
                            statement_id=name,
                            at=draw(st.sampled_from([at, None])),
                            basis=basis,
                        ),
                        Closing(
                            decision_id=decision_id,
                            relationship_id=RelationshipId("row"),
                            facet=draw(st.integers(0, 1)),
                            object_key=one.object.key,
                            polarity=one.polarity,
                            at=at,
                            statement_ids=some,
                            made_for=some[:1],
                            conditional=draw(st.booleans()),
                        ),
                    ]
                )
            )
        )
    return decisions


any_predicate = st.builds(
    predicate,
    kind=st.sampled_from([RelationshipKind.STATE, RelationshipKind.STATE, RelationshipKind.EVENT]),
    cardinality=st.sampled_from([Cardinality.ONE, Cardinality.ONE, Cardinality.MANY]),
    same_moment=st.sampled_from(list(SameMomentPolicy)),
)


@pytest.mark.promise("time.one-value")
@pytest.mark.rule("R4.7", "R4.8", "R4.11", "R4.13")
@few
@given(data=st.data(), by=any_predicate, statements=any_statements())
def test_any_input_has_a_timeline_with_one_value_at_a_time(
    data: st.DataObject, by: Predicate, statements: list[Statement]
) -> None:
    decisions = data.draw(any_decisions(statements))
    timeline = fold_slot(by, statements, decisions)
    assert_one_value_at_a_time(by, timeline.episodes)
    placed = [name for episode in timeline.episodes for name in episode.statement_ids]
    placed += [held.statement_id for held in timeline.held] + [name for name, _ in timeline.left]
    removed = {removal.statement_id for removal in timeline.removed}
    assert sorted(placed) == sorted(s.statement_id for s in statements if s.effective and s.statement_id not in removed)
    assert fold_slot(by, statements[::-1], decisions) == timeline


def assert_one_value_at_a_time(by: Predicate, rows: Sequence[Relationship | Episode]) -> None:
    exclusive = by.kind is RelationshipKind.STATE and by.cardinality is Cardinality.ONE
    settled = [row for row in rows if row.status in _SETTLED and isinstance(row.validity, Interval)]
    for first, second in combinations(settled, 2):
        values = value_of(first.object, first.polarity), value_of(second.object, second.polarity)
        excluding = is_excluding_value(*values, exclusive=exclusive) or values[0] == values[1]
        if first.facet == second.facet and excluding and by.kind is RelationshipKind.STATE:
            assert not is_overlapping(first.validity, second.validity), (first, second)


def is_overlapping(first: object, second: object) -> bool:
    assert isinstance(first, Interval)
    assert isinstance(second, Interval)
    starts = max(first.start or EARLIEST, second.start or EARLIEST)
    return starts < min(first.end or LATEST, second.end or LATEST)


@pytest.mark.rule("R4.1", "R4.7")
@few
@given(data=st.data(), by=any_predicate, statements=any_statements())
def test_rows_say_the_timeline_and_folding_again_changes_nothing(
    data: st.DataObject, by: Predicate, statements: list[Statement]
) -> None:
    ledger = SlotLedger(by)
    for statement in statements:
        ledger.place_statement(statement, support_of(statement))
        if data.draw(st.integers(0, 3)) == 0:
            ledger.decide(*unique(data.draw(any_decisions(statements[: len(ledger.view.statements)])), ledger))
    view = ledger.view
    again = plan_owner_refold(view, view, OWNER, ledger.context(), "again").changes
    assert again == type(again)()
    assert_one_value_at_a_time(by, view.rows)
    names = [
        (row.facet, row.object.key, row.polarity, row.validity.start)
        for row in view.rows
        if row.status in _SETTLED
        and isinstance(row.validity, Interval)
        # An undated event that begins again when it was witnessed may do so at the very midnight of a dated one.
        and (by.kind is RelationshipKind.STATE or row.start_basis is not TimeBasis.RECORDED_FALLBACK)
    ]
    assert len(set(names)) == len(names)
    assert all(statement.relationship_id is not None for statement in view.statements)


def unique(decisions: Sequence[TimelineDecision], ledger: SlotLedger) -> list[TimelineDecision]:
    """The decisions under ids of their own."""
    known = len(ledger.view.decisions)
    return [replace(one, decision_id=DecisionId(f"d{known + number}")) for number, one in enumerate(decisions)]


@pytest.mark.rule("R4.15")
@few
@given(data=st.data(), statements=any_statements())
def test_a_revert_restores_the_exact_prior_timeline(data: st.DataObject, statements: list[Statement]) -> None:
    ledger = SlotLedger(predicate(same_moment=data.draw(st.sampled_from(list(SameMomentPolicy)))))
    for statement in statements:
        ledger.place_statement(statement, support_of(statement))
    before = ledger.view
    decisions = unique(data.draw(any_decisions(statements)), ledger)
    ledger.decide(*decisions)
    ledger.revert(*(decision.decision_id for decision in decisions))
    restored = {row.relationship_id: row for row in ledger.view.rows}
    for row in before.rows:
        assert _state(restored[row.relationship_id]) == _state(row)


def _state(row: Relationship) -> object:
    """What a revert restores; a row that is closed to nothing has no interval and no facet to restore."""
    if not isinstance(row.validity, Interval):
        return row.status, row.tier
    return row.status, row.tier, row.validity, row.facet, row.start_basis, row.end_basis
