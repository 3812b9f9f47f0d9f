"""Token buckets per key, on a clock that the test sets."""

from __future__ import annotations

import pytest
from corrigenda_core.domain.errors import Reason, Refusal
from corrigenda_core.domain.ids import KeyId
from corrigenda_core.rpc.rate_limit import RateLimit, RateLimiter

A, B, C = KeyId("a"), KeyId("b"), KeyId("c")


class Clock:
    """Seconds that pass when the test says so."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def passes(limiter: RateLimiter, key: KeyId) -> bool:
    """Whether one more call of the key is let through."""
    try:
        limiter.count(key)
    except Refusal:
        return False
    return True


def calls_until_refused(limiter: RateLimiter, key: KeyId) -> int:
    """How many calls of the key are let through at once."""
    return next(count for count in range(1000) if not passes(limiter, key))


def test_a_burst_passes_then_the_rate_holds() -> None:
    clock = Clock()
    limiter = RateLimiter(RateLimit(calls_per_second=2.0, burst_calls=3), clock=clock)
    assert calls_until_refused(limiter, A) == 3
    clock.now += 0.5
    assert calls_until_refused(limiter, A) == 1
    clock.now += 1000.0
    assert calls_until_refused(limiter, A) == 3


def test_a_refused_caller_is_told_when_the_next_call_passes() -> None:
    clock = Clock()
    limiter = RateLimiter(RateLimit(calls_per_second=2.0, burst_calls=1), clock=clock)
    limiter.count(A)
    with pytest.raises(Refusal) as caught:
        limiter.count(A)
    assert (caught.value.reason, caught.value.retry_after_seconds) == (Reason.RATE_LIMITED, 0.5)
    clock.now += 0.5
    assert passes(limiter, A)


def test_keys_are_counted_apart() -> None:
    limiter = RateLimiter(RateLimit(calls_per_second=1.0, burst_calls=2), clock=Clock())
    calls_until_refused(limiter, A)
    assert calls_until_refused(limiter, B) == 2


def test_memory_is_bounded_and_the_longest_unused_key_is_forgotten_first() -> None:
    limiter = RateLimiter(RateLimit(calls_per_second=1.0, burst_calls=1), clock=Clock(), keys_max=2)
    assert [passes(limiter, key) for key in (A, B, A, C)] == [True, True, False, True]
    assert not passes(limiter, A)
    assert passes(limiter, B)


@pytest.mark.parametrize(("rate", "burst"), [(0.0, 1), (-1.0, 1), (1.0, 0)])
def test_a_limit_that_lets_nothing_through_is_refused(rate: float, burst: int) -> None:
    with pytest.raises(ValueError, match="positive"):
        RateLimit(calls_per_second=rate, burst_calls=burst)
