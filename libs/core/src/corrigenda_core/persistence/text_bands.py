"""Bands of a text: a few numbers of which near-duplicates share at least one, so that an index finds them.

Min-hash signatures in bands (Broder 1997; Leskovec, Rajaraman, Ullman, "Mining of Massive Datasets", 3.4): of two texts
with the likeness ``s`` (Jaccard, shingles of 5 characters) each band is shared with the probability ``s ** 8``, so at
0.9 all 16 are missed together once in ten thousand. Bands only offer; `decide_near_duplicates` compares the texts.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from corrigenda_core.policy.independence import SHINGLE_LENGTH_CHARACTERS

BANDS = 16
ROWS_PER_BAND = 8

_Hashes = NDArray[np.uint64]

# The multipliers of Knuth's and of SplitMix64's mixing; every process must mix alike, for ever.
_SHINGLE_BASE = np.uint64(6364136223846793005)
_STEP = np.uint64(0x9E3779B97F4A7C15)
_MIX_1, _MIX_2 = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
_CHUNK = 4096


def text_bands(normal_text: str) -> tuple[int, ...]:
    """The bands of a text in normal form, as signed 64-bit numbers; an empty text has none."""
    shingles = _shingle_hashes(normal_text)
    if shingles.size == 0:
        return ()
    signature = _signature(shingles)
    rows = signature.reshape(BANDS, ROWS_PER_BAND)
    banded = np.arange(1, BANDS + 1, dtype=np.uint64) * _STEP
    for place in range(ROWS_PER_BAND):
        banded = _mixed(banded ^ rows[:, place])
    return tuple(int(band) for band in banded.view(np.int64))


def _shingle_hashes(text: str) -> _Hashes:
    """One hash for each different shingle; a text shorter than a shingle is one."""
    codes = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), dtype="<u4").astype(np.uint64)
    length = min(SHINGLE_LENGTH_CHARACTERS, codes.size)
    if length == 0:
        return codes
    hashes = np.zeros(codes.size - length + 1, dtype=np.uint64)
    for place in range(length):
        hashes = hashes * _SHINGLE_BASE + codes[place : place + hashes.size]
    return _mixed(np.unique(hashes))


def _signature(shingles: _Hashes) -> _Hashes:
    """For each of the permutations the least hash; in chunks, so that a large text needs no large table."""
    seeds = np.arange(1, BANDS * ROWS_PER_BAND + 1, dtype=np.uint64) * _STEP
    least = np.full(seeds.size, np.iinfo(np.uint64).max, dtype=np.uint64)
    for start in range(0, shingles.size, _CHUNK):
        chunk = shingles[start : start + _CHUNK]
        least = np.minimum(least, _mixed(chunk[None, :] ^ seeds[:, None]).min(axis=1))
    return least


def _mixed(values: _Hashes) -> _Hashes:
    values = (values ^ (values >> np.uint64(30))) * _MIX_1
    values = (values ^ (values >> np.uint64(27))) * _MIX_2
    mixed: _Hashes = values ^ (values >> np.uint64(31))
    return mixed
