"""Team conflicts: the policy `independent-sources/1` decides one case from one snapshot, in exact integers.

Words of the definitions: n(p) is the number of counted components of a position, a(p) that of its authoritative ones,
and N (``total``) the sum of n over the live positions.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from corrigenda_core.domain.ids import PositionId, ProfileId
from corrigenda_core.domain.snapshots import (
    CaseDecision,
    CaseSnapshot,
    Component,
    DecisionReason,
    Dismiss,
    Evaluation,
    KeepOpen,
    Loser,
    MarkOverdue,
    Resolve,
    SnapshotMember,
    SnapshotPosition,
    Standing,
)
from corrigenda_core.domain.time import EARLIEST, LATEST, Instant, TimeBasis, WholeInterval
from corrigenda_core.policy.independence import decide_witnesses

STRONG_MINIMUM_WITNESSES = 4
MAJORITY_MINIMUM_WITNESSES = 2

Qualified = tuple[DecisionReason, Standing]
"""The rule that would resolve the case, and the position that it names."""


def decide_case(snapshot: CaseSnapshot) -> Evaluation:
    """Decides one look at a case; the same snapshot gives the same evaluation, whatever the order of its parts."""
    live = decide_live_positions(snapshot)
    if not is_disagreement(live):
        return Evaluation(decision=Dismiss())
    witnesses = decide_witnesses(live)
    counted: dict[PositionId, list[Component]] = {position.position_id: [] for position in live}
    for component in witnesses.components:
        counted[component.position_id].append(component)
    standings = tuple(_standing(position, counted[position.position_id]) for position in live)
    return Evaluation(decision=_decision(snapshot, live, standings), standings=standings, witnesses=witnesses)


def _decision(snapshot: CaseSnapshot, live: Sequence[SnapshotPosition], standings: Sequence[Standing]) -> CaseDecision:
    qualified = decide_at_any_time(standings)
    if qualified is None and snapshot.due:
        qualified = decide_at_deadline(standings)
    if qualified is None:
        return decide_without_winner(due=snapshot.due, record_protected=False)
    reason, winner = qualified
    if is_record_protected(winner, standings):
        return decide_without_winner(due=snapshot.due, record_protected=True)
    cutoff, basis = decide_cutoff(winner, snapshot.first_contradiction_at)
    return Resolve(
        reason=reason,
        winner=winner.position_id,
        cutoff=cutoff,
        basis=basis,
        losers=decide_losers(live, winner, cutoff),
    )


def decide_live_positions(snapshot: CaseSnapshot) -> list[SnapshotPosition]:
    """The positions with an effective support, ordered by id."""
    return sorted((p for p in snapshot.positions if p.live_members), key=lambda p: p.position_id)


def decide_live_owners(live: Iterable[SnapshotPosition]) -> frozenset[ProfileId]:
    """The owners of the members with an effective support; a dead member owns nothing."""
    return frozenset(member.owner_id for position in live for member in position.live_members)


def is_disagreement(live: Collection[SnapshotPosition]) -> bool:
    """Whether there is still something to decide: two live positions, and two owners over them (R7.10).

    Several positions of one owner are that owner's own review.
    """
    return len(live) >= 2 and len(decide_live_owners(live)) >= 2


def _standing(position: SnapshotPosition, counted: Sequence[Component]) -> Standing:
    """The numbers of a live position, from its counted components alone."""
    authoritative = [component for component in counted if component.authoritative]
    bounds = _start_bounds(position, counted)
    authority_ends = [bound.end for bound in _start_bounds(position, authoritative)]
    authority_starts = _known_starts(position, authoritative)
    return Standing(
        position_id=position.position_id,
        counted=len(counted),
        authoritative=len(authoritative),
        start_bounds=len(bounds),
        time=_intersection(bounds),
        authority_bounds_end=max(authority_ends, default=None),
        authority_valid_from=max(authority_starts, default=None),
        record=any(member.record for member in position.live_members),
    )


def _start_bounds(position: SnapshotPosition, components: Iterable[Component]) -> list[WholeInterval]:
    """The verified start bounds of the supports in the given components; an unverified one is no time."""
    chosen = {support_id for component in components for support_id in component.support_ids}
    return [
        support.evidence_time.whole
        for member in position.members
        for support in member.supports
        if support.evidence_time is not None and support.evidence_time.verified and support.support_id in chosen
    ]


def _known_starts(position: SnapshotPosition, components: Iterable[Component]) -> list[Instant]:
    """The starts of the members with a support in the given components; a recorded fallback is no start."""
    chosen = {support_id for component in components for support_id in component.support_ids}
    return [
        member.valid_from
        for member in position.members
        if member.valid_from is not None
        and member.valid_from_basis is not TimeBasis.RECORDED_FALLBACK
        and any(support.support_id in chosen for support in member.supports)
    ]


def _intersection(bounds: Sequence[WholeInterval]) -> WholeInterval | None:
    """What all bounds have in common; ``None`` if there are none or they conflict."""
    start = max((bound.start for bound in bounds), default=LATEST)
    end = min((bound.end for bound in bounds), default=EARLIEST)
    return WholeInterval(start=start, end=end) if start < end else None


def is_strong(standing: Standing, total: int) -> bool:
    """Whether a position has at least four witnesses and more than three quarters of all; at most one has."""
    return standing.counted >= STRONG_MINIMUM_WITNESSES and 4 * standing.counted > 3 * total


def is_majority(standing: Standing, total: int) -> bool:
    """Whether a position has at least two witnesses and more than half of all; at most one has."""
    return standing.counted >= MAJORITY_MINIMUM_WITNESSES and 2 * standing.counted > total


def decide_authoritative_opponents(standing: Standing, standings: Iterable[Standing]) -> list[Standing]:
    """The other positions with an authoritative witness; any of them blocks this one."""
    return [other for other in standings if other.authoritative > 0 and other.position_id != standing.position_id]


def is_overriding(standing: Standing, opponent: Standing, total: int) -> bool:
    """Whether a strong position with a time begins after everything that is known of an authority's start.

    An authority without any known start cannot be overridden. A bound is an interval: "in 2026" may mean its last day,
    so the override begins at or after its end. A start is an instant: the override begins later.
    """
    if standing.time is None or not is_strong(standing, total):
        return False
    begins = standing.time.start
    bounds_end, valid_from = opponent.authority_bounds_end, opponent.authority_valid_from
    if bounds_end is None and valid_from is None:
        return False
    return (bounds_end is None or begins >= bounds_end) and (valid_from is None or begins > valid_from)


def decide_total(standings: Iterable[Standing]) -> int:
    """N: the witnesses of all live positions."""
    return sum(standing.counted for standing in standings)


def decide_at_any_time(standings: Sequence[Standing]) -> Qualified | None:
    """Who may win before the deadline already (R7.11): the strong position, if no authority speaks against it.

    ``early_quorum`` if no other position has an authority, ``timed_override`` if it overrides each of those that have.
    """
    total = decide_total(standings)
    for standing in standings:
        if is_strong(standing, total):
            opponents = decide_authoritative_opponents(standing, standings)
            if not opponents:
                return DecisionReason.EARLY_QUORUM, standing
            if all(is_overriding(standing, opponent, total) for opponent in opponents):
                return DecisionReason.TIMED_OVERRIDE, standing
    return None


def decide_at_deadline(standings: Sequence[Standing]) -> Qualified | None:
    """Who wins at or after the deadline, if nobody did at any time (R7.12).

    ``unique_authority`` for the one position with an authority that nothing overrides, else ``due_majority``.
    """
    total = decide_total(standings)
    authorities = [standing for standing in standings if standing.authoritative > 0]
    if len(authorities) == 1 and not any(is_overriding(other, authorities[0], total) for other in standings):
        return DecisionReason.UNIQUE_AUTHORITY, authorities[0]
    for standing in standings:
        if is_majority(standing, total) and not decide_authoritative_opponents(standing, standings):
            return DecisionReason.DUE_MAJORITY, standing
    return None


def decide_without_winner(*, due: bool, record_protected: bool) -> MarkOverdue | KeepOpen:
    """What happens when nobody wins (R7.13): overdue from the deadline on, also when nothing counts; open before."""
    if due:
        reason = DecisionReason.RECORD_PROTECTED if record_protected else DecisionReason.NO_QUALIFYING_POSITION
        return MarkOverdue(reason=reason)
    return KeepOpen(reason=DecisionReason.RECORD_PROTECTED if record_protected else DecisionReason.BEFORE_DEADLINE)


def is_record_protected(winner: Standing, standings: Iterable[Standing]) -> bool:
    """Whether a system of record would lose to ``winner``, which it cannot (R7.14)."""
    return any(standing.record and standing.position_id != winner.position_id for standing in standings)


def decide_cutoff(winner: Standing, first_contradiction_at: Instant) -> tuple[Instant, TimeBasis]:
    """From when the winner holds (R7.15): the start of its evidence time, else the first contradictory placement.

    A start that the winner's owner stated without evidence moves no cutoff.
    """
    if winner.time is not None:
        return winner.time.start, TimeBasis.EVIDENCE_TIME
    return first_contradiction_at, TimeBasis.RECORDED_FALLBACK


def decide_losers(live: Iterable[SnapshotPosition], winner: Standing, cutoff: Instant) -> tuple[Loser, ...]:
    """The relationships that the resolution closes, with their new ends (R7.16); it touches no other relationship.

    They are the live members of the other positions, ordered by id.
    """
    losing = [
        member for position in live if position.position_id != winner.position_id for member in position.live_members
    ]
    losing.sort(key=lambda member: member.relationship_id)
    return tuple(
        Loser(relationship_id=member.relationship_id, valid_to=_closed_end(member, cutoff)) for member in losing
    )


def _closed_end(member: SnapshotMember, cutoff: Instant) -> Instant:
    """The cutoff, but never before the member's start and never after the end that it has already."""
    end = cutoff if member.valid_from is None else max(member.valid_from, cutoff)
    return end if member.valid_to is None else min(member.valid_to, end)
