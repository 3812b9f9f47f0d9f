"""Every pair of kinds of conflict on one slot, in either order: what stands, who is asked, which cases live, and what
becomes of them at their deadline.

Ann has said *gold*, without a time. Each kind is one more statement; the second of a pair has another value or another
speaker than the first, so that a kind meets itself, too. What never reaches a slot (a text in quarantine, a name that
is not resolved, a text that does not say it) meets other kinds in ``test_pairs_of_conflicts_on_the_wire``.

How to read ``pairs_of_conflicts.txt``: ``silver?`` is held, ``gold~`` competes, ``gold<`` is closed or overtaken; a row
of Ann without a mark holds, and so do all rows of others. A question reads ``incoming / opposing``. A case reads
``kind position:owners`` and what the reviewer makes of it after the deadline; an empty position is one that its members
have left.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

import pytest
from corrigenda_core.domain.cases import CaseKind, ConflictCase
from corrigenda_core.domain.errors import Reason, Refusal
from corrigenda_core.domain.ids import ProfileId
from corrigenda_core.domain.items import ItemStatus
from corrigenda_core.domain.predicates import SameMomentPolicy
from corrigenda_core.domain.relationships import Relationship, Status
from corrigenda_core.domain.snapshots import CaseDecision, DecisionReason, Dismiss, KeepOpen, MarkOverdue, Resolve
from corrigenda_core.testing.owner_slot import OwnerSlot
from corrigenda_core.testing.slots import OWNER, predicate


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """A statement that makes a conflict of one kind, and the one that makes the second of its kind.

    ``named`` says that it names what Ann has in force as what it corrects.
    """

    first: tuple[str, str]
    second: tuple[str, str]
    named: bool = False


KINDS = {
    "held": Kind(first=("ann", "silver"), second=("ann", "nickel")),
    "denied": Kind(first=("ann", "-gold"), second=("ann", "-gold")),
    "later": Kind(first=("ann", "iron 2 Jun"), second=("ann", "steel 3 Jun")),
    "corrected": Kind(first=("ann", "bronze"), second=("ann", "pewter"), named=True),
    "own record": Kind(first=("ann", "lead !crm"), second=("ann", "tin 1 Jul !crm")),
    "other value": Kind(first=("bob", "cobalt"), second=("bea", "chrome")),
    "polarity": Kind(first=("dan", "-gold"), second=("dora", "-gold")),
    "reference": Kind(first=("fay", "-copper"), second=("flo", "-copper"), named=True),
    "record": Kind(first=("gus", "brass !erp"), second=("gil", "zinc !hr")),
    "past": Kind(first=("hal", "platinum 1 Jan..1 Mar"), second=("hope", "titanium 1 Feb..1 Mar")),
    "confirmed": Kind(first=("ida", "gold"), second=("ivy", "gold")),
}
MARKS = {Status.NEEDS_REVIEW: "?", Status.COMPETING: "~", Status.SUPERSEDED: "<", Status.ACTIVE: ""}
SHORT = {CaseKind.CURRENT_STATE: "state", CaseKind.POLARITY: "polarity", CaseKind.REFERENCE: "reference"}


def made(first: str, second: str, policy: SameMomentPolicy = SameMomentPolicy.HOLD) -> OwnerSlot:
    slot = OwnerSlot(predicate(same_moment=policy))
    slot.place("gold")
    for number, name in enumerate((first, second)):
        kind = KINDS[name]
        owner, line = kind.second if number and first == second else kind.first
        slot.place(line, owner=ProfileId(owner), corrects=in_force(slot) if kind.named else None)
    return slot


def in_force(slot: OwnerSlot) -> str:
    """The first statement of Ann that a row in force carries."""
    statuses = {Status.ACTIVE, Status.COMPETING}
    rows = {row.relationship_id for row in slot.view.rows if row.owner_id == OWNER and row.status in statuses}
    return next(one.statement_id for one in slot.view.statements if one.relationship_id in rows)


def value(row: Relationship) -> str:
    return f"{'' if row.polarity == '+' else '-'}{row.object.key.split(':')[-1]}"


def rows_of_ann(slot: OwnerSlot) -> str:
    ordered = sorted(slot.view.rows, key=lambda row: (row.first_recorded_at, row.relationship_id))
    return ", ".join(f"{value(row)}{MARKS[row.status]}" for row in ordered if row.owner_id == OWNER)


def asked(slot: OwnerSlot) -> str:
    rows = {row.relationship_id: value(row) for row in slot.view.rows}
    return ", ".join(
        sorted(
            f"{'+'.join(sorted(rows[one] for one in item.incoming))} / "
            f"{'+'.join(sorted(rows[one] for one in item.opposing))}"
            for item in slot.view.items
            if item.status is ItemStatus.PENDING
        )
    )


def live(slot: OwnerSlot) -> list[ConflictCase]:
    return sorted((case for case in slot.view.cases if case.live), key=lambda case: SHORT[case.set_key.kind])


def cases(first: str, second: str) -> str:
    """Each case with its outcome, each looked at in a slot of its own: one outcome changes what the others see."""
    shown = []
    for number, case in enumerate(live(made(first, second))):
        positions = " ".join(
            f"{position.key.split(':')[-1]}:{'+'.join(sorted(member.owner_id for member in position.members))}"
            for position in case.positions
        )
        again = made(first, second)
        plan = again.review(live(again)[number].conflict_id, case.review_due_at + timedelta(days=1))
        shown.append(f"{SHORT[case.set_key.kind]} {positions} -> {outcome(case, plan.evaluation.decision)}")
    return ", ".join(shown)


def outcome(case: ConflictCase, decision: CaseDecision) -> str:
    match decision:
        case Resolve():
            (winner,) = [one for one in case.positions if one.position_id == decision.winner]
            return f"{winner.key.split(':')[-1]} wins"
        case Dismiss():
            return "dismissed"
        case MarkOverdue(reason=DecisionReason.RECORD_PROTECTED):
            return "protected"
        case MarkOverdue():
            return "overdue"
        case KeepOpen():
            return "open"


def table() -> list[list[str]]:
    lines = Path(__file__).with_name("pairs_of_conflicts.txt").read_text(encoding="utf-8").splitlines()
    return [[cell.strip() for cell in f"{line} |".split("|")[:5]] for line in lines[1:]]


def test_every_ordered_pair_has_its_line() -> None:
    assert [tuple(row[:2]) for row in table()] == [(first, second) for first in KINDS for second in KINDS]


REFUSED = [(first, second) for first, second, says, *_ in table() if says == "refused: SYSTEM_OF_RECORD"]
PLACED = [row for row in table() if tuple(row[:2]) not in REFUSED]


@pytest.mark.rule("R4.10", "R4.13", "R4.14", "R7.1", "R7.8", "R7.10", "R7.12", "R7.13", "R7.14")
@pytest.mark.parametrize(
    ("first", "second", "says", "question", "shown"), [pytest.param(*row, id=" then ".join(row[:2])) for row in PLACED]
)
def test_two_kinds_of_conflict_on_one_slot(first: str, second: str, says: str, question: str, shown: str) -> None:
    slot = made(first, second)
    assert (rows_of_ann(slot), asked(slot), cases(first, second)) == (says, question, shown)


@pytest.mark.rule("R4.13")
@pytest.mark.parametrize(("first", "second"), REFUSED)
def test_what_only_a_record_s_own_source_may_do_is_refused(first: str, second: str) -> None:
    with pytest.raises(Refusal) as refused:
        made(first, second)
    assert refused.value.reason is Reason.SYSTEM_OF_RECORD


@pytest.mark.rule("R4.6", "R4.13", "R7.3")
@pytest.mark.parametrize("policy", SameMomentPolicy)
@pytest.mark.parametrize(("first", "second"), [tuple(row[:2]) for row in PLACED])
def test_nobody_touches_what_is_not_theirs(first: str, second: str, policy: SameMomentPolicy) -> None:
    """Whatever meets: others' rows and records hold, a question has one owner, a set key one live case."""
    slot = made(first, second, policy)
    records = {one.relationship_id for one in slot.view.statements if one.record}
    for row in slot.view.rows:
        if row.owner_id != OWNER or row.relationship_id in records:
            # A newer record of the same source is the one thing that ends a record.
            assert row.status is Status.ACTIVE or (first, second) == ("own record", "own record")
    assert {item.owner_id for item in slot.view.items} <= {OWNER}
    keys = [case.set_key for case in live(slot)]
    assert len(keys) == len(set(keys))
