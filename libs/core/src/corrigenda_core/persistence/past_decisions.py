"""Reads a decision with what a revert has to know: the slot just before it, what it did, and what came since."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from corrigenda_core.domain.actors import Actor, ActorKind
from corrigenda_core.domain.errors import Reason, Refusal
from corrigenda_core.domain.ids import DecisionId, TeamId
from corrigenda_core.domain.items import ItemStatus, ReviewItem
from corrigenda_core.domain.objects import Slot
from corrigenda_core.domain.relationships import Carriage, RowState, Status, Tier, Transition
from corrigenda_core.domain.resolutions import DecisionKind, DecisionRecord, PastDecision
from corrigenda_core.persistence.database import Row
from corrigenda_core.persistence.decision_store import SlotState, slot_parameters
from corrigenda_core.persistence.named_sql import Query, load_sql
from corrigenda_core.persistence.row_values import basis_of, validity_of
from corrigenda_core.persistence.slot_store import item_of
from corrigenda_core.policy.own_items import OVERTAKEN

_SQL = "decisions.sql"
_OF_SLOT = ("past_transitions", "past_references", "past_carriages", "past_items")


def slots_of_decision(team_id: TeamId, decision_id: DecisionId) -> Query:
    """The slots that a decision touched; rows (slot, owner_id, kind), the slot empty where it touched none."""
    return load_sql(_SQL).query("slots_of_decision", team_id=team_id, decision_id=decision_id)


def past_decision_queries(team_id: TeamId, slot: Slot, decision_id: DecisionId) -> list[Query]:
    """What to read of a slot to take a decision back; `past_decision_in` reads the answers."""
    sql = load_sql(_SQL)
    of_slot = slot_parameters(team_id, slot)
    return [
        sql.query("past_decision", team_id=team_id, decision_id=decision_id),
        *(sql.query(name, **of_slot) for name in _OF_SLOT),
    ]


def past_decision_in(state: SlotState) -> PastDecision:
    """The decision, with the slot that it was about as it was before and has been since."""
    (taken,) = state.answers["past_decision"]
    placed = [revision for revision in taken["placed_revisions"] if revision <= taken["revision"]]
    parts = _Parts(revisions=frozenset({*placed, taken["revision"]}))
    made = [row for row in state.answers["past_transitions"] if row["revision"] in parts.revisions]
    touched = {row["relationship_id"] for row in made}
    later = [
        row
        for row in state.answers["past_transitions"]
        if row["revision"] > parts.last and row["relationship_id"] in touched
    ]
    versions = [(row["revision"], item_of(row, state.view.slot)) for row in state.answers["past_items"]]
    return PastDecision(
        record=record_of(taken),
        transitions=tuple(_transition(row) for row in made),
        later=tuple(_transition(row) for row in later),
        reference_ids=tuple(
            row["reference_id"] for row in state.answers["past_references"] if row["revision"] in parts.revisions
        ),
        carriers=_carriers(state.answers["past_carriages"], parts),
        items=_changed_items(versions, parts),
        left_items=tuple(
            (item.item_id, item.version)
            for item in _items_at(versions, parts.last)
            if item.status is ItemStatus.PENDING
        ),
        reverted_by=taken["reverted_by"],
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Parts:
    """The revisions that a decision is made of: its own, and those that placed a statement with it."""

    revisions: frozenset[int]

    @property
    def first(self) -> int:
        """The slot just before it is the decision's *before*."""
        return min(self.revisions)

    @property
    def last(self) -> int:
        """What comes after it came since."""
        return max(self.revisions)


def record_of(row: Row) -> DecisionRecord:
    """The decision in a row of ``decisions``."""
    return DecisionRecord(
        decision_id=row["decision_id"],
        kind=DecisionKind(row["kind"]),
        actor=Actor(kind=ActorKind(row["actor_kind"]), profile_id=row["actor_profile_id"]),
        item_id=row["item_id"],
        item_version=row["item_version"],
        target_ids=tuple(row["target_ids"]),
        kept_id=row["kept_relationship_id"],
        statement_ids=tuple(row["statement_ids"]),
        reverts=row["reverts_decision_id"],
        key=row["idempotency_key"],
        reason=row["reason"],
        details=tuple((name, value) for name, value in row["details"]),
    )


def not_reverted(kind: str) -> Refusal:
    """The refusal of a decision that shaped no timeline."""
    return Refusal(Reason.INVALID_FIELD, f"a decision {kind} is not reverted", field="decision_id")


def _transition(row: Row) -> Transition:
    """A lifecycle change as a revert reads it: what it left, not what was before."""
    return Transition(
        transition_id=row["transition_id"],
        relationship_id=row["relationship_id"],
        version=row["version"],
        prior=None,
        resulting=RowState(
            status=Status(row["resulting_status"]),
            tier=Tier(row["resulting_tier"]),
            facet=row["resulting_facet"],
            validity=validity_of(row, "resulting_"),
            start_basis=basis_of(row["resulting_valid_from_basis"]),
            end_basis=basis_of(row["resulting_valid_to_basis"]),
        ),
        actor=Actor(kind=ActorKind(row["actor_kind"]), profile_id=row["actor_profile_id"]),
        reason=row["reason"],
        decision_id=row["decision_id"],
        conflict_id=row["conflict_id"],
    )


def _carriers(rows: Sequence[Row], parts: _Parts) -> tuple[Carriage, ...]:
    """The row that carried each statement before; the rows come in the order of recording, so the last one counts."""
    carried = {row["statement_id"]: row["relationship_id"] for row in rows if row["revision"] < parts.first}
    return tuple(
        Carriage(statement_id=statement_id, relationship_id=row_id) for statement_id, row_id in sorted(carried.items())
    )


def _items_at(versions: Sequence[tuple[int, ReviewItem]], revision: int) -> list[ReviewItem]:
    """Every item as it was after a revision."""
    known: dict[str, ReviewItem] = {item.item_id: item for at, item in versions if at <= revision}
    return list(known.values())


def _changed_items(
    versions: Sequence[tuple[int, ReviewItem]], parts: _Parts
) -> tuple[tuple[ReviewItem, ReviewItem], ...]:
    """The items that were asked before and were changed by the decision: as they were, and as they are now."""
    changed = {item.item_id for at, item in versions if at in parts.revisions}
    now: Mapping[str, ReviewItem] = {item.item_id: item for _, item in versions}
    return tuple(
        (before, now[before.item_id])
        for before in _items_at(versions, parts.first - 1)
        if before.item_id in changed and (before.status is ItemStatus.PENDING or before.reason == OVERTAKEN)
    )
