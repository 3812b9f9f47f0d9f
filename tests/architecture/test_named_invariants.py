"""Every invariant of the design has a test that is named by its number."""

import re
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]
INVARIANTS = 21


@pytest.mark.promise("Q5")
def test_every_invariant_has_a_test_of_its_number() -> None:
    named = {
        int(number)
        for path in TESTS.rglob("test_*.py")
        for number in re.findall(r"^(?:async )?def test_invariant_(\d\d)_\w+", path.read_text(), re.MULTILINE)
    }
    assert named == set(range(1, INVARIANTS + 1))
