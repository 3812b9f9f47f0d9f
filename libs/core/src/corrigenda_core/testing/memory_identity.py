"""Corrections of identity in a team in memory: statements leave one slot and arrive in another, as a store reads it."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from corrigenda_core.domain.actors import Actor, ActorKind
from corrigenda_core.domain.changes import Changes
from corrigenda_core.domain.decisions import Distinction, TimelineDecision
from corrigenda_core.domain.entities import BoundObservation, Entity
from corrigenda_core.domain.errors import Reason, Refusal
from corrigenda_core.domain.ids import DecisionId, EntityId, ProfileId, StatementId
from corrigenda_core.domain.objects import Slot
from corrigenda_core.domain.relationships import Closing, Statement
from corrigenda_core.domain.resolutions import DecisionKind, DecisionRecord
from corrigenda_core.domain.slots import SlotView
from corrigenda_core.policy.identity_correction import IdentityCorrection, plan_merge, plan_split
from corrigenda_core.policy.rebinding import plan_rebinding
from corrigenda_core.testing.memory_team import MemoryTeam

# Parts of the ids of a commit that no plan uses.
_DECISION = 90


def split_entity(
    model: MemoryTeam,
    owner_id: ProfileId,
    entity_id: EntityId,
    new_entity_id: EntityId,
    chosen: Collection[StatementId],
) -> None:
    """Some observations of an owner turn out to be about another entity.

    Raises:
        Refusal: as `plan_split` does.
    """
    correction = plan_split(
        caller=owner_id,
        entity_id=entity_id,
        new_entity_id=new_entity_id,
        observations=_observations(model),
        chosen=chosen,
    )
    _commit(model, correction, DecisionKind.SPLIT_ENTITY)


def merge_entities(model: MemoryTeam, owner_id: ProfileId, source: Entity, target: Entity) -> None:
    """Everything that an owner has said of an entity turns out to be about another one.

    Raises:
        Refusal: as `plan_merge` does; INVALID_FIELD if the owner has said nothing of it.
    """
    correction = plan_merge(caller=owner_id, source=source, target=target, observations=_observations(model))
    if not correction.moves:
        raise Refusal(Reason.INVALID_FIELD, "the caller has said nothing of the entity", field="source_entity_id")
    _commit(model, correction, DecisionKind.MERGE_ENTITIES)


def _observations(model: MemoryTeam) -> list[BoundObservation]:
    carried = [
        BoundObservation(
            observation_id=one.statement_id,
            owner_id=one.owner_id,
            subject_id=slot.subject_id,
            object=one.object,
            predicate=slot.predicate,
            scope=slot.scope,
            polarity=one.polarity,
            relationship_id=one.relationship_id,
        )
        for slot in model.slots()
        for one in model.view(slot).statements
    ]
    return [*carried, *model.repeated.values()]


def _commit(model: MemoryTeam, correction: IdentityCorrection, kind: DecisionKind) -> None:
    actor = Actor(kind=ActorKind.PROFILE, profile_id=correction.owner_id)
    context = model.context(actor)
    record = DecisionRecord(decision_id=DecisionId(context.ids.part(_DECISION).nth(0)), kind=kind, actor=actor)
    before = {slot: model.view(slot) for slot in correction.slots}
    changes = model.as_committed(plan_rebinding(before, correction, context, record))
    moved = {one.statement_id: one for one in changes.statements}
    carried = {one.statement_id: slot for slot in before for one in before[slot].statements}
    of_slot = {**carried, **{one.statement_id: one.slot for one in moved.values()}}
    bases = {slot: _moved(before, slot, moved, _on_transitions(model)) for slot in before}
    parts = [(slot, _part(changes, bases[slot], of_slot)) for slot in before]
    model.commit_together(parts, bases=bases)
    moves = (move.after for move in correction.moves)
    model.repeated.update((one.observation_id, one) for one in moves if one.observation_id in model.repeated)


def _on_transitions(model: MemoryTeam) -> frozenset[tuple[str, str]]:
    """The closings that stand on a transition: they stay where that is."""
    transitions = (one for revision in model.revisions for one in revision.changes.transitions)
    return frozenset((one.closing.decision_id, one.closing.relationship_id) for one in transitions if one.closing)


def _moved(
    before: Mapping[Slot, SlotView],
    slot: Slot,
    moved: Mapping[StatementId, Statement],
    on_transitions: Collection[tuple[str, str]],
) -> SlotView:
    """A slot with what has arrived and without what has left; what was decided about a statement goes with it."""
    view = before[slot]
    leaving = {one.statement_id for one in view.statements if one.statement_id in moved}
    arriving = {one.statement_id for one in moved.values() if one.slot == slot}

    def goes_with(decision: TimelineDecision, statements: Collection[StatementId]) -> bool:
        if isinstance(decision, Closing):
            is_free = (decision.decision_id, decision.relationship_id) not in on_transitions
            return is_free and bool(decision.statement_ids) and decision.statement_ids[0] in statements
        first = decision.first if isinstance(decision, Distinction) else decision.statement_id
        return first in statements

    statements = [one for one in view.statements if one.statement_id not in leaving]
    statements += [moved[one] for one in arriving]
    supports = [one for one in view.supports if one.statement_id not in leaving]
    supports += [one for other in before.values() for one in other.supports if one.statement_id in arriving]
    decisions = [one for one in view.decisions if not goes_with(one, leaving - arriving)]
    decisions += [
        one for other in before.values() for one in other.decisions if other is not view and goes_with(one, arriving)
    ]
    return replace(
        view,
        statements=tuple(sorted(statements, key=lambda one: one.sequence)),
        supports=tuple(supports),
        decisions=tuple(dict.fromkeys(decisions)),
    )


def _part(changes: Changes, view: SlotView, of_slot: Mapping[StatementId, Slot]) -> Changes:
    """What of the changes of a correction is in one slot."""
    slot = view.slot
    new = tuple(row for row in changes.relationships if row.slot == slot)
    rows = {row.relationship_id for row in (*view.rows, *new)}
    known = {case.conflict_id for case in view.cases}
    return replace(
        changes,
        statements=(),
        relationships=new,
        transitions=tuple(one for one in changes.transitions if one.relationship_id in rows),
        carriages=tuple(one for one in changes.carriages if of_slot[one.statement_id] == slot),
        decisions=tuple(one for one in changes.decisions if _is_about(one, slot, of_slot)),
        references=tuple(one for one in changes.references if one.source_id in rows or one.target_id in rows),
        items=tuple(one for one in changes.items if one.slot == slot),
        cases=tuple(one for one in changes.cases if one.conflict_id in known or one.set_key.slot == slot),
    )


def _is_about(decision: TimelineDecision, slot: Slot, of_slot: Mapping[StatementId, Slot]) -> bool:
    about: Sequence[StatementId]
    if isinstance(decision, Closing):
        about = decision.statement_ids[:1]
    else:
        about = (decision.first if isinstance(decision, Distinction) else decision.statement_id,)
    return any(of_slot.get(one) == slot for one in about)
