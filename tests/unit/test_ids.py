"""Ids that a planner hands out from one range."""

import uuid

from corrigenda_core.domain.ids import IdRange
from hypothesis import given
from hypothesis import strategies as st

VERSION_7 = (
    st.integers(0, (1 << 128) - 1)
    .map(lambda n: uuid.UUID(int=n, version=4))
    .map(lambda u: uuid.UUID(int=(u.int & ~(0xF << 76)) | (7 << 76)))
)


@given(base=VERSION_7, first=st.integers(0, 10_000), second=st.integers(0, 10_000))
def test_ids_of_one_range_are_distinct_and_stay_version_7(base: uuid.UUID, first: int, second: int) -> None:
    ids = IdRange(base=base)
    assert (ids.nth(first) == ids.nth(second)) == (first == second)
    assert uuid.UUID(ids.nth(first)).version == 7
    assert uuid.UUID(ids.nth(first)).variant == uuid.RFC_4122


@given(base=VERSION_7, path=st.lists(st.integers(0, 3), max_size=3), other=st.lists(st.integers(0, 3), max_size=3))
def test_parts_of_parts_never_meet(base: uuid.UUID, path: list[int], other: list[int]) -> None:
    ids, others = IdRange(base=base), IdRange(base=base)
    for k in path:
        ids = ids.part(k)
    for k in other:
        others = others.part(k)
    near = {ids.nth(n) for n in range(20)} & {others.nth(n) for n in range(20)}
    assert bool(near) == (path == other)
    assert uuid.UUID(ids.nth(0)).version == 7
