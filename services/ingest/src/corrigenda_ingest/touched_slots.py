"""Slots that a change of a source touches, beside those that a submission speaks in: loaded under the team's lock."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass

from corrigenda_core.domain.changes import Changes
from corrigenda_core.domain.ids import TeamId
from corrigenda_core.domain.objects import Slot
from corrigenda_core.domain.predicates import Predicate
from corrigenda_core.domain.slots import SlotView
from corrigenda_core.domain.time import Moment
from corrigenda_core.persistence.changes_writer import ChangesWriter
from corrigenda_core.persistence.database import Row
from corrigenda_core.persistence.named_sql import Query
from corrigenda_core.persistence.slot_store import CaseRowVersions, SlotQueries

# Several queries a slot: so many slots fill a pipeline well and keep few answers in memory at once.
_SLOTS_PER_ROUND_TRIP = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class SlotChange:
    """What changes in one slot, and the slot that it was planned on."""

    before: SlotView
    changes: Changes

    def write(self, writer: ChangesWriter, moment: Moment) -> None:
        """Writes it into the revision under construction."""
        writer.write(
            self.changes,
            at=moment.at,
            cases=self.before.cases,
            predicate_version=self.before.predicate.version,
        )


FetchAll = Callable[[Sequence[Query]], Awaitable[Mapping[str, list[Row]]]]


async def load_slots(
    fetch_all: FetchAll, team_id: TeamId, slots: Mapping[Slot, Predicate], versions: CaseRowVersions
) -> dict[Slot, SlotView]:
    """The slots as they stand, with the versions of the rows of their cases; in an order of the slots alone."""
    ordered = sorted(slots, key=lambda slot: (slot.subject_id, slot.predicate, slot.scope))
    views: dict[Slot, SlotView] = {}
    for first in range(0, len(ordered), _SLOTS_PER_ROUND_TRIP):
        batch = ordered[first : first + _SLOTS_PER_ROUND_TRIP]
        looks = [SlotQueries(team_id=team_id, slot=slot, number=number) for number, slot in enumerate(batch)]
        answers = await fetch_all([query for look in looks for query in look.queries()])
        for look in looks:
            views[look.slot] = look.view(answers, slots[look.slot])
            look.load_versions(answers, versions)
    return views
