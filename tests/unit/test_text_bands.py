"""Bands: near-duplicates share one, different texts hardly ever do, and every process makes the same."""

from __future__ import annotations

import random

import pytest
from corrigenda_core.persistence.text_bands import BANDS, text_bands
from corrigenda_core.policy.independence import SHINGLE_LENGTH_CHARACTERS, is_near_duplicate

ALPHABET = "abcdefghijklmnopqrstuvwxyz äßжの中"


def likeness(first: str, other: str) -> float:
    a, b = ({t[i : i + SHINGLE_LENGTH_CHARACTERS] for i in range(len(t) - 4)} for t in (first, other))
    return len(a & b) / len(a | b)


def written(chance: random.Random, length: int) -> str:
    return "".join(chance.choice(ALPHABET) for _ in range(length))


def changed(chance: random.Random, text: str, places: int) -> str:
    letters = list(text)
    for _ in range(places):
        letters[chance.randrange(len(letters))] = chance.choice(ALPHABET)
    return "".join(letters)


@pytest.mark.rule("R6.2")
def test_near_duplicates_share_a_band() -> None:
    chance = random.Random(6)
    pairs = [(text := written(chance, chance.randint(60, 900)), changed(chance, text, 1)) for _ in range(400)]
    near = [(one, other) for one, other in pairs if is_near_duplicate(one, other)]
    assert len(near) > 300
    assert all(set(text_bands(one)) & set(text_bands(other)) for one, other in near)


def test_texts_that_have_little_in_common_share_none() -> None:
    chance = random.Random(7)
    pairs = [(text := written(chance, 300), changed(chance, text, 60)) for _ in range(100)]
    assert all(likeness(one, other) < 0.4 for one, other in pairs)
    sharing = sum(bool(set(text_bands(one)) & set(text_bands(other))) for one, other in pairs)
    assert sharing <= 3


@pytest.mark.parametrize(
    ("text", "count"),
    [("", 0), ("a", BANDS), ("main", BANDS), ("a" * 70_000, BANDS), ("\ud800", BANDS)],
    ids=["empty", "one letter", "shorter than a shingle", "one shingle", "half of a pair"],
)
def test_a_text_of_any_length_has_its_bands(text: str, count: int) -> None:
    assert len(text_bands(text)) == count
    assert all(-(2**63) <= band < 2**63 for band in text_bands(text))


def test_bands_are_stored_so_they_never_change() -> None:
    assert text_bands("production deploys from main")[:2] == (4438333711734970945, 3432491604453322670)
