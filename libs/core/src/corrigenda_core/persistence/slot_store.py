"""Reads everything of one slot that a planner needs, in one round trip."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from corrigenda_core.domain.cases import CaseMember, CasePosition, CaseStatus, ConflictCase, SetKey
from corrigenda_core.domain.evidence import Support
from corrigenda_core.domain.ids import ConflictId, StatementId, TeamId
from corrigenda_core.domain.items import ItemKind, ItemStatus, ReviewItem
from corrigenda_core.domain.objects import Polarity, Slot
from corrigenda_core.domain.predicates import Predicate
from corrigenda_core.domain.relationships import CrossReference, ReferenceKind, Statement
from corrigenda_core.domain.slots import SlotView
from corrigenda_core.persistence.case_rows import case_of, member_of, position_of
from corrigenda_core.persistence.database import Row
from corrigenda_core.persistence.decision_rows import closing_of, decision_of
from corrigenda_core.persistence.named_sql import Query, load_sql
from corrigenda_core.persistence.row_values import bound_of, object_of, relationship_of, support_of
from corrigenda_core.policy.validity import decide_witness_time

_STATEMENTS = (
    "slot_relationships",
    "slot_statements",
    "slot_supports",
    "slot_closings",
    "slot_decisions",
    "slot_references",
    "slot_items",
    "slot_cases",
    "slot_case_positions",
    "slot_case_members",
    "slot_rows_beside",
    "slot_supports_beside",
)


class CaseRowVersions:
    """The versions of the rows of positions and members, as loaded; each is taken by the write that follows it.

    The domain does not know them: they number rows, and a case numbers itself.
    """

    def __init__(self) -> None:
        self._versions: dict[tuple[str, ...], int] = {}

    def load(self, positions: Iterable[Row], members: Iterable[Row]) -> None:
        """Adds rows of positions and of members, each with its ``row_version``."""
        for row in positions:
            self._versions[row["conflict_id"], row["position_id"]] = row["row_version"]
        for row in members:
            self._versions[row["conflict_id"], row["position_id"], row["relationship_id"]] = row["row_version"]

    def take(self, *key: str) -> int | None:
        """The version of a row before the next write, ``None`` if there is no row yet."""
        prior = self._versions.get(key)
        self._versions[key] = (prior or 0) + 1
        return prior


@dataclass(frozen=True, slots=True, kw_only=True)
class SlotQueries:
    """The queries of one slot; their names carry ``number`` so that several slots fit into one round trip."""

    team_id: TeamId
    slot: Slot
    number: int = 0

    def queries(self) -> list[Query]:
        """What to send."""
        sql = load_sql("slots.sql")
        parameters = {
            "team_id": self.team_id,
            "subject_id": self.slot.subject_id,
            "predicate": self.slot.predicate,
            "scope": self.slot.scope,
        }
        return [Query(name=self._name(name), sql=sql[name].sql, parameters=parameters) for name in _STATEMENTS]

    def load_versions(self, answers: Mapping[str, list[Row]], versions: CaseRowVersions) -> None:
        """Adds the versions of the slot's rows of positions and members."""
        versions.load(answers[self._name("slot_case_positions")], answers[self._name("slot_case_members")])

    def view(self, answers: Mapping[str, list[Row]], predicate: Predicate) -> SlotView:
        """What the answers say, with the predicate's current version."""
        rows = {name: answers[self._name(name)] for name in _STATEMENTS}
        supports = tuple(support_of(row) for row in rows["slot_supports"])
        cases = _cases(rows)
        closed = [case for case in cases if not case.live]
        return SlotView(
            slot=self.slot,
            predicate=predicate,
            rows=tuple(relationship_of(row) for row in rows["slot_relationships"]),
            statements=_statements(rows["slot_statements"], self.slot, supports),
            supports=supports,
            decisions=(
                *(closing_of(row) for row in rows["slot_closings"]),
                *(decision_of(row) for row in rows["slot_decisions"]),
            ),
            references=tuple(_reference(row) for row in rows["slot_references"]),
            items=tuple(item_of(row, self.slot) for row in rows["slot_items"]),
            cases=tuple(case for case in cases if case.live),
            closed_cases=_last_closed(closed),
            resolved_cases=tuple(case for case in closed if case.status is CaseStatus.RESOLVED),
            rows_beside=tuple(relationship_of(row) for row in rows["slot_rows_beside"]),
            supports_beside=tuple(support_of(row) for row in rows["slot_supports_beside"]),
        )

    def _name(self, statement: str) -> str:
        return f"{statement}:{self.number}"


def _statements(rows: Sequence[Row], slot: Slot, supports: Sequence[Support]) -> tuple[Statement, ...]:
    effective: dict[StatementId | None, list[Support]] = defaultdict(list)
    for support in supports:
        if support.effective:
            effective[support.statement_id].append(support)
    return tuple(_statement(row, slot, effective[row["statement_id"]]) for row in rows)


def _statement(row: Row, slot: Slot, supports: Sequence[Support]) -> Statement:
    occurred_ats = [support.occurred_at for support in supports if support.occurred_at is not None]
    end = bound_of(row, "end")
    return Statement(
        statement_id=row["statement_id"],
        owner_id=row["owner_id"],
        slot=slot,
        object=object_of(row),
        polarity=Polarity(row["polarity"]),
        start=bound_of(row, "start"),
        end=end,
        stated_start=row["stated_start"],
        witness_at=decide_witness_time(occurred_ats, row["recorded_at"], end),
        recorded_at=row["recorded_at"],
        sequence=row["sequence"],
        effective=bool(supports),
        record=row["record"],
        source=row["source"],
        relationship_id=row["relationship_id"],
    )


def _reference(row: Row) -> CrossReference:
    return CrossReference(
        reference_id=row["reference_id"],
        kind=ReferenceKind(row["kind"]),
        source_id=row["source_id"],
        target_id=row["target_id"],
        decision_id=row["decision_id"],
        active=row["active"],
    )


def item_of(row: Row, slot: Slot | None) -> ReviewItem:
    """The item in a row of ``review_items``, about ``slot``."""
    return ReviewItem(
        item_id=row["item_id"],
        version=row["version"],
        kind=ItemKind(row["kind"]),
        status=ItemStatus(row["status"]),
        owner_id=row["owner_id"],
        reason=row["reason"],
        ingest_id=row["ingest_id"],
        fragment_id=row["fragment_id"],
        slot=slot,
        statement_id=row["statement_id"],
        incoming=tuple(row["incoming"]),
        opposing=tuple(row["opposing"]),
        details=tuple(sorted(row["details"].items())),
        decision_id=row["decision_id"],
        opened_at=row["opened_at"],
    )


def _cases(rows: Mapping[str, list[Row]]) -> list[ConflictCase]:
    """The cases of the slot, those of one set key with the last opened first."""
    members: dict[str, list[CaseMember]] = defaultdict(list)
    for row in rows["slot_case_members"]:
        if row["present"]:
            members[row["position_id"]].append(member_of(row))
    positions: dict[str, list[CasePosition]] = defaultdict(list)
    for row in rows["slot_case_positions"]:
        positions[row["conflict_id"]].append(position_of(row, tuple(members[row["position_id"]])))
    return [case_of(row, tuple(positions[row["conflict_id"]])) for row in rows["slot_cases"]]


def _last_closed(closed: Iterable[ConflictCase]) -> tuple[tuple[SetKey, ConflictId], ...]:
    last: dict[SetKey, ConflictId] = {}
    for case in closed:
        last.setdefault(case.set_key, case.conflict_id)
    return tuple(last.items())
