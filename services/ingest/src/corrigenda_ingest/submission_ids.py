"""The parts of a submission's range of ids: whoever looks twice gives the same things the same ids."""

from __future__ import annotations

from corrigenda_core.domain.ids import IdRange

FRAGMENTS, OBSERVATIONS, ENTITIES, ITEMS, PLACEMENTS, MERGING, RETIRING = range(7)
"""The parts of a plan's ids."""

_PLAN, _ROWS = range(2)


def plan_ids_of(ids: IdRange) -> IdRange:
    """The ids of everything that a plan names."""
    return ids.part(_PLAN)


def entity_ids_of(ids: IdRange) -> IdRange:
    """The ids of the entities that a submission makes known, and of the questions about its mentions."""
    return plan_ids_of(ids).part(ENTITIES)


def row_ids_of(ids: IdRange) -> IdRange:
    """The ids of rows that nothing else refers to."""
    return ids.part(_ROWS)
