"""The same-moment policy: which statements of one owner that cannot be ordered are held, and which compete."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from corrigenda_core.domain.ids import StatementId
from corrigenda_core.domain.predicates import SameMomentPolicy
from corrigenda_core.domain.relationships import Closing
from corrigenda_core.domain.time import TimeBasis
from corrigenda_core.policy.extents import decide_exact_bound
from corrigenda_core.policy.lane_reading import Conflict, Reading, decide_reading
from corrigenda_core.policy.lane_walk import Run
from corrigenda_core.policy.lanes import Entry


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
    """What a lane says (``reading``), who is held, and what competes with records without touching them."""

    reading: Reading
    held: tuple[Held, ...] = ()
    beside: tuple[Beside, ...] = ()


def decide_admission(
    entries: Sequence[Entry], closings: Sequence[Closing], policy: SameMomentPolicy, *, exclusive: bool
) -> Admission:
    """Applies the same-moment policy to the entries of one lane (R4.8).

    With `hold`, entries are admitted in the order of recording, each that stands in conflict with none before it; the
    first recorded one never waits, and whoever waits is tried again once all others have been. With `compete` every
    conflict becomes a disputed place, and so it does with `close`, whose decisions have settled what they could.

    Args:
        entries: what no decision has taken out.
        closings: those that hold, in the order of time.
        policy: that of the predicate.
        exclusive: whether two ``+`` values exclude each other.
    """

    def read(these: Sequence[Entry]) -> Reading:
        return decide_reading(these, closings, exclusive=exclusive)

    is_barred = _is_any if policy is SameMomentPolicy.HOLD else _is_unplaceable
    admitted, waiting = _admit(entries, lambda these: not any(is_barred(c) for c in read(these).conflicts))
    reading = read(admitted)
    against = {entry.statement_id: _against(entry, read([*admitted, entry])) for entry in waiting}
    challengers = [e for e in waiting if policy is not SameMomentPolicy.HOLD and _is_of_record(against[e.statement_id])]
    held = tuple(_held(entry, against[entry.statement_id]) for entry in waiting if entry not in challengers)
    return Admission(
        reading=reading, held=held, beside=_beside(challengers, against, reading, closings, exclusive=exclusive)
    )


def _held(entry: Entry, against: tuple[Entry, ...]) -> Held:
    reason = HoldReason.SYSTEM_OF_RECORD if _is_of_record(against) else HoldReason.SAME_MOMENT
    return Held(entry=entry, against=against, reason=reason)


def _admit(entries: Sequence[Entry], is_peaceful: Callable[[Sequence[Entry]], bool]) -> tuple[list[Entry], list[Entry]]:
    """Who is admitted and who waits, both in the order of recording; what a system of record says comes first (R4.13).

    Halves are tried whole before they are divided, so that few readings suffice where few entries wait.
    """
    admitted: list[Entry] = []
    waiting: list[Entry] = []

    def admit(some: Sequence[Entry]) -> None:
        if is_peaceful([*admitted, *some]):
            admitted.extend(some)
        elif len(some) == 1:
            waiting.extend(some)
        else:
            middle = len(some) // 2
            admit(some[:middle])
            admit(some[middle:])

    admit(sorted(entries, key=lambda entry: (not entry.statement.record, entry.sequence)))
    while (healed := next((entry for entry in waiting if is_peaceful([*admitted, entry])), None)) is not None:
        waiting.remove(healed)
        admitted.append(healed)
    return admitted, waiting


def _is_any(_: Conflict) -> bool:
    return True


def _is_unplaceable(conflict: Conflict) -> bool:
    """Whether a conflict cannot be shown as a dispute: it has no place, or a system of record is one side of it."""
    return conflict.place is None or _is_of_record(conflict.entries)


def _is_of_record(entries: Sequence[Entry]) -> bool:
    return any(entry.statement.record for entry in entries)


def _against(entry: Entry, reading: Reading) -> tuple[Entry, ...]:
    others: dict[StatementId, Entry] = {}
    for conflict in reading.conflicts:
        for other in conflict.entries:
            if other.statement_id != entry.statement_id:
                others.setdefault(other.statement_id, other)
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
