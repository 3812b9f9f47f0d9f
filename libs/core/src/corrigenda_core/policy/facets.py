"""Facets: the timelines into which `keep_both` has parted one lane, and which of them a later statement belongs to."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from corrigenda_core.domain.ids import StatementId
from corrigenda_core.domain.predicates import SameMomentPolicy
from corrigenda_core.domain.relationships import Closing
from corrigenda_core.domain.time import EARLIEST, Instant
from corrigenda_core.policy.lane_walk import Run
from corrigenda_core.policy.lanes import Entry, is_excluding_value
from corrigenda_core.policy.same_moment import (
    Admission,
    Held,
    HoldReason,
    decide_admission,
    decide_ending_closing,
)


@dataclass(slots=True)
class Facets:
    """The admissions of one lane by facet, and those that fit into several facets and wait.

    ``left`` are those that would wait although a closing has ended them.
    """

    closings: Sequence[Closing]
    kept: Collection[StatementId]
    policy: SameMomentPolicy
    exclusive: bool
    entries: dict[int, list[Entry]]
    undecided: list[Held] = field(default_factory=list)
    left: dict[StatementId, Closing] = field(default_factory=dict)
    _read: dict[int, Admission] = field(default_factory=dict)

    def admission(self, facet: int) -> Admission:
        """What the entries of one facet say together."""
        if facet not in self._read:
            inside = {entry.statement_id for entry in self.entries[facet]}
            closings = [c for c in self.closings if c.facet == facet or not inside.isdisjoint(c.statement_ids)]
            self._read[facet] = decide_admission(
                self.entries[facet], closings, self.kept, self.policy, exclusive=self.exclusive
            )
        return self._read[facet]

    def admissions(self) -> Iterator[tuple[int, Admission]]:
        """All facets in order."""
        for facet in sorted(self.entries):
            yield facet, self.admission(facet)

    def add(self, facet: int, entry: Entry) -> None:
        """Puts an entry into a facet."""
        self.entries.setdefault(facet, []).append(entry)
        self._read.pop(facet, None)

    def in_force(self, entry: Entry, at: Instant | None) -> dict[int, list[Run]]:
        """The runs that say the same as an entry or exclude it, and are in force at an instant, by facet."""
        found: dict[int, list[Run]] = {}
        for facet, admission in self.admissions():
            for run in admission.reading.walk.runs:
                near = run.value == entry.value or is_excluding_value(run.value, entry.value, exclusive=self.exclusive)
                if near and (run.begin is None if at is None else run.is_in_force(at)):
                    found.setdefault(facet, []).append(run)
        return found


def decide_facets(
    entries: Sequence[Entry],
    assigned: Mapping[StatementId, int],
    closings: Sequence[Closing],
    kept: Collection[StatementId],
    policy: SameMomentPolicy,
    *,
    exclusive: bool,
) -> Facets:
    """Divides a lane into its facets.

    An entry without an assignment is counted by what is in force at its start, or at its witness time: it goes where
    its value is; where nothing is, into facet 0; where one facet has a value, into that; where several have, it waits.

    Args:
        entries: those of the lane in the order of recording.
        assigned: the facet of a statement, where a decision named one.
        closings: those that hold, in the order of time.
        kept: what decisions have settled.
        policy: what happens inside a facet to entries without an order.
        exclusive: whether two ``+`` values exclude each other.
    """
    facets = Facets(closings, kept, policy, exclusive, {})
    free = [entry for entry in entries if entry.statement_id not in assigned]
    if len(free) == len(entries):
        facets.entries[0] = free
        return facets
    for entry in entries:
        if entry.statement_id in assigned:
            facets.add(assigned[entry.statement_id], entry)
    for entry in sorted(free, key=_by_time):
        _add_free(facets, entry)
    return facets


def _by_time(entry: Entry) -> tuple[bool, Instant, int]:
    at = entry.witness_at if entry.placed_by_witness else EARLIEST if entry.start is None else entry.start.at
    return entry.placed_by_witness, at, entry.sequence


def _add_free(facets: Facets, entry: Entry) -> None:
    at = entry.start.at if entry.start is not None else None if entry.unbounded else entry.witness_at
    in_force = facets.in_force(entry, at)
    equal = [facet for facet, runs in in_force.items() if any(run.value == entry.value for run in runs)]
    if equal or len(in_force) < 2:
        facets.add(min(equal or in_force, default=0), entry)
        return
    ended = decide_ending_closing(entry, facets.closings)
    if ended is not None:
        facets.left[entry.statement_id] = ended
        return
    opponents = [other for runs in in_force.values() for run in runs for other in run.entries]
    facets.undecided.append(Held(entry=entry, against=tuple(opponents), reason=HoldReason.SEVERAL_FACETS))
