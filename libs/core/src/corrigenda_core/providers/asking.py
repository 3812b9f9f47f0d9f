"""Asks a provider until its answer is valid: each one is checked, and asked for again with the reason, a few times."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

from corrigenda_core.policy.limits import decide_limit
from corrigenda_core.ports.deadline import NO_DEADLINE, Deadline
from corrigenda_core.ports.providers import ProviderFailed, UnusableAnswer
from corrigenda_core.providers.metrics import Observe, Worth, unobserved

A = TypeVar("A")

MAX_RETRIES = decide_limit("verifier_retries").greatest
MAX_PROBLEMS = 20
NOT_KEPT = "must have no NUL and no unpaired surrogate"
"""The problem of a text that is not kept as it is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Patience:
    """How long one call may take, and how often a provider is asked again.

    However long a call may take, it gets at most half of what is left until a caller's deadline: whoever asked still
    has to store what it was asked about.
    """

    call_timeout_seconds: float
    retries: int = MAX_RETRIES

    def __post_init__(self) -> None:
        if not 0 <= self.retries <= MAX_RETRIES:
            raise ValueError(f"retries must be 0..{MAX_RETRIES}, not {self.retries}")

    def timeout_seconds(self, deadline: Deadline) -> float:
        """How long the next call may take."""
        return min(self.call_timeout_seconds, deadline.remaining_seconds() / 2)


@dataclass(frozen=True, slots=True, kw_only=True)
class NoAnswer:
    """No usable answer: what was wrong with the last one, and how often the provider was called."""

    problems: tuple[str, ...]
    calls: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Asking(Generic[A]):
    """One question to a provider.

    ``call`` takes the problems of the last answer; ``check`` says what is wrong with an answer, in words that quote
    nothing of it; ``observe`` is told of each call.
    """

    call: Callable[[tuple[str, ...]], Awaitable[A]]
    check: Callable[[A], tuple[str, ...]]
    patience: Patience
    observe: Observe = unobserved

    async def answer(self, deadline: Deadline = NO_DEADLINE) -> A | NoAnswer:
        """The first valid answer."""
        problems: tuple[str, ...] = ()
        for _ in range(self.patience.retries + 1):
            try:
                async with asyncio.timeout(self.patience.timeout_seconds(deadline)):
                    answer = await self.call(problems)
            except TimeoutError:
                self.observe(Worth.LATE)
                problems = ("no answer in time",)
            except UnusableAnswer as unusable:
                self.observe(Worth.REFUSED)
                problems = unusable.problems[:MAX_PROBLEMS]
            except ProviderFailed as failure:
                self.observe(Worth.FAILED)
                # The problems of an earlier answer stay: they are what the next call must avoid.
                problems = problems or (str(failure),)
            else:
                problems = self.check(answer)
                self.observe(Worth.REFUSED if problems else Worth.USABLE)
                if not problems:
                    return answer
        return NoAnswer(problems=problems, calls=self.patience.retries + 1)
