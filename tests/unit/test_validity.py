"""Interval algebra with ends that may be unknown, and the times that count for a statement."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone
from zoneinfo import ZoneInfo

import pytest
from corrigenda_core.domain.errors import Reason, Refusal
from corrigenda_core.domain.ids import PredicateKey
from corrigenda_core.domain.predicates import Predicate, RelationshipKind, StartGranularity, SupersessionBasis
from corrigenda_core.domain.relationships import Status
from corrigenda_core.domain.time import (
    EARLIEST,
    LATEST,
    ClosedToNothing,
    Instant,
    Interval,
    KnownBound,
    Side,
    TextSpan,
    TimeBasis,
    TimeBound,
    Validity,
    WholeInterval,
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
    decide_requested_instant,
    decide_requested_interval,
    decide_whole_instant,
    decide_witness_time,
    is_holding_at,
    is_in_force,
    is_living,
    is_overlapping,
    known_end,
    known_start,
)

MICROSECOND = timedelta(microseconds=1)
BERLIN = ZoneInfo("Europe/Berlin")


def day(number: int, month: int = 1) -> Instant:
    return datetime(2026, month, number, tzinfo=UTC)


def between(start: int | None, end: int | None) -> Interval:
    """Days of January; ``None`` is unknown."""
    return Interval(start=None if start is None else day(start), end=None if end is None else day(end))


def nothing(at: int | None) -> ClosedToNothing:
    return ClosedToNothing(at=None if at is None else day(at))


@pytest.mark.parametrize(
    ("validity", "holds_on"),
    [
        (between(2, 4), [2, 3]),
        (between(None, 4), [1, 2, 3]),
        (between(3, None), [3, 4, 5]),
        (between(None, None), [1, 2, 3, 4, 5]),
        (nothing(3), []),
        (nothing(None), []),
    ],
)
@pytest.mark.rule("R4.5")
def test_a_validity_holds_from_its_start_up_to_but_not_at_its_end(validity: Validity, holds_on: list[int]) -> None:
    assert [number for number in range(1, 6) if is_holding_at(validity, day(number))] == holds_on


@pytest.mark.parametrize("status", list(Status))
def test_only_active_competing_and_superseded_rows_are_in_force(status: Status) -> None:
    living = status in (Status.ACTIVE, Status.COMPETING, Status.SUPERSEDED)
    assert is_in_force(status, between(2, 4), day(3)) == living
    assert not is_in_force(status, between(2, 4), day(4))
    assert is_living(status, between(2, 4)) == living
    assert not is_living(status, nothing(2))


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        (between(1, 5), between(3, 8), between(3, 5)),
        (between(1, 8), between(3, 5), between(3, 5)),
        (between(None, 5), between(3, None), between(3, 5)),
        (between(None, None), between(3, None), between(3, None)),
        (between(None, None), between(None, None), between(None, None)),
        (between(1, 3), between(3, 5), nothing(3)),
        (between(1, 2), between(4, 5), nothing(4)),
        (between(None, 2), between(2, None), nothing(2)),
        (nothing(3), between(1, 5), nothing(3)),
        (nothing(3), between(4, 5), nothing(4)),
        (nothing(None), between(None, 5), nothing(None)),
        (nothing(None), between(2, 5), nothing(2)),
        (nothing(2), nothing(4), nothing(4)),
    ],
)
@pytest.mark.rule("R4.5")
def test_intersection(first: Validity, second: Validity, expected: Validity) -> None:
    assert decide_intersection(first, second) == expected
    assert decide_intersection(second, first) == expected
    assert is_overlapping(first, second) == isinstance(expected, Interval)


@pytest.mark.parametrize(
    ("validity", "at", "expected"),
    [
        (between(2, 6), 4, between(2, 4)),
        (between(2, 6), 6, between(2, 6)),
        (between(2, 6), 8, between(2, 6)),
        (between(2, None), 4, between(2, 4)),
        (between(None, 6), 4, between(None, 4)),
        (between(2, 6), 2, nothing(2)),
        (between(2, 6), 1, nothing(2)),
        (nothing(2), 5, nothing(2)),
        (nothing(None), 5, nothing(None)),
    ],
)
@pytest.mark.rule("R4.5", "R4.15")
def test_closing_never_grows_and_may_leave_nothing(validity: Validity, at: int, expected: Validity) -> None:
    assert apply_closing(validity, day(at)) == expected


@pytest.mark.parametrize(
    ("validity", "at", "expected"),
    [
        (between(2, 6), 4, between(4, 6)),
        (between(2, 6), 1, between(2, 6)),
        (between(None, 6), 4, between(4, 6)),
        (between(2, None), 4, between(4, None)),
        (between(2, 6), 6, nothing(6)),
        (between(2, 6), 9, nothing(9)),
        (nothing(2), 4, nothing(4)),
    ],
)
def test_clipping_at_the_start(validity: Validity, at: int, expected: Validity) -> None:
    assert apply_start(validity, day(at)) == expected


@pytest.mark.parametrize(
    ("first", "second", "now", "expected"),
    [
        (between(1, 5), between(3, 8), 2, 3),
        (between(1, 5), between(3, 8), 4, 4),
        (between(1, 5), between(3, 8), 5, None),
        (between(1, 3), between(3, 8), 1, None),
        (between(None, None), between(None, None), 4, 4),
        (between(7, None), between(None, None), 4, 7),
        (nothing(3), between(1, 5), 1, None),
    ],
)
@pytest.mark.rule("R7.1")
def test_common_instant_not_before_now(first: Validity, second: Validity, now: int, expected: int | None) -> None:
    assert decide_common_instant(first, second, day(now)) == (None if expected is None else day(expected))
    assert decide_common_instant(second, first, day(now)) == (None if expected is None else day(expected))


@pytest.mark.parametrize(
    ("first", "second", "relation"),
    [
        (between(None, 3), between(3, None), AllenRelation.MEETS),
        (between(3, None), between(None, 3), AllenRelation.MET_BY),
        (between(None, 2), between(3, None), AllenRelation.BEFORE),
        (between(3, None), between(None, 2), AllenRelation.AFTER),
        (between(None, None), between(None, None), AllenRelation.EQUALS),
        (between(None, 3), between(None, 5), AllenRelation.STARTS),
        (between(None, 5), between(None, 3), AllenRelation.STARTED_BY),
        (between(3, None), between(1, None), AllenRelation.FINISHES),
        (between(1, None), between(3, None), AllenRelation.FINISHED_BY),
        (between(None, None), between(2, 3), AllenRelation.CONTAINS),
        (between(2, 3), between(None, None), AllenRelation.DURING),
        (between(None, 4), between(2, None), AllenRelation.OVERLAPS),
        (between(2, None), between(None, 4), AllenRelation.OVERLAPPED_BY),
    ],
)
def test_allen_relations_with_unknown_ends(first: Interval, second: Interval, relation: AllenRelation) -> None:
    assert decide_allen_relation(first, second) is relation


def whole(start: int, end: int) -> WholeInterval:
    return WholeInterval(start=day(start), end=day(end))


@pytest.mark.parametrize(
    ("first", "second", "order"),
    [
        (whole(1, 2), whole(3, 4), Order.BEFORE),
        (whole(1, 3), whole(3, 4), Order.BEFORE),
        (whole(3, 4), whole(1, 3), Order.AFTER),
        (whole(1, 4), whole(3, 5), Order.UNKNOWN),
        (whole(1, 31), whole(3, 4), Order.UNKNOWN),
        (whole(1, 2), whole(1, 2), Order.UNKNOWN),
    ],
)
@pytest.mark.rule("R3.4", "R4.7")
def test_whole_intervals_that_overlap_have_no_order(first: WholeInterval, second: WholeInterval, order: Order) -> None:
    assert decide_order(first, second) is order


def test_two_adjacent_instants_are_ordered() -> None:
    assert decide_order(decide_whole_instant(day(1)), decide_whole_instant(day(1) + MICROSECOND)) is Order.BEFORE


@pytest.mark.parametrize(
    ("at", "start"), [(day(1), day(1)), (EARLIEST, EARLIEST), (LATEST, LATEST - MICROSECOND)], ids=str
)
def test_an_instant_names_one_microsecond(at: Instant, start: Instant) -> None:
    assert decide_whole_instant(at) == WholeInterval(start=start, end=start + MICROSECOND)


def test_what_whole_intervals_have_in_common() -> None:
    assert decide_common_whole([]) is None
    assert decide_common_whole([whole(1, 9)]) == whole(1, 9)
    assert decide_common_whole([whole(1, 9), whole(4, 12), whole(2, 8)]) == whole(4, 8)
    assert decide_common_whole([whole(1, 4), whole(4, 9)]) is None


# --- known bounds ----------------------------------------------------------------------------------------------------

EVIDENCE, STATED, OBSERVED = SupersessionBasis


def predicate(basis: SupersessionBasis, granularity: StartGranularity = StartGranularity.INSTANT) -> Predicate:
    return Predicate(key=PredicateKey("deploys_from"), basis=basis, granularity=granularity)


def bound(side: Side, named: WholeInterval, at: Instant | None = None) -> TimeBound:
    return TimeBound(side=side, whole=named, at=at or named.start, span=TextSpan(start=0, end=1))


SINCE_5 = bound(Side.START, whole(5, 6))
UNTIL_9 = bound(Side.END, whole(9, 10))
TO_9 = bound(Side.END, whole(9, 10), day(10))
VERIFIED_5 = KnownBound(at=day(5), whole=whole(5, 6), basis=TimeBasis.EVIDENCE_TIME)
STATED_3 = KnownBound(at=day(3), whole=decide_whole_instant(day(3)), basis=TimeBasis.STATED_TIME)
OBSERVED_2 = KnownBound(at=day(2), whole=decide_whole_instant(day(2)), basis=TimeBasis.OBSERVED_TIME)

NO_TIMES = StatementTimes()
ALL_TIMES = StatementTimes(
    bounds=(UNTIL_9, SINCE_5), valid_from=day(3), valid_to=day(8), occurred_ats=(day(4), day(2), day(3))
)
WITHOUT_WORDS = StatementTimes(valid_from=day(3), valid_to=day(8), occurred_ats=(day(4), day(2)))
ONLY_OBSERVED = StatementTimes(occurred_ats=(day(4), day(2)))


@pytest.mark.parametrize(
    ("times", "basis", "expected"),
    [
        (ALL_TIMES, EVIDENCE, VERIFIED_5),
        (ALL_TIMES, STATED, VERIFIED_5),
        (ALL_TIMES, OBSERVED, VERIFIED_5),
        (WITHOUT_WORDS, EVIDENCE, None),
        (WITHOUT_WORDS, STATED, STATED_3),
        (WITHOUT_WORDS, OBSERVED, STATED_3),
        (ONLY_OBSERVED, EVIDENCE, None),
        (ONLY_OBSERVED, STATED, None),
        (ONLY_OBSERVED, OBSERVED, OBSERVED_2),
        (NO_TIMES, OBSERVED, None),
    ],
)
@pytest.mark.rule("R4.9")
def test_known_start_by_basis(times: StatementTimes, basis: SupersessionBasis, expected: KnownBound | None) -> None:
    assert known_start(times, predicate(basis), UTC) == expected


@pytest.mark.parametrize(
    ("times", "basis", "expected"),
    [
        (ALL_TIMES, EVIDENCE, (day(9), TimeBasis.EVIDENCE_TIME)),
        (ALL_TIMES, OBSERVED, (day(9), TimeBasis.EVIDENCE_TIME)),
        (WITHOUT_WORDS, EVIDENCE, None),
        (WITHOUT_WORDS, STATED, (day(8), TimeBasis.STATED_TIME)),
        (WITHOUT_WORDS, OBSERVED, (day(8), TimeBasis.STATED_TIME)),
        (ONLY_OBSERVED, OBSERVED, None),
    ],
)
@pytest.mark.rule("R4.9")
def test_known_end_by_basis(
    times: StatementTimes, basis: SupersessionBasis, expected: tuple[Instant, TimeBasis] | None
) -> None:
    end = known_end(times, predicate(basis))
    assert (end and (end.at, end.basis)) == expected


@pytest.mark.rule("R4.9")
def test_an_end_at_the_very_first_instant_leaves_that_instant() -> None:
    """An interval without any instant is none: what ends where time begins would crash the fold."""
    ended = bound(Side.END, decide_whole_instant(EARLIEST))
    end = known_end(StatementTimes(bounds=(ended,)), predicate(EVIDENCE))
    assert end is not None
    assert end.at == EARLIEST + MICROSECOND
    assert decide_witness_time((day(1),), day(2), end) == EARLIEST


@pytest.mark.parametrize(
    ("bounds", "start", "end"),
    [
        pytest.param((SINCE_5, bound(Side.START, whole(1, 31))), (day(5), whole(5, 6)), None, id="the narrower counts"),
        pytest.param((SINCE_5, bound(Side.START, whole(7, 8))), None, None, id="contradicting starts count as none"),
        pytest.param((bound(Side.START, whole(5, 6), day(6)),), (day(5), whole(5, 6)), None, id="a start is at from"),
        pytest.param((UNTIL_9, bound(Side.END, whole(1, 31))), None, (day(9), whole(9, 10)), id="until, at from"),
        pytest.param((TO_9, bound(Side.END, whole(1, 31), day(31))), None, (day(10), whole(9, 10)), id="to, at to"),
        pytest.param((UNTIL_9, TO_9), None, None, id="until and to contradict each other"),
    ],
)
@pytest.mark.rule("R3.4", "R4.9")
def test_what_several_verified_bounds_say_together(
    bounds: tuple[TimeBound, ...],
    start: tuple[Instant, WholeInterval] | None,
    end: tuple[Instant, WholeInterval] | None,
) -> None:
    times = StatementTimes(bounds=bounds)
    found_start, found_end = known_start(times, predicate(EVIDENCE), UTC), known_end(times, predicate(EVIDENCE))
    assert (found_start and (found_start.at, found_start.whole)) == start
    assert (found_end and (found_end.at, found_end.whole)) == end


def local_day(number: int, month: int) -> Instant:
    return datetime(2026, month, number, tzinfo=BERLIN).astimezone(UTC)


@pytest.mark.parametrize(
    ("named", "expected"),
    [
        pytest.param(
            decide_whole_instant(datetime(2026, 3, 1, 22, 30, tzinfo=UTC)),
            WholeInterval(start=local_day(1, 3), end=local_day(2, 3)),
            id="an instant is its local day",
        ),
        pytest.param(
            decide_whole_instant(datetime(2026, 3, 1, 23, 30, tzinfo=UTC)),
            WholeInterval(start=local_day(2, 3), end=local_day(3, 3)),
            id="which is not that of UTC",
        ),
        pytest.param(
            WholeInterval(start=local_day(1, 3), end=local_day(1, 4)),
            WholeInterval(start=local_day(1, 3), end=local_day(1, 4)),
            id="a month stays that month",
        ),
        pytest.param(
            decide_whole_instant(datetime(2026, 3, 29, 12, tzinfo=UTC)),
            WholeInterval(start=local_day(29, 3), end=local_day(30, 3)),
            id="the day of 23 hours",
        ),
    ],
)
@pytest.mark.rule("R4.9")
def test_granularity_day_makes_starts_calendar_days_of_the_zone(named: WholeInterval, expected: WholeInterval) -> None:
    times = StatementTimes(bounds=(bound(Side.START, named), UNTIL_9))
    start = known_start(times, predicate(EVIDENCE, StartGranularity.DAY), BERLIN)
    assert start == KnownBound(at=expected.start, whole=expected, basis=TimeBasis.EVIDENCE_TIME)
    assert known_end(times, predicate(EVIDENCE, StartGranularity.DAY)) == known_end(times, predicate(EVIDENCE))


@pytest.mark.rule("R4.11")
def test_an_event_starts_on_its_calendar_day_whatever_its_granularity() -> None:
    at = datetime(2026, 3, 1, 23, 30, tzinfo=UTC)
    event = replace(predicate(STATED), kind=RelationshipKind.EVENT)
    start = known_start(StatementTimes(valid_from=at), event, BERLIN)
    whole_day = WholeInterval(start=local_day(2, 3), end=local_day(3, 3))
    assert start == KnownBound(at=whole_day.start, whole=whole_day, basis=TimeBasis.STATED_TIME)


def test_granularity_day_makes_no_start_where_there_is_none() -> None:
    assert known_start(NO_TIMES, predicate(OBSERVED, StartGranularity.DAY), BERLIN) is None


@pytest.mark.parametrize(
    ("times", "start_at", "end_at"),
    [
        pytest.param(ALL_TIMES, day(5), day(9), id="in order"),
        pytest.param(StatementTimes(bounds=(SINCE_5,)), day(5), None, id="no end"),
        pytest.param(StatementTimes(bounds=(UNTIL_9,)), None, day(9), id="no start"),
        pytest.param(StatementTimes(bounds=(UNTIL_9,), occurred_ats=(day(20),)), None, day(9), id="told afterwards"),
        pytest.param(StatementTimes(bounds=(SINCE_5,), valid_to=day(5)), day(5), None, id="words before statement"),
        pytest.param(StatementTimes(bounds=(SINCE_5, bound(Side.END, whole(2, 3)))), None, None, id="contradiction"),
    ],
)
@pytest.mark.rule("R4.5", "R4.9")
def test_known_bounds_leave_time_between_them(
    times: StatementTimes, start_at: Instant | None, end_at: Instant | None
) -> None:
    start, end = decide_known_bounds(times, predicate(OBSERVED), UTC)
    assert (start and start.at) == start_at
    assert (end and end.at) == end_at


END_6 = KnownBound(at=day(6), whole=whole(6, 7), basis=TimeBasis.EVIDENCE_TIME)
END_EARLIEST = KnownBound(at=EARLIEST, whole=decide_whole_instant(EARLIEST), basis=TimeBasis.EVIDENCE_TIME)


@pytest.mark.parametrize(
    ("occurred_ats", "end", "expected"),
    [
        ((), None, day(20)),
        ((day(4), day(5), day(3)), None, day(5)),
        ((day(5),), END_6, day(5)),
        ((day(6),), END_6, day(6) - MICROSECOND),
        ((day(8),), END_6, day(6) - MICROSECOND),
        ((), END_6, day(6) - MICROSECOND),
        ((), END_EARLIEST, EARLIEST),
    ],
)
@pytest.mark.rule("R4.9")
def test_witness_time(occurred_ats: tuple[Instant, ...], end: KnownBound | None, expected: Instant) -> None:
    assert decide_witness_time(occurred_ats, day(20), end) == expected


# --- requests --------------------------------------------------------------------------------------------------------


def test_a_requested_instant_may_have_any_offset() -> None:
    tokyo = timezone(timedelta(hours=9))
    assert decide_requested_instant(datetime(2026, 3, 1, 8, tzinfo=tokyo), field="at") == datetime(
        2026, 2, 28, 23, tzinfo=UTC
    )
    instant = decide_requested_instant("2026-03-01T08:00:00+09:00", field="at")
    assert instant == datetime(2026, 2, 28, 23, tzinfo=UTC)
    assert instant.utcoffset() == timedelta(0)


@pytest.mark.parametrize(
    ("valid_from", "valid_to", "field", "message"),
    [
        (day(3), day(3), "valid_to", "empty"),
        (day(3), day(2), "valid_to", "inverted"),
        ("2026-03-01T12:00:00+02:00", "2026-03-01T10:00:00Z", "valid_to", "empty"),
        (datetime.fromisoformat("2026-03-01"), None, "valid_from", "offset"),
        (None, datetime.fromisoformat("2026-03-01"), "valid_to", "offset"),
        (datetime(1, 1, 1, tzinfo=timezone(timedelta(hours=1))), None, "valid_from", "years 1 to 9999"),
        (None, datetime(9999, 12, 31, 23, tzinfo=timezone(-timedelta(hours=2))), "valid_to", "years 1 to 9999"),
        ("0000-12-31T00:00:00Z", None, "valid_from", "years 1 to 9999"),
        ("2026-02-30T00:00:00Z", None, "valid_from", "exists"),
        (None, "10000-01-01T00:00:00Z", "valid_to", "years 1 to 9999"),
        (None, EARLIEST, "valid_to", "empty"),
    ],
)
@pytest.mark.rule("R4.5")
def test_refused_intervals_name_the_field(
    valid_from: datetime | str | None, valid_to: datetime | str | None, field: str, message: str
) -> None:
    with pytest.raises(Refusal, match=message) as refused:
        decide_requested_interval(valid_from, valid_to, field="relationships[0].validity")
    assert refused.value.reason is Reason.INVALID_FIELD
    assert refused.value.field == f"relationships[0].validity.{field}"


@pytest.mark.rule("R4.5")
def test_accepted_intervals_keep_what_is_unknown() -> None:
    assert decide_requested_interval(None, None, field="validity") == Interval()
    assert decide_requested_interval(EARLIEST, LATEST, field="validity") == Interval(start=EARLIEST, end=LATEST)
    first = EARLIEST + MICROSECOND
    assert decide_requested_interval(None, first, field="validity") == Interval(end=first)
    assert decide_requested_interval("2026-01-03T00:00:00Z", day(3) + MICROSECOND, field="validity") == Interval(
        start=day(3), end=day(3) + MICROSECOND
    )
