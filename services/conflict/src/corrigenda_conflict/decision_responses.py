"""Answers to decisions as messages: the decision, what it changed, the item that it answered, and previews."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from corrigenda.conflict.v1 import conflict_service_pb2 as messages
from corrigenda.conflict.v1 import resolution_pb2, review_item_pb2
from corrigenda.type.v1 import decision_pb2
from corrigenda_core.deciding import Decided
from corrigenda_core.domain.ids import ProfileId, RelationshipId, TeamId
from corrigenda_core.domain.items import ReviewItem
from corrigenda_core.domain.relationships import Relationship
from corrigenda_core.domain.resolutions import Preview
from corrigenda_core.domain.time import Moment
from corrigenda_core.persistence.conflict_store import ConflictReading, ItemInView, OwnedRelationship
from corrigenda_core.persistence.database import Row
from corrigenda_core.persistence.decision_store import SlotState
from corrigenda_core.persistence.past_decisions import record_of
from corrigenda_core.policy.view_changes import apply_changes
from corrigenda_core.rpc.decision_messages import (
    OwnerNames,
    change_messages,
    decision_message,
    effects_message,
    with_conflicts,
)
from corrigenda_core.rpc.enums import DECISION_KIND
from corrigenda_core.rpc.relationship_messages import Names

from corrigenda_conflict.responses import ConflictMessages

PREVIEWS_SHOWN = 50
ITEMS_SHOWN = 50


def resolution_response(team_id: TeamId, decided: Decided, item: ReviewItem) -> messages.ResolveConflictResponse:
    """The answer to a resolution of ``item``."""
    state, changes, moment = decided.state, decided.changes, decided.moment
    (record,) = changes.decision_records
    answered = next((one for one in changes.items if one.item_id == item.item_id), item)
    return messages.ResolveConflictResponse(
        decision=decision_message(record, moment, state.owner_names),
        effects=effects_message(state.view, changes, state.names, state.owner_names),
        item=item_message(team_id, decided, answered),
        revision=moment.revision,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class MergeReading:
    """What is read of a merge that another service has committed; ``decision`` is a row of `past_decision`."""

    decision: Row
    before: Sequence[Relationship]
    after: Sequence[Relationship]
    conflict_ids: Sequence[str]
    item: ItemInView
    names: Names
    owner_names: OwnerNames


def merge_response(team_id: TeamId, reading: MergeReading) -> messages.ResolveConflictResponse:
    """The answer to a merge."""
    row, names = reading.decision, reading.names
    shown, total = change_messages(reading.before, reading.after, names, reading.owner_names)
    moment = Moment(revision=row["revision"], at=row["recorded_at"])
    return messages.ResolveConflictResponse(
        decision=decision_message(record_of(row), moment, reading.owner_names),
        effects=with_conflicts(
            decision_pb2.DecisionEffects(changes=shown, changes_total=total, changes_truncated=total > len(shown)),
            reading.conflict_ids,
        ),
        item=ConflictMessages(team_id, ConflictReading(cases={}, items={}, names=names)).item(reading.item),
        revision=moment.revision,
    )


def revert_response(team_id: TeamId, decided: Decided) -> messages.RevertResolutionResponse:
    """The answer to an undo."""
    state, changes, moment = decided.state, decided.changes, decided.moment
    (record,) = changes.decision_records
    own = [item for item in changes.items if item.owner_id == record.actor.profile_id]
    return messages.RevertResolutionResponse(
        decision=decision_message(record, moment, state.owner_names),
        effects=effects_message(state.view, changes, state.names, state.owner_names),
        items=[item_message(team_id, decided, item) for item in own[:ITEMS_SHOWN]],
        items_total=len(own),
        items_truncated=len(own) > ITEMS_SHOWN,
        revision=moment.revision,
    )


def item_message(team_id: TeamId, decided: Decided, item: ReviewItem) -> review_item_pb2.ReviewItem:
    """An item as a decision left it, with its sides as it left them."""
    state = decided.state
    rows = {row.relationship_id: row for row in apply_changes(state.view, decided.changes).rows}
    made = ConflictMessages(team_id, ConflictReading(cases={}, items={}, names=state.names))
    return made.item(_in_view(item, rows, state.owner_names, decided.moment.revision))


def _in_view(
    item: ReviewItem,
    rows: Mapping[RelationshipId, Relationship],
    owner_names: Mapping[ProfileId, str],
    revision: int,
) -> ItemInView:
    def shown(row_ids: Iterable[RelationshipId]) -> tuple[OwnedRelationship, ...]:
        owned = [rows[row_id] for row_id in row_ids]
        return tuple(OwnedRelationship(row=row, owner_name=owner_names[row.owner_id]) for row in owned)

    return ItemInView(
        row={
            "item_id": item.item_id,
            "version": item.version,
            "kind": item.kind,
            "status": item.status,
            "reason": item.reason,
            "ingest_id": item.ingest_id,
            "statement_id": item.statement_id,
            "details": dict(item.details),
            "opened_at": item.opened_at,
            "revision": revision,
            "predicate_phrase": None,
        },
        incoming=shown(item.incoming),
        opposing=shown(item.opposing),
    )


def add_previews(message: review_item_pb2.ReviewItem, previews: Sequence[Preview], state: SlotState) -> None:
    """Adds to an item what each action would change."""
    message.previews.extend(_preview(preview, state) for preview in previews[:PREVIEWS_SHOWN])
    message.previews_total = len(previews)
    message.previews_truncated = len(previews) > PREVIEWS_SHOWN


def _preview(preview: Preview, state: SlotState) -> resolution_pb2.ResolutionPreview:
    shown, total = change_messages(preview.before, preview.after, state.names, state.owner_names)
    return resolution_pb2.ResolutionPreview(
        action=DECISION_KIND.to_wire(preview.kind),
        relationship_id=preview.kept_id or "",
        changes=shown,
        changes_total=total,
        changes_truncated=total > len(shown),
        refused="" if preview.refused is None else preview.refused.value,
    )
