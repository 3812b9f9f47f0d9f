"""Large texts are read beside the event loop, small ones on the spot."""

import threading

import pytest
from corrigenda_ingest.computing import INLINE_CODE_POINTS_MAX, computed


@pytest.mark.parametrize(
    ("code_points", "is_beside"), [(INLINE_CODE_POINTS_MAX, False), (INLINE_CODE_POINTS_MAX + 1, True)]
)
async def test_only_what_takes_long_leaves_the_loop(code_points: int, is_beside: bool) -> None:
    thread = await computed(code_points, threading.get_ident)
    assert (thread != threading.get_ident()) is is_beside


async def test_what_goes_wrong_comes_back() -> None:
    with pytest.raises(ZeroDivisionError):
        await computed(INLINE_CODE_POINTS_MAX + 1, lambda: 1 // 0)
