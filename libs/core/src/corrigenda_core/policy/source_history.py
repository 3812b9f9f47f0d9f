"""Source history: how what a source said has fared; shown to people, and weighed by no rule."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import assert_never

from corrigenda_core.domain.decisions import RemovalReason
from corrigenda_core.domain.fates import CarriedBy, Fate, SourcedObservation, SourceHistory
from corrigenda_core.domain.relationships import Status
from corrigenda_core.domain.verification import Modality, VerificationVerdict

_REMOVED = {
    RemovalReason.RETRACTED: Fate.RETRACTED,
    RemovalReason.CORRECTED: Fate.CORRECTED,
    RemovalReason.MERGED: Fate.MERGED,
    RemovalReason.REJECTED: Fate.REJECTED,
}


def decide_source_history(said: Iterable[tuple[SourcedObservation, int]]) -> SourceHistory:
    """Counts the fates of everything that a source said.

    Args:
        said: what it said, equal ones together with how many there are.
    """
    fates: Counter[Fate] = Counter(dict.fromkeys(Fate, 0))
    won = lost = disputed = 0
    for observation, times in said:
        fates[decide_fate(observation)] += times
        if observation.row is not None:
            won += times * observation.row.won
            lost += times * observation.row.lost
            disputed += times * observation.row.disputed
    return SourceHistory(total=fates.total(), fates=dict(fates), won=won, lost=lost, disputed=disputed)


def decide_fate(observation: SourcedObservation) -> Fate:
    """What became of one observation, the first that fits.

    A question, plan, speculation or quotation was never more than observed. What its owner took out is what the owner
    called it; what is not entailed, not bound to a relationship or no longer supported is pending; everything else
    shares the fate of the row that carries it.
    """
    if observation.modality is not Modality.STATEMENT:
        return Fate.OBSERVED
    if observation.removal is not None:
        return _REMOVED[observation.removal]
    if observation.verdict is VerificationVerdict.CONTRADICTED:
        return Fate.REJECTED
    if observation.row is None or observation.verdict is not VerificationVerdict.ENTAILED:
        return Fate.PENDING
    is_carried = observation.effective or observation.row.status is Status.QUARANTINED
    return _fate_of(observation.row) if is_carried else Fate.PENDING


def _fate_of(row: CarriedBy) -> Fate:
    match row.status:
        case Status.ACTIVE:
            return Fate.ENDED if row.ended else Fate.STANDS
        case Status.SUPERSEDED:
            if row.lost:
                return Fate.OVERRULED
            return Fate.SUPERSEDED if row.living else Fate.DISCARDED
        case Status.COMPETING:
            if row.lost:
                return Fate.OVERRULED
            return Fate.COMPETING if row.asked else Fate.OVERTAKEN
        case Status.NEEDS_REVIEW:
            return Fate.HELD
        case Status.RETRACTED:
            return Fate.RETRACTED
        case Status.REJECTED:
            return Fate.REJECTED
        case Status.PENDING_EVIDENCE:
            return Fate.PENDING
        case Status.QUARANTINED:
            return Fate.QUARANTINED
        case _:
            assert_never(row.status)
