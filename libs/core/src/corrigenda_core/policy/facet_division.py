"""Facets parted by keep_both: every side holds in a facet of its own, and nothing else moves."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations, count

from corrigenda_core.domain.decisions import Distinction, FacetAssignment, TimelineDecision
from corrigenda_core.domain.errors import Reason, Refusal
from corrigenda_core.domain.ids import DecisionId, ReferenceId
from corrigenda_core.domain.relationships import CrossReference, ReferenceKind
from corrigenda_core.domain.resolutions import KeepBoth
from corrigenda_core.domain.slots import PlanContext, SlotView
from corrigenda_core.policy.lanes import Value
from corrigenda_core.policy.sides import Side, decide_start, decide_timeline, record_refusal

_REFERENCES = 4


def plan_facets(
    view: SlotView, context: PlanContext, sides: Sequence[Side], action: KeepBoth, decision_id: DecisionId
) -> tuple[tuple[TimelineDecision, ...], tuple[CrossReference, ...]]:
    """The facets, starts and distinctions by which every side of a conflict holds.

    What is in force keeps its facet, and so does the first value of each dispute; the others get new ones. Whatever
    else the owner says in the slot is pinned to the facet in which it stands, so that parting the sides moves nothing
    else. Pairs that were told apart are not asked about again.

    Args:
        view: the slot as it stands.
        context: the commit; the ids of part 4 name references.
        sides: those of the item.
        action: the starts that its owner states.
        decision_id: the decision.

    Raises:
        Refusal: NOT_IN_CONFLICT for a start of something else, SYSTEM_OF_RECORD, and as `decide_start` does.
    """
    starts = dict(action.starts)
    for row_id in starts.keys() - {side.row_id for side in sides}:
        raise Refusal(Reason.NOT_IN_CONFLICT, "the item has no such side", metadata={"relationship_id": row_id})
    _require_no_record(sides)
    decisions: list[TimelineDecision] = list(_pinned(view, sides, decision_id))
    for side, facet in _facets(view, sides):
        decisions += decide_start(view, side, starts.get(side.row_id), decision_id).given
        decisions += [
            FacetAssignment(decision_id=decision_id, statement_id=statement_id, facet=facet)
            for statement_id in side.statement_ids
        ]
    pairs = [(first, second) for first, second in combinations(sides, 2) if _is_disputed(first, second)]
    decisions += [
        Distinction(decision_id=decision_id, first=first.statement_ids[0], second=second.statement_ids[0])
        for first, second in pairs
    ]
    ids = context.ids.part(_REFERENCES)
    references = tuple(
        CrossReference(
            reference_id=ReferenceId(ids.nth(number)),
            kind=ReferenceKind.DISTINCT_FROM,
            source_id=second.row_id,
            target_id=first.row_id,
            decision_id=decision_id,
        )
        for number, (first, second) in enumerate(pairs)
    )
    return tuple(decisions), references


def _require_no_record(sides: Sequence[Side]) -> None:
    sources = {side.record_sources for side in sides}
    for side in sides:
        if side.record_sources and len(sources) > 1:
            raise record_refusal(side.row_id)


def _facets(view: SlotView, sides: Sequence[Side]) -> Iterator[tuple[Side, int]]:
    """Each side with its facet: those in force first, because theirs are taken; equal values that wait share one."""
    used = {row.facet for row in view.rows if row.owner_id == sides[0].row.owner_id}
    used |= {decision.facet for decision in view.decisions if isinstance(decision, FacetAssignment)}
    fresh = (facet for facet in count() if facet not in used)
    taken: set[int] = set()
    parted: dict[Value, int] = {}
    for side in sorted(sides, key=lambda side: (side.held, side.competing)):
        facet = side.row.facet
        if side.held or (side.competing and facet in taken):
            facet = parted[side.value] if side.value in parted else next(fresh)
            parted[side.value] = facet
        taken.add(facet)
        yield side, facet


def _is_disputed(first: Side, second: Side) -> bool:
    waiting = first.held or second.held or first.row_id in second.against
    return waiting and first.value != second.value


def _pinned(view: SlotView, sides: Sequence[Side], decision_id: DecisionId) -> Iterator[FacetAssignment]:
    asked = {statement_id for side in sides for statement_id in side.statement_ids}
    for episode in decide_timeline(view, sides[0].row.owner_id).episodes:
        for statement_id in episode.statement_ids:
            if statement_id not in asked:
                yield FacetAssignment(decision_id=decision_id, statement_id=statement_id, facet=episode.facet)
