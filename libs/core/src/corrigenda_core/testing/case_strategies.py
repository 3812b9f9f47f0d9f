"""Case snapshots for property tests, from small pools of labels, texts and fragments: everything meets everything."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

from hypothesis import strategies as st

from corrigenda_core.domain.snapshots import CaseSnapshot, SnapshotMember
from corrigenda_core.domain.time import Instant, TimeBasis, WholeInterval
from corrigenda_core.testing.case_snapshots import (
    AFTER_DEADLINE,
    BEFORE_DEADLINE,
    DEADLINE,
    Member,
    Side,
    Witness,
    case,
)

_FIRST_DAY = datetime(2026, 1, 1, tzinfo=UTC)
_SUPPORTS = 5
_FRAGMENTS = st.sampled_from([f"fragment-{number}" for number in range(1, 7)] + ["outside"])
_LABELS = st.sampled_from(["group:g1", "group:g2", "key:k1", "author:p1"])


def instants() -> st.SearchStrategy[Instant]:
    """One of a few days, so that equal ones meet; now and then with a fraction of a second."""
    return st.builds(
        lambda days, microseconds: _FIRST_DAY + timedelta(days=days, microseconds=microseconds),
        st.integers(0, 200),
        st.sampled_from([0, 0, 0, 1, 500_000]),
    )


@st.composite
def _whole_intervals(draw: st.DrawFn) -> WholeInterval:
    start = draw(instants())
    return WholeInterval(start=start, end=start + draw(st.sampled_from([1, 30, 365])) * timedelta(days=1))


def _seldom(strategy: st.SearchStrategy[str]) -> st.SearchStrategy[str | None]:
    return st.one_of(st.none(), st.none(), st.none(), strategy)


def _few(strategy: st.SearchStrategy[str]) -> st.SearchStrategy[tuple[str, ...]]:
    return st.one_of(st.just(()), st.just(()), st.lists(strategy, max_size=2).map(tuple))


_PLAIN = st.just(Witness())
_TANGLED = st.builds(
    Witness,
    fragment=st.one_of(st.just(Witness().fragment), _FRAGMENTS),
    author=st.sampled_from(["p1", "p2", "p3"]),
    group=st.one_of(st.none(), st.just(Witness().group), st.sampled_from(["g1", "g2", "g3"])),
    key=_seldom(st.sampled_from(["k1", "k2"])),
    text=st.one_of(st.none(), st.just(Witness().text), st.sampled_from(["t1", "t2", "t3"])),
    inherits=_few(_LABELS),
    adopted_from=_seldom(_FRAGMENTS),
    derived_from=_few(_FRAGMENTS),
    resembles=_few(_FRAGMENTS),
    authoritative=st.sampled_from([False, False, True]),
    effective=st.sampled_from([True, True, True, False]),
    since=st.one_of(st.none(), _whole_intervals()),
    since_verified=st.sampled_from([True, True, False]),
    minute=st.one_of(st.none(), st.integers(0, 5)),
)


@st.composite
def _members(draw: st.DrawFn) -> Member:
    valid_from = draw(st.one_of(st.none(), instants()))
    valid_to = draw(st.one_of(st.none(), instants()))
    if valid_from is not None and valid_to is not None:
        valid_from, valid_to = min(valid_from, valid_to), max(valid_from, valid_to)
    return Member(
        witnesses=tuple(draw(st.lists(st.one_of(_PLAIN, _TANGLED), max_size=_SUPPORTS))),
        owner=draw(st.sampled_from(["p1", "p2", "p3"])),
        valid_from=valid_from,
        valid_from_basis=draw(st.sampled_from(TimeBasis)),
        valid_to=valid_to,
        record=draw(st.sampled_from([False, False, False, False, True])),
    )


@st.composite
def case_snapshots(draw: st.DrawFn) -> CaseSnapshot:
    """Any snapshot of up to three positions; the moment of the look is before, at or after the deadline."""
    names = draw(st.permutations(["A", "B", "C"]))[: draw(st.sampled_from([0, 1, 2, 2, 2, 3, 3]))]
    sides = [Side(name=name, members=tuple(draw(st.lists(_members(), min_size=1, max_size=2)))) for name in names]
    return case(*sides, now=draw(st.sampled_from([BEFORE_DEADLINE, DEADLINE, AFTER_DEADLINE])))


@st.composite
def shuffled(draw: st.DrawFn, snapshot: CaseSnapshot) -> CaseSnapshot:
    """The same snapshot with every list in another order."""

    def mixed(member: SnapshotMember) -> SnapshotMember:
        supports = tuple(
            replace(
                support,
                inherited_labels=tuple(draw(st.permutations(support.inherited_labels))),
                derived_from_fragment_ids=tuple(draw(st.permutations(support.derived_from_fragment_ids))),
                near_duplicate_fragment_ids=tuple(draw(st.permutations(support.near_duplicate_fragment_ids))),
            )
            for support in draw(st.permutations(member.supports))
        )
        return replace(member, supports=supports)

    positions = tuple(
        replace(position, members=tuple(mixed(member) for member in draw(st.permutations(position.members))))
        for position in draw(st.permutations(snapshot.positions))
    )
    return replace(snapshot, positions=positions)


@st.composite
def contested_snapshots(draw: st.DrawFn) -> CaseSnapshot:
    """Snapshots that the rules have something to say about: one big side of independent witnesses, small other ones."""
    dates = st.one_of(st.none(), _whole_intervals())

    def witnesses(most: int) -> tuple[Witness, ...]:
        since = draw(dates)
        return tuple(
            Witness(since=since, authoritative=draw(st.sampled_from([False, False, False, False, True])))
            for _ in range(draw(st.integers(1, most)))
        )

    def members(most: int, owner: str) -> tuple[Member, ...]:
        record = draw(st.sampled_from([False, False, False, False, True]))
        valid_from = draw(st.one_of(st.none(), instants()))
        return (Member(witnesses=witnesses(most), owner=owner, valid_from=valid_from, record=record),)

    sides = [Side(name="A", members=members(9, "p1")), Side(name="B", members=members(2, "p2"))]
    if draw(st.booleans()):
        sides.append(Side(name="C", members=members(1, "p3")))
    return case(*sides, now=draw(st.sampled_from([BEFORE_DEADLINE, DEADLINE, AFTER_DEADLINE])))
