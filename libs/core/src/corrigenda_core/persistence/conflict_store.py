"""Reads cases and items as they were known: with the rows, names and leases that an answer shows beside them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from corrigenda_core.domain.cases import CaseKind, CaseMember, ConflictCase
from corrigenda_core.domain.entities import EntityName
from corrigenda_core.domain.ids import ConflictId, EntityId, ItemId, RelationshipId
from corrigenda_core.domain.objects import EntityObject, object_of_key
from corrigenda_core.domain.relationships import Relationship
from corrigenda_core.domain.time import Instant
from corrigenda_core.persistence.case_rows import case_of, member_of, position_of
from corrigenda_core.persistence.database import Row, Unbounded
from corrigenda_core.persistence.named_sql import load_sql
from corrigenda_core.persistence.read_transaction import ReadTransaction
from corrigenda_core.persistence.row_values import relationship_of
from corrigenda_core.persistence.shown_store import entity_names_of, entity_names_query

_SQL = "conflicts.sql"


@dataclass(frozen=True, slots=True, kw_only=True)
class Lease:
    """When a case is looked at next and who holds it; unlike the case, always as it is now."""

    next_review_at: Instant | None
    claim_token: int
    lease_expires_at: Instant | None
    attempts: int
    last_evaluated_at: Instant | None


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnedRelationship:
    """A relationship with the name of its owner."""

    row: Relationship
    owner_name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseInView:
    """A case as it was known, with the rows of its members, and its lease as it is."""

    case: ConflictCase
    members: Mapping[RelationshipId, OwnedRelationship]
    lease: Lease


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemInView:
    """An item as it was known, with the relationships that it shows; ``row`` holds the rest."""

    row: Row
    incoming: tuple[OwnedRelationship, ...]
    opposing: tuple[OwnedRelationship, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ConflictReading:
    """What one answer shows: cases and items by id, and the names of every entity in them."""

    cases: Mapping[ConflictId, CaseInView]
    items: Mapping[ItemId, ItemInView]
    names: Mapping[EntityId, EntityName]


async def read_conflicts(
    transaction: ReadTransaction,
    at: Instant | Unbounded,
    *,
    conflict_ids: Collection[ConflictId],
    item_ids: Collection[ItemId] = (),
) -> ConflictReading:
    """Cases and items as they were known at ``at`` (`ReadView.recorded_by`); those not known then are left out."""
    cases = await _cases(transaction, at, conflict_ids)
    items = await _items(transaction, at, item_ids)
    rows = [member.row for case in cases.values() for member in case.members.values()]
    rows += [one.row for item in items.values() for one in (*item.incoming, *item.opposing)]
    wanted = {case.case.set_key.subject_id for case in cases.values()} | _entities_of(rows)
    wanted |= {one for case in cases.values() for one in _entities_of_keys(case.case)}
    for item in items.values():
        wanted |= {EntityId(one) for one in item.row["details"].get("candidates", "").split()}
    names = entity_names_of(await transaction.fetch(entity_names_query(transaction.team_id, wanted)))
    return ConflictReading(cases=cases, items=items, names=names)


async def read_relationships(
    transaction: ReadTransaction, at: Instant | Unbounded, relationship_ids: Collection[RelationshipId]
) -> dict[RelationshipId, OwnedRelationship]:
    """Relationships as they were known at ``at``."""
    if not relationship_ids:
        return {}
    query = load_sql(_SQL).query(
        "relationships_in_view",
        team_id=transaction.team_id,
        relationship_ids=sorted(relationship_ids),
        at=at,
    )
    return {RelationshipId(row["relationship_id"]): _owned(row) for row in await transaction.fetch(query)}


def _entities_of(rows: Iterable[Relationship]) -> set[EntityId]:
    """The entities that rows name."""
    found: set[EntityId] = set()
    for row in rows:
        found.add(row.slot.subject_id)
        if isinstance(row.object, EntityObject):
            found.add(row.object.entity_id)
    return found


def _entities_of_keys(case: ConflictCase) -> Iterator[EntityId]:
    """The entities that keys of a case name: of its positions, which stay when everybody has left, and its own."""
    keys = [case.set_key.of_any_day.object_key] if case.set_key.kind is CaseKind.POLARITY else []
    if case.set_key.kind is CaseKind.CURRENT_STATE:
        keys += [position.key for position in case.positions]
    for key in keys:
        named = object_of_key(key)
        if isinstance(named, EntityObject):
            yield named.entity_id


async def _cases(
    transaction: ReadTransaction, at: Instant | Unbounded, conflict_ids: Collection[ConflictId]
) -> dict[ConflictId, CaseInView]:
    if not conflict_ids:
        return {}
    sql = load_sql(_SQL)
    parameters = {"team_id": transaction.team_id, "conflict_ids": sorted(conflict_ids), "at": at}
    cases, positions, members = await transaction.fetch_all(
        sql.query("cases_in_view", **parameters),
        sql.query("positions_in_view", **parameters),
        sql.query("members_in_view", **parameters),
    )
    return {row["conflict_id"]: _case(row, positions, members) for row in cases}


def _case(row: Row, positions: Sequence[Row], members: Sequence[Row]) -> CaseInView:
    own_members = [member for member in members if member["conflict_id"] == row["conflict_id"]]
    by_position: dict[str, list[CaseMember]] = defaultdict(list)
    for member in own_members:
        by_position[member["position_id"]].append(member_of(member))
    own_positions = tuple(
        position_of(position, tuple(by_position[position["position_id"]]))
        for position in positions
        if position["conflict_id"] == row["conflict_id"]
    )
    return CaseInView(
        case=case_of(row, own_positions),
        members={member["relationship_id"]: _owned(member) for member in own_members},
        lease=Lease(
            next_review_at=row["next_review_at"],
            claim_token=row["claim_token"] or 0,
            lease_expires_at=row["lease_expires_at"],
            attempts=row["attempts"] or 0,
            last_evaluated_at=row["last_evaluated_at"],
        ),
    )


def _owned(row: Row) -> OwnedRelationship:
    return OwnedRelationship(row=relationship_of(row), owner_name=row["owner_name"])


async def _items(
    transaction: ReadTransaction, at: Instant | Unbounded, item_ids: Collection[ItemId]
) -> dict[ItemId, ItemInView]:
    if not item_ids:
        return {}
    query = load_sql(_SQL).query("items_in_view", team_id=transaction.team_id, item_ids=sorted(item_ids), at=at)
    rows = await transaction.fetch(query)
    shown = await read_relationships(
        transaction, at, {RelationshipId(one) for row in rows for one in (*row["incoming"], *row["opposing"])}
    )

    def of(ids: Iterable[RelationshipId]) -> tuple[OwnedRelationship, ...]:
        return tuple(shown[one] for one in ids if one in shown)

    return {
        ItemId(row["item_id"]): ItemInView(row=row, incoming=of(row["incoming"]), opposing=of(row["opposing"]))
        for row in rows
    }
