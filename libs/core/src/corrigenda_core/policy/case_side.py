"""What a change of one owner's rows does beyond them: references to others, and the team's cases."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from corrigenda_core.domain.cases import CaseAction, ConflictCase
from corrigenda_core.domain.changes import CaseEffect, Changes, OutcomeKind, PlacementOutcome
from corrigenda_core.domain.ids import ConflictId, RelationshipId, StatementId
from corrigenda_core.domain.relationships import LIVING_STATUSES, Relationship
from corrigenda_core.domain.slots import PlanContext, SlotView
from corrigenda_core.policy.case_effects import CaseEffects, plan_case_effects
from corrigenda_core.policy.references import plan_references
from corrigenda_core.policy.refold import PARTS
from corrigenda_core.policy.view_changes import apply_changes, with_neighbour
from corrigenda_core.policy.winner_items import plan_winner_items


def plan_case_side(view: SlotView, changes: Changes, context: PlanContext) -> Changes:
    """Changes of a slot with what they do to team cases: every plan that changes rows ends with this.

    Args:
        view: the slot as it stands.
        changes: what is to change in it.
        context: the commit.
    """
    after = apply_changes(view, changes)
    used = _parts_used(view, changes)
    effects = plan_case_effects(after, replace(context, ids=context.ids.part(used + 1)))
    winners = plan_winner_items(view, after, replace(context, ids=context.ids.part(used + 2)))
    before = {case.conflict_id: case for case in view.cases}
    return replace(
        changes,
        items=(*changes.items, *winners),
        cases=(*changes.cases, *effects.cases),
        case_events=(*changes.case_events, *effects.events),
        outcomes=tuple(_with_effect(outcome, effects, before) for outcome in changes.outcomes),
    )


def _parts_used(view: SlotView, changes: Changes) -> int:
    """How many parts of the id range may be in use: those of one plan for each owner of the slot."""
    owners = {statement.owner_id for statement in (*view.statements, *changes.statements)}
    return PARTS * max(len(owners), 1)


def plan_reference_side(
    view: SlotView, changes: Changes, addressed: Mapping[StatementId, Relationship], context: PlanContext
) -> Changes:
    """Changes of a placement with what the placed rows say about those of other owners.

    Args:
        view: the slot as it stands.
        changes: what is to change in it, with its outcomes; a statement that is not in force says nothing of others.
        addressed: the relationship of another owner that a statement says was wrong.
        context: the commit.
    """
    after = apply_changes(view, changes)
    rows = {row.relationship_id: row for row in after.rows if row.status in LIVING_STATUSES}
    placed: dict[RelationshipId, Relationship] = {}
    targets: dict[RelationshipId, Relationship] = {}
    for outcome in changes.outcomes:
        if outcome.kind is OutcomeKind.DUPLICATE or outcome.relationship_id not in rows:
            continue
        placed[outcome.relationship_id] = rows[outcome.relationship_id]
        if outcome.statement_id in addressed:
            targets[outcome.relationship_id] = addressed[outcome.statement_id]
    ids = replace(context, ids=context.ids.part(_parts_used(view, changes)))
    references = plan_references(after, placed.values(), ids, targets)
    return replace(changes, references=(*changes.references, *references))


def plan_referred_side(view: SlotView, row: Relationship, placed: Changes, context: PlanContext) -> Changes:
    """What a placement does to the cases of another slot, to a relationship of which it refers.

    Args:
        view: the other slot as it stands.
        row: the placed row.
        placed: what the placement changes in the slot of its own.
        context: the commit; its ids are those of these changes alone.

    Returns:
        New versions of cases, and the placement's outcome as far as they go.
    """
    after = with_neighbour(view, row.slot, placed, joining=row)
    effects = plan_case_effects(after, context)
    before = {case.conflict_id: case for case in view.cases}
    return Changes(
        cases=effects.cases,
        case_events=effects.events,
        outcomes=tuple(_with_effect(outcome, effects, before) for outcome in placed.outcomes),
    )


def _with_effect(
    outcome: PlacementOutcome, effects: CaseEffects, before: Mapping[ConflictId, ConflictCase]
) -> PlacementOutcome:
    opened = {event.conflict_id for event in effects.events if event.action is CaseAction.OPENED}
    for case in effects.cases:
        if outcome.relationship_id not in _members(case):
            continue
        if case.conflict_id in opened:
            return replace(outcome, case_effect=CaseEffect.OPENS_CASE, conflict_id=case.conflict_id)
        if outcome.relationship_id not in _members(before[case.conflict_id]):
            return replace(outcome, case_effect=CaseEffect.JOINS_CASE, conflict_id=case.conflict_id)
    return outcome


def _members(case: ConflictCase) -> set[RelationshipId]:
    return {member.relationship_id for position in case.positions for member in position.members}
