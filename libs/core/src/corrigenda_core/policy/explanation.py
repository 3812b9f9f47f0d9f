"""Explanation: why the policy decided a case as it did, and what would make it decide otherwise."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

from corrigenda_core.domain.evidence import Authority, Support
from corrigenda_core.domain.explanations import (
    Condition,
    CountCondition,
    Explanation,
    OneMoreWitness,
    Quantity,
    Relation,
    RuleReading,
    TimeCondition,
)
from corrigenda_core.domain.ids import FragmentId, PositionId, ProfileId, RelationshipId, SupportId
from corrigenda_core.domain.snapshots import CaseSnapshot, DecisionReason, SnapshotMember, Standing
from corrigenda_core.policy.team_conflict import (
    MAJORITY_MINIMUM_WITNESSES,
    STRONG_MINIMUM_WITNESSES,
    decide_authoritative_opponents,
    decide_case,
    decide_live_owners,
    decide_live_positions,
    decide_total,
    is_overriding,
)


def explain_case(snapshot: CaseSnapshot, asked: Collection[PositionId] | None = None) -> Explanation:
    """Explains the decision on a snapshot (R7.20): the evaluation, each rule's numbers and what is missing.

    What the deadline would bring, and what one more independent witness would change for each position, is found by
    asking the policy, not by a formula beside it.

    Args:
        snapshot: what the decision is taken from.
        asked: the positions for which one more witness is tried, each by two decisions; ``None``: all of them.
    """
    evaluation = decide_case(snapshot)
    return Explanation(
        evaluation=evaluation,
        disagreement=_disagreement(snapshot),
        readings=tuple(_readings(snapshot, evaluation.standings)),
        at_deadline=decide_case(_at_deadline(snapshot)).decision,
        one_more=tuple(
            _one_more(snapshot, position_id)
            for position_id in sorted(p.position_id for p in snapshot.positions)
            if asked is None or position_id in asked
        ),
    )


def _at_deadline(snapshot: CaseSnapshot) -> CaseSnapshot:
    return replace(snapshot, now=max(snapshot.now, snapshot.review_due_at))


def _one_more(snapshot: CaseSnapshot, position_id: PositionId) -> OneMoreWitness:
    supported = apply_one_more_witness(snapshot, position_id)
    return OneMoreWitness(
        position_id=position_id,
        now=decide_case(supported).decision,
        at_deadline=decide_case(_at_deadline(supported)).decision,
    )


def apply_one_more_witness(snapshot: CaseSnapshot, position_id: PositionId) -> CaseSnapshot:
    """The snapshot with a new owner's relationship on a position, carried by one independent, plain, undated support.

    Raises:
        ValueError: the snapshot has no such position.
    """
    if all(position.position_id != position_id for position in snapshot.positions):
        raise ValueError(f"the snapshot has no position {position_id!r}")
    stranger = _unused_name(snapshot)
    support = Support(
        support_id=SupportId(stranger),
        fragment_id=FragmentId(stranger),
        author=ProfileId(stranger),
        recorded_at=snapshot.now,
        authority=Authority.PRIMARY,
    )
    member = SnapshotMember(
        relationship_id=RelationshipId(stranger), version=1, owner_id=ProfileId(stranger), supports=(support,)
    )
    positions = tuple(
        replace(position, members=(*position.members, member)) if position.position_id == position_id else position
        for position in snapshot.positions
    )
    return replace(snapshot, positions=positions)


def _unused_name(snapshot: CaseSnapshot) -> str:
    """A name that no part of the snapshot has, because it is longer than every one of them."""
    names: list[str] = []
    for position in snapshot.positions:
        for member in position.members:
            names += [member.relationship_id, member.owner_id]
            for support in member.supports:
                names += [support.support_id, support.fragment_id, support.author, *support.inherited_labels]
                names += [support.adopted_from_fragment_id or "", *support.derived_from_fragment_ids]
                names += support.near_duplicate_fragment_ids
    return "one more witness".ljust(1 + max(map(len, names), default=0), "+")


def _disagreement(snapshot: CaseSnapshot) -> tuple[Condition, ...]:
    live = decide_live_positions(snapshot)
    return (
        _at_least(Quantity.LIVE_POSITIONS, len(live), 2),
        _at_least(Quantity.LIVE_OWNERS, len(decide_live_owners(live)), 2),
    )


@dataclass(frozen=True, slots=True)
class _Table:
    """What every rule may look at, beside the position that it is read for."""

    deadline: TimeCondition
    standings: Sequence[Standing]
    total: int


def _readings(snapshot: CaseSnapshot, standings: Sequence[Standing]) -> list[RuleReading]:
    """Every rule for every position, in the order in which the policy asks them."""
    deadline = TimeCondition(quantity=Quantity.NOW, measured=snapshot.now, required=snapshot.review_due_at)
    table = _Table(deadline=deadline, standings=standings, total=decide_total(standings))
    return [
        RuleReading(
            rule=rule,
            position_id=standing.position_id,
            conditions=(*conditions_of(standing, table), _no_record_elsewhere(standing, table)),
        )
        for rule, conditions_of in _CONDITIONS_OF_RULES.items()
        for standing in standings
    ]


def _early_quorum(standing: Standing, table: _Table) -> list[Condition]:
    return [*_strength(standing, table), _no_authority_elsewhere(standing, table)]


def _timed_override(standing: Standing, table: _Table) -> list[Condition]:
    opponents = decide_authoritative_opponents(standing, table.standings)
    begins = None if standing.time is None else standing.time.start
    conditions: list[Condition] = [
        *_strength(standing, table),
        _at_least(Quantity.OTHER_POSITIONS_WITH_AUTHORITY, len(opponents), 1),
        TimeCondition(quantity=Quantity.TIME_BEGINS, measured=begins),
    ]
    for opponent in opponents:
        name, bounds_end, valid_from = (
            opponent.position_id,
            opponent.authority_bounds_end,
            opponent.authority_valid_from,
        )
        known_starts = (bounds_end is not None) + (valid_from is not None)
        conditions.append(_at_least(Quantity.OPPONENT_KNOWN_STARTS, known_starts, 1, opponent=name))
        for required, inclusive in ((bounds_end, True), (valid_from, False)):
            if required is not None:
                conditions.append(
                    TimeCondition(
                        quantity=Quantity.TIME_BEGINS,
                        measured=begins,
                        inclusive=inclusive,
                        required=required,
                        opponent=name,
                    )
                )
    return conditions


def _unique_authority(standing: Standing, table: _Table) -> list[Condition]:
    overriding = sum(is_overriding(other, standing, table.total) for other in table.standings)
    return [
        table.deadline,
        _at_least(Quantity.AUTHORITATIVE_WITNESSES, standing.authoritative, 1),
        _no_authority_elsewhere(standing, table),
        _at_most_none(Quantity.OTHER_POSITIONS_OVERRIDING, overriding),
    ]


def _due_majority(standing: Standing, table: _Table) -> list[Condition]:
    return [
        table.deadline,
        _at_least(Quantity.WITNESSES, standing.counted, MAJORITY_MINIMUM_WITNESSES),
        _more_than(Quantity.TWICE_WITNESSES, 2 * standing.counted, table.total),
        _no_authority_elsewhere(standing, table),
    ]


_CONDITIONS_OF_RULES = {
    DecisionReason.EARLY_QUORUM: _early_quorum,
    DecisionReason.TIMED_OVERRIDE: _timed_override,
    DecisionReason.UNIQUE_AUTHORITY: _unique_authority,
    DecisionReason.DUE_MAJORITY: _due_majority,
}


def _strength(standing: Standing, table: _Table) -> list[Condition]:
    return [
        _at_least(Quantity.WITNESSES, standing.counted, STRONG_MINIMUM_WITNESSES),
        _more_than(Quantity.FOUR_TIMES_WITNESSES, 4 * standing.counted, 3 * table.total),
    ]


def _no_authority_elsewhere(standing: Standing, table: _Table) -> CountCondition:
    opponents = decide_authoritative_opponents(standing, table.standings)
    return _at_most_none(Quantity.OTHER_POSITIONS_WITH_AUTHORITY, len(opponents))


def _no_record_elsewhere(standing: Standing, table: _Table) -> CountCondition:
    # R7.14: whoever meets everything else, a system of record on another position cannot lose to it.
    of_record = sum(other.record for other in table.standings if other.position_id != standing.position_id)
    return _at_most_none(Quantity.OTHER_POSITIONS_OF_RECORD, of_record)


def _at_least(
    quantity: Quantity, measured: int, required: int, *, opponent: PositionId | None = None
) -> CountCondition:
    return CountCondition(
        quantity=quantity, measured=measured, relation=Relation.AT_LEAST, required=required, opponent=opponent
    )


def _more_than(quantity: Quantity, measured: int, required: int) -> CountCondition:
    return CountCondition(quantity=quantity, measured=measured, relation=Relation.MORE_THAN, required=required)


def _at_most_none(quantity: Quantity, measured: int) -> CountCondition:
    return CountCondition(quantity=quantity, measured=measured, relation=Relation.AT_MOST, required=0)
