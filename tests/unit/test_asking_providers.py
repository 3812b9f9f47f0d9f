"""How long a provider is waited for: never so long that nothing could be stored before the caller's deadline."""

from __future__ import annotations

import asyncio
import math

import pytest
from corrigenda_core.ports.deadline import NO_DEADLINE, Deadline
from corrigenda_core.providers.asking import Asking, NoAnswer, Patience


async def never(problems: tuple[str, ...]) -> str:
    await asyncio.Event().wait()
    return "never"


@pytest.mark.rule("R3.2")
async def test_a_slow_provider_leaves_time_before_the_deadline() -> None:
    deadline = Deadline.after(0.4)
    asking = Asking(call=never, check=lambda _: (), patience=Patience(call_timeout_seconds=60.0))
    assert await asking.answer(deadline) == NoAnswer(problems=("no answer in time",), calls=4)
    assert deadline.remaining_seconds() > 0.0


def test_without_a_deadline_a_call_has_its_own_time() -> None:
    patience = Patience(call_timeout_seconds=7.0)
    assert patience.timeout_seconds(NO_DEADLINE) == 7.0
    assert patience.timeout_seconds(Deadline(monotonic_seconds=-math.inf)) == 0.0
