"""The same-moment policy: which statements of one owner that cannot be ordered are held, and which compete."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum

from corrigenda_core.domain.ids import StatementId
from corrigenda_core.domain.predicates import SameMomentPolicy
from corrigenda_core.domain.relationships import Closing
from corrigenda_core.domain.time import TimeBasis
from corrigenda_core.policy.extents import decide_exact_bound
from corrigenda_core.policy.lane_reading import Conflict, Reading, decide_opponents, decide_reading
from corrigenda_core.policy.lane_walk import Run
from corrigenda_core.policy.lanes import Entry, Value


class HoldReason(StrEnum):
    """Why a statement waits for its owner."""

    SAME_MOMENT = "same_moment"
    SYSTEM_OF_RECORD = "system_of_record"
    SEVERAL_FACETS = "several_facets"


@dataclass(frozen=True, slots=True, kw_only=True)
class Held:
    """An entry that is kept out of its timeline, and the entries that it cannot be ordered against."""

    entry: Entry
    against: tuple[Entry, ...]
    reason: HoldReason


@dataclass(frozen=True, slots=True, kw_only=True)
class Beside:
    """A run that disputes what a system of record says: it competes, and changes nothing about the record."""

    run: Run
    against: tuple[Entry, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Admission:
    """What a lane says (``reading``), who is held, and what competes with records without touching them.

    ``left`` are entries that a closing took out: those that start no earlier, and those that would wait although a
    decision has ended them.
    """

    reading: Reading
    held: tuple[Held, ...] = ()
    beside: tuple[Beside, ...] = ()
    left: Mapping[StatementId, Closing] = field(default_factory=dict)


def decide_admission(
    entries: Sequence[Entry],
    closings: Sequence[Closing],
    kept: Collection[StatementId],
    policy: SameMomentPolicy,
    *,
    exclusive: bool,
) -> Admission:
    """Applies the same-moment policy to the entries of one lane (R4.8).

    With `hold`, what stands in conflict with something recorded earlier is kept out: of each conflict the side that
    was recorded last waits, until none is left. Then everything that waits is tried again in the order of recording.
    What a decision has settled goes before what nobody has decided about; what one was against waits for nothing. With
    `compete` every conflict becomes a disputed place, and so it does with `close`, whose decisions have settled what
    they could.

    Args:
        entries: what no decision has taken out.
        closings: those that hold, in the order of time.
        kept: what decisions have settled.
        policy: that of the predicate.
        exclusive: whether two ``+`` values exclude each other.
    """

    def read(these: Sequence[Entry]) -> Reading:
        return decide_reading(these, closings, exclusive=exclusive)

    hold = policy is SameMomentPolicy.HOLD

    def barred(reading: Reading) -> list[Conflict]:
        return [conflict for conflict in reading.conflicts if hold or _is_unplaceable(conflict)]

    reading = read(entries)
    admitted = list(entries)
    while conflicts := barred(reading):
        last = {entry.statement_id for conflict in conflicts for entry in _last_side(conflict, kept)}
        admitted = [entry for entry in admitted if entry.statement_id not in last]
        reading = read(admitted)
    against: dict[StatementId, tuple[Entry, ...]] = {}
    waiting = _waiting(entries, admitted, kept)
    healed = bool(waiting)
    while healed:
        healed = False
        for entry in waiting:
            opponents = decide_opponents(entry, admitted, reading, exclusive=exclusive) if hold else ()
            if not opponents:
                trial = read([*admitted, entry])
                opponents = _against(entry, barred(trial))
            if opponents:
                against[entry.statement_id] = opponents
            else:
                admitted, reading, healed = [*admitted, entry], trial, True
        waiting = _waiting(waiting, admitted, kept)
    challengers = [e for e in waiting if not hold and _is_of_record(against[e.statement_id])]
    waiting = [entry for entry in waiting if entry not in challengers]
    ended = {entry.statement_id: closing for entry in waiting if (closing := decide_ending_closing(entry, closings))}
    held = tuple(_held(e, against[e.statement_id]) for e in waiting if e.statement_id not in ended)
    return Admission(
        reading=reading,
        held=held,
        beside=_beside(challengers, against, reading, closings, exclusive=exclusive),
        left={**reading.left, **ended},
    )


def decide_ending_closing(entry: Entry, closings: Iterable[Closing]) -> Closing | None:
    """The closing by which an owner or a case decided against an entry: nobody is asked about that again.

    Ending a value in its time is no such decision: what is said of that time may still be asked about.
    """
    for closing in closings:
        if entry.statement_id in closing.statement_ids and (closing.conditional or closing.conflict_id is not None):
            return closing
    return None


def _last_side(conflict: Conflict, kept: Collection[StatementId]) -> list[Entry]:
    """The side of a conflict that was recorded last; a system of record never waits for others (R4.13)."""
    sides: dict[Value, list[Entry]] = {}
    for entry in conflict.entries:
        sides.setdefault(entry.value, []).append(entry)
    return max(sides.values(), key=lambda side: min(_precedence(entry, kept) for entry in side))


def _precedence(entry: Entry, kept: Collection[StatementId]) -> tuple[bool, bool, int]:
    return not entry.statement.record, entry.statement_id not in kept, entry.sequence


def _waiting(entries: Iterable[Entry], admitted: Iterable[Entry], kept: Collection[StatementId]) -> list[Entry]:
    """Who is not admitted, in the order in which they are tried again."""
    inside = {entry.statement_id for entry in admitted}
    waiting = [entry for entry in entries if entry.statement_id not in inside]
    return sorted(waiting, key=lambda entry: _precedence(entry, kept))


def _held(entry: Entry, against: tuple[Entry, ...]) -> Held:
    reason = HoldReason.SYSTEM_OF_RECORD if _is_of_record(against) else HoldReason.SAME_MOMENT
    return Held(entry=entry, against=against, reason=reason)


def _is_unplaceable(conflict: Conflict) -> bool:
    """Whether a conflict cannot be shown as a dispute: it has no place, or a system of record is one side of it."""
    return conflict.place is None or _is_of_record(conflict.entries)


def _is_of_record(entries: Sequence[Entry]) -> bool:
    return any(entry.statement.record for entry in entries)


def _against(entry: Entry, conflicts: Iterable[Conflict]) -> tuple[Entry, ...]:
    """Everything of another value that stands in conflict when an entry is admitted."""
    others = {
        other.statement_id: other
        for conflict in conflicts
        for other in conflict.entries
        if other.statement_id != entry.statement_id
    }
    return tuple(sorted(others.values(), key=lambda other: other.sequence))


def _beside(
    challengers: Sequence[Entry],
    against: Mapping[StatementId, tuple[Entry, ...]],
    reading: Reading,
    closings: Sequence[Closing],
    *,
    exclusive: bool,
) -> tuple[Beside, ...]:
    """The runs of those who dispute a record, read by themselves; one without a start shares that of the record."""
    started = [_started_with_record(entry, reading) for entry in challengers]
    runs = decide_reading(started, closings, exclusive=exclusive).walk.runs
    return tuple(
        Beside(run=run, against=tuple(other for entry in run.entries for other in against[entry.statement_id]))
        for run in runs
    )


def _started_with_record(entry: Entry, reading: Reading) -> Entry:
    if not entry.placed_by_witness:
        return entry
    for run in reading.walk.runs:
        if run.of_record and run.begin is not None and run.is_in_force(entry.witness_at):
            basis = run.start_basis or TimeBasis.RECORDED_FALLBACK
            return replace(entry, start=decide_exact_bound(run.begin, basis))
    return entry
