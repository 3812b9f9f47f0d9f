"""Time bounds that words state; and everything that only looks like one."""

from datetime import UTC, datetime, timedelta, tzinfo
from zoneinfo import ZoneInfo

import pytest
from corrigenda_core.domain.time import Side, TextSpan, TimeBound
from corrigenda_core.policy.time_words import decide_time_bounds

BERLIN = ZoneInfo("Europe/Berlin")
MICROSECOND = timedelta(microseconds=1)


def readable(bounds: tuple[TimeBound, ...], zone: tzinfo) -> list[str]:
    """Bounds as ``side from..to @ at`` in the zone's own time, midnights as days."""

    def shown(instant: datetime) -> str:
        return instant.astimezone(zone).replace(tzinfo=None).isoformat().removesuffix("T00:00:00")

    return [f"{b.side.value} {shown(b.whole.start)}..{shown(b.whole.end)} @ {shown(b.at)}" for b in bounds]


START_1_MARCH = "start 2026-03-01..2026-03-02 @ 2026-03-01"
END_2_MARCH = "end 2026-03-02..2026-03-03 @ 2026-03-02"
START_2026 = "start 2026-01-01..2027-01-01 @ 2026-01-01"
END_2026 = "end 2026-01-01..2027-01-01 @ 2027-01-01"


@pytest.mark.parametrize(
    "words",
    [
        "1 March 2026",
        "01 March 2026",
        "1 march 2026",
        "1 Mar 2026",
        "1 Mar. 2026",
        "1 March, 2026",
        "1st March 2026",
        "1st of March 2026",
        "the 1st of March 2026",
        "the 1st of March, 2026",
        "1. March 2026",
        "1-Mar-2026",
        "March 1, 2026",
        "March 1 2026",
        "March 1st, 2026",
        "Mar. 1,2026",
        "2026-03-01",
        "Sunday, 1 March 2026",
        "Sun 1 March 2026",
        "Sunday, March 1, 2026",
        "1\u00a0March\u00a02026",
        "1 March\n2026",
        "1\r\nMarch 2026",
    ],
)
@pytest.mark.parametrize("zone", [UTC, BERLIN], ids=str)
@pytest.mark.rule("R3.4")
def test_every_form_of_a_day(words: str, zone: tzinfo) -> None:
    text = f"We say: since {words} production deploys from release."
    bounds = decide_time_bounds(text, zone)
    assert readable(bounds, zone) == [START_1_MARCH]
    assert text[bounds[0].span.start : bounds[0].span.end] == f"since {words}"


@pytest.mark.parametrize(
    ("words", "whole"),
    [
        ("2026", "2026-01-01..2027-01-01"),
        ("the year 2026", "2026-01-01..2027-01-01"),
        ("year 1066", "1066-01-01..1067-01-01"),
        ("1900", "1900-01-01..1901-01-01"),
        ("2099", "2099-01-01..2100-01-01"),
        ("Q1 2026", "2026-01-01..2026-04-01"),
        ("q4 2026", "2026-10-01..2027-01-01"),
        ("Q3 of 2026", "2026-07-01..2026-10-01"),
        ("Q2/2026", "2026-04-01..2026-07-01"),
        ("2026 Q2", "2026-04-01..2026-07-01"),
        ("2026-Q2", "2026-04-01..2026-07-01"),
        ("2026Q2", "2026-04-01..2026-07-01"),
        ("the third quarter of 2026", "2026-07-01..2026-10-01"),
        ("March 2026", "2026-03-01..2026-04-01"),
        ("Mar 2026", "2026-03-01..2026-04-01"),
        ("March, 2026", "2026-03-01..2026-04-01"),
        ("March of 2026", "2026-03-01..2026-04-01"),
        ("Sept 2026", "2026-09-01..2026-10-01"),
        ("Sep. 2026", "2026-09-01..2026-10-01"),
        ("December 2026", "2026-12-01..2027-01-01"),
        ("2026-03", "2026-03-01..2026-04-01"),
        ("2026-12", "2026-12-01..2027-01-01"),
        ("29 February 2024", "2024-02-29..2024-03-01"),
        ("1 March 0099", "0099-03-01..0099-03-02"),
        ("31 December 9999", "9999-12-31..9999-12-31T23:59:59.999999"),
    ],
)
@pytest.mark.rule("R3.4")
def test_the_whole_interval_that_the_words_name(words: str, whole: str) -> None:
    assert readable(decide_time_bounds(f"(since {words})", UTC), UTC) == [f"start {whole} @ {whole.split('..')[0]}"]


@pytest.mark.parametrize(
    ("words", "utc"),
    [
        ("2026-03-01T09:30:15Z", "2026-03-01 09:30:15"),
        ("2026-03-01T09:30Z", "2026-03-01 09:30"),
        ("2026-03-01t09:30z", "2026-03-01 09:30"),
        ("2026-03-01T09:30:15.250+01:00", "2026-03-01 08:30:15.250"),
        ("2026-03-01T09:30:15,250+0100", "2026-03-01 08:30:15.250"),
        ("2026-03-01 09:30:15-05", "2026-03-01 14:30:15"),
        ("2026-03-01T09:30:15.123456789Z", "2026-03-01 09:30:15.123456"),
        ("2026-03-01 09:30 UTC", "2026-03-01 09:30"),
        ("2026-03-01 09:30 GMT", "2026-03-01 09:30"),
        ("2026-03-01 09:30 UTC+2", "2026-03-01 07:30"),
        ("2026-03-01 09:30 UTC-5", "2026-03-01 14:30"),
        ("2026-03-01T09:30-05:00", "2026-03-01 14:30"),
        ("2026-03-01 09:30 +05:30", "2026-03-01 04:00"),
        ("1 March 2026 at 09:30 UTC", "2026-03-01 09:30"),
        ("1 March 2026, 09:30 UTC", "2026-03-01 09:30"),
        ("March 1, 2026 at 9:30 am UTC", "2026-03-01 09:30"),
        ("March 1, 2026 at 9:30 p.m. UTC", "2026-03-01 21:30"),
        ("March 1, 2026 at 12am UTC", "2026-03-01 00:00"),
        ("March 1, 2026 at 1 AM UTC", "2026-03-01 01:00"),
        ("March 1, 2026 at 11:59 pm UTC", "2026-03-01 23:59"),
        ("March 1, 2026, 12 pm UTC", "2026-03-01 12:00"),
        # Without an offset the words are in the zone, here UTC+1 in winter and UTC+2 in summer.
        ("2026-03-01T09:30", "2026-03-01 08:30"),
        ("2026-07-01 09:30:15", "2026-07-01 07:30:15"),
        ("1 July 2026 at 9:30", "2026-07-01 07:30"),
        ("2026-03-29 02:30", "2026-03-29 01:00"),
        ("2026-10-25 02:30", "2026-10-25 00:30"),
    ],
)
@pytest.mark.rule("R3.4")
def test_an_instant_is_one_microsecond_and_keeps_its_offset_in_the_span(words: str, utc: str) -> None:
    text = f"since {words}, production deploys from release"
    (bound,) = decide_time_bounds(text, BERLIN)
    instant = datetime.fromisoformat(utc).replace(tzinfo=UTC)
    assert (bound.whole.start, bound.whole.end, bound.at) == (instant, instant + MICROSECOND, instant)
    assert text[bound.span.start : bound.span.end] == f"since {words}"


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("Since", "start"),
        ("ever since", "start"),
        ("from", "start"),
        ("as of", "start"),
        ("as from", "start"),
        ("with effect from", "start"),
        ("starting", "start"),
        ("starting from", "start"),
        ("starting on", "start"),
        ("beginning", "start"),
        ("beginning in", "start"),
        ("Effective", "start"),
        ("effective as of", "start"),
        ("effective on", "start"),
        ("valid from:", "start"),
        ("until", "end at from"),
        ("up until", "end at from"),
        ("till", "end at from"),
        ("'til", "end at from"),
        ("through", "end at to"),
        ("thru", "end at to"),
        ("until and including", "end at to"),
        ("up to and including", "end at to"),
    ],
)
@pytest.mark.rule("R3.4")
def test_governing_words(words: str, expected: str) -> None:
    bounds = readable(decide_time_bounds(f"Deploys, {words} 1 March 2026, go on.", UTC), UTC)
    assert (
        bounds
        == {
            "start": [START_1_MARCH],
            "end at from": ["end 2026-03-01..2026-03-02 @ 2026-03-01"],
            "end at to": ["end 2026-03-01..2026-03-02 @ 2026-03-02"],
        }[expected]
    )


@pytest.mark.parametrize(
    ("text", "end"),
    [
        ("from 1 March 2026 to 31 May 2026", "2026-05-31..2026-06-01 @ 2026-06-01"),
        ("from 1 March 2026 up to 31 May 2026", "2026-05-31..2026-06-01 @ 2026-06-01"),
        ("from 1 March 2026 – 31 May 2026", "2026-05-31..2026-06-01 @ 2026-06-01"),
        ("from 1 March 2026 - 31 May 2026", "2026-05-31..2026-06-01 @ 2026-06-01"),
        ("from 1 March 2026 through 31 May 2026", "2026-05-31..2026-06-01 @ 2026-06-01"),
        ("from 1 March 2026 until 31 May 2026", "2026-05-31..2026-06-01 @ 2026-05-31"),
        ("since 1 March 2026, until 31 May 2026", "2026-05-31..2026-06-01 @ 2026-05-31"),
        ("from 1 March 2026 until 31 May 2026 inclusive", "2026-05-31..2026-06-01 @ 2026-06-01"),
        ("from 1 March 2026 until 31 May 2026 (inclusive)", "2026-05-31..2026-06-01 @ 2026-06-01"),
        ("from 1 March 2026 to 31 May 2026, exclusive", "2026-05-31..2026-06-01 @ 2026-05-31"),
        ("effective 1 March 2026 to 31 May 2026", "2026-05-31..2026-06-01 @ 2026-06-01"),
        ("between 1 March 2026 and 31 May 2026", "2026-05-31..2026-06-01 @ 2026-06-01"),
        ("from 1 March 2026 to March 2026", "2026-03-01..2026-04-01 @ 2026-04-01"),
        ("valid from: 1 March 2026, until: 1 June 2026", "2026-06-01..2026-06-02 @ 2026-06-01"),
        ("from 1 March 2026 to 2027", "2027-01-01..2028-01-01 @ 2028-01-01"),
    ],
)
@pytest.mark.rule("R3.4")
def test_ranges(text: str, end: str) -> None:
    assert readable(decide_time_bounds(f"{text} production deploys from release", UTC), UTC) == [
        START_1_MARCH,
        f"end {end}",
    ]


def test_the_spans_of_a_range_cover_each_word_with_its_time() -> None:
    text = "It ran from 1 March 2026 to 31 May 2026 (inclusive), between 2024 and 2025, from 2026 – 2027."
    spans = [text[bound.span.start : bound.span.end] for bound in decide_time_bounds(text, UTC)]
    assert spans == [
        "from 1 March 2026",
        "to 31 May 2026 (inclusive)",
        "between 2024",
        "and 2025",
        "from 2026",
        "– 2027",
    ]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("from 1 March 2026 to main", [START_1_MARCH]),
        ("from 1 March 2026 to the present", [START_1_MARCH]),
        ("from 1 March 2026 onwards", [START_1_MARCH]),
        ("from 1 March 2026 to 30 February 2027", [START_1_MARCH]),
        ("since 1 March 2026 - production deploys from release", [START_1_MARCH]),
        ("since 1 March 2026—production deploys", [START_1_MARCH]),
        ("since 1 March 2026 production deploys from release", [START_1_MARCH]),
        ("production deploys from release since 1 March 2026.", [START_1_MARCH]),
        ("until 2 March 2026 main; since 1 March 2026 release", [END_2_MARCH, START_1_MARCH]),
        ("since since 1 March 2026", [START_1_MARCH]),
        ("cost-effective from 1 March 2026", [START_1_MARCH]),
        ("prices rose since 1 March 2026", [START_1_MARCH]),
        ("prices rose since 2026", [START_2026]),
        ("Google ran it from 2026 on", [START_2026]),
        ("prices rose. From 2026 to 2026 we sold", [START_2026, END_2026]),
        ("since 2026 its status is open", [START_2026]),
        ("since 1 March 2026 at Acme", [START_1_MARCH]),
        ("since 1 March 2026 users sign in", [START_1_MARCH]),
        ("since 2026-03-01T00:00Z users sign in", ["start 2026-03-01..2026-03-01T00:00:00.000001 @ 2026-03-01"]),
        ("since 1 March 2026 10 nodes run", [START_1_MARCH]),
        ("since 2026-03-01 the policy was strict", [START_1_MARCH]),
        ("from 1 March 2026 is the new branch used", [START_1_MARCH]),
    ],
)
@pytest.mark.rule("R3.4")
def test_bounds_among_other_words(text: str, expected: list[str]) -> None:
    assert readable(decide_time_bounds(text, UTC), UTC) == expected


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("", id="empty"),
        pytest.param("production deploys from release", id="from a branch"),
        pytest.param("since 03/04/2026", id="ambiguous numbers"),
        pytest.param("since 31/12/2026", id="numbers with slashes"),
        pytest.param("since 2026/03/01", id="year first with slashes"),
        pytest.param("since 1.3.2026", id="numbers with dots"),
        pytest.param("since 2026.03.01", id="year first with dots"),
        pytest.param("since 20260301", id="run together"),
        pytest.param("since 2026-3-1", id="not padded"),
        pytest.param("since 2026-W10", id="ISO week"),
        pytest.param("since 2026-060", id="ISO ordinal day"),
        pytest.param("since yesterday", id="relative day"),
        pytest.param("since last week", id="relative week"),
        pytest.param("since March", id="month without year"),
        pytest.param("since 1 March", id="day without year"),
        pytest.param("since 1 March 26", id="two-digit year"),
        pytest.param("since March 1, 26", id="two-digit year, month first"),
        pytest.param("from March to May", id="range without year"),
        pytest.param("from March to May 2026", id="year of the second only"),
        pytest.param("since 30 February 2026", id="30 February"),
        pytest.param("since the 30th of February 2026", id="30th of February"),
        pytest.param("since February 30, 2026", id="February 30"),
        pytest.param("since 2026-02-30", id="2026-02-30"),
        pytest.param("since 29 February 2025", id="no leap year"),
        pytest.param("since 0 March 2026", id="day zero"),
        pytest.param("since 2026-00", id="month zero"),
        pytest.param("since 2026-13", id="month thirteen"),
        pytest.param("since 0000-01-01", id="year zero"),
        pytest.param("since 10000-01-01", id="year ten thousand"),
        pytest.param("since 1 March 0000", id="year zero in words"),
        pytest.param("since Q5 2026", id="fifth quarter"),
        pytest.param("since Monday, 1 March 2026", id="not that weekday"),
        pytest.param("1 March 2026 was a Sunday", id="no governing word"),
        pytest.param("production deployed on 1 March 2026", id="on"),
        pytest.param("in 2026", id="in"),
        pytest.param("by March 2026", id="by"),
        pytest.param("before March 2026", id="before"),
        pytest.param("after March 2026", id="after"),
        pytest.param("moved to 1 March 2026", id="to without a start"),
        pytest.param("up to 2026", id="up to without a start"),
        pytest.param("since 1 March 2026 is a Sunday, we rest", id="subject of a clause"),
        pytest.param("Since 2026 was hard, we moved", id="year as a subject"),
        pytest.param("not until 1 March 2026", id="not until"),
        pytest.param("It wasn't until 1 March 2026 that it changed", id="wasn't until"),
        pytest.param("It wasn’t until 1 March 2026 that it changed", id="wasn’t until"),
        pytest.param("since early 2026", id="early"),
        pytest.param("until the end of March 2026", id="end of"),
        pytest.param("since about March 2026", id="about"),
        pytest.param("since before 2020", id="since before"),
        pytest.param("since at least 2020", id="at least"),
        pytest.param("from 5 May 2026 to 1 March 2026", id="inverted range"),
        pytest.param("from 1 March 2026 until 1 March 2026", id="empty range"),
        pytest.param("between 1 March 2026 or so", id="between without and"),
        pytest.param("between 1 March 2026 and release", id="between a time and something else"),
        pytest.param("between main and 1 March 2026", id="between something else and a time"),
        pytest.param("since 2026-03-01T25:00Z", id="hour 25"),
        pytest.param("since 2026-12-31T23:59:60Z", id="leap second"),
        pytest.param("since 2026-03-01T09", id="hour only"),
        pytest.param("since 2026-03-01T09:30:00.1234567890Z", id="ten digits"),
        pytest.param("since 2026-03-01T09:30+01:60", id="no such offset"),
        pytest.param("since 2026-03-01T09:30+24:00", id="offset of a day"),
        pytest.param("since 0001-01-01T00:00+01:00", id="before the first year"),
        pytest.param("since 2026-03-01 13:30 pm", id="13 pm"),
        pytest.param("since 2026-03-01 0:30 am", id="0 am"),
        pytest.param("since 2026-03-01 09:30 PST", id="zone abbreviation"),
        pytest.param("since 2026-03-01 09:30 (CEST)", id="zone abbreviation in brackets"),
        pytest.param("since 2026-03-01 09:30 local time", id="local time"),
        pytest.param("since 2026-03-01 09:30 Pacific Standard Time", id="named zone"),
        pytest.param("since 2026-03-01T09:30[Europe/Paris]", id="zone suffix"),
        pytest.param("since 2026-03-01 10:00-12:00", id="time range"),
        pytest.param("since 1 March 2026 at noon", id="at noon"),
        pytest.param("since 1 March 2026 at 14h", id="at 14h"),
        pytest.param("since 1 March 2026 at 9", id="at 9"),
        pytest.param("since 2026.1 was released", id="version"),
        pytest.param("since 2026-rc1", id="version with a suffix"),
        pytest.param("since 2026%", id="percent"),
        pytest.param("since 2026's release", id="possessive"),
        pytest.param("since 2026–2027", id="dash without spaces"),
        pytest.param("since 1500", id="number out of the range of years"),
        pytest.param("since 2100", id="beyond the range of years"),
        pytest.param("since 12026", id="five digits"),
        pytest.param("from $2026", id="amount"),
        pytest.param("from 2000 to 2050 requests", id="counted after from"),
        pytest.param("between 2000 and 2050 users", id="counted after between"),
        pytest.param("from 2000 to 2050 MB", id="measured"),
        pytest.param("until 2000 rows were read", id="counted after until"),
        pytest.param("The limit was raised from 2019 to 2022", id="changed"),
        pytest.param("The quota went from 2019 to 2022", id="went"),
        pytest.param("dropping the limit from 2022 to 2019", id="dropping"),
        pytest.param("We upgraded the old office suite from 2019", id="upgraded"),
        pytest.param("since\n\n2026", id="another paragraph"),
        pytest.param("since      2026", id="columns"),
        pytest.param("insincere since2026", id="run into the word"),
        pytest.param("valid_from: 2026-03-01", id="inside a name"),
    ],
)
@pytest.mark.rule("R3.4")
def test_nothing_is_guessed(text: str) -> None:
    assert decide_time_bounds(text, UTC) == ()


def test_a_day_that_the_zone_skipped_is_no_day() -> None:
    assert decide_time_bounds("since 30 December 2011", ZoneInfo("Pacific/Apia")) == ()


def test_words_inside_a_mention_are_a_name() -> None:
    text = "production deploys from 2026-03-01 until 5 May 2026, since 4 May 2026"
    branch = TextSpan(start=24, end=34)
    assert text[branch.start : branch.end] == "2026-03-01"
    assert len(decide_time_bounds(text, UTC)) == 3
    bounds = decide_time_bounds(text, UTC, mentions=[branch, TextSpan(start=0, end=10)])
    assert [text[b.span.start : b.span.end] for b in bounds] == ["until 5 May 2026", "since 4 May 2026"]
    assert bounds[0].side is Side.END


def test_a_mention_that_only_touches_the_time_takes_nothing() -> None:
    text = "since 2026: main"
    assert len(decide_time_bounds(text, UTC, mentions=[TextSpan(start=0, end=6), TextSpan(start=10, end=16)])) == 1
    assert decide_time_bounds(text, UTC, mentions=[TextSpan(start=5, end=7)]) == ()
    assert decide_time_bounds(text, UTC, mentions=[TextSpan(start=9, end=16)]) == ()


def test_offsets_are_code_points() -> None:
    text = "🚀 since 2026"
    (bound,) = decide_time_bounds(text, UTC)
    assert bound.span == TextSpan(start=2, end=12)


@pytest.mark.parametrize(
    "words",
    [
        "from 2026-03-01T08:00Z to 2026-03-01T10:00Z",
        "between 2026-03-01T08:00Z and 2026-03-01T10:00Z",
        "since 2026-03-01T08:00Z, through 2026-03-01T10:00Z",
    ],
)
@pytest.mark.rule("R3.4")
def test_an_interval_to_an_exact_instant_meets_the_one_from_it(words: str) -> None:
    *_, end = decide_time_bounds(words, UTC)
    (start,) = decide_time_bounds("from 2026-03-01T10:00Z", UTC)

    assert (end.side, end.at) == (Side.END, start.at)
