"""Token buckets per key, on a clock that the test sets."""

from __future__ import annotations

import pytest
from corrigenda_core.domain.actors import Caller, KeyScope
from corrigenda_core.domain.errors import Reason, Refusal
from corrigenda_core.domain.ids import KeyId, ProfileId, TeamId
from corrigenda_core.rpc.rate_limit import RateLimit, RateLimiter, RateLimits


def caller(key: str, team: str = "") -> Caller:
    """Who calls with a key; of a team of its own unless one is named."""
    return Caller(
        team_id=TeamId(team or key), profile_id=ProfileId("p"), key_id=KeyId(key), scopes=frozenset({KeyScope.READ})
    )


A, B, C = caller("a"), caller("b"), caller("c")


class Clock:
    """Seconds that pass when the test says so."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def of_keys(limit: RateLimit, clock: Clock, *, remembered_max: int = 100) -> RateLimiter:
    """A limiter under which keys alone matter."""
    return RateLimiter(RateLimits(key=limit), clock=clock, remembered_max=remembered_max)


def passes(limiter: RateLimiter, by: Caller) -> bool:
    """Whether one more call of the key is let through."""
    try:
        limiter.count(by)
    except Refusal:
        return False
    return True


def calls_until_refused(limiter: RateLimiter, by: Caller) -> int:
    """How many calls of the key are let through at once."""
    return next(count for count in range(1000) if not passes(limiter, by))


def test_a_burst_passes_then_the_rate_holds() -> None:
    clock = Clock()
    limiter = of_keys(RateLimit(calls_per_second=2.0, burst_calls=3), clock)
    assert calls_until_refused(limiter, A) == 3
    clock.now += 0.5
    assert calls_until_refused(limiter, A) == 1
    clock.now += 1000.0
    assert calls_until_refused(limiter, A) == 3


def test_a_refused_caller_is_told_when_the_next_call_passes() -> None:
    clock = Clock()
    limiter = of_keys(RateLimit(calls_per_second=2.0, burst_calls=1), clock)
    limiter.count(A)
    with pytest.raises(Refusal) as caught:
        limiter.count(A)
    assert (caught.value.reason, caught.value.retry_after_seconds) == (Reason.RATE_LIMITED, 0.5)
    clock.now += 0.5
    assert passes(limiter, A)


def test_keys_are_counted_apart() -> None:
    limiter = of_keys(RateLimit(calls_per_second=1.0, burst_calls=2), Clock())
    calls_until_refused(limiter, A)
    assert calls_until_refused(limiter, B) == 2


def test_a_team_has_a_quota_for_all_its_keys_and_teams_are_counted_apart() -> None:
    limits = RateLimits(team=RateLimit(calls_per_second=1.0, burst_calls=3))
    limiter = RateLimiter(limits, clock=Clock())
    first, second, other = caller("a", "t"), caller("b", "t"), caller("c", "u")
    assert [passes(limiter, by) for by in (first, second, first, second, other)] == [True, True, True, False, True]


def test_a_key_beyond_its_own_quota_takes_nothing_from_its_team() -> None:
    limits = RateLimits(
        key=RateLimit(calls_per_second=0.01, burst_calls=1), team=RateLimit(calls_per_second=0.01, burst_calls=2)
    )
    limiter = RateLimiter(limits, clock=Clock())
    greedy, modest = caller("a", "t"), caller("b", "t")
    assert [passes(limiter, by) for by in (greedy, greedy, greedy, modest)] == [True, False, False, True]
    with pytest.raises(Refusal) as caught:
        limiter.count(greedy)
    assert caught.value.metadata == {"quota": "calls_per_second_of_key"}


def test_memory_is_bounded_and_the_longest_unused_key_is_forgotten_first() -> None:
    limiter = of_keys(RateLimit(calls_per_second=1.0, burst_calls=1), Clock(), remembered_max=2)
    assert [passes(limiter, by) for by in (A, B, A, C)] == [True, True, False, True]
    assert not passes(limiter, A)
    assert passes(limiter, B)


@pytest.mark.parametrize(("rate", "burst"), [(0.0, 1), (-1.0, 1), (1.0, 0)])
def test_a_limit_that_lets_nothing_through_is_refused(rate: float, burst: int) -> None:
    with pytest.raises(ValueError, match="positive"):
        RateLimit(calls_per_second=rate, burst_calls=burst)
