"""An embedder that is counted answers as ever, and every call has a worth."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import numpy as np
import pytest
from corrigenda_core.ports.providers import ProviderFailed, Vectors
from corrigenda_core.providers.embedder_counted import CountedEmbedder
from corrigenda_core.providers.embedder_hashing import HashingEmbedder
from corrigenda_core.providers.metrics import ProviderMetrics, Worth
from prometheus_client import CollectorRegistry


class Ill(HashingEmbedder):
    """An embedder that does not answer, or says that it cannot."""

    def __init__(self, *, waits: bool) -> None:
        super().__init__()
        self._waits = waits

    async def embed(self, texts: Sequence[str]) -> Vectors:
        if self._waits:
            await asyncio.Event().wait()
        raise ProviderFailed("cannot")


async def test_answers_failures_and_what_was_given_up_are_told_apart() -> None:
    registry = CollectorRegistry()
    observe = ProviderMetrics(registry).of("embedder")
    plain = HashingEmbedder()
    counted = CountedEmbedder(plain, observe)
    assert np.array_equal(await counted.embed(["a", "b"]), await plain.embed(["a", "b"]))
    assert (counted.space, counted.dimensions) == (plain.space, plain.dimensions)
    with pytest.raises(ProviderFailed):
        await CountedEmbedder(Ill(waits=False), observe).embed(["a"])
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(CountedEmbedder(Ill(waits=True), observe).embed(["a"]), 0.01)
    await counted.close()
    counts = {
        worth: registry.get_sample_value(
            "corrigenda_provider_calls_total", {"provider": "embedder", "worth": worth.value}
        )
        for worth in Worth
    }
    assert counts == {Worth.USABLE: 1.0, Worth.FAILED: 1.0, Worth.LATE: 1.0, Worth.REFUSED: None}
