"""Placement actions: which of them answers which question."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

from corrigenda_core.domain.actors import Actor, KeyScope
from corrigenda_core.domain.errors import Reason, Refusal, stale
from corrigenda_core.domain.ids import DecisionId
from corrigenda_core.domain.items import ItemKind, ItemStatus, ReviewItem
from corrigenda_core.domain.resolutions import DecisionKind
from corrigenda_core.policy.authorization import Verb, may_call, may_change

PROPOSED_PREDICATE = "proposed_predicate"
"""Why an administrator is asked about a phrase: its author proposes that it be registered."""

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


def may_decide(
    actor: Actor, scopes: Collection[KeyScope], action: DecisionKind, item: ReviewItem, expected_version: int | None
) -> None:
    """Checks that an actor may answer an item by an action, as it stands.

    Its owner answers it. What only administrators decide, a release and the answer to a proposed predicate, is decided
    by any of them.

    Args:
        actor: who acts.
        scopes: the permissions of the key.
        action: what is to be done.
        item: the current version of the item, which the actor can see.
        expected_version: the version that the actor saw; ``None`` for the current one.

    Raises:
        Refusal: SCOPE_MISSING, NOT_OWNER, INVALID_FIELD for an action that does not answer it, ITEM_NOT_PENDING, and
            STALE_VERSION, because nobody decides about what they have not seen.
    """
    if item.reason == PROPOSED_PREDICATE:
        may_call(Verb.REGISTER_PREDICATE, scopes)
    else:
        verb = Verb[action.name]
        may_call(verb, scopes)
        may_change(actor, item.owner_id, verb, resource_type="review_item", resource_id=item.item_id)
    may_take(action, item.kind)
    if item.status is not ItemStatus.PENDING:
        raise Refusal(
            Reason.ITEM_NOT_PENDING,
            f"the item is {item.status.value}",
            metadata={"item_id": item.item_id, "status": item.status.value, "reason": item.reason},
        )
    if expected_version not in (None, item.version):
        raise stale(
            f"the item is at version {item.version}, the decision was made for version {expected_version}",
            resource_type="review_item",
            resource_id=item.item_id,
            expected=expected_version,
            current=item.version,
            field="expected_version",
        )


def plan_answered_items(
    items: Sequence[ReviewItem], item: ReviewItem, kind: DecisionKind, decision_id: DecisionId
) -> tuple[ReviewItem, ...]:
    """The planned items with the one that was answered; it stays pending, at a new version, where a dispute is left.

    A question about relationships closes when the fold says so, every other one by being answered.

    Args:
        items: what the rest of the plan makes of items, the answered one among them if its sides have changed.
        item: the answered one as it was.
        kind: what was decided, which becomes its reason.
        decision_id: the decision.
    """
    planned = {one.item_id: one for one in items}
    status = ItemStatus.PENDING if item.kind is ItemKind.RELATIONSHIP else ItemStatus.CLOSED
    answered = planned.get(item.item_id, replace(item, version=item.version + 1, status=status))
    if answered.status is ItemStatus.CLOSED:
        answered = replace(answered, status=ItemStatus.RESOLVED, reason=kind.value, decision_id=decision_id)
    planned[item.item_id] = answered
    return tuple(planned.values())
