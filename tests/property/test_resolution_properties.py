"""Algebra of an owner's decisions: they never give two values in force, and an undo with nothing since is exact."""

from __future__ import annotations

from typing import Protocol, TypeVar

import pytest
from corrigenda_core.domain.changes import Changes
from corrigenda_core.domain.decisions import GivenStart, Removal, TimelineDecision
from corrigenda_core.domain.errors import Reason, Refusal
from corrigenda_core.domain.ids import StatementId
from corrigenda_core.domain.items import ItemStatus
from corrigenda_core.domain.predicates import Cardinality, Predicate, SameMomentPolicy
from corrigenda_core.domain.relationships import Closing, Relationship, Status
from corrigenda_core.domain.resolutions import KeepBoth, KeepExisting, KeepNew, Reject, Resolution, Same
from corrigenda_core.domain.slots import SlotView
from corrigenda_core.domain.time import Interval
from corrigenda_core.policy.previews import plan_previews
from corrigenda_core.policy.refold import plan_owner_refold
from corrigenda_core.policy.revert import REVERTIBLE
from corrigenda_core.testing.effort import examples
from corrigenda_core.testing.owner_slot import OwnerSlot
from corrigenda_core.testing.slots import OWNER, day, predicate
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

few = settings(max_examples=examples(fast=40, full=1000), deadline=None)
many = settings(max_examples=examples(fast=60, full=1000), deadline=None)

LIVING = {Status.ACTIVE, Status.COMPETING, Status.SUPERSEDED}
REFUSALS = {
    Reason.SYSTEM_OF_RECORD,
    Reason.START_NEEDED,
    Reason.INVALID_FIELD,
    Reason.REVERT_BLOCKED,
    Reason.RESOURCE_NOT_FOUND,
}

Drawn = TypeVar("Drawn")


class Draw(Protocol):
    """Draws from a strategy in the middle of a test."""

    def __call__(self, strategy: SearchStrategy[Drawn]) -> Drawn: ...


predicates = st.builds(
    predicate,
    cardinality=st.sampled_from([Cardinality.ONE, Cardinality.ONE, Cardinality.MANY]),
    same_moment=st.sampled_from(list(SameMomentPolicy)),
)


@st.composite
def lines(draw: st.DrawFn) -> str:
    """Statements that often tie, have no start, or end."""
    value = draw(st.sampled_from("abc"))
    start = draw(st.sampled_from(["", "", " 1 Mar", " 1 Mar", " 15 Mar", " 1 May", " Mar"]))
    end = draw(st.sampled_from(["", "", "", "..1 Apr", "..1 Jul"]))
    witness = draw(st.sampled_from(["", " @1 Feb", " @20 Mar"]))
    record = draw(st.sampled_from(["", "", "", "", " !crm"]))
    polarity = draw(st.sampled_from(["", "", "", "-"]))
    return f"{polarity}{value}{start}{end}{witness}{record}"


def resolutions(draw: Draw, slot: OwnerSlot) -> tuple[str, Resolution] | None:
    """An action on one of the pending items."""
    pending = [item for item in slot.view.items if item.status is ItemStatus.PENDING]
    if not pending:
        return None
    item = draw(st.sampled_from(pending))
    side = draw(st.sampled_from((*item.incoming, *item.opposing)))
    stated = draw(st.sampled_from([None, None, day("1 Feb")]))
    action: Resolution = draw(
        st.sampled_from(
            [
                KeepNew(kept_id=side, start=stated),
                KeepNew(kept_id=side),
                KeepExisting(kept_id=item.opposing[0]),
                KeepBoth(),
                KeepBoth(starts=() if stated is None else ((side, stated),)),
                Same(),
                Reject(),
            ]
        )
    )
    return item.item_id, action


def step(draw: Draw, slot: OwnerSlot) -> Changes | None:
    """One command of the owner, refused or not; ``None`` if there was nothing to do or it was refused."""
    names = [statement.statement_id for statement in slot.view.statements]
    command = draw(
        st.sampled_from(["place", "place", "resolve", "resolve", "merge", "correct", "end", "retract", "revert"])
    )
    try:
        if command == "place" or not names:
            return slot.place(draw(lines()))
        name = draw(st.sampled_from(names))
        if command == "correct":
            return slot.place(draw(lines()), corrects=name)
        if command == "end":
            return slot.end(name, draw(st.sampled_from([None, "20 Mar", "1 Jun"])))
        if command == "retract":
            return slot.retract(name, revive=draw(st.booleans()))
        if command == "revert":
            records = [record for revision in slot.store.revisions for record in revision.changes.decision_records]
            taken = [record for record in records if record.kind in REVERTIBLE]
            return slot.store.revert(draw(st.sampled_from(taken)).decision_id) if taken else None
        found = resolutions(draw, slot)
        if found is None:
            return None
        if command == "merge":
            item = slot.store.item(found[0])
            return slot.merge(draw(lines()), item.version, item_id=item.item_id)
        return slot.store.resolve(*found)
    except Refusal as refusal:
        if refusal.reason not in REFUSALS:
            raise
        return None


def holds(slot: OwnerSlot) -> None:
    """What is true of a slot whatever was done to it; that no two values are in force is the store's own net."""
    view = slot.view
    again = plan_owner_refold(view, view, OWNER, slot.context(), "again").changes
    assert again == Changes()
    pending = [item for item in view.items if item.status is ItemStatus.PENDING]
    rows = {row.relationship_id: row for row in view.rows}
    asked = [side for item in pending for side in (*item.incoming, *item.opposing)]
    assert len(asked) == len(set(asked))
    for item in pending:
        assert len({*item.incoming, *item.opposing}) >= 2
        assert all(rows[side].status in LIVING | {Status.NEEDS_REVIEW} for side in (*item.incoming, *item.opposing))
    assert {row.relationship_id for row in view.rows if row.status is Status.NEEDS_REVIEW} <= set(asked)
    assert len({statement.relationship_id for statement in view.statements if statement.relationship_id is None}) == 0


@pytest.mark.rule("R4.8", "R4.14", "R4.16a", "R4.17", "R5.3")
@many
@given(data=st.data(), by=predicates)
def test_whatever_an_owner_decides_one_value_is_in_force_and_every_doubt_is_a_question(
    data: st.DataObject, by: Predicate
) -> None:
    slot = OwnerSlot(by)
    draw = data.draw
    for _ in range(draw(st.integers(1, 10))):
        step(draw, slot)
        holds(slot)


def state(view: SlotView) -> object:
    """What an undo restores: the rows with statements, the references and decisions that stand, the open questions."""
    carried = {statement.relationship_id for statement in view.statements}
    return (
        sorted((str(_row(row)), row.relationship_id) for row in view.rows if row.relationship_id in carried),
        {statement.statement_id: statement.relationship_id for statement in view.statements},
        {(r.kind, r.source_id, r.target_id) for r in view.references if r.active},
        sorted(str(decision) for decision in view.decisions),
        {
            (item.item_id, item.status, item.incoming, item.opposing, item.reason)
            for item in view.items
            if item.status is ItemStatus.PENDING
        },
    )


def _row(row: Relationship) -> object:
    if not isinstance(row.validity, Interval):
        return row.status, row.tier
    return row.status, row.tier, row.validity, row.facet, row.start_basis, row.end_basis


@pytest.mark.promise("Q13")
@pytest.mark.rule("R4.17")
@few
@given(data=st.data(), by=predicates)
def test_an_undo_with_nothing_in_between_is_the_exact_prior_state(data: st.DataObject, by: Predicate) -> None:
    slot = OwnerSlot(by)
    draw = data.draw
    for _ in range(draw(st.integers(2, 8))):
        step(draw, slot)
    before, revisions = slot.view, len(slot.store.revisions)
    changes = step(draw, slot)
    if changes is None or not any(record.kind in REVERTIBLE for record in changes.decision_records):
        return
    slot.revert(changes)
    placed = {s.statement_id for revision in slot.store.revisions[revisions:] for s in revision.changes.statements}
    assert without(slot.view, before, placed) == state(before)


def without(view: SlotView, before: SlotView, placed: set[StatementId]) -> object:
    """The state without the rows that the decision made: they are retracted or empty, and stay recorded."""
    gone = {row.relationship_id for row in view.rows} - {row.relationship_id for row in before.rows}
    for row in view.rows:
        if row.relationship_id in gone:
            assert row.status is Status.RETRACTED or not isinstance(row.validity, Interval)
    return state(
        SlotView(
            slot=view.slot,
            predicate=view.predicate,
            rows=tuple(row for row in view.rows if row.relationship_id not in gone),
            statements=tuple(s for s in view.statements if s.statement_id not in placed),
            references=tuple(r for r in view.references if not gone & {r.source_id, r.target_id}),
            decisions=tuple(d for d in view.decisions if not _is_about(d, placed)),
            items=view.items,
        )
    )


def _is_about(decision: TimelineDecision, placed: set[StatementId]) -> bool:
    """Whether a decision is about nothing but what was placed, so that it says nothing without that."""
    match decision:
        case Closing(made_for=made_for, conditional=True):
            return placed.issuperset(made_for)
        case Removal(statement_id=statement_id) | GivenStart(statement_id=statement_id):
            return statement_id in placed
    return False


@pytest.mark.rule("R4.16a")
@few
@given(data=st.data(), by=predicates)
def test_a_preview_is_what_the_action_does(data: st.DataObject, by: Predicate) -> None:
    slot = OwnerSlot(by)
    draw = data.draw
    for _ in range(draw(st.integers(2, 6))):
        slot.place(draw(lines()))
    found = resolutions(draw, slot)
    if found is None:
        return
    item_id, action = found
    item = slot.store.item(item_id)
    previews = {
        (preview.kind.value, preview.kept_id): preview for preview in plan_previews(slot.view, slot.context(), item)
    }
    match action:
        case KeepNew(kept_id=kept_id, start=None):
            preview = previews["keep_new", kept_id]
        case KeepExisting(kept_id=kept_id):
            preview = previews["keep_existing", kept_id]
        case KeepBoth(starts=()):
            preview = previews["keep_both", None]
        case _:
            return
    if preview.refused is None:
        assert set(preview.after) == set(slot.store.resolve(item_id, action).relationships)
        return
    with pytest.raises(Refusal) as raised:
        slot.store.resolve(item_id, action)
    assert raised.value.reason is preview.refused
