"""Named points on the commit path where a test may stop or kill the process; production arms none."""

from __future__ import annotations

from contextvars import ContextVar
from enum import StrEnum
from typing import Protocol


class Failpoint(StrEnum):
    """Where a commit can be interrupted."""

    AFTER_BEGIN = "after_begin"
    BETWEEN_ROUND_TRIPS = "between_round_trips"
    BEFORE_COMMIT = "before_commit"
    AFTER_COMMIT_BEFORE_REPLY = "after_commit_before_reply"


class Failpoints(Protocol):
    """What happens when a point is reached."""

    def reached(self, point: Failpoint) -> None:
        """Called by the code that passes the point."""
        ...


class Unarmed:
    """No point is armed."""

    def reached(self, point: Failpoint) -> None:
        """Nothing happens."""


UNARMED = Unarmed()

_armed: ContextVar[Failpoints] = ContextVar("corrigenda_failpoints", default=UNARMED)


def arm(failpoints: Failpoints) -> None:
    """Arms points for everything that this context goes on to start; only the launcher of the tests calls it."""
    _armed.set(failpoints)


def armed() -> Failpoints:
    """What is armed here."""
    return _armed.get()
