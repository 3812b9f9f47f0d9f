"""Reads what a view knows of relationships and around them: their versions, their cases, questions about them."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

from corrigenda_core.domain.cases import ConflictCase
from corrigenda_core.domain.ids import RelationshipId
from corrigenda_core.domain.items import ItemKind, ItemStatus, ReviewItem
from corrigenda_core.domain.relationships import Relationship
from corrigenda_core.persistence.case_rows import cases_of
from corrigenda_core.persistence.database import Row
from corrigenda_core.persistence.named_sql import load_sql
from corrigenda_core.persistence.read_transaction import ReadTransaction
from corrigenda_core.persistence.row_values import relationship_of
from corrigenda_core.persistence.view_store import ReadView


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownRows:
    """Relationships of a view and what surrounds them.

    Attributes:
        rows: those that were asked for, as far as the view knows them, in the order of their ids.
        members: the members of ``cases``, the asked ones among them.
        cases: the live and resolved cases of the rows and of their fellow members, each with every position.
        questions: pending questions of owners in the slots of the rows.
    """

    rows: tuple[Relationship, ...]
    members: Mapping[RelationshipId, Relationship]
    cases: tuple[ConflictCase, ...] = ()
    questions: tuple[ReviewItem, ...] = ()

    @property
    def all_rows(self) -> tuple[Relationship, ...]:
        """The rows and the other members, each once."""
        return tuple(({row.relationship_id: row for row in self.rows} | dict(self.members)).values())

    @property
    def held_against(self) -> frozenset[RelationshipId]:
        """The rows against which their owner holds another statement."""
        return frozenset(row for question in self.questions for row in question.opposing)


async def read_known_rows(
    transaction: ReadTransaction, view: ReadView, relationship_ids: Collection[RelationshipId]
) -> KnownRows:
    """What the view knows of relationships; one round trip, and another one where there are cases."""
    known = {"team_id": transaction.team_id, "known_at": view.recorded_by}
    asked = {**known, "relationship_ids": sorted(set(relationship_ids))}
    sql = load_sql("surroundings.sql")
    rows, cases, questions = await transaction.fetch_all(
        load_sql("trace.sql").query("rows_in_view", **asked),
        sql.query("cases_of_rows", **asked),
        sql.query("questions_about_rows", **asked),
    )
    positions: list[Row] = []
    members: list[Row] = []
    if cases:
        of_cases = {**known, "conflict_ids": [row["conflict_id"] for row in cases]}
        positions, members = await transaction.fetch_all(
            load_sql("recall.sql").query("positions_of_cases", **of_cases),
            load_sql("recall.sql").query("members_of_cases", **of_cases),
        )
    return KnownRows(
        rows=tuple(sorted(map(relationship_of, rows), key=lambda row: row.relationship_id)),
        members={row["relationship_id"]: relationship_of(row) for row in members},
        cases=cases_of(cases, positions, members),
        questions=tuple(_questions(questions)),
    )


def _questions(rows: Iterable[Row]) -> Iterable[ReviewItem]:
    for row in rows:
        yield ReviewItem(
            item_id=row["item_id"],
            version=row["version"],
            kind=ItemKind(row["kind"]),
            status=ItemStatus(row["status"]),
            owner_id=row["owner_id"],
            reason=row["reason"],
            incoming=tuple(row["incoming"]),
            opposing=tuple(row["opposing"]),
            opened_at=row["opened_at"],
        )
