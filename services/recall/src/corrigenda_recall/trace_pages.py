"""The pages of a trace: its sections one after the other, a page holding the end of one and the start of the next."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum


class Section(StrEnum):
    """The sections, in the order in which pages go through them."""

    EVIDENCE = "evidence"
    OBSERVATIONS = "observations"
    VERIFICATIONS = "verifications"
    SUPPORTS = "supports"
    TRANSITIONS = "transitions"
    REFERENCES = "references"
    CASES = "cases"
    LINEAGE = "lineage"


@dataclass(frozen=True, slots=True, kw_only=True)
class TracePlace:
    """Where a page begins: so many records of a section have been shown."""

    section: Section = Section.EVIDENCE
    offset: int = 0

    @property
    def cursor(self) -> tuple[str, ...]:
        """The place as a page token keeps it."""
        return (self.section.value, str(self.offset))

    @classmethod
    def of(cls, cursor: tuple[str, ...]) -> TracePlace:
        """The place that a page token has kept; an empty cursor is the beginning."""
        return cls(section=Section(cursor[0]), offset=int(cursor[1])) if cursor else cls()


@dataclass(frozen=True, slots=True, kw_only=True)
class Slice:
    """The records of one section that a page shows."""

    offset: int
    limit: int


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedPage:
    """The slices of a page, and where the next one begins; ``None`` after the last one."""

    slices: Mapping[Section, Slice]
    following: TracePlace | None


def planned_page(totals: Mapping[Section, int], start: TracePlace, size: int) -> PlannedPage:
    """The slices of the page that begins at a place.

    Args:
        totals: the sizes of the sections; one that is left out has none.
        start: where the page begins.
        size: most records of the page.
    """
    slices: dict[Section, Slice] = {}
    room = size
    ordered = list(Section)
    for section in ordered[ordered.index(start.section) :]:
        offset = start.offset if section is start.section else 0
        left = max(0, totals.get(section, 0) - offset)
        if left > 0 and room == 0:
            return PlannedPage(slices=slices, following=TracePlace(section=section, offset=offset))
        taken = min(left, room)
        if taken > 0:
            slices[section] = Slice(offset=offset, limit=taken)
            room -= taken
        if taken < left:
            return PlannedPage(slices=slices, following=TracePlace(section=section, offset=offset + taken))
    return PlannedPage(slices=slices, following=None)
