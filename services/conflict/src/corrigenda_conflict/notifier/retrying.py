"""When a message is tried again, and when its endpoint is given up."""

from __future__ import annotations

from dataclasses import dataclass

from corrigenda_conflict.notifier.sender import Failed

# Enough to reach any longest rest; more would only overflow.
_DOUBLINGS_MAX = 40


@dataclass(frozen=True, slots=True, kw_only=True)
class Retrying:
    """How often and how fast: rests are doubled from ``rest_seconds`` to ``rest_seconds_max``."""

    attempts_max: int
    rest_seconds: float
    rest_seconds_max: float

    def rest_after(self, failed: Failed, *, failures: int, draw: float) -> float | None:
        """How long an endpoint rests after its ``failures``-th failure in a row; ``None``: it is given up.

        Args:
            failed: the last failure.
            failures: how many there were with it, from 1.
            draw: a number in [0, 1): the rest lies between a half and the whole, so that endpoints that failed in one
                moment are not tried in one moment.
        """
        if failed.is_final or failures >= self.attempts_max:
            return None
        whole = min(self.rest_seconds_max, self.rest_seconds * 2.0 ** min(failures - 1, _DOUBLINGS_MAX))
        return max(failed.asked_rest_seconds, whole * (0.5 + 0.5 * draw))
