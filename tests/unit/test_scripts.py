"""Which letters belong to scripts without word breaks: every block at its ends and one beyond them."""

import pytest
from corrigenda_core.policy.scripts import is_unspaced

BLOCKS = [
    (0x0E00, 0x109F),  # Thai, Lao, Tibetan, Myanmar: three blocks that touch
    (0x1780, 0x17FF),
    (0x1950, 0x19DF),
    (0x1A20, 0x1AAF),
    (0x2E80, 0x2FDF),
    (0x3005, 0x3007),
    (0x3041, 0x312F),
    (0x31A0, 0x31BF),
    (0x31F0, 0x31FF),
    (0x3400, 0x4DBF),
    (0x4E00, 0x9FFF),
    (0xA9E0, 0xA9FF),
    (0xAA60, 0xAADF),
    (0xF900, 0xFAFF),
    (0xFF66, 0xFF9F),
    (0x1AFF0, 0x1B16F),
    (0x20000, 0x3FFFD),
]


@pytest.mark.parametrize(("first", "last"), BLOCKS, ids=[f"{first:04X}" for first, _ in BLOCKS])
def test_a_block_reaches_from_its_first_letter_to_its_last(first: int, last: int) -> None:
    assert [is_unspaced(chr(point)) for point in (first - 1, first, last, last + 1)] == [False, True, True, False]


@pytest.mark.parametrize("touching", [0x0EFF, 0x0F00, 0x0FFF, 0x1000])
def test_blocks_that_touch_leave_no_gap(touching: int) -> None:
    assert is_unspaced(chr(touching))


@pytest.mark.parametrize("letter", ["a", "é", "한", "ж", "1", " "])
def test_other_letters_have_word_breaks(letter: str) -> None:
    assert not is_unspaced(letter)
