"""Reads what a decision of an owner is about: the slots that it names, and each of them as a planner sees it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from corrigenda_core.domain.entities import EntityName
from corrigenda_core.domain.ids import EntityId, FragmentId, ItemId, PredicateKey, ProfileId, RelationshipId, TeamId
from corrigenda_core.domain.items import ReviewItem
from corrigenda_core.domain.objects import Slot
from corrigenda_core.domain.slots import SlotView
from corrigenda_core.persistence.database import Row
from corrigenda_core.persistence.ingest_store import predicate_of
from corrigenda_core.persistence.named_sql import Query, load_sql
from corrigenda_core.persistence.shown_store import entity_names_of, profile_names_of
from corrigenda_core.persistence.slot_store import CaseRowVersions, SlotQueries, item_of

_SQL = "decisions.sql"
_SHOWN = ("slot_entity_names", "slot_owner_names")
_PREDICATE = "predicates_by_form"


@dataclass(frozen=True, slots=True, kw_only=True)
class SlotState:
    """One slot as a planner sees it, and how its entities and owners are shown.

    ``answers`` are the rows of whatever else was asked of the slot, by the names of those queries.
    """

    view: SlotView
    names: Mapping[EntityId, EntityName]
    owner_names: Mapping[ProfileId, str]
    answers: Mapping[str, list[Row]]


@dataclass(frozen=True, slots=True, kw_only=True)
class SlotStateQueries:
    """The queries of one slot's state; ``number`` tells the slots of one round trip apart, ``more`` are one's own."""

    team_id: TeamId
    slot: Slot
    number: int = 0
    more: Sequence[Query] = ()

    def queries(self) -> list[Query]:
        """What to send."""
        sql = load_sql(_SQL)
        of_slot = slot_parameters(self.team_id, self.slot)
        predicate = load_sql("ingest.sql")[_PREDICATE]
        return [
            *self._slot.queries(),
            *(Query(name=self._name(name), sql=sql[name].sql, parameters=of_slot) for name in _SHOWN),
            Query(
                name=self._name(_PREDICATE),
                sql=predicate.sql,
                parameters={"team_id": self.team_id, "forms": [self.slot.predicate]},
            ),
            *(Query(name=self._name(one.name), sql=one.sql, parameters=one.parameters) for one in self.more),
        ]

    def state(self, answers: Mapping[str, list[Row]]) -> SlotState:
        """What the answers say."""
        names, owners = (answers[self._name(name)] for name in _SHOWN)
        (predicate,) = [row for row in answers[self._name(_PREDICATE)] if row["is_key"]]
        return SlotState(
            view=self._slot.view(answers, predicate_of(predicate)),
            names=entity_names_of(names),
            owner_names=profile_names_of(owners),
            answers={one.name: answers[self._name(one.name)] for one in self.more},
        )

    def load_versions(self, answers: Mapping[str, list[Row]], versions: CaseRowVersions) -> None:
        """Adds the versions of the rows of the slot's cases."""
        self._slot.load_versions(answers, versions)

    @property
    def _slot(self) -> SlotQueries:
        return SlotQueries(team_id=self.team_id, slot=self.slot, number=self.number)

    def _name(self, query: str) -> str:
        return f"{query}:{self.number}"


def slot_parameters(team_id: TeamId, slot: Slot) -> dict[str, object]:
    """The parameters that name a slot in a statement."""
    return {"team_id": team_id, "subject_id": slot.subject_id, "predicate": slot.predicate, "scope": slot.scope}


def slots_of(rows: Iterable[Row]) -> tuple[Slot, ...]:
    """The slots in rows that name them, each once, in an order that depends on the slots alone."""
    found = {
        Slot(
            subject_id=EntityId(row["subject_id"]),
            predicate=PredicateKey(row["predicate"]),
            scope=row["scope"],
        )
        for row in rows
        if row["subject_id"] is not None
    }
    return tuple(sorted(found, key=lambda slot: (slot.subject_id, slot.predicate, slot.scope)))


def slot_of_item(team_id: TeamId, item_id: ItemId) -> Query:
    """The slot that an item asks about; rows (slot, owner_id, kind), the slot empty for an item that has none."""
    return load_sql(_SQL).query("slot_of_item", team_id=team_id, item_id=item_id)


def slot_of_relationship(team_id: TeamId, row_id: RelationshipId) -> Query:
    """The slot of a relationship; rows (slot, owner_id)."""
    return load_sql(_SQL).query("slot_of_relationship", team_id=team_id, relationship_id=row_id)


def slots_of_fragment(team_id: TeamId, profile_id: ProfileId, fragment_id: FragmentId) -> Query:
    """The slots in which a text speaks for a profile; rows (slot, owner_id), the slot empty if it does in none."""
    return load_sql(_SQL).query("slots_of_fragment", team_id=team_id, profile_id=profile_id, fragment_id=fragment_id)


def item_by_id(team_id: TeamId, item_id: ItemId) -> Query:
    """An item; `item_in` reads the answer."""
    return load_sql(_SQL).query("item_by_id", team_id=team_id, item_id=item_id)


def item_in(state: SlotState) -> ReviewItem:
    """The item that `item_by_id` found among the answers of a slot."""
    (row,) = state.answers["item_by_id"]
    return item_of(row, state.view.slot)
