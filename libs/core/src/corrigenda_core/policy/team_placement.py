"""Placement in the team: the owner's own side first, then what it says to other owners and to team cases."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from corrigenda_core.domain.cases import CaseAction, CaseEvent, ConflictCase
from corrigenda_core.domain.changes import CaseEffect, Changes, PlacementOutcome
from corrigenda_core.domain.evidence import Support
from corrigenda_core.domain.ids import RelationshipId, StatementId
from corrigenda_core.domain.relationships import Relationship, Statement
from corrigenda_core.domain.slots import PlanContext, SlotView
from corrigenda_core.domain.submissions import CorrectionTarget
from corrigenda_core.policy.case_effects import CaseEffects, plan_case_effects
from corrigenda_core.policy.placement import plan_own_side
from corrigenda_core.policy.references import plan_references
from corrigenda_core.policy.view_changes import apply_changes

_OWN_SIDE, _REFERENCES, _CASES = range(3)


def plan_placement(
    view: SlotView,
    context: PlanContext,
    statements: Sequence[Statement],
    supports: Sequence[Support],
    targets: Mapping[StatementId, Relationship],
) -> Changes:
    """Everything that new statements of one owner change in their slot.

    A relationship of another owner stays as it is, whatever is said about it.

    Args:
        view: the slot as it stands, all owners together.
        context: the commit.
        statements: new ones of one owner, in the order of recording.
        supports: theirs.
        targets: the relationship that a statement names as what it corrects, the owner's own or another's.

    Returns:
        The changes; each outcome says what its placement did to team cases.

    Raises:
        Refusal: as `plan_own_side` does.
    """

    def part(k: int) -> PlanContext:
        return replace(context, ids=context.ids.part(k))

    own_targets = {
        statement.statement_id: CorrectionTarget(relationship_id=target.relationship_id)
        for statement in statements
        if (target := targets.get(statement.statement_id)) is not None and target.owner_id == statement.owner_id
    }
    own = plan_own_side(view, part(_OWN_SIDE), statements, supports, own_targets)
    after = apply_changes(view, own)
    rows = {row.relationship_id: row for row in after.rows}
    placed = [rows[one.relationship_id] for one in own.outcomes if one.relationship_id in rows]
    named = {
        outcome.relationship_id: target
        for outcome in own.outcomes
        if outcome.relationship_id is not None and (target := targets.get(outcome.statement_id)) is not None
    }
    references = plan_references(after, placed, part(_REFERENCES), named)
    effects = plan_case_effects(replace(after, references=(*after.references, *references)), part(_CASES))
    return replace(
        own,
        references=(*own.references, *references),
        cases=effects.cases,
        case_events=effects.events,
        outcomes=tuple(_with_case(outcome, effects) for outcome in own.outcomes),
    )


def _with_case(outcome: PlacementOutcome, effects: CaseEffects) -> PlacementOutcome:
    """The outcome with the case whose member its row has become, or whose member it changed."""
    for case, event in zip(effects.cases, effects.events, strict=True):
        if outcome.relationship_id in _members(case):
            return replace(
                outcome,
                opposing=tuple(dict.fromkeys((*outcome.opposing, *_opposing(case, outcome.relationship_id)))),
                case_effect=_effect(event),
                conflict_id=case.conflict_id,
            )
    return outcome


def _effect(event: CaseEvent) -> CaseEffect:
    return CaseEffect.OPENS_CASE if event.action is CaseAction.OPENED else CaseEffect.JOINS_CASE


def _members(case: ConflictCase) -> set[RelationshipId | None]:
    return {member.relationship_id for position in case.positions for member in position.members}


def _opposing(case: ConflictCase, row: RelationshipId | None) -> list[RelationshipId]:
    """The members of the positions on which the row does not stand."""
    return [
        member.relationship_id
        for position in case.positions
        if all(member.relationship_id != row for member in position.members)
        for member in position.members
    ]
