"""The call that is being served: who calls, under which id, and until when. Handlers ask for it by `current_call`."""

from __future__ import annotations

import asyncio
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

from corrigenda_core.domain.actors import Caller


@dataclass(frozen=True, slots=True, kw_only=True)
class CallContext:
    """One authenticated call; ``deadline`` is a time of the running event loop's clock, in seconds.

    ``stopping`` is set when the server drains: whoever waits for more to send ends the stream then.
    """

    method: str
    request_id: str
    caller: Caller
    deadline: float
    stopping: asyncio.Event

    @property
    def remaining_seconds(self) -> float:
        """Time left until the deadline, never negative."""
        return max(0.0, self.deadline - asyncio.get_running_loop().time())


_current: ContextVar[CallContext] = ContextVar("corrigenda_call")


def current_call() -> CallContext:
    """The call that the running task serves.

    Raises:
        LookupError: outside a call; only a handler, and what it calls, may ask.
    """
    return _current.get()


def enter_call(call: CallContext) -> None:
    """Makes ``call`` the one that the running task serves. Every call is served by a task of its own."""
    _current.set(call)


def authorization_of(context: Any) -> str:
    """The credential of the call, as it came: to be passed on to a service that does a part of it, and kept nowhere.

    Args:
        context: what gRPC gives the handler of a call that the gate has admitted.
    """
    metadata = dict(context.invocation_metadata() or ())
    return str(metadata["authorization"])
