"""Who may answer a question, by which action, and at which version."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from datetime import UTC, datetime

import pytest
from corrigenda_core.domain.actors import Actor, ActorKind, KeyScope
from corrigenda_core.domain.errors import Reason, Refusal
from corrigenda_core.domain.ids import IdempotencyKey, IngestId, ItemId, ProfileId
from corrigenda_core.domain.items import ItemKind, ItemStatus, ReviewItem
from corrigenda_core.domain.placement_decisions import PlacementDecision
from corrigenda_core.domain.resolutions import DecisionKind
from corrigenda_core.domain.submissions import Submission
from corrigenda_core.policy.placement_actions import PROPOSED_PREDICATE, may_decide

ANN, BOB = (Actor(kind=ActorKind.PROFILE, profile_id=ProfileId(name)) for name in ("ann", "bob"))
WRITES, ADMINISTERS = {KeyScope.WRITE}, {KeyScope.ADMIN}

ASKED = ReviewItem(
    item_id=ItemId("item"),
    version=3,
    kind=ItemKind.PREDICATE,
    status=ItemStatus.PENDING,
    owner_id=ProfileId("ann"),
    reason="unknown_predicate",
    opened_at=datetime(2026, 6, 1, tzinfo=UTC),
)
PROPOSED = replace(ASKED, reason=PROPOSED_PREDICATE)
QUARANTINED = replace(ASKED, kind=ItemKind.QUARANTINE, reason="quarantined")
SELECT, RELEASE = DecisionKind.SELECT_PREDICATE, DecisionKind.RELEASE_QUARANTINE


@pytest.mark.rule("R5.1", "R5.2")
@pytest.mark.parametrize(
    ("actor", "scopes", "action", "item", "expected_version", "reason"),
    [
        (ANN, WRITES, SELECT, ASKED, None, None),
        (ANN, WRITES, SELECT, ASKED, 3, None),
        (ANN, WRITES, SELECT, ASKED, 2, Reason.STALE_VERSION),
        (ANN, WRITES, SELECT, ASKED, 4, Reason.STALE_VERSION),
        (BOB, WRITES, SELECT, ASKED, None, Reason.NOT_OWNER),
        (ANN, {KeyScope.READ}, SELECT, ASKED, None, Reason.SCOPE_MISSING),
        (ANN, WRITES, DecisionKind.SELECT_ENTITY, ASKED, None, Reason.INVALID_FIELD),
        (ANN, WRITES, SELECT, replace(ASKED, status=ItemStatus.RESOLVED), None, Reason.ITEM_NOT_PENDING),
        (ANN, WRITES, SELECT, replace(ASKED, status=ItemStatus.CLOSED), None, Reason.ITEM_NOT_PENDING),
        # What an author proposes, and what a scan has kept apart, any administrator decides and nobody else.
        (BOB, ADMINISTERS, SELECT, PROPOSED, None, None),
        (ANN, WRITES, SELECT, PROPOSED, None, Reason.SCOPE_MISSING),
        (BOB, ADMINISTERS, RELEASE, QUARANTINED, None, None),
        (ANN, WRITES, RELEASE, QUARANTINED, None, Reason.SCOPE_MISSING),
    ],
)
def test_who_may_answer_a_question(
    actor: Actor,
    scopes: Collection[KeyScope],
    action: DecisionKind,
    item: ReviewItem,
    expected_version: int | None,
    reason: Reason | None,
) -> None:
    if reason is None:
        may_decide(actor, scopes, action, item, expected_version)
        return
    with pytest.raises(Refusal) as refused:
        may_decide(actor, scopes, action, item, expected_version)
    assert refused.value.reason is reason


def test_a_decision_states_a_start_in_utc_or_none() -> None:
    said = Submission(evidence=(), idempotency_key=IdempotencyKey("k"))
    with pytest.raises(ValueError, match="valid_from must be an aware instant"):
        PlacementDecision(
            ingest_id=IngestId("i"),
            action=DecisionKind.ACCEPT,
            valid_from=datetime(2026, 3, 1),  # noqa: DTZ001 - a naive time is the point
            submission=said,
        )
