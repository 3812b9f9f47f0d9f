"""The walk along one lane: places in the order of time become runs, each ended by what comes first."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from corrigenda_core.domain.relationships import Closing
from corrigenda_core.domain.time import EARLIEST, Instant, KnownBound, TimeBasis
from corrigenda_core.policy.lanes import Entry, Value, is_excluding_value
from corrigenda_core.policy.systems_of_record import may_end_record

_TRUST = list(TimeBasis)


@dataclass(slots=True)
class Place:
    """One place of a timeline: a statement, several of one value, or several values that cannot be ordered.

    ``begin`` is ``None`` where its start is unbounded; ``basis`` is that of the begin.
    """

    begin: Instant | None
    basis: TimeBasis | None
    entries: list[Entry]

    @property
    def order(self) -> tuple[bool, Instant, int]:
        """Sorts places by time, an unbounded start before all, and then by the order of recording."""
        first = min(entry.sequence for entry in self.entries)
        return self.begin is not None, self.begin or EARLIEST, first

    def by_value(self) -> dict[Value, list[Entry]]:
        """Its entries by value, both in the order of recording."""
        found: dict[Value, list[Entry]] = {}
        for entry in sorted(self.entries, key=lambda entry: entry.sequence):
            found.setdefault(entry.value, []).append(entry)
        return found


@dataclass(frozen=True, slots=True)
class Ending:
    """When a run ends, and by what: its own statements if neither a closing nor a later place."""

    at: Instant
    basis: TimeBasis | None
    closing: Closing | None = None
    successor: Place | None = None


@dataclass(slots=True)
class Run:
    """One value in force from the begin of ``place`` on: an episode in the making.

    ``closings`` are those of its value in the order of time; ``disputed`` says that its place holds other values too.
    """

    value: Value
    place: Place
    entries: list[Entry]
    closings: Sequence[Closing] = ()
    disputed: bool = False
    successor: Place | None = field(default=None, init=False)
    _ending: tuple[Ending | None] | None = field(default=None, init=False)

    def carry(self, entries: Iterable[Entry]) -> None:
        """Adds entries that continue or support it."""
        self.entries.extend(entries)
        self._ending = None

    def end_with(self, place: Place) -> None:
        """Lets a place that excludes it end it."""
        self.successor = place
        self._ending = None

    @property
    def begin(self) -> Instant | None:
        """When it begins; ``None`` is unbounded."""
        return self.place.begin

    @property
    def of_record(self) -> bool:
        """Whether a system of record says it."""
        return any(entry.statement.record for entry in self.entries)

    @property
    def start_basis(self) -> TimeBasis | None:
        """The most trusted basis of its begin."""
        bases = [e.start.basis for e in self.entries if e.start is not None and e.start.at == self.begin]
        if self.begin is not None and self.place.basis is not None:
            bases.append(self.place.basis)
        return min(bases, key=_TRUST.index, default=None)

    def is_in_force(self, at: Instant) -> bool:
        """Whether it holds at an instant."""
        ending = self.ending()
        return (self.begin is None or self.begin <= at) and (ending is None or at < ending.at)

    def ending(self) -> Ending | None:
        """The earliest of its stated end, a closing and the next place; at one instant a closing comes first."""
        if self._ending is None:
            self._ending = (self._find_ending(),)
        return self._ending[0]

    def _find_ending(self) -> Ending | None:
        found = []
        closing, stated = self._first_closing(), self._stated_end()
        if closing is not None:
            found.append(Ending(closing.at, closing.basis, closing=closing))
        if stated is not None:
            found.append(Ending(stated.at, stated.basis))
        if self.successor is not None and self.successor.begin is not None:
            found.append(Ending(self.successor.begin, self.successor.basis, successor=self.successor))
        return min(found, key=lambda ending: ending.at, default=None)

    def _stated_end(self) -> KnownBound | None:
        """The end stated by its latest-starting statement that states one; of equal starts the later end.

        Where a system of record says the value, only records say when it ended.
        """
        of_record = self.of_record
        stating = [
            (entry.start.at if entry.start else EARLIEST, entry.end)
            for entry in self.entries
            if entry.end is not None and (entry.statement.record or not of_record)
        ]
        return max(stating, key=lambda stated: (stated[0], stated[1].at))[1] if stating else None

    def _first_closing(self) -> Closing | None:
        """The first closing after its begin; one that a record was not made for does not end the record."""
        records = {entry.statement_id for entry in self.entries if entry.statement.record}
        for closing in self.closings:
            if (self.begin is None or self.begin < closing.at) and records.issubset(closing.statement_ids):
                return closing
        return None


@dataclass(frozen=True, slots=True)
class Overridden:
    """A place that would end a run of a system of record without being a newer record of its source."""

    entry: Entry
    run: Run


@dataclass(slots=True)
class Walk:
    """All runs of a lane in the order of time, and where a record would have been ended by others."""

    runs: list[Run] = field(default_factory=list)
    overridden: list[Overridden] = field(default_factory=list)


def apply_places(places: Iterable[Place], closings: Sequence[Closing], *, exclusive: bool) -> Walk:
    """Walks along places in the order of time.

    A place of one value continues the run of that value that is in force at its begin, unless that run is disputed.
    Any other place begins a run for each of its values and ends what these exclude. What has ended, also at that very
    moment, is never continued.

    Args:
        places: the places, each with at least one entry; two that exclude each other begin at different instants.
        closings: those that hold, in the order of time.
        exclusive: whether two ``+`` values exclude each other.
    """
    walk = Walk()
    running: list[Run] = []
    for place in sorted(places, key=lambda place: place.order):
        running = [run for run in running if not _is_over(run, place.begin)]
        sides = place.by_value()
        continued = next((run for run in running if len(sides) == 1 and run.value in sides and not run.disputed), None)
        if continued is not None:
            continued.carry(sides[continued.value])
            continue
        for run in running:
            if any(run.value == value or is_excluding_value(run.value, value, exclusive=exclusive) for value in sides):
                run.end_with(place)
                walk.overridden.extend(Overridden(entry, run) for entry in place.entries if not _may_end(entry, run))
        running = [run for run in running if run.successor is None]
        begun = [Run(value, place, entries, _of(value, closings), len(sides) > 1) for value, entries in sides.items()]
        running.extend(begun)
        walk.runs.extend(begun)
    return walk


def _is_over(run: Run, at: Instant | None) -> bool:
    ending = run.ending()
    return at is not None and ending is not None and ending.at <= at


def _may_end(entry: Entry, run: Run) -> bool:
    """Whether an entry may end a run: what a system of record says is ended by that source alone."""
    return entry.value == run.value or may_end_record(entry.statement, (other.statement for other in run.entries))


def _of(value: Value, closings: Iterable[Closing]) -> list[Closing]:
    return [closing for closing in closings if (closing.object_key, closing.polarity) == value]
