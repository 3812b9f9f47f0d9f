"""What a correction of identity does to slots: statements leave one and arrive in another, and both fold again."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from itertools import count

from corrigenda_core.domain.changes import Changes
from corrigenda_core.domain.decisions import Distinction, Removal, Reopening, TimelineDecision
from corrigenda_core.domain.evidence import Support
from corrigenda_core.domain.ids import DecisionId, ReferenceId, RelationshipId, StatementId
from corrigenda_core.domain.objects import EntityObject, Slot
from corrigenda_core.domain.relationships import Closing, CrossReference, ReferenceKind, Statement
from corrigenda_core.domain.resolutions import DecisionRecord
from corrigenda_core.domain.slots import PlanContext, SlotView
from corrigenda_core.policy.case_side import plan_case_side
from corrigenda_core.policy.identity_correction import IdentityCorrection, Move
from corrigenda_core.policy.refold import plan_owner_refold

_REFERENCES = 0
_SLOTS = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Arrival:
    """A statement on its way: as it stood in the row that it has left, and in its new slot, where no row carries it."""

    before: Statement
    after: Statement
    left: RelationshipId
    supports: tuple[Support, ...]


def plan_rebinding(
    views: Mapping[Slot, SlotView], correction: IdentityCorrection, context: PlanContext, record: DecisionRecord
) -> Changes:
    """All that moving statements changes, in one revision: rows, references, items and team cases of every slot.

    A moved statement leaves its row and is carried by what the fold of its new slot gives it: a row that says the same
    there already, or a new one. A row that everything leaves is closed to nothing. What decisions have said of a
    statement goes with it, and so do the closings that it carried: it ends where it ended before. The rows are linked,
    `split_from` where something stays behind and `merged_into` where an entity was given up.

    Args:
        views: every slot of the correction as it stands.
        correction: what moves.
        context: the commit; parts of its ids name what each slot gets.
        record: the decision.

    Returns:
        The changes of all slots together; ``statements`` are the moved ones as they are bound now.
    """
    arrivals = _arrivals(views, correction.moves)
    planned: list[Changes] = []
    carriers: dict[StatementId, RelationshipId] = {}
    for number, slot in enumerate(correction.slots):
        arriving = [one for one in arrivals if one.after.slot == slot]
        before, after = _moved_view(views, slot, arrivals, record.decision_id)
        own = replace(context, ids=context.ids.part(_SLOTS + number))
        refold = plan_owner_refold(before, after, correction.owner_id, own, record.kind.value, record.decision_id)
        planned.append(plan_case_side(after, refold.changes, own))
        carriers.update((one.after.statement_id, refold.rows.carriers[one.after.statement_id]) for one in arriving)
    changes = _together(planned)
    references = _links(arrivals, carriers, correction, record, context)
    linked = {(one.kind, one.source_id, one.target_id) for one in references}
    folded = {one.source_id for one in references} | {one.target_id for one in references}
    return replace(
        changes,
        statements=tuple(replace(one.after, relationship_id=carriers[one.after.statement_id]) for one in arrivals),
        decision_records=(record,),
        references=(
            *(
                one
                for one in changes.references
                # The fold says of a row that is left empty where its statements went; the correction says it better.
                if not (one.kind is ReferenceKind.MERGED_INTO and {one.source_id, one.target_id} <= folded)
                and (one.kind, one.source_id, one.target_id) not in linked
            ),
            *references,
        ),
    )


def _arrivals(views: Mapping[Slot, SlotView], moves: Iterable[Move]) -> list[Arrival]:
    arrivals = []
    for move in moves:
        source, target = move.before.slot, move.after.slot
        if source is None or target is None:
            continue
        view = views[source]
        statement = next((s for s in view.statements if s.statement_id == move.before.observation_id), None)
        if statement is None or statement.relationship_id is None:
            continue
        named = move.after.object if isinstance(move.after.object, EntityObject) else statement.object
        arrivals.append(
            Arrival(
                before=statement,
                after=replace(statement, slot=target, object=named, relationship_id=None),
                left=statement.relationship_id,
                supports=tuple(one for one in view.supports if one.statement_id == statement.statement_id),
            )
        )
    return arrivals


def _moved_view(
    views: Mapping[Slot, SlotView], slot: Slot, arrivals: Sequence[Arrival], decision_id: DecisionId
) -> tuple[SlotView, SlotView]:
    """A slot before and after; what was decided about arriving statements stands on both sides, for it is not new."""
    view = views[slot]
    leaving = {one.before.statement_id for one in arrivals if one.before.slot == slot}
    arriving = [one for one in arrivals if one.after.slot == slot]
    gone_or_new = leaving | {one.after.statement_id for one in arriving}
    brought, closings = _brought(views, slot, arriving, decision_id)
    before = replace(view, decisions=(*view.decisions, *brought))
    after = replace(
        before,
        statements=(
            *(one for one in view.statements if one.statement_id not in leaving),
            *(one.after for one in arriving),
        ),
        supports=(
            *(one for one in view.supports if one.statement_id not in gone_or_new),
            *(replace(support, relationship_id=None) for one in arriving for support in one.supports),
        ),
        decisions=(*before.decisions, *closings),
    )
    return before, after


def _brought(
    views: Mapping[Slot, SlotView], slot: Slot, arriving: Sequence[Arrival], decision_id: DecisionId
) -> tuple[tuple[TimelineDecision, ...], tuple[Closing, ...]]:
    """What was decided about arriving statements, and the closings that they carried, made again by the correction."""
    brought: list[TimelineDecision] = []
    closings: list[Closing] = []
    known = set(views[slot].decisions)
    for source in dict.fromkeys(one.before.slot for one in arriving):
        own = {one.after.statement_id: one for one in arriving if one.before.slot == source}
        decisions = views[source].decisions
        present = {one.statement_id for one in views[source].statements if one.effective} - {
            one.statement_id for one in decisions if isinstance(one, Removal)
        }
        reopened = {(one.closing_decision_id, one.relationship_id) for one in decisions if isinstance(one, Reopening)}
        for decision in decisions:
            if isinstance(decision, Closing):
                carried = tuple(one for one in decision.statement_ids if one in own)
                is_reopened = (decision.decision_id, decision.relationship_id) in reopened
                lapsed = decision.conditional and present.isdisjoint(decision.made_for)
                if carried and not is_reopened and not lapsed:
                    # What it was made for may stay behind; where the statements go, nothing is left to wait for it.
                    made_for = tuple(one for one in decision.made_for if one in own)
                    closings.append(
                        replace(
                            decision,
                            decision_id=decision_id,
                            object_key=own[carried[0]].after.object.key,
                            statement_ids=carried,
                            made_for=made_for,
                            conditional=bool(made_for),
                            conflict_id=None,
                        )
                    )
                continue
            statement_id = decision.first if isinstance(decision, Distinction) else decision.statement_id
            if statement_id in own and decision not in known:
                brought.append(decision)
    return tuple(brought), tuple(closings)


def _links(
    arrivals: Sequence[Arrival],
    carriers: Mapping[StatementId, RelationshipId],
    correction: IdentityCorrection,
    record: DecisionRecord,
    context: PlanContext,
) -> tuple[CrossReference, ...]:
    """The references between the rows that statements have left and those that carry them now."""
    merging = bool(correction.merges)
    moved = set(correction.moved_rows)
    numbers = count()
    found: dict[tuple[ReferenceKind, RelationshipId, RelationshipId], CrossReference] = {}
    for one in arrivals:
        left, now = one.left, carriers[one.after.statement_id]
        is_merge = merging and left in moved
        kind = ReferenceKind.MERGED_INTO if is_merge else ReferenceKind.SPLIT_FROM
        source, target = (left, now) if is_merge else (now, left)
        found.setdefault(
            (kind, source, target),
            CrossReference(
                reference_id=ReferenceId(context.ids.part(_REFERENCES).nth(next(numbers))),
                kind=kind,
                source_id=source,
                target_id=target,
                decision_id=record.decision_id,
            ),
        )
    return tuple(found.values())


def _together(parts: Sequence[Changes]) -> Changes:
    """Changes of several slots as those of one revision."""
    joined = {one.name: tuple(value for part in parts for value in getattr(part, one.name)) for one in fields(Changes)}
    return Changes(**joined)
