"""How often a key may call: one token bucket per key, in the memory of this process."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass

from corrigenda_core.domain.errors import Reason, Refusal
from corrigenda_core.domain.ids import KeyId


@dataclass(frozen=True, slots=True, kw_only=True)
class RateLimit:
    """``calls_per_second`` on average, and ``burst_calls`` at once after a pause; both are positive."""

    calls_per_second: float = 200.0
    burst_calls: int = 400

    def __post_init__(self) -> None:
        if self.calls_per_second <= 0 or self.burst_calls < 1:
            raise ValueError(f"a rate limit needs a positive rate and burst, not {self}")


@dataclass(slots=True)
class _Bucket:
    tokens: float
    at: float


class RateLimiter:
    """Counts calls per key. A bucket that nobody used for long is full, so forgetting it changes nothing."""

    def __init__(
        self,
        limit: RateLimit,
        *,
        clock: Callable[[], float] = time.monotonic,
        keys_max: int = 10_000,
    ) -> None:
        self._limit = limit
        self._clock = clock
        self._keys_max = keys_max
        self._buckets: OrderedDict[KeyId, _Bucket] = OrderedDict()

    def count(self, key_id: KeyId) -> None:
        """Counts one call of the key.

        Raises:
            Refusal: RATE_LIMITED with the time until the next call is possible.
        """
        now = self._clock()
        bucket = self._buckets.pop(key_id, None) or _Bucket(tokens=self._limit.burst_calls, at=now)
        # Back at the end: the order of the buckets is that of their last use.
        self._buckets[key_id] = bucket
        if len(self._buckets) > self._keys_max:
            self._buckets.popitem(last=False)
        refilled = bucket.tokens + (now - bucket.at) * self._limit.calls_per_second
        bucket.tokens, bucket.at = min(self._limit.burst_calls, refilled), now
        if bucket.tokens < 1.0:
            raise Refusal(
                Reason.RATE_LIMITED,
                "the key calls more often than it may",
                metadata={"quota": "calls_per_second"},
                retry_after_seconds=(1.0 - bucket.tokens) / self._limit.calls_per_second,
            )
        bucket.tokens -= 1.0
