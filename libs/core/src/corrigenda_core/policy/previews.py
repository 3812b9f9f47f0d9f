"""Previews: what each action on an item would change, found by planning it and writing nothing."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from corrigenda_core.domain.changes import Changes
from corrigenda_core.domain.errors import Refusal
from corrigenda_core.domain.ids import DecisionId, RelationshipId
from corrigenda_core.domain.items import ReviewItem
from corrigenda_core.domain.resolutions import (
    Answer,
    DecisionKind,
    KeepBoth,
    KeepExisting,
    KeepNew,
    Preview,
    Resolution,
)
from corrigenda_core.domain.slots import PlanContext, SlotView
from corrigenda_core.domain.time import TimeBasis
from corrigenda_core.policy.resolution import decide_sides, plan_resolution
from corrigenda_core.policy.sides import SideStart, plan_side_end
from corrigenda_core.policy.slot_change import plan_slot_change


def plan_previews(view: SlotView, context: PlanContext, item: ReviewItem) -> tuple[Preview, ...]:
    """Before and after of every action that answers a pending item, in the order in which it is offered.

    A merge is shown with a sentence that would start at the moment of the commit: what it says is not known yet.

    Args:
        view: the slot as it stands.
        context: the commit that an action would be.
        item: the item at its current version.
    """
    previews = [_preview(view, context, item, kind, kept_id, action) for kind, kept_id, action in _actions(item)]
    merged = Preview(kind=DecisionKind.MERGE)
    return (*previews, _shown(merged, view, _merging(view, context, item)))


def _actions(item: ReviewItem) -> Iterator[tuple[DecisionKind, RelationshipId | None, Resolution]]:
    for row_id in (*item.incoming, *item.opposing):
        yield DecisionKind.KEEP_NEW, row_id, KeepNew(kept_id=row_id)
    for row_id in item.opposing:
        yield DecisionKind.KEEP_EXISTING, row_id, KeepExisting(kept_id=row_id)
    yield DecisionKind.KEEP_BOTH, None, KeepBoth()


def _preview(
    view: SlotView,
    context: PlanContext,
    item: ReviewItem,
    kind: DecisionKind,
    kept_id: RelationshipId | None,
    resolution: Resolution,
) -> Preview:
    preview = Preview(kind=kind, kept_id=kept_id)
    answer = Answer(item=item, expected_version=item.version, resolution=resolution)
    try:
        return _shown(preview, view, plan_resolution(view, context, answer))
    except Refusal as refusal:
        return replace(preview, refused=refusal.reason)


def _merging(view: SlotView, context: PlanContext, item: ReviewItem) -> Changes:
    decision_id = DecisionId(context.ids.nth(0))
    start = SideStart(at=context.moment.at, basis=TimeBasis.RECORDED_FALLBACK)
    sides = decide_sides(view, item)
    # There is no sentence yet that they would be ended for: they stand in for it themselves.
    made_for = [statement_id for side in sides for statement_id in side.statement_ids]
    ended = [decision for side in sides for decision in plan_side_end(side, start, made_for, decision_id)]
    after = replace(view, decisions=(*view.decisions, *ended))
    return plan_slot_change(view, after, context, DecisionKind.MERGE.value, decision_id)


def _shown(preview: Preview, view: SlotView, changes: Changes) -> Preview:
    rows = {row.relationship_id: row for row in view.rows}
    touched = sorted(changes.relationships, key=lambda row: row.relationship_id)
    before = tuple(rows[row.relationship_id] for row in touched if row.relationship_id in rows)
    return replace(preview, before=before, after=tuple(touched))
