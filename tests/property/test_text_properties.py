"""Reading text: total on anything, never inverted, stable under repetition, blind to the machine's own zone."""

import os
import sys
import time
import unicodedata
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from itertools import pairwise
from typing import TypeVar
from zoneinfo import ZoneInfo

import pytest
from corrigenda_core.domain.errors import Reason, Refusal
from corrigenda_core.domain.objects import ValueType
from corrigenda_core.domain.submissions import ProposedValue
from corrigenda_core.domain.time import Side, TextSpan
from corrigenda_core.policy.date_words import decide_calendar_date, decide_named_time
from corrigenda_core.policy.instants import decide_instant
from corrigenda_core.policy.normalisation import (
    decide_content_hash,
    decide_name_form,
    decide_predicate_key,
    decide_scope_form,
    decide_text_form,
    decide_value,
)
from corrigenda_core.policy.spans import OffsetCitation, QuoteCitation, decide_cited_span
from corrigenda_core.policy.time_words import decide_time_bounds
from hypothesis import example, given, settings
from hypothesis import strategies as st

FULL = os.environ.get("CORRIGENDA_TEST_TIER") == "full"
EXAMPLES = settings(max_examples=2_000 if FULL else 150, deadline=None)
ZONE = ZoneInfo("America/New_York")

T = TypeVar("T")


def answer(decide: Callable[[], T]) -> T | Refusal:
    """What a function decides, or its refusal; anything else that it raises fails the test."""
    try:
        return decide()
    except Refusal as refusal:
        return refusal


any_text = st.text(st.characters(), max_size=60)

# Text made of what the reader looks for, so that most of it is nearly a bound.
WORDS = [
    *("since", "until", "from", "to", "as", "of", "between", "and", "through", "effective", "starting", "not", "the"),
    *("1", "30", "31st", "2026", "2025", "0000", "99999", "March", "Feb.", "Q1", "Monday", "quarter", "year", "is"),
    *("2026-03-01", "2026-02-30", "2026-03", "T10:00", "10:00", "24:00", "am", "Z", "UTC", "+01:00", "-", "–", ","),
    *("(inclusive)", "exclusive", "at", "users", "\n", "\u00a0", "03/04/2026", "PST", "."),
]
likely_text = st.lists(st.sampled_from(WORDS), max_size=14).map(lambda words: " ".join(words)) | st.lists(
    st.sampled_from(WORDS), max_size=14
).map("".join)


@EXAMPLES
@given(text=any_text | likely_text, mentions=st.lists(st.tuples(st.integers(0, 40), st.integers(1, 20)), max_size=2))
@pytest.mark.rule("R3.4")
def test_reading_time_words_never_fails_and_never_inverts(text: str, mentions: list[tuple[int, int]]) -> None:
    spans = [TextSpan(start=start, end=start + length) for start, length in mentions]
    bounds = decide_time_bounds(text, ZONE, mentions=spans)
    position = 0
    for bound in bounds:
        assert position <= bound.span.start < bound.span.end <= len(text)
        assert bound.at in (bound.whole.start, bound.whole.end)
        assert bound.side is Side.END or bound.at == bound.whole.start
        position = bound.span.end
    for start, end in pairwise(bounds):
        adjacent = text[start.span.end : end.span.start].strip(" ,\n\u00a0") == ""
        if adjacent and (start.side, end.side) == (Side.START, Side.END):
            assert start.at < end.at


@EXAMPLES
@given(text=likely_text, before=any_text, after=st.sampled_from(["", " go on", ". Go on", ", and more"]))
def test_the_words_of_a_span_say_the_same_by_themselves(text: str, before: str, after: str) -> None:
    whole = f"{before}\n\n{text}{after}"
    for bound in decide_time_bounds(whole, ZONE):
        words = whole[bound.span.start : bound.span.end]
        alone = decide_time_bounds(words, ZONE)
        if bound.side is Side.START:
            assert [(b.side, b.whole, b.at) for b in alone] == [(bound.side, bound.whole, bound.at)]


days = st.dates(min_value=date(1, 1, 2), max_value=date(9998, 12, 31))
DAY_FORMS = ["%d %B %Y", "%B %d, %Y", "%d %b %Y", "%Y-%m-%d", "the %d of %B, %Y", "%A, %d %B %Y", "%d-%b-%Y"]


def written(day: date, form: str) -> str:
    """``day`` in a form; ``%Y`` is padded by hand, because some platforms do not."""
    return day.strftime(form.replace("%Y", f"{day.year:04d}"))


@EXAMPLES
@given(day=days, form=st.sampled_from(DAY_FORMS))
@pytest.mark.rule("R3.4", "R3.10")
def test_a_written_day_is_read_back(day: date, form: str) -> None:
    words = written(day, form)
    assert decide_calendar_date(words) == day
    named = decide_named_time(words, 0, UTC)
    assert named is not None
    assert (named.whole.start.date(), named.whole.end - named.whole.start) == (day, timedelta(days=1))


@EXAMPLES
@given(
    at=st.datetimes(min_value=datetime.fromisoformat("0002-01-01"), max_value=datetime.fromisoformat("9998-01-01")),
    offset=st.integers(-23 * 60, 23 * 60),
)
@pytest.mark.rule("R3.4", "R4.5")
def test_an_instant_is_the_same_in_every_offset(at: datetime, offset: int) -> None:
    instant = at.replace(tzinfo=UTC)
    sign, minutes = ("-", -offset) if offset < 0 else ("+", offset)
    wall = at + timedelta(minutes=offset)
    text = f"{wall.isoformat()}{sign}{minutes // 60:02d}:{minutes % 60:02d}"
    assert decide_instant(text, field="at") == instant
    (bound,) = decide_time_bounds(f"since {text}", ZONE)
    assert bound.at == instant


@contextmanager
def machine_zone(name: str) -> Iterator[None]:
    """Runs with another zone of the machine; the environment is what is under test."""
    before = os.environ.get("TZ")
    os.environ["TZ"] = name
    time.tzset()
    try:
        yield
    finally:
        os.environ.pop("TZ")
        if before is not None:
            os.environ["TZ"] = before
        time.tzset()


@EXAMPLES
@given(text=likely_text)
@example(text="since 2026-03-08 02:30 and until 1 March 2026 at 10:00")
def test_the_zone_of_the_machine_changes_nothing(text: str) -> None:
    answers = []
    for zone in ("UTC", "Asia/Shanghai", "America/Los_Angeles"):
        with machine_zone(zone):
            answers.append(decide_time_bounds(text, ZONE))
    assert answers[0] == answers[1] == answers[2]


# Few characters that decompose, compose, fold or vanish in every way, so that they meet; below the limit of marks.
folding_text = st.text(
    st.sampled_from("aéß¨ıİ\u0301\u0327\u0344\u0345\u034f가\u1100\u1161\u11a8ﬁᾳ\u00a0ﾊﾟ"), max_size=25
)


@EXAMPLES
@given(text=any_text | folding_text)
@example(text="¨ a\u034f\u0301 \u1e9e İ\u0307 \u0345\u0300")
@pytest.mark.rule("R3.10")
def test_normal_forms_are_stable(text: str) -> None:
    form = decide_text_form(text)
    assert decide_text_form(form) == form
    assert decide_content_hash(form) == decide_content_hash(text)
    shapes = [unicodedata.normalize(shape, text) for shape in ("NFC", "NFD")]
    # The iota subscript changes its place among marks when it is folded before they are put in order.
    if "\u0345" not in shapes[1]:
        shapes += [unicodedata.normalize("NFKC", text), unicodedata.normalize("NFKD", text), text.casefold()]
    assert {decide_text_form(shape) for shape in shapes} == {form}


def test_the_normal_form_of_every_character_is_stable() -> None:
    for number in range(sys.maxunicode + 1):
        character = chr(number)
        form = decide_text_form(character)
        if form != character:
            assert decide_text_form(form) == form, hex(number)
            assert decide_text_form(f"a{character}b") == decide_text_form(f"A{character}B"), hex(number)


@EXAMPLES
@given(text=any_text)
@pytest.mark.rule("R3.5", "R3.10")
def test_keys_and_names_are_stable_or_refused(text: str) -> None:
    for decide in (decide_name_form, decide_predicate_key, decide_scope_form):
        form = answer(lambda decide=decide: decide(text, field="field"))
        if isinstance(form, Refusal):
            assert form.field == "field"
        else:
            assert decide(form, field="field") == form


@EXAMPLES
@given(text=any_text | likely_text | st.from_regex(r"[+-]?[0-9]{1,9}([.,][0-9]{1,9})?( ?(ms|kB|%|x))?"), data=st.data())
@pytest.mark.rule("R3.10")
def test_values_are_canonical_or_refused(text: str, data: st.DataObject) -> None:
    kind = data.draw(st.sampled_from(ValueType))
    value = answer(lambda: decide_value(ProposedValue(type=kind, text=text), field="value"))
    if isinstance(value, Refusal):
        assert value.reason in (Reason.INVALID_FIELD, Reason.TOO_LARGE)
        assert value.field.startswith("value.")
        return
    again = decide_value(ProposedValue(type=kind, text=value.canonical, unit=value.unit), field="value")
    assert again.key == value.key
    assert value.display == text


TIME_UNITS = {"ns": Fraction(1, 10**9), "ms": Fraction(1, 1000), "s": Fraction(1), "min": Fraction(60)}


@EXAMPLES
@given(
    amount=st.decimals(min_value=-(10**12), max_value=10**12, places=6),
    first=st.sampled_from(sorted(TIME_UNITS)),
    second=st.sampled_from(sorted(TIME_UNITS)),
    other=st.decimals(min_value=-(10**12), max_value=10**12, places=6),
)
@pytest.mark.rule("R3.10")
def test_quantities_are_equal_exactly_if_they_are(amount: Decimal, first: str, second: str, other: Decimal) -> None:
    def key(number: Decimal, unit: str) -> str:
        return decide_value(ProposedValue(type=ValueType.NUMBER, text=f"{number:f} {unit}"), field="value").key

    equal = Fraction(amount) * TIME_UNITS[first] == Fraction(other) * TIME_UNITS[second]
    assert (key(amount, first) == key(other, second)) == equal
    converted = Fraction(amount) * TIME_UNITS[first] / TIME_UNITS["ns"]
    assert converted.denominator == 1 or first == "ns"
    if converted.denominator == 1:
        assert key(amount, first) == key(Decimal(converted.numerator), "ns")


@EXAMPLES
@given(
    content=st.text(st.sampled_from("ab🚀\u0301"), min_size=1, max_size=30),
    data=st.data(),
)
@pytest.mark.rule("R3.1")
def test_a_span_and_its_quote_are_the_same_citation(content: str, data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(content) - 1))
    length = data.draw(st.integers(1, len(content) - start))
    by_offset = OffsetCitation(evidence_index=0, start=start, end=start + length)
    cited = decide_cited_span([content], by_offset, field="evidence[0]")
    assert (cited.span.start, cited.span.end) == (start, start + length)
    quote = content[start : start + length]
    matches = sum(content.startswith(quote, position) for position in range(len(content)))
    by_quote = QuoteCitation(evidence_index=0, quote=quote)
    if matches == 1:
        assert decide_cited_span([content], by_quote, field="evidence[0]") == cited
    else:
        with pytest.raises(Refusal) as refused:
            decide_cited_span([content], by_quote, field="evidence[0]")
        assert refused.value.metadata == {"count": str(matches)}


@EXAMPLES
@given(content=any_text, start=st.integers(-3, 70), end=st.integers(-3, 70), index=st.integers(-1, 2))
@pytest.mark.rule("R3.1")
def test_offsets_are_a_span_of_the_text_or_refused(content: str, start: int, end: int, index: int) -> None:
    citation = OffsetCitation(evidence_index=index, start=start, end=end)
    cited = answer(lambda: decide_cited_span([content], citation, field="evidence[0]"))
    if isinstance(cited, Refusal):
        assert cited.reason is Reason.INVALID_FIELD
        assert cited.field.startswith("evidence[0].")
    else:
        assert content[cited.span.start : cited.span.end]
        assert index == 0
