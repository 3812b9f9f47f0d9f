"""The reading of one lane: every entry gets a place, by its start or by its witness time, and disputes are noted."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from corrigenda_core.domain.ids import StatementId
from corrigenda_core.domain.relationships import Closing
from corrigenda_core.domain.time import Instant, TimeBasis
from corrigenda_core.policy.lane_walk import Place, Run, Walk, apply_places
from corrigenda_core.policy.lanes import Entry, is_excluding_value


@dataclass(frozen=True, slots=True)
class Conflict:
    """Entries that exclude each other and cannot be ordered; without ``place`` they found none together."""

    entries: tuple[Entry, ...]
    place: Place | None = None


@dataclass(slots=True)
class Reading:
    """What a set of entries of one lane says together.

    ``conflicts`` stand in ``walk`` as disputed runs, except those without a place. ``left`` are entries that a closing
    took out.
    """

    walk: Walk
    conflicts: list[Conflict] = field(default_factory=list)
    left: dict[StatementId, Closing] = field(default_factory=dict)


def decide_reading(entries: Sequence[Entry], closings: Sequence[Closing], *, exclusive: bool) -> Reading:
    """Places entries that have a start first, and then the others by witness time.

    Args:
        entries: what is in the timeline of one lane.
        closings: those that hold, in the order of time.
        exclusive: whether two ``+`` values exclude each other.
    """
    left = _closed_before_they_start(entries, closings)
    staying = [entry for entry in entries if entry.statement_id not in left]
    places = _tie_places([entry for entry in staying if not entry.placed_by_witness], exclusive)
    reading = _WitnessReading(places, closings, exclusive, left)
    witnesses = [entry for entry in staying if entry.placed_by_witness]
    for entry in sorted(witnesses, key=lambda entry: (entry.witness_at, entry.sequence)):
        reading.place(entry)
    conflicts = [Conflict(tuple(p.entries), p) for p in reading.places if len(p.by_value()) > 1]
    conflicts += [Conflict(entries) for entries in reading.homeless]
    conflicts += [_overridden(overridden.entry, overridden.run) for overridden in reading.walk.overridden]
    return Reading(walk=reading.walk, conflicts=conflicts, left=left)


def decide_opponents(
    entry: Entry, admitted: Sequence[Entry], reading: Reading, *, exclusive: bool
) -> tuple[Entry, ...]:
    """What an entry plainly cannot be ordered against, without reading everything again.

    Args:
        entry: one that is not in the reading.
        admitted: all that are.
        reading: what they say together, without conflicts.
        exclusive: whether two ``+`` values exclude each other.

    Returns:
        What is in force at its witness time, or what may have started when it did; nothing, if a conflict can only be
        found by reading it together with the others.
    """
    if entry.placed_by_witness:
        in_force = [run for run in reading.walk.runs if run.is_in_force(entry.witness_at)]
        if any(run.value == entry.value for run in in_force):
            return ()
        against = [other for run in in_force for other in run.entries]
    else:
        against = [
            o
            for o in admitted
            if not o.placed_by_witness
            and o.statement_id not in reading.left
            and (_may_start_at(o, entry) if o.reach <= entry.reach else _may_start_at(entry, o))
        ]
    return tuple(other for other in against if is_excluding_value(other.value, entry.value, exclusive=exclusive))


def _overridden(entry: Entry, run: Run) -> Conflict:
    return Conflict((entry, *(other for other in run.entries if other.statement.record)))


def _closed_before_they_start(entries: Sequence[Entry], closings: Iterable[Closing]) -> dict[StatementId, Closing]:
    """The entries that leave with a closing that lists them: those that start at or after its instant.

    One without a start shared a row with the others on the list: where they have starts and all of them leave, so
    does it.
    """
    by_id = {entry.statement_id: entry for entry in entries}
    left: dict[StatementId, Closing] = {}
    for closing in closings:
        listed = [by_id[statement_id] for statement_id in closing.statement_ids if statement_id in by_id]
        with_start = [entry for entry in listed if not entry.placed_by_witness]
        leaving = [entry for entry in with_start if entry.start is not None and entry.start.at >= closing.at]
        if leaving and len(leaving) == len(with_start):
            leaving = listed
        for entry in leaving:
            left.setdefault(entry.statement_id, closing)
    return left


def _tie_places(entries: Sequence[Entry], exclusive: bool) -> list[Place]:
    """One place for each group of entries that exclude each other and whose starts may be the same.

    Starts tie when the whole intervals that their words name overlap; the tie begins at the latest start of the group.
    A member that ends by itself before that stands alone before it.
    """
    places: list[Place] = []
    while entries:
        before_the_tie: list[Entry] = []
        for group in _ties(entries, exclusive):
            latest = max(group, key=lambda entry: (entry.reach[0], -entry.sequence))
            begin = None if latest.start is None else latest.start.at
            ended = [] if begin is None else [e for e in group if e.end is not None and e.end.at <= begin]
            before_the_tie += ended
            tied = [entry for entry in group if entry not in ended]
            places.append(Place(begin, None if latest.start is None else latest.start.basis, tied))
        entries = before_the_tie
    return places


def _ties(entries: Iterable[Entry], exclusive: bool) -> list[list[Entry]]:
    """Groups of entries joined, over any number of steps, by being excluded and having starts that may be the same."""
    groups: list[list[Entry]] = []
    open_groups: list[list[Entry]] = []
    for entry in sorted(entries, key=lambda entry: (entry.start is not None, *entry.reach, entry.sequence)):
        open_groups = [group for group in open_groups if any(_may_start_at(other, entry) for other in group)]
        joined = [
            group
            for group in open_groups
            if any(
                _may_start_at(other, entry) and is_excluding_value(other.value, entry.value, exclusive=exclusive)
                for other in group
            )
        ]
        merged = [entry, *(other for group in joined for other in group)]
        for group in joined:
            groups.remove(group)
            open_groups.remove(group)
        groups.append(merged)
        open_groups.append(merged)
    return groups


def _may_start_at(other: Entry, entry: Entry) -> bool:
    """Whether ``other``, sorted before ``entry``, may start no earlier than ``entry`` does."""
    if entry.start is None or other.start is None:
        return entry.start is None and other.start is None
    return other.reach[1] > entry.reach[0] or other.start.at == entry.start.at


def _is_running_between(run: Run, first: Instant | None, last: Instant) -> bool:
    """Whether a run was in force at some instant from ``first`` to ``last``."""
    ending = run.ending()
    begun = run.begin is None or run.begin <= last
    return begun and (first is None or ending is None or first < ending.at)


@dataclass(slots=True)
class _WitnessReading:
    """Places entries without a start one after the other, and walks again whenever one may have moved a run."""

    places: list[Place]
    closings: Sequence[Closing]
    exclusive: bool
    left: dict[StatementId, Closing]
    homeless: list[tuple[Entry, ...]] = field(default_factory=list)
    walk: Walk = field(init=False)

    def __post_init__(self) -> None:
        self._walk()

    def _walk(self) -> None:
        self.walk = apply_places(self.places, self.closings, exclusive=self.exclusive)

    def place(self, entry: Entry) -> None:
        """Places one entry by its witness time."""
        at = entry.witness_at
        near = [run for run in self.walk.runs if run.value == entry.value or self._is_excluding(run, entry)]
        in_force = [run for run in near if run.is_in_force(at)]
        same = next((run for run in in_force if run.value == entry.value), None)
        if same is not None:
            self._support(same, entry)
        elif in_force:
            self._dispute(in_force, near, entry)
        elif any(run.begin is None or run.begin <= at for run in near):
            self._begin_again(entry)
        else:
            self.places.append(Place(None, None, [entry]))
            self._walk()

    def _is_excluding(self, run: Run, entry: Entry) -> bool:
        return is_excluding_value(run.value, entry.value, exclusive=self.exclusive)

    def _support(self, run: Run, entry: Entry) -> None:
        run.place.entries.append(entry)
        if entry.end is None and not entry.statement.record:
            run.carry([entry])
        else:
            # It may move the end of the run, and what came after that end.
            self._walk()

    def _begin_again(self, entry: Entry) -> None:
        """Everything has ended: a new run from its witness time, unless a closing had put an end to it before."""
        for closing in self.closings:
            if entry.statement_id in closing.statement_ids and closing.at <= entry.statement.witness_at:
                self.left[entry.statement_id] = closing
                return
        self.places.append(Place(entry.witness_at, TimeBasis.RECORDED_FALLBACK, [entry]))
        self._walk()

    def _dispute(self, opposing: Sequence[Run], near: Iterable[Run], entry: Entry) -> None:
        """Joins the run that it excludes where that began, with everything that carried the run by then.

        That is no place for it where it excludes other runs as well that were in force since.
        """
        opponents = [other for run in opposing for other in run.entries]
        place = opposing[0].place
        since = [run for run in near if _is_running_between(run, place.begin, entry.witness_at)]
        if any(run.place is not place for run in (*opposing, *since)):
            self.homeless.append((entry, *opponents))
            return
        joining = {e.statement_id: e for e in opponents if e.start is None or e.start.at <= entry.witness_at}
        joining |= {e.statement_id: e for e in (*place.entries, entry)}
        for other in self.places:
            other.entries = [e for e in other.entries if e.statement_id not in joining]
        place.entries = list(joining.values())
        self.places = [other for other in self.places if other.entries]
        self._walk()
