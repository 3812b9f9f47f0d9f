"""Views: what is known at a point of the record, and what is in force at an instant of the world."""

from __future__ import annotations

import os
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from corrigenda_core.domain.cases import CaseKind, CaseMember, CasePosition, CaseStatus, ConflictCase, SetKey
from corrigenda_core.domain.errors import Reason, Refusal
from corrigenda_core.domain.ids import (
    ConflictId,
    EntityId,
    PositionId,
    PredicateKey,
    ProfileId,
    RelationshipId,
)
from corrigenda_core.domain.objects import EntityObject, Slot
from corrigenda_core.domain.relationships import Relationship, Status
from corrigenda_core.domain.time import ClosedToNothing, Instant, Interval, Moment, TimeBasis, Validity
from corrigenda_core.domain.views import Known, KnownAt, KnownAtRevision, KnownNow, TemporalSelector, Version, View
from corrigenda_core.policy.visibility import (
    decide_counted_validity,
    decide_picture,
    decide_version_in_view,
    decide_view,
    is_in_view,
    is_recorded,
)
from hypothesis import given, settings
from hypothesis import strategies as st

EXAMPLES = 1_000 if os.environ.get("CORRIGENDA_TEST_TIER") == "full" else 100

PRODUCTION, DEPLOYS_FROM = EntityId("production"), PredicateKey("deploys_from")
SLOT = Slot(subject_id=PRODUCTION, predicate=DEPLOYS_FROM)


def day(month: int, of_month: int = 1) -> Instant:
    return datetime(2026, month, of_month, tzinfo=UTC)


def moment(revision: int, at: Instant) -> Moment:
    return Moment(revision=revision, at=at)


def row(
    name: str,
    value: str = "main",
    validity: Validity | None = None,
    *,
    owner: str = "ann",
    status: Status = Status.ACTIVE,
    basis: TimeBasis | None = TimeBasis.EVIDENCE_TIME,
) -> Relationship:
    validity = Interval() if validity is None else validity
    unbounded = isinstance(validity, Interval) and validity.start is None
    return Relationship(
        relationship_id=RelationshipId(name),
        version=1,
        owner_id=ProfileId(owner),
        slot=SLOT,
        object=EntityObject(entity_id=EntityId(value)),
        validity=validity,
        start_basis=None if unbounded else basis,
        status=status,
        revision=1,
        recorded_at=day(1),
        first_recorded_at=day(1),
    )


def case(
    *sides: tuple[str, ...],
    status: CaseStatus = CaseStatus.OPEN,
    preferred: int | None = None,
    cutoff: Instant | None = None,
    name: str = "case",
) -> ConflictCase:
    return ConflictCase(
        conflict_id=ConflictId(name),
        set_key=SetKey(kind=CaseKind.CURRENT_STATE, subject_id=PRODUCTION, predicate=DEPLOYS_FROM),
        status=status,
        version=1,
        opened_at=day(6),
        review_due_at=day(6, 8),
        first_contradiction_at=day(6),
        positions=tuple(
            CasePosition(
                position_id=PositionId(f"p{n}"),
                key=f"value {n}",
                members=tuple(
                    CaseMember(relationship_id=RelationshipId(member), version=1, owner_id=ProfileId("somebody"))
                    for member in members
                ),
                counted_groups=1,
                authoritative_groups=0,
                support_digest="",
                first_seen_at=day(6),
                last_seen_at=day(6),
            )
            for n, members in enumerate(sides)
        ),
        effective_at=cutoff,
        preferred_position_id=None if preferred is None else PositionId(f"p{preferred}"),
    )


# --- resolving a selector

MOMENTS = [moment(1, day(1)), moment(2, day(2)), moment(3, day(3))]
NOW = day(4)
JUST_BEFORE = timedelta(microseconds=-1)


@pytest.mark.rule("R8.1")
@pytest.mark.parametrize(
    ("known", "revision"),
    [
        (KnownNow(), 3),
        (KnownAt(at=NOW), 3),
        (KnownAt(at=day(3)), 3),
        (KnownAt(at=day(3) + JUST_BEFORE), 2),
        (KnownAt(at=day(1)), 1),
        (KnownAt(at=day(1) + JUST_BEFORE), 0),
        (KnownAtRevision(revision=3), 3),
        (KnownAtRevision(revision=0), 0),
    ],
)
def test_a_selector_names_a_closed_revision(known: Known, revision: int) -> None:
    view = decide_view(TemporalSelector(known=known), now=NOW, moments=MOMENTS)
    assert view == View(valid_at=NOW, revision=revision)


@pytest.mark.rule("R8.1")
def test_each_axis_is_asked_for_alone() -> None:
    asked = TemporalSelector(valid_at=day(12), known=KnownAt(at=day(2)))
    assert decide_view(asked, now=NOW, moments=MOMENTS) == View(valid_at=day(12), revision=2)
    assert decide_view(TemporalSelector(), now=NOW, moments=[]) == View(valid_at=NOW, revision=0)


@pytest.mark.rule("R8.1")
@pytest.mark.parametrize(
    ("known", "field", "offered", "allowed"),
    [
        (KnownAt(at=NOW + timedelta(microseconds=1)), "known_at", "2026-04-01T00:00:00.000001+00:00", NOW.isoformat()),
        (KnownAtRevision(revision=4), "revision", "4", "3"),
    ],
)
def test_the_future_of_the_record_is_refused(known: Known, field: str, offered: str, allowed: str) -> None:
    with pytest.raises(Refusal) as raised:
        decide_view(TemporalSelector(known=known), now=NOW, moments=MOMENTS)
    assert (raised.value.reason, raised.value.field) == (Reason.INVALID_FIELD, field)
    assert raised.value.metadata == {"offered": offered, "allowed": allowed}


# --- versions


@pytest.mark.rule("R8.2")
@pytest.mark.parametrize(
    ("revision", "seen"), [(0, None), (1, None), (2, "first"), (3, "first"), (4, "second"), (9, "second")]
)
def test_a_view_knows_one_version_of_a_row(revision: int, seen: str | None) -> None:
    versions = [
        Version(row="second", since=moment(4, day(4))),
        Version(row="first", since=moment(2, day(2)), until=moment(4, day(4))),
    ]
    assert decide_version_in_view(versions, View(valid_at=NOW, revision=revision)) == seen


@pytest.mark.rule("R8.2")
@settings(max_examples=EXAMPLES)
@given(changes=st.sets(st.integers(1, 8), min_size=1), seconds=st.lists(st.integers(1, 90), min_size=8, max_size=8))
def test_versions_by_revision_and_by_recorded_time_are_the_same(changes: set[int], seconds: list[int]) -> None:
    """A row that changes at some of eight commits, against a replay of the commits up to each instant."""
    at = day(1)
    moments = []
    for revision, step in enumerate(seconds, start=1):
        at += timedelta(seconds=step)
        moments.append(moment(revision, at))
    changed = [m for m in moments if m.revision in changes]
    ends: list[Moment | None] = [*changed[1:], None]
    versions = [
        Version(row=since.revision, since=since, until=until) for since, until in zip(changed, ends, strict=True)
    ]
    for known in {day(1), *(m.at for m in moments), *(m.at + JUST_BEFORE for m in moments)}:
        view = decide_view(TemporalSelector(known=KnownAt(at=known)), now=at, moments=moments)
        replayed = [m.revision for m in changed if m.at <= known]
        assert decide_version_in_view(versions, view) == (replayed[-1] if replayed else None)
        by_time = [v for v in versions if v.since.at <= known and (v.until is None or known < v.until.at)]
        assert by_time == [v for v in versions if is_in_view(v, view)]
        assert [m for m in moments if is_recorded(m, view)] == [m for m in moments if m.at <= known]


# --- in force

MARCH_TO_MAY = Interval(start=day(3), end=day(5))


def seen(at: Instant, *rows: Relationship, cases: tuple[ConflictCase, ...] = ()) -> tuple[list[str], int, int]:
    """Names of the edges, and how many live and resolved cases are shown."""
    picture = decide_picture(
        View(valid_at=at, revision=1),
        [Version(row=one, since=moment(1, day(1))) for one in rows],
        [Version(row=one, since=moment(1, day(1))) for one in cases],
    )
    edges = [edge.relationship.relationship_id for edge in picture.edges]
    return edges, len(picture.live_cases), len(picture.resolved_cases)


@pytest.mark.rule("R8.2")
@pytest.mark.parametrize(
    ("validity", "at", "in_force"),
    [
        (Interval(), day(1), True),
        (MARCH_TO_MAY, day(3) + JUST_BEFORE, False),
        (MARCH_TO_MAY, day(3), True),
        (MARCH_TO_MAY, day(5) + JUST_BEFORE, True),
        (MARCH_TO_MAY, day(5), False),
        (Interval(end=day(5)), day(1), True),
        (Interval(start=day(3)), day(12), True),
        (ClosedToNothing(at=day(3)), day(3), False),
        (ClosedToNothing(), day(3), False),
    ],
)
def test_an_edge_is_in_force_from_its_start_to_just_before_its_end(
    validity: Validity, at: Instant, in_force: bool
) -> None:
    assert seen(at, row("r", validity=validity)) == (["r"] if in_force else [], 0, 0)


@pytest.mark.rule("R8.2")
@pytest.mark.parametrize("status", Status)
def test_only_living_statuses_are_in_force(status: Status) -> None:
    living = {Status.ACTIVE, Status.COMPETING, Status.SUPERSEDED}
    assert seen(day(3), row("r", status=status)) == (["r"] if status in living else [], 0, 0)


# --- winners without a start of their own

CUTOFF = day(3)


def won(*members: str, cutoff: Instant | None = CUTOFF, name: str = "case") -> ConflictCase:
    return case(members, ("loser",), status=CaseStatus.RESOLVED, preferred=0, cutoff=cutoff, name=name)


@pytest.mark.rule("R8.3")
@pytest.mark.parametrize(
    ("winner", "counted"),
    [
        (row("w"), Interval(start=CUTOFF)),
        (row("w", validity=Interval(end=day(5))), Interval(start=CUTOFF, end=day(5))),
        (row("w", validity=Interval(end=CUTOFF)), ClosedToNothing(at=CUTOFF)),
        (row("w", validity=Interval(end=day(2))), ClosedToNothing(at=CUTOFF)),
        (row("w", validity=ClosedToNothing(at=day(2))), ClosedToNothing(at=day(2))),
        # A start for lack of any other is none of its own, but it is where the row begins.
        (row("w", validity=Interval(start=day(2)), basis=TimeBasis.RECORDED_FALLBACK), Interval(start=CUTOFF)),
        (row("w", validity=Interval(start=day(4)), basis=TimeBasis.RECORDED_FALLBACK), Interval(start=day(4))),
        *(
            (row("w", validity=Interval(start=day(2)), basis=basis), Interval(start=day(2)))
            for basis in (TimeBasis.EVIDENCE_TIME, TimeBasis.STATED_TIME, TimeBasis.OBSERVED_TIME)
        ),
        (row("loser"), Interval()),
        (row("bystander"), Interval()),
    ],
)
def test_a_winner_without_a_start_counts_from_the_cutoff(winner: Relationship, counted: Validity) -> None:
    assert decide_counted_validity(winner, [won("w")]) == counted
    assert decide_counted_validity(winner, [won("another", "w", "third")]) == counted
    assert decide_counted_validity(winner, []) == winner.validity


@pytest.mark.rule("R8.3")
def test_the_first_cutoff_of_several_resolutions_counts() -> None:
    later = won("w", cutoff=day(5), name="later")
    assert decide_counted_validity(row("w"), [later, won("w")]) == Interval(start=CUTOFF)
    assert decide_counted_validity(row("w"), [won("other"), later]) == Interval(start=day(5))
    assert decide_counted_validity(row("w"), [won("w", cutoff=None)]) == Interval()


# --- which cases a picture shows


@pytest.mark.rule("R8.2")
def test_a_live_case_is_shown_where_two_of_its_sides_are_in_force() -> None:
    main, release = row("m"), row("r", "release", Interval(start=day(3)), owner="bob")
    for status in (CaseStatus.OPEN, CaseStatus.OVERDUE):
        live = case(("m",), ("r",), status=status)
        assert seen(day(2), main, release, cases=(live,)) == (["m"], 0, 0)
        assert seen(day(3), main, release, cases=(live,)) == (["m", "r"], 1, 0)
    dismissed = case(("m",), ("r",), status=CaseStatus.DISMISSED)
    assert seen(day(3), main, release, cases=(dismissed,)) == (["m", "r"], 0, 0)


@pytest.mark.rule("R8.2")
def test_one_member_in_force_makes_a_side() -> None:
    main, release, ended = row("m"), row("r", "release"), row("e", "release", Interval(end=day(2)))
    assert seen(day(3), main, release, ended, cases=(case(("m",), ("e", "r")),)) == (["m", "r"], 1, 0)


@pytest.mark.rule("R8.2")
def test_edges_and_cases_come_in_the_order_of_their_ids() -> None:
    rows = [Version(row=row(name), since=moment(1, day(1))) for name in "cab"]
    live = [Version(row=case(("a",), ("b",), name=name), since=moment(1, day(1))) for name in "zxy"]
    closed = [Version(row=won("a", name=name), since=moment(1, day(1))) for name in "nlm"]
    picture = decide_picture(View(valid_at=day(4), revision=1), rows, [*live, *closed])
    assert [edge.relationship.relationship_id for edge in picture.edges] == ["a", "b", "c"]
    assert [one.conflict_id for one in picture.live_cases] == ["x", "y", "z"]
    assert [one.conflict_id for one in picture.resolved_cases] == ["l", "m", "n"]


@pytest.mark.rule("R8.3")
def test_a_resolved_case_is_shown_from_its_cutoff_on_and_where_both_sides_still_hold() -> None:
    loser = row("loser", validity=Interval(end=CUTOFF), status=Status.SUPERSEDED)
    undated, stated = row("w", "release"), row("s", "release", Interval(start=day(2)), basis=TimeBasis.STATED_TIME)
    assert seen(day(2), loser, undated, cases=(won("w"),)) == (["loser"], 0, 0)
    assert seen(CUTOFF, loser, undated, cases=(won("w"),)) == (["w"], 0, 1)
    # A stated start moves no cutoff: between it and the cutoff both hold, marked by the resolved reference.
    assert seen(day(2), loser, stated, cases=(won("s"),)) == (["loser", "s"], 0, 1)
    assert seen(day(1), loser, stated, cases=(won("s"),)) == (["loser"], 0, 0)


# --- nothing that commits later changes a past answer

STATES = st.tuples(
    st.sampled_from([Status.ACTIVE, Status.SUPERSEDED, Status.RETRACTED, Status.COMPETING]),
    st.sampled_from([Interval(), Interval(start=day(2)), Interval(end=day(4)), ClosedToNothing()]),
)
COMMITS = st.lists(st.tuples(st.sampled_from(["r1", "r2", "c"]), STATES, st.sampled_from(CaseStatus)), max_size=8)


def history(
    commits: list[tuple[str, tuple[Status, Validity], CaseStatus]],
) -> tuple[list[Version[Relationship]], list[Version[ConflictCase]], list[Moment]]:
    """The versions that a list of commits leaves, each commit a new version of one row or of the case."""
    rows: dict[str, list[Version[Relationship]]] = {"r1": [], "r2": []}
    cases: list[Version[ConflictCase]] = []
    moments = [moment(n, day(1) + timedelta(hours=n)) for n in range(1, len(commits) + 1)]
    for at, (name, (status, validity), case_status) in zip(moments, commits, strict=True):
        if name == "c":
            preferred = 0 if case_status is CaseStatus.RESOLVED else None
            cutoff = day(3) if case_status is CaseStatus.RESOLVED else None
            changed = case(("r1",), ("r2",), status=case_status, preferred=preferred, cutoff=cutoff)
            cases[-1:] = [replace(version, until=at) for version in cases[-1:]]
            cases.append(Version(row=changed, since=at))
        else:
            of_row = rows[name]
            of_row[-1:] = [replace(version, until=at) for version in of_row[-1:]]
            of_row.append(Version(row=row(name, validity=validity, status=status), since=at))
    return [*rows["r1"], *rows["r2"]], cases, moments


@pytest.mark.rule("R8.1", "R8.2")
@settings(max_examples=EXAMPLES)
@given(earlier=COMMITS, later=COMMITS, valid_at=st.integers(1, 6).map(day))
def test_a_past_view_never_changes(
    earlier: list[tuple[str, tuple[Status, Validity], CaseStatus]],
    later: list[tuple[str, tuple[Status, Validity], CaseStatus]],
    valid_at: Instant,
) -> None:
    rows, cases, moments = history(earlier)
    now = moments[-1].at if moments else day(1)
    asked = TemporalSelector(valid_at=valid_at, known=KnownAt(at=now))
    answer = decide_picture(decide_view(asked, now=now, moments=moments), rows, cases)
    rows, cases, moments = history(earlier + later)
    again = decide_view(asked, now=day(12), moments=moments)
    assert decide_picture(again, rows, cases) == answer
    assert decide_picture(again, rows[::-1], cases[::-1]) == answer


@pytest.mark.parametrize(
    "broken",
    [
        lambda: KnownAtRevision(revision=-1),
        lambda: KnownAt(at=datetime(2026, 1, 1)),  # noqa: DTZ001 - a naive time is the point
        lambda: TemporalSelector(valid_at=datetime(2026, 1, 1)),  # noqa: DTZ001
        lambda: View(valid_at=datetime(2026, 1, 1), revision=1),  # noqa: DTZ001
        lambda: Version(row="r", since=moment(2, day(2)), until=moment(2, day(3))),
        lambda: Version(row="r", since=moment(2, day(2)), until=moment(3, day(2))),
    ],
)
def test_values_that_cannot_exist(broken: object) -> None:
    assert callable(broken)
    with pytest.raises(ValueError, match=r"revision|UTC|ends after"):
        broken()
