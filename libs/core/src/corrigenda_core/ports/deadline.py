"""When a caller stops waiting."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from typing import Self


@dataclass(frozen=True, slots=True, kw_only=True)
class Deadline:
    """An instant of this process's monotonic clock, in seconds; infinite: no deadline."""

    monotonic_seconds: float

    @classmethod
    def after(cls, seconds: float) -> Self:
        """The deadline that many seconds from now."""
        return cls(monotonic_seconds=time.monotonic() + seconds)

    def remaining_seconds(self) -> float:
        """How long until then, at least 0."""
        return max(0.0, self.monotonic_seconds - time.monotonic())

    def timeout_seconds(self) -> float | None:
        """The same as the standard library's timeouts want it: ``None`` without a deadline."""
        return None if math.isinf(self.monotonic_seconds) else self.remaining_seconds()


NO_DEADLINE = Deadline(monotonic_seconds=math.inf)
