"""A team as its API shows it, and as a model would be shown: the two are equal, or one of them is wrong."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from corrigenda.conflict.v1 import conflict_case_pb2, conflict_service_pb2, review_item_pb2
from corrigenda.recall.v1 import recall_service_pb2, timeline_pb2
from corrigenda.type.v1 import object_pb2, relationship_pb2

from corrigenda_core.domain.cases import CaseKind, CaseStatus, ConflictCase
from corrigenda_core.domain.ids import EntityId, PredicateKey, ProfileId, RelationshipId
from corrigenda_core.domain.items import ItemKind, ItemStatus, ReviewItem
from corrigenda_core.domain.objects import EntityObject, Object, Slot
from corrigenda_core.domain.relationships import Relationship, Status, Tier
from corrigenda_core.domain.time import Instant, TimeBasis, Validity
from corrigenda_core.domain.views import Version
from corrigenda_core.rpc.client import Client
from corrigenda_core.rpc.convert import instant_of, validity_of
from corrigenda_core.rpc.enums import (
    CASE_KIND,
    CASE_STATUS,
    ITEM_KIND,
    ITEM_STATUS,
    POLARITY,
    RELATIONSHIP_STATUS,
    TIER,
    TIME_BASIS,
)

_PAGE = 200
_Value = TypeVar("_Value")


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownVersion:
    """One version of a relationship, and between which instants it was the current one."""

    version: int
    status: Status
    tier: Tier
    facet: int
    validity: Validity
    since: Instant
    until: Instant | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownRow:
    """A relationship with its last versions, and whether it is in force."""

    row: Relationship
    versions: tuple[ShownVersion, ...]
    in_force: bool
    counted: Validity


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownPosition:
    """One side of a case; ``members`` are relationships with their versions."""

    members: frozenset[tuple[str, int]]
    counted_groups: int
    authoritative_groups: int
    first_seen_at: Instant
    last_seen_at: Instant
    preferred: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownCase:
    """A case at its current version."""

    conflict_id: str
    kind: CaseKind
    slot: Slot
    status: CaseStatus
    version: int
    opened_at: Instant
    review_due_at: Instant
    closed_at: Instant | None
    effective_at: Instant | None
    effective_basis: TimeBasis | None
    reason: str
    previous: str
    positions: frozenset[ShownPosition]


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownItem:
    """A question at its current version."""

    item_id: str
    owner_id: str
    version: int
    kind: ItemKind
    status: ItemStatus
    reason: str
    incoming: frozenset[str]
    opposing: frozenset[str]
    opened_at: Instant


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownTeam:
    """Everything by its id; ``looked_at`` says when a case was looked at last, ``decisions`` are named by versions."""

    rows: Mapping[str, ShownRow]
    cases: Mapping[str, ShownCase]
    items: Mapping[str, ShownItem]
    looked_at: Mapping[str, Instant]
    due_at: Mapping[str, Instant]
    decisions: frozenset[str]


NOTHING_SHOWN = ShownTeam(rows={}, cases={}, items={}, looked_at={}, due_at={}, decisions=frozenset())


# --- as the API shows it ----------------------------------------------------------------------------------------------


async def read_team(
    clients: Mapping[str, Client],
    subjects: Collection[str],
    place: Slot | None = None,
    settled: Callable[[Iterable[Instant]], Awaitable[bool]] | None = None,
) -> ShownTeam:
    """Reads a team; every profile is asked for its own questions.

    Args:
        clients: by the id of the profile that each stands for.
        subjects: the entities that anything was said about.
        place: reads only what there is of its subject and predicate.
        settled: told when the live cases are looked at next, says that nobody is about to change them, or waits until
            that can be so and they have to be read again. What is read after them would else be of another moment.
    """
    reader, *others = clients.values()
    part: dict[str, Any] = {} if place is None else {"predicate": place.predicate, "entity_id": place.subject_id}
    while True:
        listed: list[Any] = await asyncio.gather(
            reader.conflict.ListConflicts(_everything(part)),
            *(client.conflict.ListConflicts(_own_items(part)) for client in others),
        )
        cases = {e.team_case.conflict_id: e.team_case for e in listed[0].entries if e.HasField("team_case")}
        due_at = {i: instant_of(case.next_review_at) for i, case in cases.items() if case.HasField("next_review_at")}
        if settled is None or await settled(due_at.values()):
            break
    subjects = subjects if place is None else (place.subject_id,)
    predicate = "" if place is None else place.predicate
    told: list[Any] = await asyncio.gather(
        *(reader.recall.Timeline(_timeline(subject, predicate)) for subject in subjects)
    )
    for answer in (*told, *listed):
        assert not answer.next_page_token, "a page holds the team"
    entries = [entry for answer in told for entry in answer.entries]
    items = [
        shown_item(entry.review_item, owner_id)
        for owner_id, answer in zip(clients, listed, strict=True)
        for entry in answer.entries
        if entry.HasField("review_item")
    ]
    return ShownTeam(
        rows={entry.relationship.relationship.relationship_id: _shown_row(entry) for entry in entries},
        cases={conflict_id: _shown_case(case) for conflict_id, case in cases.items()},
        items={item.item_id: item for item in items},
        looked_at={
            conflict_id: instant_of(case.last_evaluated_at)
            for conflict_id, case in cases.items()
            if case.HasField("last_evaluated_at")
        },
        due_at=due_at,
        decisions=frozenset(one.decision_id for entry in entries for one in entry.versions if one.decision_id),
    )


def with_place(shown: ShownTeam, read: ShownTeam, place: Slot) -> ShownTeam:
    """A team of which the subject and predicate of a slot were read again."""

    def is_elsewhere(slot: Slot) -> bool:
        return (slot.subject_id, slot.predicate) != (place.subject_id, place.predicate)

    cases = {i: one for i, one in shown.cases.items() if is_elsewhere(one.slot)}
    return ShownTeam(
        rows={i: one for i, one in shown.rows.items() if is_elsewhere(one.row.slot)} | dict(read.rows),
        cases=cases | dict(read.cases),
        items={**shown.items, **read.items},
        looked_at={i: at for i, at in shown.looked_at.items() if i in cases} | dict(read.looked_at),
        due_at={i: at for i, at in shown.due_at.items() if i in cases} | dict(read.due_at),
        decisions=shown.decisions | read.decisions,
    )


def _timeline(subject: str, predicate: str) -> recall_service_pb2.TimelineRequest:
    return recall_service_pb2.TimelineRequest(entity_id=subject, predicate=predicate, page_size=_PAGE)


def _everything(part: Mapping[str, Any]) -> conflict_service_pb2.ListConflictsRequest:
    return conflict_service_pb2.ListConflictsRequest(
        **part,
        case_statuses=[CASE_STATUS.to_wire(one) for one in CaseStatus],
        item_statuses=[ITEM_STATUS.to_wire(one) for one in ItemStatus],
        page_size=_PAGE,
    )


def _own_items(part: Mapping[str, Any]) -> conflict_service_pb2.ListConflictsRequest:
    return conflict_service_pb2.ListConflictsRequest(
        **part,
        entry_kinds=[conflict_service_pb2.CONFLICT_ENTRY_KIND_REVIEW_ITEM],
        item_statuses=[ITEM_STATUS.to_wire(one) for one in ItemStatus],
        page_size=_PAGE,
    )


def row_of(message: relationship_pb2.Relationship) -> Relationship:
    """A relationship without the number of its commit, which counts what a model does not have."""
    return Relationship(
        relationship_id=RelationshipId(message.relationship_id),
        version=message.version,
        owner_id=ProfileId(message.owner.profile_id),
        slot=Slot(
            subject_id=EntityId(message.subject.entity_id),
            predicate=PredicateKey(message.predicate),
            scope=message.scope,
        ),
        facet=message.facet,
        object=_object_of(message.object),
        polarity=POLARITY.to_domain(message.polarity),
        validity=validity_of(message.validity),
        start_basis=_basis_of(message.validity.valid_from_basis),
        end_basis=_basis_of(message.validity.valid_to_basis),
        status=RELATIONSHIP_STATUS.to_domain(message.status),
        tier=TIER.to_domain(message.tier),
        record=message.record,
        revision=0,
        recorded_at=instant_of(message.recorded_at),
        first_recorded_at=instant_of(message.first_recorded_at),
    )


def _object_of(message: object_pb2.Object) -> Object:
    return EntityObject(entity_id=EntityId(message.entity.entity_id))


def _basis_of(number: Any) -> TimeBasis | None:
    return None if number == 0 else TIME_BASIS.to_domain(number)


def _shown_row(entry: timeline_pb2.TimelineEntry) -> ShownRow:
    return ShownRow(
        row=row_of(entry.relationship.relationship),
        versions=tuple(
            ShownVersion(
                version=one.version,
                status=RELATIONSHIP_STATUS.to_domain(one.status),
                tier=TIER.to_domain(one.tier),
                facet=one.facet,
                validity=validity_of(one.validity),
                since=instant_of(one.recorded_from),
                until=instant_of(one.recorded_to) if one.HasField("recorded_to") else None,
            )
            for one in entry.versions
        ),
        in_force=entry.relationship.in_force,
        counted=validity_of(entry.relationship.counted_validity),
    )


def _shown_case(message: conflict_case_pb2.ConflictCase) -> ShownCase:
    closed = [one for one in ("resolved_at", "dismissed_at") if message.HasField(one)]
    return ShownCase(
        conflict_id=message.conflict_id,
        kind=CASE_KIND.to_domain(message.kind),
        slot=Slot(
            subject_id=EntityId(message.subject.entity_id),
            predicate=PredicateKey(message.predicate),
            scope=message.scope,
        ),
        status=CASE_STATUS.to_domain(message.status),
        version=message.version,
        opened_at=instant_of(message.opened_at),
        review_due_at=instant_of(message.review_due_at),
        closed_at=instant_of(getattr(message, closed[0])) if closed else None,
        effective_at=instant_of(message.effective_at) if message.HasField("effective_at") else None,
        effective_basis=_basis_of(message.effective_time_basis),
        reason=message.resolution_reason,
        previous=message.previous_conflict_id,
        positions=frozenset(
            ShownPosition(
                members=frozenset((one.relationship_id, one.version) for one in position.members),
                counted_groups=position.counted_groups,
                authoritative_groups=position.authoritative_groups,
                first_seen_at=instant_of(position.first_seen_at),
                last_seen_at=instant_of(position.last_seen_at),
                preferred=position.preferred,
            )
            for position in message.positions
        ),
    )


def shown_item(message: review_item_pb2.ReviewItem, owner_id: str) -> ShownItem:
    """A question as it is shown to the owner."""
    return ShownItem(
        item_id=message.item_id,
        owner_id=owner_id,
        version=message.version,
        kind=ITEM_KIND.to_domain(message.kind),
        status=ITEM_STATUS.to_domain(message.status),
        reason=message.reason,
        incoming=frozenset(row.relationship_id for row in message.incoming),
        opposing=frozenset(row.relationship_id for row in message.opposing),
        opened_at=instant_of(message.opened_at),
    )


# --- as a model would be shown ----------------------------------------------------------------------------------------


def bare(row: Relationship) -> Relationship:
    """A relationship of the model with what is shown of one."""
    return replace(row, revision=0, slot_exclusive=True, event=False)


def expected_versions(versions: Iterable[Version[Relationship]]) -> tuple[ShownVersion, ...]:
    """The versions of a relationship of the model."""
    return tuple(
        ShownVersion(
            version=one.row.version,
            status=one.row.status,
            tier=one.row.tier,
            facet=one.row.facet,
            validity=one.row.validity,
            since=one.since.at,
            until=None if one.until is None else one.until.at,
        )
        for one in versions
    )


def expected_case(case: ConflictCase) -> ShownCase:
    """A case of the model."""
    return ShownCase(
        conflict_id=case.conflict_id,
        kind=case.set_key.kind,
        slot=case.set_key.slot,
        status=case.status,
        version=case.version,
        opened_at=case.opened_at,
        review_due_at=case.review_due_at,
        closed_at=case.resolved_at or case.dismissed_at,
        effective_at=case.effective_at,
        effective_basis=case.effective_time_basis,
        reason=case.resolution_reason or "",
        previous=case.previous_conflict_id or "",
        positions=frozenset(
            ShownPosition(
                members=frozenset((member.relationship_id, member.version) for member in position.members),
                counted_groups=position.counted_groups,
                authoritative_groups=position.authoritative_groups,
                first_seen_at=position.first_seen_at,
                last_seen_at=position.last_seen_at,
                preferred=position.position_id == case.preferred_position_id,
            )
            for position in case.positions
        ),
    )


def expected_item(item: ReviewItem) -> ShownItem:
    """A question of the model."""
    return ShownItem(
        item_id=item.item_id,
        owner_id=item.owner_id,
        version=item.version,
        kind=item.kind,
        status=item.status,
        reason=item.reason,
        incoming=frozenset(item.incoming),
        opposing=frozenset(item.opposing),
        opened_at=item.opened_at,
    )
