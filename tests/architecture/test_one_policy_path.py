"""Every decision about own statements goes through one policy path: nothing else makes rows."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import corrigenda_core.policy
import pytest
from corrigenda_core.domain.changes import Changes
from corrigenda_core.domain.evidence import Authority, SupportDecision, SupportDecisionKind
from corrigenda_core.domain.ids import FragmentId, SupportId
from corrigenda_core.domain.resolutions import Accept, KeepBoth, KeepExisting, KeepNew, Reject, Same
from corrigenda_core.policy.refold import plan_owner_refold
from corrigenda_core.testing.owner_slot import OwnerSlot
from corrigenda_core.testing.slot_ledger import support_of
from corrigenda_core.testing.slots import OWNER, SLOT, predicate

POLICY = Path(next(iter(corrigenda_core.policy.__path__)))

# The fold's own plan, which every decision and placement is made by, and the reviewer's closings of a case.
MAKE_ROWS = {"refold", "case_review"}
# Who may ask the fold for a plan: the one path itself, a placement, a correction of identity, which is about several
# slots, and looks at what would happen.
ASK_THE_FOLD = {"slot_change", "placement", "rebinding", "forgetting"}


def calls(name: str) -> Iterator[tuple[str, ast.Call]]:
    """Every call of a function or constructor in the policy, with the module it stands in."""
    for path in sorted(POLICY.glob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == name:
                yield path.stem, node


@pytest.mark.rule("R5.3")
def test_invariant_05_nothing_but_the_fold_and_a_resolved_case_makes_rows() -> None:
    makers = {
        module
        for name in ("Changes", "replace")
        for module, call in calls(name)
        if {"relationships", "transitions", "carriages"} & {keyword.arg for keyword in call.keywords}
    }
    assert makers == MAKE_ROWS
    asking = {module for name in ("plan_refold", "plan_owner_refold") for module, _ in calls(name)}
    assert asking - {"refold"} == ASK_THE_FOLD


def accept(slot: OwnerSlot) -> Changes:
    statement = next(s for s in slot.view.statements if s.statement_id == "s1")
    again = replace(
        support_of(statement), support_id=SupportId("again"), fragment_id=FragmentId("text-again"), source_group="other"
    )
    grant = SupportDecision(
        support_id=again.support_id, kind=SupportDecisionKind.GRANT, authority=Authority.PRIMARY, reason="accept"
    )
    return slot.resolve(Accept(supports=(again,), grants=(grant,)))


VERBS: dict[str, Callable[[OwnerSlot], Changes]] = {
    "keep_new": lambda slot: slot.resolve(KeepNew(kept_id=slot.row_id("s1"))),
    "keep_existing": lambda slot: slot.resolve(KeepExisting(kept_id=slot.row_id("s0"))),
    "keep_both": lambda slot: slot.resolve(KeepBoth()),
    "same": lambda slot: slot.resolve(Same()),
    "accept": accept,
    "reject": lambda slot: slot.resolve(Reject()),
    "merge": lambda slot: slot.merge("gamma 1 Apr", slot.item().version),
    "correct": lambda slot: slot.place("gamma 1 Mar", corrects="s0"),
    "retract": lambda slot: slot.retract("s0"),
    "retract without revival": lambda slot: slot.retract("s0", revive=False),
    "retract a text": lambda slot: slot.store.retract_fragment(SLOT, OWNER, FragmentId("text-s0")),
    "end": lambda slot: slot.end("s0", "1 May"),
}


@pytest.mark.rule("R5.3", "R4.7")
@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize("undone", [False, True], ids=["done", "undone"])
def test_invariant_05_whatever_was_decided_the_rows_are_what_the_fold_says(verb: str, undone: bool) -> None:
    """After every decision, and after its undo, folding again changes nothing."""
    slot = OwnerSlot(predicate())
    for line in ("alpha 1 Mar", "beta 1 Mar"):
        slot.place(line)
    changes = VERBS[verb](slot)
    assert changes.relationships
    if undone:
        slot.revert(changes)
    view = slot.view
    again = plan_owner_refold(view, view, OWNER, slot.context(), "again").changes
    assert again == Changes()
