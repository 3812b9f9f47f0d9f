"""Rows of cases, positions and members to domain values; shared by every store that reads cases."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from corrigenda_core.domain.cases import CaseKind, CaseMember, CasePosition, CaseStatus, ConflictCase, SetKey
from corrigenda_core.domain.ids import ConflictId, PredicateKey
from corrigenda_core.persistence.database import Row
from corrigenda_core.persistence.row_values import basis_of


def case_of(row: Row, positions: tuple[CasePosition, ...]) -> ConflictCase:
    """The case in a row of ``conflict_cases`` or its history; what a row does not select is taken as empty."""
    return ConflictCase(
        conflict_id=row["conflict_id"],
        set_key=SetKey(
            kind=CaseKind(row["kind"]),
            subject_id=row["subject_id"],
            predicate=PredicateKey(row["predicate"]),
            scope=row["scope"],
            object_key=row["object_key"],
        ),
        status=CaseStatus(row["status"]),
        version=row["version"],
        opened_at=row["opened_at"],
        review_due_at=row["review_due_at"],
        first_contradiction_at=row["first_contradiction_at"],
        positions=positions,
        resolved_at=row.get("resolved_at"),
        dismissed_at=row.get("dismissed_at"),
        effective_at=row.get("effective_at"),
        effective_time_basis=basis_of(row.get("effective_time_basis")),
        preferred_position_id=row.get("preferred_position_id"),
        resolution_reason=row.get("resolution_reason"),
        policy_version=row["policy_version"],
        previous_conflict_id=row["previous_conflict_id"],
    )


def position_of(row: Row, members: tuple[CaseMember, ...]) -> CasePosition:
    """The position in a row of ``case_positions`` or its history."""
    return CasePosition(
        position_id=row["position_id"],
        key=row["position_key"],
        members=members,
        counted_groups=row["counted_groups"],
        authoritative_groups=row["authoritative_groups"],
        support_digest=row["support_digest"],
        first_seen_at=row["first_seen_at"],
        last_seen_at=row["last_seen_at"],
    )


def member_of(row: Row) -> CaseMember:
    """The member in a row of ``case_members`` or its history."""
    return CaseMember(
        relationship_id=row["relationship_id"], version=row["relationship_version"], owner_id=row["owner_id"]
    )


def cases_of(cases: Iterable[Row], positions: Iterable[Row], members: Iterable[Row]) -> tuple[ConflictCase, ...]:
    """Cases in the order of their rows, each with the positions that somebody stands on, by first sight."""
    standing: dict[str, list[CaseMember]] = defaultdict(list)
    for row in members:
        standing[row["position_id"]].append(member_of(row))
    sides: dict[str, list[Row]] = defaultdict(list)
    for row in positions:
        sides[row["conflict_id"]].append(row)
    return tuple(
        case_of(
            row,
            tuple(position_of(side, tuple(standing[side["position_id"]])) for side in sides[row["conflict_id"]]),
        )
        for row in cases
    )


def case_columns(case: ConflictCase) -> dict[str, object]:
    """The row of a case in ``conflict_cases``."""
    key = case.set_key
    return {
        "conflict_id": case.conflict_id,
        "kind": key.kind,
        "subject_id": key.subject_id,
        "predicate": key.predicate,
        "scope": key.scope,
        "object_key": key.object_key,
        "status": case.status,
        "version": case.version,
        "opened_at": case.opened_at,
        "review_due_at": case.review_due_at,
        "first_contradiction_at": case.first_contradiction_at,
        "resolved_at": case.resolved_at,
        "dismissed_at": case.dismissed_at,
        "effective_at": case.effective_at,
        "effective_time_basis": case.effective_time_basis,
        "preferred_position_id": case.preferred_position_id,
        "resolution_reason": case.resolution_reason,
        "policy_version": case.policy_version,
        "previous_conflict_id": case.previous_conflict_id,
    }


def position_columns(position: CasePosition, *, conflict_id: ConflictId, version: int) -> dict[str, object]:
    """The row of a position in ``case_positions``; ``version`` numbers the row."""
    return {
        "conflict_id": conflict_id,
        "position_id": position.position_id,
        "version": version,
        "position_key": position.key,
        "present": bool(position.members),
        "counted_groups": position.counted_groups,
        "authoritative_groups": position.authoritative_groups,
        "support_digest": position.support_digest,
        "first_seen_at": position.first_seen_at,
        "last_seen_at": position.last_seen_at,
    }
