"""Which letters belong to scripts that put no space between words."""

from __future__ import annotations

from bisect import bisect_right

# First and last code point of each block, in order. Hangul is not among them: Korean puts spaces between words.
_UNSPACED_BLOCKS = (
    (0x0E00, 0x0EFF),  # Thai, Lao
    (0x0F00, 0x0FFF),  # Tibetan
    (0x1000, 0x109F),  # Myanmar
    (0x1780, 0x17FF),  # Khmer
    (0x1950, 0x19DF),  # Tai Le, New Tai Lue
    (0x1A20, 0x1AAF),  # Tai Tham
    (0x2E80, 0x2FDF),  # CJK and Kangxi radicals
    (0x3005, 0x3007),  # ideographic repetition, closing and zero
    (0x3041, 0x312F),  # Hiragana, Katakana, Bopomofo
    (0x31A0, 0x31BF),  # Bopomofo, extended
    (0x31F0, 0x31FF),  # Katakana, extended
    (0x3400, 0x4DBF),  # ideographs, extension A
    (0x4E00, 0x9FFF),  # ideographs
    (0xA9E0, 0xA9FF),  # Myanmar, extended B
    (0xAA60, 0xAADF),  # Myanmar, extended A; Tai Viet
    (0xF900, 0xFAFF),  # compatibility ideographs
    (0xFF66, 0xFF9F),  # half-width Katakana
    (0x1AFF0, 0x1B16F),  # Kana, extended and supplement
    (0x20000, 0x3FFFD),  # ideographs, supplementary planes
)
_FIRSTS = tuple(first for first, _ in _UNSPACED_BLOCKS)


def is_unspaced(character: str) -> bool:
    """Whether a letter is of a script without word breaks: there a word is found by pairs of neighbouring letters."""
    code_point = ord(character)
    block = bisect_right(_FIRSTS, code_point) - 1
    return block >= 0 and code_point <= _UNSPACED_BLOCKS[block][1]
