"""How often may be called: a token bucket for each key and for each team, in the memory of this process."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

from corrigenda_core.domain.actors import Caller
from corrigenda_core.domain.errors import Reason, Refusal
from corrigenda_core.domain.ids import KeyId, TeamId


@dataclass(frozen=True, slots=True, kw_only=True)
class RateLimit:
    """``calls_per_second`` on average, and ``burst_calls`` at once after a pause; both are positive."""

    calls_per_second: float
    burst_calls: int

    def __post_init__(self) -> None:
        if self.calls_per_second <= 0 or self.burst_calls < 1:
            raise ValueError(f"a rate limit needs a positive rate and burst, not {self}")


@dataclass(slots=True)
class _Bucket:
    tokens: float
    at: float


@dataclass(frozen=True, slots=True, kw_only=True)
class RateLimits:
    """What one key may do, and what all keys of a team together."""

    key: RateLimit = RateLimit(calls_per_second=200.0, burst_calls=400)
    team: RateLimit = RateLimit(calls_per_second=1000.0, burst_calls=2000)


class RateLimiter:
    """Counts the calls of keys and of teams in the memory of this process: replicas count each for itself."""

    def __init__(
        self, limits: RateLimits, *, clock: Callable[[], float] = time.monotonic, remembered_max: int = 10_000
    ) -> None:
        self._keys: _Buckets[KeyId] = _Buckets(limits.key, "calls_per_second_of_key", clock, remembered_max)
        self._teams: _Buckets[TeamId] = _Buckets(limits.team, "calls_per_second_of_team", clock, remembered_max)

    def count(self, caller: Caller) -> None:
        """Counts one call.

        Raises:
            Refusal: RATE_LIMITED with the quota that is used up, and the time until the next call is possible. A call
                that its key may not make takes nothing from its team.
        """
        self._keys.take(caller.key_id)
        self._teams.take(caller.team_id)


Holder = TypeVar("Holder")


class _Buckets(Generic[Holder]):
    """One bucket for each holder. One that nobody used for long is full, so forgetting it changes nothing."""

    def __init__(self, limit: RateLimit, quota: str, clock: Callable[[], float], remembered_max: int) -> None:
        self._limit = limit
        self._quota = quota
        self._clock = clock
        self._remembered_max = remembered_max
        self._buckets: OrderedDict[Holder, _Bucket] = OrderedDict()

    def take(self, holder: Holder) -> None:
        now = self._clock()
        bucket = self._buckets.pop(holder, None) or _Bucket(tokens=self._limit.burst_calls, at=now)
        # Back at the end: the order of the buckets is that of their last use.
        self._buckets[holder] = bucket
        if len(self._buckets) > self._remembered_max:
            self._buckets.popitem(last=False)
        refilled = bucket.tokens + (now - bucket.at) * self._limit.calls_per_second
        bucket.tokens, bucket.at = min(self._limit.burst_calls, refilled), now
        if bucket.tokens < 1.0:
            raise Refusal(
                Reason.RATE_LIMITED,
                "more calls than the quota allows",
                metadata={"quota": self._quota},
                retry_after_seconds=(1.0 - bucket.tokens) / self._limit.calls_per_second,
            )
        bucket.tokens -= 1.0
