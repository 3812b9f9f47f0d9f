"""An event loop whose clock jumps to whatever is due next: minutes of waiting pass in the time that the work takes."""

from __future__ import annotations

import asyncio
import selectors
from typing import Any


class _JumpingSelector(selectors.DefaultSelector):
    """Waits for nobody: it lets the time pass that the loop would have waited for."""

    def __init__(self) -> None:
        super().__init__()
        self.now = 0.0

    def select(self, timeout: float | None = None) -> Any:
        self.now += max(0.0, timeout or 0.0)
        return super().select(0)


class JumpingLoop(asyncio.SelectorEventLoop):
    """For code that does nothing but compute and wait: nothing outside of this process has the same clock."""

    def __init__(self) -> None:
        self._jumping = _JumpingSelector()
        super().__init__(self._jumping)

    def time(self) -> float:
        """Seconds since the loop was made, by its own clock."""
        return self._jumping.now
