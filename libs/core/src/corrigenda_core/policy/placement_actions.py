"""Placement actions: which of them answers which question."""

from __future__ import annotations

from corrigenda_core.domain.errors import Reason, Refusal
from corrigenda_core.domain.items import ItemKind
from corrigenda_core.domain.resolutions import DecisionKind

_CORRECTING = frozenset({DecisionKind.CORRECT, DecisionKind.REJECT})

ACTIONS: dict[ItemKind, frozenset[DecisionKind]] = {
    ItemKind.IDENTITY: _CORRECTING | {DecisionKind.SELECT_ENTITY, DecisionKind.CONFIRM_NEW_ENTITY},
    ItemKind.PREDICATE: _CORRECTING | {DecisionKind.SELECT_PREDICATE, DecisionKind.PROPOSE_PREDICATE},
    ItemKind.RELATIONSHIP: _CORRECTING | {DecisionKind.ACCEPT},
    ItemKind.CORRECTION: _CORRECTING | {DecisionKind.ACCEPT},
    ItemKind.QUARANTINE: frozenset({DecisionKind.RELEASE_QUARANTINE, DecisionKind.REJECT}),
    ItemKind.WINNER_WITHDRAWN: frozenset({DecisionKind.ACKNOWLEDGE, DecisionKind.CORRECT}),
}
"""The actions that answer an item of each kind."""

WITHOUT_ITEM = frozenset({DecisionKind.ACKNOWLEDGE, DecisionKind.RETRY_VERIFICATION, DecisionKind.CORRECT})
"""The actions on a placement that asked nothing: its author has seen it, or wants it verified again or put right."""


def may_take(action: DecisionKind, kind: ItemKind | None) -> None:
    """Checks that an action answers a question (R5.2).

    None of the ten sets a tier or a status: ``accept`` brings evidence, verifies again and keeps what came in,
    ``correct`` brings evidence and a proposal that go the normal way, and what a relationship is worth follows from
    its supports afterwards. Evidence that comes with forgetting is stored and linked, and changes nothing else.

    Args:
        action: what is to be done.
        kind: the kind of the item that it answers; ``None`` for a placement without one.

    Raises:
        Refusal: INVALID_FIELD with the actions that do.
    """
    allowed = WITHOUT_ITEM if kind is None else ACTIONS[kind]
    if action not in allowed:
        about = "a placement that asks nothing" if kind is None else f"an item of kind {kind.value}"
        raise Refusal(
            Reason.INVALID_FIELD,
            f"{action.value} does not answer {about}",
            field="action",
            metadata={"allowed": " ".join(sorted(allowed))},
        )
