"""How requests of many callers share one model: batches, the cache, failures and limits."""

import asyncio
import threading
import weakref
from collections.abc import Callable, Sequence

import numpy as np
import pytest
from corrigenda_core.ports.providers import ProviderFailed, Vectors
from corrigenda_core.providers.batching import (
    MAX_BATCH_TEXTS,
    MAX_CACHED_TEXT_CODE_POINTS,
    BatchingEmbedder,
    Vector,
    VectorModel,
)


class LengthModel:
    """A model whose vector of a text is its length; it counts its batches and may fail."""

    def __init__(self) -> None:
        self.batches: list[list[str]] = []
        self.failure: Exception | None = None

    def vectors(self, texts: Sequence[str]) -> list[Vector]:
        if self.failure is not None:
            raise self.failure
        self.batches.append(list(texts))
        return [np.array([len(text)], dtype=np.float32) for text in texts]


def embedder_over(load: Callable[[], VectorModel], **limits: float) -> BatchingEmbedder:
    return BatchingEmbedder(load, space="length/1", dimensions=1, **limits)


async def lengths(embedder: BatchingEmbedder, *texts: str) -> list[float]:
    vectors: Vectors = await embedder.embed(texts)
    return vectors.flatten().tolist()


class SlowStart:
    """Loads a model once it is told to, so that requests queue up meanwhile."""

    def __init__(self, model: LengthModel) -> None:
        self.model = model
        self.go = threading.Event()
        self.loads = 0

    def __call__(self) -> LengthModel:
        self.loads += 1
        self.go.wait()
        return self.model


async def test_concurrent_requests_make_one_batch_of_distinct_texts() -> None:
    start = SlowStart(LengthModel())
    embedder = embedder_over(start)
    waiting = [asyncio.create_task(lengths(embedder, "x" * (n % 5))) for n in range(20)]
    await asyncio.sleep(0)
    start.go.set()
    assert await asyncio.gather(*waiting) == [[float(n % 5)] for n in range(20)]
    assert [sorted(batch) for batch in start.model.batches] == [["", "x", "xx", "xxx", "xxxx"]]
    assert start.loads == 1
    await embedder.close()


async def test_batches_are_bounded() -> None:
    start = SlowStart(LengthModel())
    start.go.set()
    embedder = embedder_over(start)
    texts = ["x" * n for n in range(3 * MAX_BATCH_TEXTS + 1)]
    assert await lengths(embedder, *texts) == [float(n) for n in range(len(texts))]
    assert max(len(batch) for batch in start.model.batches) <= MAX_BATCH_TEXTS
    await embedder.close()


async def test_short_texts_are_remembered_and_long_ones_are_not() -> None:
    model = LengthModel()
    embedder = embedder_over(lambda: model)
    short, long = "s" * MAX_CACHED_TEXT_CODE_POINTS, "l" * (MAX_CACHED_TEXT_CODE_POINTS + 1)
    for _ in range(2):
        assert await lengths(embedder, short) == [float(len(short))]
        assert await lengths(embedder, long) == [float(len(long))]
    assert model.batches.count([long]) == 2
    assert model.batches.count([short]) == 1
    await embedder.close()


async def test_the_text_used_least_lately_is_forgotten_first() -> None:
    model = LengthModel()
    embedder = embedder_over(lambda: model, max_cached_texts=2)
    for text in ("a", "bb", "a", "ccc", "a", "bb"):
        await lengths(embedder, text)
    await embedder.close()
    assert model.batches == [["a"], ["bb"], ["ccc"], ["bb"]]


async def test_a_model_that_fails_fails_its_callers_and_works_again() -> None:
    model = LengthModel()
    embedder = embedder_over(lambda: model)
    model.failure = MemoryError("of the model")
    with pytest.raises(ProviderFailed, match="failed") as failed:
        await lengths(embedder, "one", "two")
    assert failed.value.__cause__ is model.failure
    model.failure = None
    assert await lengths(embedder, "one", "two") == [3.0, 3.0]
    await embedder.close()


async def test_a_model_that_cannot_be_loaded_is_tried_again() -> None:
    model = LengthModel()
    attempts = iter([ProviderFailed("the package is missing"), OSError("disk"), None])

    def load() -> LengthModel:
        failure = next(attempts)
        if failure is not None:
            raise failure
        return model

    embedder = embedder_over(load)
    with pytest.raises(ProviderFailed, match="the package is missing"):
        await lengths(embedder, "text")
    with pytest.raises(ProviderFailed, match="the embedding model failed"):
        await lengths(embedder, "text")
    assert await lengths(embedder, "text") == [4.0]
    await embedder.close()


async def test_too_many_requests_are_refused_and_the_others_answered() -> None:
    start = SlowStart(LengthModel())
    embedder = embedder_over(start, max_queued_texts=2)
    patient = asyncio.create_task(lengths(embedder, "a", "bb"))
    await asyncio.sleep(0)
    with pytest.raises(ProviderFailed, match="too many"):
        await lengths(embedder, "ccc")
    start.go.set()
    assert await patient == [1.0, 2.0]
    await embedder.close()


async def test_a_caller_that_gives_up_costs_nothing() -> None:
    start = SlowStart(LengthModel())
    embedder = embedder_over(start)
    impatient = asyncio.create_task(lengths(embedder, "never mind"))
    await asyncio.sleep(0)
    impatient.cancel()
    with pytest.raises(asyncio.CancelledError):
        await impatient
    start.go.set()
    assert await lengths(embedder, "still here") == [10.0]
    await embedder.close()
    assert start.model.batches == [["still here"]]


async def test_closing_answers_what_is_queued_and_refuses_the_rest() -> None:
    start = SlowStart(LengthModel())
    embedder = embedder_over(start)
    queued = asyncio.create_task(lengths(embedder, "a"))
    await asyncio.sleep(0)
    closing = asyncio.create_task(embedder.close())
    await asyncio.sleep(0)
    with pytest.raises(ProviderFailed, match="closed"):
        await lengths(embedder, "b")
    start.go.set()
    await closing
    assert await queued == [1.0]


def test_one_embedder_serves_several_event_loops() -> None:
    model = LengthModel()
    embedder = embedder_over(lambda: model)
    assert asyncio.run(lengths(embedder, "a")) == [1.0]
    assert asyncio.run(lengths(embedder, "bb")) == [2.0]
    asyncio.run(embedder.close())


async def test_an_idle_model_is_dropped_and_loaded_again() -> None:
    dropped = threading.Event()
    loads = []

    def load() -> LengthModel:
        model = LengthModel()
        weakref.finalize(model, dropped.set)
        loads.append(1)
        return model

    embedder = embedder_over(load, idle_seconds=0.01, max_cached_texts=0)
    assert await lengths(embedder, "xx") == [2.0]
    assert await asyncio.to_thread(dropped.wait, 10.0)
    dropped.clear()
    assert await lengths(embedder, "xxx") == [3.0]
    assert len(loads) == 2
    assert await asyncio.to_thread(dropped.wait, 10.0)
    await embedder.close()


async def test_a_model_in_use_is_kept() -> None:
    start = SlowStart(LengthModel())
    start.go.set()
    embedder = embedder_over(start, idle_seconds=3600.0, max_cached_texts=0)
    for _ in range(3):
        assert await lengths(embedder, "xx") == [2.0]
    assert start.loads == 1
    await embedder.close()
