"""Failpoints armed through the environment: ``CORRIGENDA_FAILPOINTS="between_round_trips=kill@3,before_commit=stop"``.

A process reads them only if it is started through `testing.armed`. ``kill`` and ``stop`` send this process the signal
that nothing can catch (SIGKILL, SIGSTOP); ``@N`` lets the first N - 1 passes go by. Whoever waits for the process sees
both, so that a test never has to sleep.
"""

from __future__ import annotations

import os
import signal
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from corrigenda_core.ports.failpoints import UNARMED, Failpoint, Failpoints

VARIABLE = "CORRIGENDA_FAILPOINTS"
LAUNCHER = "corrigenda_core.testing.armed"
"""The module through which an armed process is started."""

_SIGNALS = {"kill": signal.SIGKILL, "stop": signal.SIGSTOP}


@dataclass(frozen=True, slots=True, kw_only=True)
class _Arming:
    signal: signal.Signals
    at_pass: int


class ArmedFailpoints:
    """Signals this process at the armed passes."""

    def __init__(self, armings: Mapping[Failpoint, _Arming]) -> None:
        self._armings = armings
        self._passes: Counter[Failpoint] = Counter()

    def reached(self, point: Failpoint) -> None:
        """Counts the pass and sends the signal if it is the armed one."""
        self._passes[point] += 1
        arming = self._armings.get(point)
        if arming is not None and self._passes[point] == arming.at_pass:
            os.kill(os.getpid(), arming.signal)


def failpoints_from_environment(environment: Mapping[str, str] = os.environ) -> Failpoints:
    """The failpoints that the environment arms; `UNARMED` if it says nothing.

    Raises:
        ValueError: for an unknown point or action.
    """
    text = environment.get(VARIABLE, "")
    if not text:
        return UNARMED
    return ArmedFailpoints(dict(_arming(part) for part in text.split(",")))


def _arming(text: str) -> tuple[Failpoint, _Arming]:
    name, _, action = text.partition("=")
    kind, _, at_pass = action.partition("@")
    if kind not in _SIGNALS:
        raise ValueError(f"{VARIABLE}: {kind!r} is none of {', '.join(_SIGNALS)}")
    return Failpoint(name), _Arming(signal=_SIGNALS[kind], at_pass=int(at_pass or 1))
