"""V23 of the valid-time table: the grid of valid_at and known_at around a resolution, from versioned rows."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

import pytest
from corrigenda_core.domain.cases import CaseKind, CaseMember, CasePosition, CaseStatus, ConflictCase, SetKey
from corrigenda_core.domain.ids import ConflictId, EntityId, PositionId, PredicateKey, ProfileId, RelationshipId
from corrigenda_core.domain.objects import EntityObject, Slot
from corrigenda_core.domain.relationships import Relationship, Status
from corrigenda_core.domain.time import Instant, Interval, Moment, TimeBasis
from corrigenda_core.domain.views import KnownAt, KnownNow, TemporalSelector, Version
from corrigenda_core.policy.visibility import decide_picture, decide_view

PRODUCTION, DEPLOYS_FROM = EntityId("production"), PredicateKey("deploys_from")


def day(month: int, of_month: int) -> Instant:
    return datetime(2026, month, of_month, tzinfo=UTC)


RECORDED_A, RECORDED_B, RECORDED_C, RESOLVED = (
    Moment(revision=1, at=day(1, 10)),
    Moment(revision=2, at=day(6, 1)),
    Moment(revision=3, at=day(6, 8)),
    Moment(revision=4, at=day(6, 10)),
)
NOW = day(6, 20)
CUTOFF = day(3, 1)


def episode(owner: str, value: str, start: Instant | None, recorded: Moment) -> Relationship:
    return Relationship(
        relationship_id=RelationshipId(f"{value} of {owner}"),
        version=1,
        owner_id=ProfileId(owner),
        slot=Slot(subject_id=PRODUCTION, predicate=DEPLOYS_FROM),
        object=EntityObject(entity_id=EntityId(value)),
        validity=Interval(start=start),
        start_basis=None if start is None else TimeBasis.EVIDENCE_TIME,
        status=Status.ACTIVE,
        revision=recorded.revision,
        recorded_at=recorded.at,
        first_recorded_at=recorded.at,
    )


def position(name: str, members: list[Relationship]) -> CasePosition:
    return CasePosition(
        position_id=PositionId(name),
        key=f"entity:{name}",
        members=tuple(
            CaseMember(relationship_id=one.relationship_id, version=one.version, owner_id=one.owner_id)
            for one in members
        ),
        counted_groups=len(members),
        authoritative_groups=0,
        support_digest=str(len(members)),
        first_seen_at=RECORDED_B.at,
        last_seen_at=RECORDED_B.at,
    )


def story(start_of_c: Instant | None) -> tuple[list[Version[Relationship]], list[Version[ConflictCase]]]:
    """A's main, B's and C's release, the case that B opens and C joins, and its resolution."""
    a = episode("a", "main", day(1, 1), RECORDED_A)
    b = episode("b", "release", CUTOFF, RECORDED_B)
    c = episode("c", "release", start_of_c, RECORDED_C)
    closed = replace(a, version=2, status=Status.SUPERSEDED, validity=Interval(start=day(1, 1), end=CUTOFF), revision=4)
    opened = ConflictCase(
        conflict_id=ConflictId("case"),
        set_key=SetKey(kind=CaseKind.CURRENT_STATE, subject_id=PRODUCTION, predicate=DEPLOYS_FROM),
        status=CaseStatus.OPEN,
        version=1,
        opened_at=RECORDED_B.at,
        review_due_at=day(6, 9),
        first_contradiction_at=RECORDED_B.at,
        positions=(position("main", [a]), position("release", [b])),
    )
    joined = replace(opened, version=2, positions=(position("main", [a]), position("release", [b, c])))
    resolved = replace(
        joined,
        version=3,
        status=CaseStatus.RESOLVED,
        resolved_at=RESOLVED.at,
        effective_at=CUTOFF,
        preferred_position_id=PositionId("release"),
    )
    rows = [
        Version(row=a, since=RECORDED_A, until=RESOLVED),
        Version(row=closed, since=RESOLVED),
        Version(row=b, since=RECORDED_B),
        Version(row=c, since=RECORDED_C),
    ]
    cases = [
        Version(row=opened, since=RECORDED_B, until=RECORDED_C),
        Version(row=joined, since=RECORDED_C, until=RESOLVED),
        Version(row=resolved, since=RESOLVED),
    ]
    return rows, cases


GRID = [
    # valid_at, known_at (None: now), values in force, the case
    (day(2, 15), day(5, 15), {"main"}, None),
    (day(4, 15), day(5, 15), {"main"}, None),
    (NOW, day(5, 15), {"main"}, None),
    (day(2, 15), day(6, 5), {"main"}, None),
    (day(4, 15), day(6, 5), {"main", "release"}, "open"),
    (NOW, day(6, 5), {"main", "release"}, "open"),
    (day(2, 15), None, {"main"}, None),
    (day(4, 15), None, {"release"}, "resolved"),
    (NOW, None, {"release"}, "resolved"),
]


@pytest.mark.rule("R8.1", "R8.2", "R8.3")
@pytest.mark.parametrize("start_of_c", [CUTOFF, None], ids=["dated witness", "undated witness"])
@pytest.mark.parametrize(("valid_at", "known_at", "values", "case"), GRID)
def test_v23_grid(
    valid_at: Instant, known_at: Instant | None, values: set[str], case: str | None, start_of_c: Instant | None
) -> None:
    rows, cases = story(start_of_c)
    known = KnownNow() if known_at is None else KnownAt(at=known_at)
    moments = [RECORDED_A, RECORDED_B, RECORDED_C, RESOLVED]
    view = decide_view(TemporalSelector(valid_at=valid_at, known=known), now=NOW, moments=moments)
    picture = decide_picture(view, rows, cases)
    assert {edge.relationship.object for edge in picture.edges} == {
        EntityObject(entity_id=EntityId(value)) for value in values
    }
    shown = [*(["open"] if picture.live_cases else []), *(["resolved"] if picture.resolved_cases else [])]
    assert shown == ([case] if case else [])
