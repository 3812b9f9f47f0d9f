"""How a wrong answer about identity is corrected later: which of the caller's observations and rows move."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

from corrigenda_core.domain.entities import BoundObservation, Entity
from corrigenda_core.domain.errors import Reason, Refusal
from corrigenda_core.domain.ids import EntityId, ProfileId, RelationshipId, StatementId
from corrigenda_core.domain.objects import Polarity, Slot


@dataclass(frozen=True, slots=True, kw_only=True)
class Move:
    """One observation before and after a correction of identity."""

    before: BoundObservation
    after: BoundObservation


@dataclass(frozen=True, slots=True, kw_only=True)
class DividedRow:
    """A relationship that some of its observations leave: the moving ones begin a row that is `split_from` it."""

    relationship_id: RelationshipId
    moving: tuple[StatementId, ...]
    staying: tuple[StatementId, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class IdentityCorrection:
    """The effect of a split or a merge on the caller's record; the timelines fold again afterwards.

    ``moved_rows`` are those that everything leaves, ``divided_rows`` those that something stays with. ``collisions``
    are groups of rows that say the same in the same slot afterwards: the fold joins what overlaps. ``marked_rows``
    belong to others: they get the mark `merged_by` and do not move. ``slots`` are the caller's slots to fold again,
    before and after; names and contexts follow the observations that gave them. ``merges`` says that one entity is
    given up for the other.
    """

    owner_id: ProfileId
    from_id: EntityId
    to_id: EntityId
    moves: tuple[Move, ...]
    moved_rows: tuple[RelationshipId, ...]
    divided_rows: tuple[DividedRow, ...]
    collisions: tuple[tuple[RelationshipId, ...], ...] = ()
    marked_rows: tuple[RelationshipId, ...] = ()
    slots: tuple[Slot, ...] = ()
    merges: bool = False


def plan_split(
    *,
    caller: ProfileId,
    entity_id: EntityId,
    new_entity_id: EntityId,
    observations: Sequence[BoundObservation],
    chosen: Collection[StatementId] | None = None,
) -> IdentityCorrection:
    """What moves when some observations turn out to be about another entity (R3.9).

    Args:
        caller: whose observations may move; nobody else's do.
        entity_id: the entity that was taken for two.
        new_entity_id: the id that the server allots to the new one.
        observations: all observations of the team that are bound to the entity, or carried by a row that one of
            them is carried by.
        chosen: the ids to move; ``None`` lists everything of the caller that may move, as a dry run does first.

    Raises:
        Refusal: INVALID_FIELD if nothing is chosen or a chosen one is not about the entity, RESOURCE_NOT_FOUND for an
            unknown id, NOT_OWNER for one of another profile.
    """
    if chosen is None:
        moving = {o.observation_id for o in observations if o.owner_id == caller and o.names_entity(entity_id)}
    else:
        _may_move(caller, entity_id, observations, chosen)
        moving = set(chosen)
    return _correction(caller, entity_id, new_entity_id, observations, moving)


def plan_merge(
    *, caller: ProfileId, source: Entity, target: Entity, observations: Sequence[BoundObservation]
) -> IdentityCorrection:
    """What moves when two entities turn out to be one: the caller's observations and rows, and only a mark on others'.

    Args:
        caller: whose record moves.
        source: the entity that is given up.
        target: the entity of the same kind that it is.
        observations: all observations of the team that are bound to either.

    Raises:
        Refusal: INVALID_FIELD if both are the same entity or differ in kind.
    """
    if source.entity_id == target.entity_id:
        raise Refusal(Reason.INVALID_FIELD, "an entity is not merged into itself", field="target_entity_id")
    if source.kind != target.kind:
        raise Refusal(
            Reason.INVALID_FIELD,
            "entities of different kinds are never one",
            field="target_entity_id",
            metadata={"offered": target.kind, "allowed": source.kind},
        )
    about = [o for o in observations if o.names_entity(source.entity_id)]
    moving = {o.observation_id for o in about if o.owner_id == caller}
    return _correction(
        caller,
        source.entity_id,
        target.entity_id,
        observations,
        moving,
        marked_rows=_rows(o for o in about if o.owner_id != caller),
        merges=True,
    )


def _may_move(
    caller: ProfileId, entity_id: EntityId, observations: Sequence[BoundObservation], chosen: Collection[StatementId]
) -> None:
    field = "observation_ids"
    if not chosen:
        raise Refusal(Reason.INVALID_FIELD, "a split moves at least one observation", field=field)
    known = {observation.observation_id: observation for observation in observations}
    for observation_id in sorted(chosen):
        metadata: dict[str, str] = {"resource_type": "observation", "resource_id": observation_id}
        observation = known.get(observation_id)
        if observation is None:
            raise Refusal(Reason.RESOURCE_NOT_FOUND, "there is no such observation", field=field, metadata=metadata)
        if observation.owner_id != caller:
            raise Refusal(Reason.NOT_OWNER, "another profile's observation stays", field=field, metadata=metadata)
        if not observation.names_entity(entity_id):
            raise Refusal(Reason.INVALID_FIELD, "it is not about the entity", field=field, metadata=metadata)


def _correction(
    caller: ProfileId,
    from_id: EntityId,
    to_id: EntityId,
    observations: Sequence[BoundObservation],
    moving: Collection[StatementId],
    marked_rows: tuple[RelationshipId, ...] = (),
    *,
    merges: bool = False,
) -> IdentityCorrection:
    ordered = sorted(observations, key=lambda o: o.observation_id)
    moves = tuple(Move(before=o, after=o.rebound(from_id, to_id)) for o in ordered if o.observation_id in moving)
    touched = _rows(move.before for move in moves)
    carried = [o for o in ordered if o.relationship_id in touched]
    divided = tuple(
        _divided(row, carried, moving) for row in _rows(o for o in carried if o.observation_id not in moving)
    )
    slots = {slot for move in moves for slot in (move.before.slot, move.after.slot) if slot is not None}
    return IdentityCorrection(
        owner_id=caller,
        from_id=from_id,
        to_id=to_id,
        moves=moves,
        moved_rows=tuple(row for row in touched if row not in {part.relationship_id for part in divided}),
        divided_rows=divided,
        collisions=_collisions(caller, ordered, moves),
        marked_rows=marked_rows,
        slots=tuple(sorted(slots, key=lambda slot: (slot.subject_id, slot.predicate, slot.scope))),
        merges=merges,
    )


def _rows(observations: Iterable[BoundObservation]) -> tuple[RelationshipId, ...]:
    """The rows that carry the observations, each once, in the order of their ids."""
    return tuple(sorted({o.relationship_id for o in observations if o.relationship_id is not None}))


def _divided(row: RelationshipId, carried: Sequence[BoundObservation], moving: Collection[StatementId]) -> DividedRow:
    ids = [o.observation_id for o in carried if o.relationship_id == row]
    return DividedRow(
        relationship_id=row,
        moving=tuple(one for one in ids if one in moving),
        staying=tuple(one for one in ids if one not in moving),
    )


def _meaning(observation: BoundObservation) -> tuple[Slot | None, str, Polarity]:
    """What rows have in common that say the same in the same slot."""
    return observation.slot, observation.object.key if observation.object else "", observation.polarity


def _collisions(
    caller: ProfileId, observations: Iterable[BoundObservation], moves: Sequence[Move]
) -> tuple[tuple[RelationshipId, ...], ...]:
    """Groups of the caller's rows that meant different things before the moves and mean the same after them."""
    after = {move.after.observation_id: move.after for move in moves}
    groups: defaultdict[tuple[Slot | None, str, Polarity], list[BoundObservation]] = defaultdict(list)
    for observation in observations:
        if observation.owner_id == caller and observation.relationship_id is not None:
            groups[_meaning(after.get(observation.observation_id, observation))].append(observation)
    return tuple(sorted(_rows(group) for group in groups.values() if len({_meaning(o) for o in group}) > 1))
