"""Competing facts: the live disagreements about an entity, slot by slot, with the rows on each side."""

from __future__ import annotations

from dataclasses import dataclass

from corrigenda_core.domain.cases import SetKey
from corrigenda_core.domain.ids import ConflictId, ItemId
from corrigenda_core.domain.objects import Slot
from corrigenda_core.domain.relationships import Relationship

SIDES_FOR_PEOPLE = 3
"""From this many sides on a disagreement is for people: no judge is asked, and no pair of it settles the rest."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CompetingSide:
    """One side: its key is that of a position of a case about the same, ``rows`` in the order of recording."""

    key: str
    rows: tuple[Relationship, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class CompetingFacts:
    """One live disagreement: the sides in the order of recording.

    ``conflict_id`` names the team case about it, where owners disagree; ``item_ids`` are pending questions to owners
    who have not settled which of their own values holds.
    """

    set_key: SetKey
    sides: tuple[CompetingSide, ...]
    conflict_id: ConflictId | None = None
    item_ids: tuple[ItemId, ...] = ()

    @property
    def size(self) -> int:
        """How many sides there are."""
        return len(self.sides)

    @property
    def needs_person(self) -> bool:
        """Whether only people settle it."""
        return self.size >= SIDES_FOR_PEOPLE


@dataclass(frozen=True, slots=True, kw_only=True)
class CompetingSlot:
    """The live disagreements of one slot."""

    slot: Slot
    facts: tuple[CompetingFacts, ...]
