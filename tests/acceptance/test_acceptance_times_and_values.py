"""Acceptance rows of valid time and of public complaints that times, intervals, normal forms and spans alone decide.

V rows are those of the valid-time table, P rows of the public issues, both by their numbers; P inputs are ours.
"""

import os
import subprocess
import sys
import unicodedata
from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest
from corrigenda_core.domain.errors import Reason, Refusal
from corrigenda_core.domain.objects import ValueObject, ValueType
from corrigenda_core.domain.submissions import ProposedValue
from corrigenda_core.domain.time import ClosedToNothing, Instant, Interval, Side
from corrigenda_core.policy.normalisation import (
    decide_content_hash,
    decide_name_form,
    decide_predicate_key,
    decide_text_form,
    decide_value,
)
from corrigenda_core.policy.spans import QuoteCitation, decide_cited_span
from corrigenda_core.policy.time_words import decide_time_bounds
from corrigenda_core.policy.validity import (
    AllenRelation,
    apply_closing,
    decide_allen_relation,
    decide_common_instant,
    decide_requested_instant,
    decide_requested_interval,
    is_holding_at,
    is_overlapping,
)


def value(type_: ValueType, text: str, unit: str = "") -> ValueObject:
    return decide_value(ProposedValue(type=type_, text=text, unit=unit), field="object_value")


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (value(ValueType.TEXT, "Release "), value(ValueType.TEXT, "release")),
        (value(ValueType.NUMBER, "10 ms"), value(ValueType.NUMBER, "0.01 s")),
        (value(ValueType.NUMBER, "10", "ms"), value(ValueType.NUMBER, "0.01", "s")),
        (value(ValueType.DATE, "1 March 2026"), value(ValueType.DATE, "2026-03-01")),
    ],
)
@pytest.mark.rule("R3.10")
def test_v16_values_written_differently_are_equal(first: ValueObject, second: ValueObject) -> None:
    assert first.key == second.key


def day(number: int) -> Instant:
    return datetime(2026, 1, number, tzinfo=UTC)


def days(start: int, end: int) -> Interval:
    return Interval(start=day(start), end=day(end))


ALLEN = [
    (days(1, 2), days(5, 8), AllenRelation.BEFORE, False),
    (days(1, 5), days(5, 8), AllenRelation.MEETS, False),
    (days(1, 6), days(5, 8), AllenRelation.OVERLAPS, True),
    (days(1, 8), days(5, 8), AllenRelation.FINISHED_BY, True),
    (days(1, 9), days(5, 8), AllenRelation.CONTAINS, True),
    (days(5, 6), days(5, 8), AllenRelation.STARTS, True),
    (days(5, 8), days(5, 8), AllenRelation.EQUALS, True),
    (days(5, 9), days(5, 8), AllenRelation.STARTED_BY, True),
    (days(6, 7), days(5, 8), AllenRelation.DURING, True),
    (days(6, 8), days(5, 8), AllenRelation.FINISHES, True),
    (days(6, 9), days(5, 8), AllenRelation.OVERLAPPED_BY, True),
    (days(8, 9), days(5, 8), AllenRelation.MET_BY, False),
    (days(9, 10), days(5, 8), AllenRelation.AFTER, False),
]


@pytest.mark.parametrize(("first", "second", "relation", "overlapping"), ALLEN, ids=lambda part: str(part)[:12])
@pytest.mark.rule("R4.5")
def test_v20_overlap_is_exact_in_all_thirteen_relations(
    first: Interval, second: Interval, relation: AllenRelation, overlapping: bool
) -> None:
    assert decide_allen_relation(first, second) is relation
    assert is_overlapping(first, second) is overlapping
    assert is_overlapping(second, first) is overlapping


def test_v20_names_every_relation() -> None:
    assert [row[2] for row in ALLEN] == list(AllenRelation)


@pytest.mark.parametrize(
    ("valid_from", "valid_to", "field"),
    [
        pytest.param("2026-03-01T00:00:00Z", "2026-03-01T00:00:00Z", "valid_to", id="empty"),
        pytest.param("2026-03-01T00:00:00Z", "2026-02-01T00:00:00Z", "valid_to", id="inverted"),
        pytest.param(datetime.fromisoformat("2026-03-01"), None, "valid_from", id="naive"),
        pytest.param(None, "2026-03-01T00:00:00", "valid_to", id="naive text"),
        pytest.param("2026-02-30T00:00:00Z", None, "valid_from", id="the 30th of February"),
        pytest.param("0000-03-01T00:00:00Z", None, "valid_from", id="year 0"),
        pytest.param(None, "10000-03-01T00:00:00Z", "valid_to", id="year 10000"),
    ],
)
@pytest.mark.rule("R4.5")
def test_v21_impossible_times_are_refused_by_field(
    valid_from: datetime | str | None, valid_to: datetime | str | None, field: str
) -> None:
    with pytest.raises(Refusal) as refused:
        decide_requested_interval(valid_from, valid_to, field="validity")
    assert (refused.value.reason, refused.value.field) == (Reason.INVALID_FIELD, f"validity.{field}")


@pytest.mark.rule("R3.4")
def test_v21_the_30th_of_february_in_words_is_no_bound() -> None:
    assert decide_time_bounds("since the 30th of February 2026", UTC) == ()


@pytest.mark.rule("R4.5")
def test_p8_values_of_touching_intervals_never_meet() -> None:
    earlier, later = days(1, 5), Interval(start=day(5))
    assert not is_overlapping(earlier, later)
    assert decide_common_instant(earlier, later, day(1)) is None


@pytest.mark.parametrize(("start", "end"), [(day(1), day(1)), (day(9), day(2))])
@pytest.mark.rule("R4.5")
def test_p9_an_empty_period_is_refused_and_what_is_closed_disputes_nothing(start: Instant, end: Instant) -> None:
    with pytest.raises(Refusal):
        decide_requested_interval(start, end, field="validity")
    closed = apply_closing(Interval(start=start), end)
    assert isinstance(closed, ClosedToNothing)
    for other in (Interval(), days(1, 10), closed):
        assert not is_overlapping(closed, other)
        assert decide_common_instant(closed, other, day(1)) is None
    assert not any(is_holding_at(closed, day(number)) for number in range(1, 12))


READING = """
from datetime import UTC
from zoneinfo import ZoneInfo
from corrigenda_core.policy.time_words import decide_time_bounds
from corrigenda_core.policy.validity import decide_requested_instant
print(decide_requested_instant("2026-07-25T02:00:00Z", field="at"))
print(decide_time_bounds("from 25 July 2026 02:00 to 2026-07-26T02:00:00+08:00", ZoneInfo("Europe/Berlin")))
"""


def test_p21_every_machine_zone_gives_the_same_answers() -> None:
    answers = {
        subprocess.run(
            [sys.executable, "-c", READING], env={**os.environ, "TZ": zone}, capture_output=True, text=True, check=True
        ).stdout
        for zone in ("UTC", "Asia/Shanghai", "America/Los_Angeles")
    }
    assert len(answers) == 1
    assert "2026-07-25 02:00:00+00:00" in answers.pop()


@pytest.mark.rule("R4.5")
def test_p22_an_instant_stays_the_instant_it_was_given_as() -> None:
    given = decide_requested_instant("2025-07-25T02:00:00Z", field="at")
    assert given == decide_requested_instant("2025-07-24T19:00:00-07:00", field="at")
    assert given.isoformat() == "2025-07-25T02:00:00+00:00"


@pytest.mark.rule("R4.5")
def test_p23_p24_p25_a_naive_time_is_refused_before_it_can_be_compared() -> None:
    for naive in (datetime.fromisoformat("2026-06-01T12:45:00"), "2026-06-01T12:45:00"):
        with pytest.raises(Refusal, match="offset") as refused:
            decide_requested_instant(naive, field="evidence[0].occurred_at")
        assert refused.value.field == "evidence[0].occurred_at"
    aware = decide_requested_instant("2026-06-01T12:45:00+08:00", field="at")
    assert is_holding_at(Interval(start=aware), decide_requested_instant("2026-06-01T04:45:00Z", field="at"))


@pytest.mark.promise("time.words")
@pytest.mark.rule("R3.4")
def test_p26_local_words_are_read_in_the_teams_zone_and_explicit_offsets_as_written() -> None:
    shanghai = ZoneInfo("Asia/Shanghai")
    local, explicit = "since 1 June 2026 12:45", "since 2026-06-01T12:45:00+08:00"
    for text in (local, explicit):
        (bound,) = decide_time_bounds(text, shanghai)
        assert bound.at == datetime(2026, 6, 1, 4, 45, tzinfo=UTC)
        assert text[bound.span.start : bound.span.end] == text


@pytest.mark.rule("R3.4", "R3.10")
def test_p27_the_offset_that_was_written_stays_beside_the_instant() -> None:
    written = "2026-06-01T19:00:00-07:00"
    kept = value(ValueType.INSTANT, written)
    assert (kept.canonical, kept.display) == ("2026-06-02T02:00:00Z", written)
    (bound,) = decide_time_bounds("since 1 June 2026", ZoneInfo("America/Los_Angeles"))
    assert bound.at == datetime(2026, 6, 1, 7, tzinfo=UTC)
    assert bound.side is Side.START


WORDS_WITH_ACCENTS = ["naïve", "Zürich", "São Paulo", "Ångström", "señor", "crème brûlée", "Đà Nẵng", "Łódź", "Ünal"]


@pytest.mark.parametrize("word", WORDS_WITH_ACCENTS)
@pytest.mark.rule("R3.10")
def test_p57_composed_and_decomposed_forms_are_one_name_one_key_one_value(word: str) -> None:
    composed, decomposed = unicodedata.normalize("NFC", word), unicodedata.normalize("NFD", word)
    assert composed != decomposed
    assert decide_name_form(composed, field="name") == decide_name_form(decomposed, field="name")
    assert decide_predicate_key(composed, field="key") == decide_predicate_key(decomposed, field="key")
    assert value(ValueType.TEXT, composed).key == value(ValueType.TEXT, decomposed).key
    assert decide_content_hash(composed) == decide_content_hash(decomposed)


@pytest.mark.promise("kept.evidence")
@pytest.mark.rule("R3.1")
def test_p57_evidence_itself_is_cited_verbatim() -> None:
    stored, quoted = unicodedata.normalize("NFD", "in Zürich"), unicodedata.normalize("NFC", "Zürich")
    with pytest.raises(Refusal) as refused:
        decide_cited_span([stored], QuoteCitation(evidence_index=0, quote=quoted), field="evidence[0]")
    assert refused.value.reason is Reason.QUOTE_NOT_FOUND


@pytest.mark.parametrize(
    ("word", "form"),
    [
        ("서울 특별시", "서울 특별시"),
        ("ガイドブック", "ガイドブック"),
        ("ﾊﾟｿｺﾝ", "パソコン"),
        ("Ｔｏｋｙｏ　タワー", "tokyo タワー"),
        ("㍻", "平成"),
    ],
)
@pytest.mark.rule("R3.10")
def test_p58_korean_and_japanese_of_any_form_have_one_normal_form(word: str, form: str) -> None:
    shapes = {unicodedata.normalize(shape, word) for shape in ("NFC", "NFD", "NFKC", "NFKD")} | {word}
    assert {decide_text_form(shape) for shape in shapes} == {form}


@pytest.mark.rule("R3.10")
def test_p57_accents_are_not_folded_away() -> None:
    assert decide_text_form("Zürich") != decide_text_form("Zurich")
