"""What a process tells probes over plain HTTP: a worker's loop beats, a server takes calls or does not."""

from __future__ import annotations

import time
from collections.abc import Callable


class ProcessHealth:
    """Healthy until beats are expected and stay away; read by the thread that answers probes.

    Attributes:
        is_ready: whether calls should come here; a server sets it with its health over gRPC, which a probe that
            cannot show a certificate does not see.

    Args:
        monotonic_seconds: the clock; replaced only by tests.
    """

    def __init__(self, *, monotonic_seconds: Callable[[], float] = time.monotonic) -> None:
        self._monotonic_seconds = monotonic_seconds
        self._silent_seconds_max: float | None = None
        self._last_beat = monotonic_seconds()
        self.is_ready = True

    def expect_beats(self, *, silent_seconds_max: float) -> None:
        """From now on a beat has to come within so many seconds of the last one."""
        self.beat()
        self._silent_seconds_max = silent_seconds_max

    def beat(self) -> None:
        """The loop has gone round once, and what it depends on has answered."""
        self._last_beat = self._monotonic_seconds()

    @property
    def silent_seconds(self) -> float:
        """How long ago the last beat was."""
        return self._monotonic_seconds() - self._last_beat

    @property
    def is_healthy(self) -> bool:
        """Whether no beat is missing."""
        return self._silent_seconds_max is None or self.silent_seconds <= self._silent_seconds_max
