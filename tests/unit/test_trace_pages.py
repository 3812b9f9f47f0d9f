"""Pages of a trace: every record once, in the order of the sections, whatever the size of a page."""

from __future__ import annotations

import os

import pytest
from corrigenda_recall.trace_pages import Section, Slice, TracePlace, planned_page
from hypothesis import given, settings
from hypothesis import strategies as st

EXAMPLES = 500 if os.environ.get("CORRIGENDA_TEST_TIER") == "full" else 60

TOTALS = {Section.EVIDENCE: 3, Section.SUPPORTS: 2, Section.CASES: 1}


@pytest.mark.rule("R9.4")
@pytest.mark.parametrize(
    ("start", "size", "slices", "following"),
    [
        (TracePlace(), 6, {"evidence": (0, 3), "supports": (0, 2), "cases": (0, 1)}, None),
        (TracePlace(), 3, {"evidence": (0, 3)}, TracePlace(section=Section.SUPPORTS)),
        (TracePlace(), 2, {"evidence": (0, 2)}, TracePlace(section=Section.EVIDENCE, offset=2)),
        (
            TracePlace(section=Section.EVIDENCE, offset=2),
            2,
            {"evidence": (2, 1), "supports": (0, 1)},
            TracePlace(section=Section.SUPPORTS, offset=1),
        ),
        (TracePlace(section=Section.SUPPORTS, offset=1), 2, {"supports": (1, 1), "cases": (0, 1)}, None),
        (TracePlace(section=Section.LINEAGE), 2, {}, None),
    ],
)
def test_a_page_ends_one_section_and_begins_the_next(
    start: TracePlace, size: int, slices: dict[str, tuple[int, int]], following: TracePlace | None
) -> None:
    page = planned_page(TOTALS, start, size)
    assert page.following == following
    assert page.slices == {Section(name): Slice(offset=at, limit=limit) for name, (at, limit) in slices.items()}


@settings(max_examples=EXAMPLES)
@given(totals=st.dictionaries(st.sampled_from(Section), st.integers(0, 9)), size=st.integers(1, 7))
def test_all_pages_together_show_every_record_once(totals: dict[Section, int], size: int) -> None:
    shown: list[tuple[Section, int]] = []
    place: TracePlace | None = TracePlace()
    while place is not None:
        page = planned_page(totals, TracePlace.of(place.cursor), size)
        records = [(section, part.offset + k) for section, part in page.slices.items() for k in range(part.limit)]
        assert len(records) <= size
        assert len(records) == size or page.following is None
        shown += records
        place = page.following
    assert shown == [(section, number) for section in Section for number in range(totals.get(section, 0))]


def test_no_cursor_is_the_beginning() -> None:
    assert TracePlace.of(()) == TracePlace()
