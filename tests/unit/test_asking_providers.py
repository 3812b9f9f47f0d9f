"""How long a provider is waited for: never so long that nothing could be stored before the caller's deadline."""

from __future__ import annotations

import asyncio
import math

import pytest
from corrigenda_core.ports.deadline import NO_DEADLINE, Deadline
from corrigenda_core.ports.providers import ProviderFailed, UnusableAnswer
from corrigenda_core.providers.asking import Asking, NoAnswer, Patience
from corrigenda_core.providers.metrics import ProviderMetrics, Worth
from prometheus_client import CollectorRegistry


async def never(problems: tuple[str, ...]) -> str:
    await asyncio.Event().wait()
    return "never"


@pytest.mark.rule("R3.2")
async def test_a_slow_provider_leaves_time_before_the_deadline() -> None:
    deadline = Deadline.after(1.0)  # a busy machine may stop for some tenths of a second
    asking = Asking(call=never, check=lambda _: (), patience=Patience(call_timeout_seconds=60.0))
    assert await asking.answer(deadline) == NoAnswer(problems=("no answer in time",), calls=4)
    assert deadline.remaining_seconds() > 0.0


def test_without_a_deadline_a_call_has_its_own_time() -> None:
    patience = Patience(call_timeout_seconds=7.0)
    assert patience.timeout_seconds(NO_DEADLINE) == 7.0
    assert patience.timeout_seconds(Deadline(monotonic_seconds=-math.inf)) == 0.0


async def test_every_call_is_counted_by_what_it_was_worth() -> None:
    script = iter([UnusableAnswer("no JSON"), ProviderFailed("busy"), "wrong", "right"])
    registry = CollectorRegistry()

    async def call(problems: tuple[str, ...]) -> str:
        answer = next(script)
        if isinstance(answer, Exception):
            raise answer
        return answer

    asking = Asking(
        call=call,
        check=lambda answer: () if answer == "right" else ("wrong",),
        patience=Patience(call_timeout_seconds=1.0),
        observe=ProviderMetrics(registry).of("verifier"),
    )
    assert await asking.answer() == "right"
    late = Asking(
        call=never,
        check=lambda _: (),
        patience=Patience(call_timeout_seconds=0.001, retries=0),
        observe=asking.observe,
    )
    assert isinstance(await late.answer(), NoAnswer)
    counted = {
        worth: registry.get_sample_value(
            "corrigenda_provider_calls_total", {"provider": "verifier", "worth": worth.value}
        )
        for worth in Worth
    }
    assert counted == {Worth.USABLE: 1, Worth.REFUSED: 2, Worth.FAILED: 1, Worth.LATE: 1}
