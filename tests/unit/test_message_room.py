"""Texts of an answer fit into one message, whatever is found."""

from __future__ import annotations

import pytest
from corrigenda_core.rpc.server import MESSAGE_BYTES_MAX
from corrigenda_recall.message_room import CONTENT_BYTES_MAX, fitting_count

LONGEST = "ü" * (32 * 1024)


@pytest.mark.parametrize(
    ("contents", "count"),
    [
        ([], 0),
        (["a", "b"], 2),
        ([LONGEST] * 48, 48),
        ([LONGEST] * 49, 48),
        ([LONGEST] * 48 + ["one letter more"], 48),
        (["x" * (CONTENT_BYTES_MAX + 1), "y"], 1),
    ],
)
def test_texts_are_taken_while_they_fit(contents: list[str], count: int) -> None:
    assert fitting_count(contents) == count


def test_the_texts_leave_room_for_what_stands_around_them() -> None:
    assert CONTENT_BYTES_MAX + 1024 * 1024 == MESSAGE_BYTES_MAX
