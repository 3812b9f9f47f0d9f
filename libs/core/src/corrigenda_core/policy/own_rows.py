"""An owner's own rows: which one is meant, at the version that was seen, and what carries it still."""

from __future__ import annotations

from corrigenda_core.domain.actors import Actor
from corrigenda_core.domain.decisions import Removal
from corrigenda_core.domain.errors import missing, stale
from corrigenda_core.domain.ids import ProfileId, RelationshipId
from corrigenda_core.domain.relationships import Relationship, Statement
from corrigenda_core.domain.slots import SlotView
from corrigenda_core.policy.authorization import Verb, may_change


def decide_own_row(
    view: SlotView, actor: Actor, row_id: RelationshipId, verb: Verb, expected_version: int | None
) -> Relationship:
    """The row that an owner means to change.

    Args:
        view: the slot as it stands.
        actor: who acts.
        row_id: the relationship.
        verb: what is done.
        expected_version: the version that the owner saw; none means the current one.

    Raises:
        Refusal: RESOURCE_NOT_FOUND, NOT_OWNER, STALE_VERSION.
    """
    row = next((row for row in view.rows if row.relationship_id == row_id), None)
    if row is None:
        raise missing("relationship", row_id, field="relationship_id")
    may_change(actor, row.owner_id, verb, resource_type="relationship", resource_id=row_id)
    if expected_version not in (None, row.version):
        raise stale(
            f"the relationship is at version {row.version}",
            resource_type="relationship",
            resource_id=row_id,
            expected=expected_version,
            current=row.version,
        )
    return row


def decide_standing(view: SlotView, owner_id: ProfileId) -> list[Statement]:
    """The owner's statements that no decision has taken out."""
    removed = {decision.statement_id for decision in view.decisions if isinstance(decision, Removal)}
    return [s for s in view.statements if s.owner_id == owner_id and s.statement_id not in removed]
