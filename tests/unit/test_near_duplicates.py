"""Near-duplicate text: where nine tenths of the shingles begin and end."""

from __future__ import annotations

import pytest
from corrigenda_core.domain.ids import FragmentId
from corrigenda_core.policy.independence import decide_near_duplicates, is_near_duplicate

# Every character differs, so that a text of n characters has n - 4 shingles and its last character is in one of them.
LETTERS = "abcdefghijklmnopqrstuvwxyz"

PAIRS = [
    pytest.param(LETTERS[:23], LETTERS[:22] + "?", True, id="18 of 20 shingles"),
    pytest.param(LETTERS[:22], LETTERS[:21] + "?", False, id="17 of 19 shingles"),
    pytest.param(LETTERS[:13], LETTERS[:14], True, id="9 of 10 shingles"),
    pytest.param(LETTERS[:12], LETTERS[:13], False, id="8 of 9 shingles"),
    pytest.param("main main main main", "main main main main main main", True, id="repetition adds no shingle"),
    pytest.param("main", "main", True, id="equal texts shorter than a shingle"),
    pytest.param("main", "mains", False, id="a text shorter than a shingle is one of its own"),
    pytest.param("", "", False, id="nothing resembles nothing"),
    pytest.param("", "main", False, id="nothing resembles no text"),
]


@pytest.mark.rule("R6.2")
@pytest.mark.parametrize(("text", "other", "expected"), PAIRS)
def test_near_duplicates(text: str, other: str, expected: bool) -> None:
    assert is_near_duplicate(text, other) is is_near_duplicate(other, text) is expected


@pytest.mark.rule("R6.2")
def test_the_near_duplicates_among_candidates_are_named_in_order() -> None:
    candidates = [("f3", LETTERS[:23]), ("f1", LETTERS), ("f2", LETTERS[:22] + "?")]
    found = decide_near_duplicates(LETTERS[:23], [(FragmentId(name), text) for name, text in candidates])
    assert found == ("f2", "f3")
