"""The trace of a relationship as the API tells it, and as the commits of a model tell it: the two are equal."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from corrigenda.recall.v1 import recall_service_pb2, trace_pb2
from corrigenda.type.v1 import actor_pb2

from corrigenda_core.domain.actors import Actor
from corrigenda_core.domain.changes import Changes
from corrigenda_core.domain.ids import ReferenceId, RelationshipId
from corrigenda_core.domain.relationships import CrossReference, RowState, Transition
from corrigenda_core.domain.time import Instant, Validity
from corrigenda_core.rpc.client import Client
from corrigenda_core.rpc.convert import instant_of, validity_of
from corrigenda_core.rpc.enums import ACTOR_KIND, CASE_STATUS, REFERENCE_KIND, RELATIONSHIP_STATUS, TIER, TIME_BASIS
from corrigenda_core.testing.memory_team import MemoryTeam

_PAGE = 200
_MOST_DEPTH = 10
_State = tuple[object, object, int, Validity]


@dataclass(frozen=True, slots=True, kw_only=True)
class Lineage:
    """What a trace says of a relationship; what has no order of its own comes as a set or with its count.

    Attributes:
        transitions: each with its states, its actor, its reasons and its time.
        observations: what carries it, or ever did.
        supports: of those observations, by text, and whether each counts for this relationship now.
        references: from it and to it, with the other one, whether each stands, and its time.
        cases: with their state and the side that the relationship is or was last on.
        edges: the standing references on the way to others, as far as they go.
    """

    transitions: tuple[object, ...]
    observations: frozenset[str]
    supports: Counter[object]
    references: Counter[object]
    cases: frozenset[object]
    edges: Counter[object]


# --- as the API tells it ----------------------------------------------------------------------------------------------


async def told_lineage(reader: Client, row_id: str) -> Lineage:
    """Asks for a trace, to the last of its pages."""
    request = recall_service_pb2.TraceRequest(
        relationship_id=row_id, include_transitions=True, max_depth=_MOST_DEPTH, max_edges=_PAGE, page_size=_PAGE
    )
    told = await reader.recall.Trace(request)
    answer = told
    while answer.next_page_token:
        request.page_token = answer.next_page_token
        answer = await reader.recall.Trace(request)
        told.MergeFrom(answer)
    return Lineage(
        transitions=tuple(_told_transition(one) for one in told.transitions),
        observations=frozenset(one.observation_id for one in told.observations),
        supports=Counter((one.observation_id, one.fragment_id, one.effective) for one in told.supports),
        references=Counter(
            (
                REFERENCE_KIND.to_domain(one.kind),
                one.direction == trace_pb2.REFERENCE_DIRECTION_OUTGOING,
                one.other.relationship_id,
                one.active,
                one.decision_id,
                instant_of(one.recorded_at),
            )
            for one in told.references
        ),
        cases=frozenset(
            (one.conflict_id, CASE_STATUS.to_domain(one.status), one.version, one.preferred) for one in told.cases
        ),
        edges=Counter(
            (REFERENCE_KIND.to_domain(one.kind), one.source_relationship_id, one.target_relationship_id)
            for one in told.lineage
        ),
    )


def _told_transition(one: trace_pb2.TracedTransition) -> object:
    closing = one.closing if one.HasField("closing") else None
    return (
        one.version,
        _told_state(one.prior) if one.HasField("prior") else None,
        _told_state(one.resulting),
        _told_actor(one.actor),
        one.reason,
        None if one.time_basis == 0 else TIME_BASIS.to_domain(one.time_basis),
        one.decision_id,
        one.conflict_id,
        None if closing is None else (instant_of(closing.at), frozenset(closing.observation_ids), closing.conditional),
        instant_of(one.recorded_at),
    )


def _told_state(state: trace_pb2.TracedState) -> _State:
    return (
        RELATIONSHIP_STATUS.to_domain(state.status),
        TIER.to_domain(state.tier),
        state.facet,
        validity_of(state.validity),
    )


def _told_actor(actor: actor_pb2.Actor) -> tuple[object, str]:
    return ACTOR_KIND.to_domain(actor.kind), actor.profile.profile_id


# --- as a model tells it ----------------------------------------------------------------------------------------------


def expected_lineage(model: MemoryTeam, row_id: RelationshipId) -> Lineage:
    """Reads the lineage of a relationship off the commits of a model, and off nothing that they have left."""
    commits = [(one.moment.at, one.changes) for one in model.revisions]
    carriages = [carriage for _, changes in commits for carriage in changes.carriages]
    carried = {one.statement_id for one in carriages if one.relationship_id == row_id}
    carriers = {one.statement_id: one.relationship_id for one in carriages}
    supports = {one.support_id: one for slot in model.slots() for one in model.view(slot).supports}
    references = _references(commits)
    return Lineage(
        transitions=tuple(
            _expected_transition(one, at)
            for at, changes in commits
            for one in changes.transitions
            if one.relationship_id == row_id
        ),
        observations=frozenset(carried),
        supports=Counter(
            (one.statement_id, one.fragment_id, one.effective and carriers[one.statement_id] == row_id)
            for one in supports.values()
            if one.statement_id in carried
        ),
        references=Counter(
            (
                one.kind,
                one.source_id == row_id,
                one.target_id if one.source_id == row_id else one.source_id,
                one.active,
                one.decision_id or "",
                at,
            )
            for one, at in references
            if row_id in (one.source_id, one.target_id)
        ),
        cases=frozenset(_cases(model, row_id)),
        edges=_edges([one for one, _ in references if one.active], row_id),
    )


def _expected_transition(one: Transition, at: Instant) -> object:
    closing = one.closing
    return (
        one.version,
        None if one.prior is None else _expected_state(one.prior),
        _expected_state(one.resulting),
        _expected_actor(one.actor),
        one.reason,
        one.time_basis,
        one.decision_id or "",
        one.conflict_id or "",
        None if closing is None else (closing.at, frozenset(closing.statement_ids), closing.conditional),
        at,
    )


def _expected_state(state: RowState) -> _State:
    return state.status, state.tier, state.facet, state.validity


def _expected_actor(actor: Actor) -> tuple[object, str]:
    return actor.kind, actor.profile_id or ""


def _references(commits: Iterable[tuple[Instant, Changes]]) -> list[tuple[CrossReference, Instant]]:
    """Every reference as it stands, with when it was made."""
    made: dict[ReferenceId, tuple[CrossReference, Instant]] = {}
    for at, changes in commits:
        made.update((one.reference_id, (one, at)) for one in changes.references)
        for one in changes.references_switched_off:
            # It is still the reference that the first decision has made.
            reference, made_at = made[one.reference_id]
            made[one.reference_id] = replace(reference, active=one.active), made_at
    return list(made.values())


def _cases(model: MemoryTeam, row_id: RelationshipId) -> Iterable[object]:
    for versions in model.cases().values():
        sides = [
            position.position_id
            for version in versions
            for position in version.row.positions
            if row_id in {member.relationship_id for member in position.members}
        ]
        if sides:
            case = versions[-1].row
            yield case.conflict_id, case.status, case.version, sides[-1] == case.preferred_position_id


def _edges(standing: Iterable[CrossReference], row_id: RelationshipId) -> Counter[object]:
    """Every standing reference that can be followed from a relationship, in either direction."""
    left, reached = list(standing), {row_id}
    found: Counter[object] = Counter()
    for _ in range(_MOST_DEPTH):
        near = [one for one in left if one.source_id in reached or one.target_id in reached]
        left = [one for one in left if one not in near]
        found.update((one.kind, one.source_id, one.target_id) for one in near)
        reached |= {one.source_id for one in near} | {one.target_id for one in near}
    return found


def differing(told: Lineage, expected: Lineage) -> Mapping[str, tuple[object, object]]:
    """The parts of a lineage that are not the same, as they are told and as they are expected."""
    pairs = {name: (getattr(told, name), getattr(expected, name)) for name in Lineage.__slots__}
    return {name: pair for name, pair in pairs.items() if pair[0] != pair[1]}
