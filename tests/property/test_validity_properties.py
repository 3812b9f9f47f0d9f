"""The interval algebra against membership of sampled instants, and calendar days of every kind of zone."""

import os
from datetime import UTC, datetime, timedelta, tzinfo
from itertools import pairwise, product
from zoneinfo import ZoneInfo

import pytest
from corrigenda_core.domain.ids import PredicateKey
from corrigenda_core.domain.predicates import Predicate, StartGranularity, SupersessionBasis
from corrigenda_core.domain.time import (
    EARLIEST,
    LATEST,
    ClosedToNothing,
    Instant,
    Interval,
    Side,
    TextSpan,
    TimeBound,
    Validity,
    WholeInterval,
)
from corrigenda_core.policy.calendar_days import (
    decide_calendar_day,
    decide_calendar_days,
    decide_wall_clock_instant,
)
from corrigenda_core.policy.validity import (
    AllenRelation,
    Order,
    StatementTimes,
    apply_closing,
    apply_start,
    decide_allen_relation,
    decide_common_instant,
    decide_common_whole,
    decide_intersection,
    decide_known_bounds,
    decide_order,
    decide_whole_instant,
    decide_witness_time,
    is_holding_at,
    is_overlapping,
)
from hypothesis import given, settings
from hypothesis import strategies as st

FULL = os.environ.get("CORRIGENDA_TEST_TIER") == "full"
EXAMPLES = settings(max_examples=2_000 if FULL else 150, deadline=None)

# A small grid of ends makes equal and touching ends frequent; its points and the gaps between them are all the
# instants that can tell two of its intervals apart.
GRID = [datetime(2026, 1, day, tzinfo=UTC) for day in range(2, 9)]
SAMPLES = [instant + timedelta(hours=hours) for instant in [GRID[0] - timedelta(days=1), *GRID] for hours in (0, 12)]

ends = st.sampled_from([None, *GRID])
intervals = st.builds(lambda a, b: (a, b), ends, ends).filter(
    lambda pair: pair[0] is None or pair[1] is None or pair[0] < pair[1]
)
validities = intervals.map(lambda pair: Interval(start=pair[0], end=pair[1])) | ends.map(
    lambda at: ClosedToNothing(at=at)
)
wholes = st.tuples(st.sampled_from(GRID), st.sampled_from(GRID)).filter(lambda pair: pair[0] < pair[1])
wholes = wholes.map(lambda pair: WholeInterval(start=pair[0], end=pair[1]))

ZONES = [
    "UTC",
    "Europe/Berlin",
    "America/New_York",
    "America/Sao_Paulo",
    "America/Goose_Bay",
    "America/Toronto",
    "America/Juneau",
    "Asia/Kathmandu",
    "Asia/Manila",
    "Asia/Shanghai",
    "Australia/Lord_Howe",
    "Africa/Monrovia",
    "Africa/Casablanca",
    "Pacific/Apia",
    "Pacific/Kiritimati",
    "Pacific/Kwajalein",
    "Antarctica/Troll",
    "Etc/GMT+12",
]
zones = st.sampled_from(ZONES).map(ZoneInfo)
history = st.datetimes(datetime.fromisoformat("1800-01-01"), datetime.fromisoformat("2100-01-01"))
instants = (st.datetimes() | history).map(lambda wall: wall.replace(tzinfo=UTC))


def held(validity: Validity) -> set[Instant]:
    return {at for at in SAMPLES if is_holding_at(validity, at)}


@EXAMPLES
@given(first=validities, second=validities)
@pytest.mark.rule("R4.5")
def test_intersection_holds_exactly_where_both_do(first: Validity, second: Validity) -> None:
    shared = decide_intersection(first, second)
    assert held(shared) == held(first) & held(second)
    assert shared == decide_intersection(second, first)
    assert is_overlapping(first, second) == bool(held(first) & held(second))
    assert isinstance(shared, Interval) == bool(held(shared))


@EXAMPLES
@given(first=validities, second=validities, third=validities)
def test_intersection_is_associative_and_idempotent(first: Validity, second: Validity, third: Validity) -> None:
    left = decide_intersection(decide_intersection(first, second), third)
    assert left == decide_intersection(first, decide_intersection(second, third))
    assert decide_intersection(first, first) == first
    assert decide_intersection(first, Interval()) == first


@EXAMPLES
@given(validity=validities, at=st.sampled_from(GRID), later=st.sampled_from(GRID))
@pytest.mark.rule("R4.5")
def test_clips_hold_on_their_side_and_closing_twice_is_closing_at_the_earlier(
    validity: Validity, at: Instant, later: Instant
) -> None:
    assert held(apply_closing(validity, at)) == {instant for instant in held(validity) if instant < at}
    assert held(apply_start(validity, at)) == {instant for instant in held(validity) if instant >= at}
    assert apply_closing(apply_closing(validity, at), later) == apply_closing(validity, min(at, later))


@EXAMPLES
@given(first=validities, second=validities, now=st.sampled_from(SAMPLES))
@pytest.mark.rule("R7.1")
def test_common_instant_is_the_first_sample_that_both_hold_at(first: Validity, second: Validity, now: Instant) -> None:
    shared = sorted(at for at in held(first) & held(second) if at >= now)
    assert decide_common_instant(first, second, now) == (shared[0] if shared else None)


def test_every_allen_relation_agrees_with_membership() -> None:
    """All pairs over five ends and the unknown ones: the thirteen relations, each with its mirror image."""
    some = [None, *GRID[:5]]
    every = [Interval(start=a, end=b) for a, b in product(some, some) if a is None or b is None or a < b]
    mirror = {
        AllenRelation.BEFORE: AllenRelation.AFTER,
        AllenRelation.MEETS: AllenRelation.MET_BY,
        AllenRelation.OVERLAPS: AllenRelation.OVERLAPPED_BY,
        AllenRelation.STARTS: AllenRelation.STARTED_BY,
        AllenRelation.DURING: AllenRelation.CONTAINS,
        AllenRelation.FINISHES: AllenRelation.FINISHED_BY,
        AllenRelation.EQUALS: AllenRelation.EQUALS,
    }
    mirror |= {second: first for first, second in mirror.items()}
    apart = {AllenRelation.BEFORE, AllenRelation.MEETS, AllenRelation.MET_BY, AllenRelation.AFTER}
    inside = {AllenRelation.STARTS, AllenRelation.DURING, AllenRelation.FINISHES, AllenRelation.EQUALS}
    seen = set()
    for first, second in product(every, every):
        relation = decide_allen_relation(first, second)
        seen.add(relation)
        assert decide_allen_relation(second, first) is mirror[relation]
        assert (relation in apart) == (not is_overlapping(first, second))
        assert (relation in inside) == (decide_intersection(first, second) == first)
        assert (relation is AllenRelation.EQUALS) == (first == second)
    assert seen == set(AllenRelation)


@EXAMPLES
@given(first=wholes, second=wholes, third=wholes)
@pytest.mark.rule("R3.4", "R4.7")
def test_whole_intervals_are_ordered_where_every_reading_agrees(
    first: WholeInterval, second: WholeInterval, third: WholeInterval
) -> None:
    def readings(whole: WholeInterval) -> list[Instant]:
        return [at for at in SAMPLES if whole.start <= at < whole.end]

    orders = {(a > b) - (a < b) for a, b in product(readings(first), readings(second))}
    expected = {frozenset({-1}): Order.BEFORE, frozenset({1}): Order.AFTER}.get(frozenset(orders), Order.UNKNOWN)
    assert decide_order(first, second) is expected
    if decide_order(first, second) is decide_order(second, third) is Order.BEFORE:
        assert decide_order(first, third) is Order.BEFORE
    common = decide_common_whole([first, second, third])
    shared = set(readings(first)) & set(readings(second)) & set(readings(third))
    assert (set(readings(common)) if common else set()) == shared


@EXAMPLES
@given(at=instants, zone=zones)
@pytest.mark.rule("R4.9")
def test_calendar_days_follow_each_other_without_gap(at: Instant, zone: tzinfo) -> None:
    day = decide_calendar_day(at, zone)
    assert day.start <= at
    assert at < day.end or at == day.end == LATEST
    for edge in (day.start, day.end - timedelta(microseconds=1)):
        assert decide_calendar_day(edge, zone) == day
    if day.start > EARLIEST:
        assert decide_calendar_day(day.start - timedelta(microseconds=1), zone).end == day.start
    if day.end < LATEST:
        assert decide_calendar_day(day.end, zone).start == day.end


@EXAMPLES
@given(wall=st.datetimes(), other=st.datetimes(), zone=zones)
def test_a_wall_clock_reading_is_the_first_of_its_kind(wall: datetime, other: datetime, zone: tzinfo) -> None:
    instant = decide_wall_clock_instant(wall, zone)
    if 2 <= wall.year <= 9998:
        shown = instant.astimezone(zone).replace(tzinfo=None)
        before = (instant - timedelta(microseconds=1)).astimezone(zone).replace(tzinfo=None)
        assert before < wall <= shown
    earlier, later = sorted((wall, other))
    assert decide_wall_clock_instant(earlier, zone) <= decide_wall_clock_instant(later, zone)


@pytest.mark.parametrize("name", ZONES)
def test_the_days_of_two_centuries_tile_time(name: str) -> None:
    zone, step = ZoneInfo(name), timedelta(days=1)
    days = [datetime(1844, 12, 1, tzinfo=UTC).date() + n * step for n in range(0, 365 * 200, 1 if FULL else 17)]
    runs = [decide_calendar_days(first, second - step, zone) for first, second in pairwise(days)]
    for earlier, later in pairwise(run for run in runs if run is not None):
        assert earlier.end == later.start


times = st.builds(
    StatementTimes,
    bounds=st.lists(
        st.builds(
            lambda side, whole, late: TimeBound(
                side=side,
                whole=whole,
                at=whole.end if late and side is Side.END else whole.start,
                span=TextSpan(start=0, end=1),
            ),
            st.sampled_from(Side),
            wholes,
            st.booleans(),
        ),
        max_size=3,
    ).map(tuple),
    valid_from=ends,
    valid_to=ends,
    occurred_ats=st.lists(st.sampled_from(GRID), max_size=2).map(tuple),
)
predicates = st.builds(
    lambda basis, granularity: Predicate(key=PredicateKey("p"), basis=basis, granularity=granularity),
    st.sampled_from(SupersessionBasis),
    st.sampled_from(StartGranularity),
)


@EXAMPLES
@given(statement=times, predicate=predicates, zone=zones, recorded_at=st.sampled_from(SAMPLES))
@pytest.mark.rule("R4.9")
def test_known_bounds_are_never_inverted_and_the_witness_comes_before_the_end(
    statement: StatementTimes, predicate: Predicate, zone: tzinfo, recorded_at: Instant
) -> None:
    start, end = decide_known_bounds(statement, predicate, zone)
    if start is not None:
        assert start.at == start.whole.start
    if end is not None:
        assert end.at in (end.whole.start, end.whole.end)
        assert decide_witness_time(statement.occurred_ats, recorded_at, end) < end.at
    if start is not None and end is not None:
        assert start.at < end.at
        Interval(start=start.at, end=end.at)


@EXAMPLES
@given(at=instants)
def test_whole_instants_are_total(at: Instant) -> None:
    whole = decide_whole_instant(at)
    assert whole.end - whole.start == timedelta(microseconds=1)
    assert whole.start == at or at == LATEST
