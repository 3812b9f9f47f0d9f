"""Hostile input: texts of any script, JSON of any shape, and valid values with one thing wrong; and how much of each.

In the full tier 200,000 inputs are tried, split as `SHARES` says; in the fast tier one in a hundred of them.
"""

from __future__ import annotations

import copy
import sys
from collections.abc import Callable, Coroutine
from types import FrameType
from typing import Any, TypeVar

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

from corrigenda_core.testing.effort import examples

T = TypeVar("T")

SHARES = {
    "json of any shape": 15_000,
    "json with one thing wrong": 25_000,
    "arguments of tools": 10_000,
    "schemas of tools": 10_000,
    "bytes of a message": 30_000,
    "page tokens": 10_000,
    "sealed tokens": 5_000,
    "impact tokens": 5_000,
    "verification tokens": 5_000,
    "keys": 5_000,
    "headers and addresses": 5_000,
    "citations": 10_000,
    "times": 15_000,
    "normal forms": 15_000,
    "scans": 10_000,
    "snapshots": 10_000,
    "answers of models": 10_000,
    "local models": 5_000,
}
"""How many inputs of each kind the full tier tries."""

_FAST_ONE_IN = 100


def inputs(share: str) -> settings:
    """The settings of a property that tries its share; no wall clock bounds an input, since the machine is shared."""
    count = SHARES[share]
    slow_is_fine = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much]
    return settings(
        max_examples=examples(fast=count // _FAST_ONE_IN, full=count), deadline=None, suppress_health_check=slow_is_fine
    )


# Any code point, unpaired surrogates among them: JSON can write those.
any_characters = st.characters(codec=None)
any_text = st.one_of(
    st.text(any_characters, max_size=40),
    st.text(max_size=40),
    st.text(
        st.sampled_from(
            "aA1 .,-:/+'\"<>\n\t\x00\x1b\u00ad\u0130\u0301\u200d\u202e\u2028\u3164\ufeff本ßﬁـ\U0001f1e6\U000e0041"
        ),
        max_size=60,
    ),
    st.builds(lambda unit, times: unit * times, st.text(min_size=1, max_size=3), st.integers(1, 300)),
)
any_number = st.one_of(
    st.integers(),
    st.floats(),
    st.sampled_from([2**31, -(2**31) - 1, 2**32, 2**63, 2**64, 10**400, -(10**400), 5.0, 1e308, -0.0]),
)
any_json: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | any_number | any_text,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(any_text, inner, max_size=4),
    max_leaves=8,
)
ALWAYS_WRONG: list[Any] = [
    *(True, -1, 1.5, 10**400, float("nan"), float("inf"), [], [[]], {}),
    *("\x00", "\ud800", "\ud800Z", "9" * 5_000),
]
"""What few fields take and what has broken readers before; of any field each is tried in every run."""

likely_wrong: st.SearchStrategy[Any] = st.one_of(
    st.sampled_from(
        [None, True, 0, -1, 1.5, "", "x", "\x00", "\ud800", "2026-01-01T00:00:00Z", "2026-01-01T00:00:00+99:99", [], {}]
    ),
    any_number,
    any_json,
)


@st.composite
def one_thing_wrong(draw: st.DrawFn, valid: Any) -> Any:
    """JSON of a valid value with something of it replaced, taken away, repeated or added."""
    whole = {"": copy.deepcopy(valid)}
    holder: Any = whole
    key: Any = ""
    while isinstance(holder[key], dict | list) and holder[key] and draw(st.integers(0, 5)):
        holder = holder[key]
        key = draw(st.sampled_from(sorted(holder) if isinstance(holder, dict) else range(len(holder))))
    what = draw(st.sampled_from(["replace", "take", "repeat", "add"]))
    if what == "take" and holder is not whole:
        del holder[key]
    elif what == "repeat" and isinstance(holder[key], list | str):
        holder[key] = holder[key] * draw(st.sampled_from([2, 3, 21, 201]))
    elif what == "add" and isinstance(holder[key], dict):
        holder[key][draw(any_text)] = draw(likely_wrong)
    else:
        holder[key] = draw(likely_wrong)
    return whole[""]


@st.composite
def damaged(draw: st.DrawFn, valid: bytes) -> bytes:
    """Bytes that are not the valid ones: a bit turned, a part cut out, doubled, exchanged or added."""
    at, length = draw(st.integers(0, max(len(valid) - 1, 0))), draw(st.integers(1, 16))
    other = draw(st.binary(min_size=1, max_size=16))
    what = draw(st.sampled_from(["turn", "cut", "double", "exchange", "add", "end"]))
    match what:
        case "turn" if valid:
            changed = bytearray(valid)
            changed[at] ^= 1 << draw(st.integers(0, 7))
            return bytes(changed)
        case "cut" if valid:
            return valid[:at] + valid[at + length :]
        case "double" if valid:
            return valid[: at + length] + valid[at:]
        case "end" if valid:
            return valid[:at]
        case "exchange" if valid and other != valid[at : at + len(other)]:
            return valid[:at] + other + valid[at + len(other) :]
        case _:
            return valid[:at] + other + valid[at:]


def result_of(waiting: Coroutine[Any, Any, T]) -> T:
    """The result of a coroutine that waits for nothing, without an event loop for each of many inputs.

    Raises:
        RuntimeError: it waits.
    """
    try:
        waiting.send(None)
    except StopIteration as ended:
        result: T = ended.value
        return result
    waiting.close()
    raise RuntimeError("it waits for something")


def calls_of(run: Callable[[], object]) -> int:
    """How many functions a run calls, of Python and of C: a measure of its work that no other load changes."""
    calls = 0

    def count(_frame: FrameType, event: str, _argument: object) -> None:
        nonlocal calls
        calls += event in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(count)
    try:
        run()
    finally:
        sys.setprofile(before)
    return calls
