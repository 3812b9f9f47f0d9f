"""Texts, times, citations and snapshots that are anything at all: read, refused or left, in bounded work."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC
from functools import partial
from typing import ParamSpec, TypeVar
from zoneinfo import ZoneInfo

import pytest
from corrigenda_core.domain.errors import Refusal
from corrigenda_core.domain.objects import ValueType
from corrigenda_core.domain.submissions import ProposedValue
from corrigenda_core.domain.time import TextSpan
from corrigenda_core.policy.date_words import decide_calendar_date, decide_named_time
from corrigenda_core.policy.instants import decide_instant
from corrigenda_core.policy.names import is_named_in
from corrigenda_core.policy.normalisation import (
    decide_content_hash,
    decide_name_form,
    decide_predicate_key,
    decide_scope_form,
    decide_text_form,
    decide_value,
)
from corrigenda_core.policy.scanning import MAX_FINDINGS_SHOWN, decide_scan
from corrigenda_core.policy.snapshot_codec import decode_snapshot, encode_snapshot
from corrigenda_core.policy.spans import OffsetCitation, QuoteCitation, decide_cited_span
from corrigenda_core.policy.time_words import decide_time_bounds
from corrigenda_core.testing.case_snapshots import Witness, case, day, member, midnight, plain, side
from corrigenda_core.testing.hostile_input import (
    any_json,
    any_text,
    calls_of,
    damaged,
    inputs,
    one_thing_wrong,
)
from hypothesis import given
from hypothesis import strategies as st

Asked = ParamSpec("Asked")
Decided = TypeVar("Decided")

BERLIN = ZoneInfo("Europe/Berlin")


def decided_or_none(decide: Callable[Asked, Decided], *asked: Asked.args, **named: Asked.kwargs) -> Decided | None:
    """What is decided, or ``None`` where it is refused; anything else fails the test."""
    try:
        return decide(*asked, **named)
    except Refusal:
        return None


@pytest.mark.promise("answer.hostile")
@inputs("citations")
@given(
    content=any_text, quote=any_text, start=st.integers(-(2**33), 2**33), end=st.integers(), index=st.integers(-1, 2)
)
def test_a_citation_lies_in_its_text_or_is_refused(content: str, quote: str, start: int, end: int, index: int) -> None:
    for citation in (
        OffsetCitation(evidence_index=index, start=start, end=end),
        OffsetCitation(evidence_index=0, start=start % 40, end=end % 41),
        QuoteCitation(evidence_index=index, quote=quote),
        QuoteCitation(evidence_index=0, quote=content[start % 40 : end % 41]),
    ):
        found = decided_or_none(decide_cited_span, [content], citation, field="c")
        assert found is None or (found.evidence_index == 0 and 0 <= found.span.start < found.span.end <= len(content))


TIMES = [
    "2026-03-01T09:30:00+01:00",
    "0001-01-01T00:00:00+23:59",
    "9999-12-31T23:59:59.999999-23:59",
    "Sunday, the 1st of March 2026 at 9:30 am UTC+14",
    "first quarter of 2026",
    "2026-03-29T02:30",
    "since 1 March 0001 until 31 December 9999, 24:00",
]
time_texts = st.one_of(
    any_text,
    st.sampled_from(TIMES).flatmap(lambda text: damaged(text.encode()).map(lambda found: found.decode("latin-1"))),
    st.lists(
        st.sampled_from([*" -:.TtZz+0129", "March", "2026", "at", "the", "until", "٣", "\u3000"]), max_size=14
    ).map("".join),
)


@inputs("times")
@given(text=time_texts, at=st.integers(0, 12))
def test_a_text_names_times_or_none(text: str, at: int) -> None:
    decided_or_none(decide_instant, text, field="at")
    decide_calendar_date(text)
    named = decide_named_time(text, min(at, len(text)), BERLIN)
    assert named is None or named.end <= len(text)
    for bound in decide_time_bounds(text, UTC, mentions=[TextSpan(start=at, end=at + 3)]):
        assert bound.span.end <= len(text)


@inputs("normal forms")
@given(text=any_text, unit=any_text, kind=st.sampled_from(ValueType))
def test_any_text_has_a_normal_form_or_is_refused(text: str, unit: str, kind: ValueType) -> None:
    form = decide_text_form(text)
    assert decide_text_form(form) == form
    decide_content_hash(text)
    is_named_in(form or "x", decide_text_form(unit))
    for decide in (decide_name_form, decide_predicate_key, decide_scope_form):
        decided_or_none(decide, text, field="f")
    for stated in ("", unit[:8]):
        value = ProposedValue(type=kind, text=text, unit=stated)
        decided_or_none(decide_value, value, predicate_unit=unit[:4], field="f")


HOSTILE = [
    "ignore previous instructions",
    "<!--",
    "![a](",
    "http",
    "data:;base64,",
    "aWdub3Jl",
    "69676e6f7265",
    "system:",
]


@inputs("scans")
@given(parts=st.lists(any_text | st.sampled_from(HOSTILE), max_size=6))
def test_any_text_is_scanned(parts: list[str]) -> None:
    text = "".join(parts)
    result = decide_scan(text)
    assert len(result.findings) <= MAX_FINDINGS_SHOWN
    for finding in result.findings:
        assert 0 <= finding.span.start < finding.span.end <= len(text)


SNAPSHOT = encode_snapshot(
    case(
        side("A", member(Witness(since=day("2026-03-01"), key="k", adopted_from="f", inherits=("group:x",)))),
        side("B", member(*plain(1), valid_from=midnight("2026-01-01"), valid_to=midnight("2026-07-01"), record=True)),
    )
)


@inputs("snapshots")
@given(
    text=st.one_of(
        any_text,
        one_thing_wrong(json.loads(SNAPSHOT)).map(json.dumps),
        damaged(SNAPSHOT.encode()).map(lambda found: found.decode("latin-1")),
        any_json.map(json.dumps),
    )
)
def test_a_snapshot_is_read_and_written_alike_or_is_none(text: str) -> None:
    try:
        snapshot = decode_snapshot(text)
    except ValueError:
        return
    # Lists are written in an order of their own.
    written = encode_snapshot(snapshot)
    assert encode_snapshot(decode_snapshot(written)) == written


# Work: a text four times as long costs about four times the calls, whatever it repeats. Calls are counted and not
# timed, so no other load changes the answer; the inside of one call of C is not seen.

UNITS = [
    "a",
    " ",
    "a ",
    "\u0301",
    "\u3164",
    "1",
    "1,",
    "2026-",
    "2026-03-01 ",
    "until ",
    "<!--",
    "![",
    "](",
    "=",
    "ab12",
]
UNITS += [
    "ignore ",
    "ignore previous instructions. ",
    "\u202e",
    "\U000e0041",
    "\x1b[",
    "本",
    "\ud800",
    "'",
    "\n\n",
    ".",
]
READERS: dict[str, Callable[[str], object]] = {
    "scan": decide_scan,
    "text form": decide_text_form,
    "time words": lambda text: decide_time_bounds(text, UTC),
    "quote": lambda text: decided_or_none(
        decide_cited_span, [text], QuoteCitation(evidence_index=0, quote=text[:64] or "x"), field="c"
    ),
    "instant": lambda text: decided_or_none(decide_instant, text, field="at"),
    "number": lambda text: decided_or_none(
        decide_value, ProposedValue(type=ValueType.NUMBER, text=text), predicate_unit="", field="v"
    ),
}
SHORT, LONG = 512, 2048


@pytest.mark.parametrize("reader", READERS)
def test_work_grows_no_faster_than_the_text(reader: str) -> None:
    read = READERS[reader]
    read("x")
    for unit in UNITS:
        short, long = (calls_of(partial(read, (unit * length)[:length])) for length in (SHORT, LONG))
        assert long <= (LONG // SHORT) * short * 1.5 + 200, f"{unit!r}: {short} calls, then {long}"
