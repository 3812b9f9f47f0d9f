"""Serves one embedding model to many callers: on a thread of its own, in batches, with a cache of short texts."""

from __future__ import annotations

import asyncio
import gc
import hashlib
import sys
import threading
import time
from collections import OrderedDict, deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from corrigenda_core.ports.providers import ProviderFailed, Vectors
from corrigenda_core.process import release_free_memory

MAX_BATCH_TEXTS = 32
MAX_QUEUED_TEXTS = 4096
# Queries are short and come again; documents are embedded once and would push them out.
MAX_CACHED_TEXT_CODE_POINTS = 512
MAX_CACHED_TEXTS = 2048

Vector = NDArray[np.float32]


class VectorModel(Protocol):
    """A loaded model; called by one thread at a time."""

    def vectors(self, texts: Sequence[str]) -> Sequence[Vector]:
        """A row of length 1 for each text, which must not depend on the other texts."""
        ...


class BatchingEmbedder:
    """An embedder over a model that is loaded at the first request.

    While the thread computes a batch, requests queue up and make the next one. May be used from any number of event
    loops and threads of one process; it must not be shared with a forked child.

    Args:
        load: loads the model.
        space: the name of its space.
        dimensions: the length of its vectors.
        max_queued_texts: how many texts may wait.
        max_cached_texts: how many short texts are remembered with their vectors.
        idle_seconds: after how long without a request the model is dropped, until the next one; ``None``: never.
    """

    def __init__(
        self,
        load: Callable[[], VectorModel],
        *,
        space: str,
        dimensions: int,
        max_queued_texts: int = MAX_QUEUED_TEXTS,
        max_cached_texts: int = MAX_CACHED_TEXTS,
        idle_seconds: float | None = None,
    ) -> None:
        self._load = load
        self._space = space
        self._dimensions = dimensions
        self._max_queued_texts = max_queued_texts
        self._idle_seconds = idle_seconds
        self._idle_timer: threading.Timer | None = None
        self._used_at = 0.0
        self._executor = ThreadPoolExecutor(max_workers=1, thread_name_prefix="embedder")
        self._loading: Future[VectorModel] | None = None
        self._cache = _VectorCache(max_cached_texts)
        self._lock = threading.Lock()
        self._queued: deque[_Request] = deque()
        self._closed = False

    @property
    def space(self) -> str:
        """Name of the space of the model."""
        return self._space

    @property
    def dimensions(self) -> int:
        """Length of a vector."""
        return self._dimensions

    async def embed(self, texts: Sequence[str]) -> Vectors:
        """One row of length 1 for each text, in the order given.

        Raises:
            ProviderFailed: closed, the model cannot be loaded or fails, or too much is queued already.
        """
        waiting: list[asyncio.Future[Vector]] = []
        try:
            for text in texts:
                waiting.append(asyncio.wrap_future(self._vector(text)))
            rows = await asyncio.gather(*waiting)
        finally:
            for future in waiting:
                future.cancel()
        return np.stack(rows) if rows else np.empty((0, self._dimensions), dtype=np.float32)

    async def close(self) -> None:
        """Answers what is queued and ends the thread; later requests fail."""
        self._closed = True
        with self._lock:
            if self._idle_timer is not None:
                self._idle_timer.cancel()
        await asyncio.to_thread(self._executor.shutdown)

    def _vector(self, text: str) -> Future[Vector]:
        """The vector to come: from the cache, or as a request to the thread."""
        request = _Request(text=text, future=Future())
        if self._closed:
            raise ProviderFailed("the embedder is closed")
        known = self._cache.get(text)
        if known is not None:
            request.future.set_result(known)
            return request.future
        with self._lock:
            if len(self._queued) >= self._max_queued_texts:
                raise ProviderFailed("the embedder has too many requests")
            if self._loading is None or (self._loading.done() and self._loading.exception() is not None):
                self._loading = self._executor.submit(self._loaded)
            self._used_at = time.monotonic()
            # One look at the queue for each request: whichever look comes first takes all that have queued up.
            self._executor.submit(self._answer_batch, self._loading)
            self._queued.append(request)
        return request.future

    def _loaded(self) -> VectorModel:
        """On the thread: the model, without the memory that loading it took."""
        model = self._load()
        release_free_memory()
        if self._idle_seconds is not None:
            self._look_again_in(self._idle_seconds)
        return model

    def _look_again_in(self, seconds: float) -> None:
        with self._lock:
            if not self._closed:
                self._idle_timer = threading.Timer(seconds, self._look_whether_idle)
                self._idle_timer.daemon = True
                self._idle_timer.start()

    def _look_whether_idle(self) -> None:
        # On the thread: then no batch is under way.
        with suppress(RuntimeError):
            self._executor.submit(self._drop_if_idle)

    def _drop_if_idle(self) -> None:
        """On the thread: drops the model, or looks again when it may have become idle."""
        if self._idle_seconds is None:
            return
        with self._lock:
            remaining = self._used_at + self._idle_seconds - time.monotonic()
            if remaining <= 0.0 and not self._queued:
                self._loading = None
        if remaining > 0.0 or self._loading is not None:
            self._look_again_in(max(remaining, self._idle_seconds / 10))
        else:
            gc.collect()
            release_free_memory()

    def _answer_batch(self, loading: Future[VectorModel]) -> None:
        """On the thread: answers the requests that are queued by now, up to a batch."""
        with self._lock:
            taken = [self._queued.popleft() for _ in range(min(len(self._queued), MAX_BATCH_TEXTS))]
        # A request whose caller has gone costs nothing more.
        wanted = [request for request in taken if request.future.set_running_or_notify_cancel()]
        if not wanted:
            return
        try:
            distinct = list(dict.fromkeys(request.text for request in wanted))
            vectors = dict(zip(distinct, loading.result().vectors(distinct), strict=True))
            for text, vector in vectors.items():
                self._cache.put(text, vector)
            for request in wanted:
                request.future.set_result(vectors[request.text])
        finally:
            # Whatever went wrong, nobody waits for ever.
            for request in wanted:
                if not request.future.done():
                    request.future.set_exception(_failure(sys.exception()))


def _failure(cause: BaseException | None) -> ProviderFailed:
    if isinstance(cause, ProviderFailed):
        return ProviderFailed(*cause.args)
    failure = ProviderFailed("the embedding model failed")
    failure.__cause__ = cause
    return failure


@dataclass(frozen=True, slots=True, kw_only=True)
class _Request:
    text: str
    future: Future[Vector]


class _VectorCache:
    """The vectors of the short texts used last, under their hashes: no text outlives its request here.

    Safe to use from several threads.
    """

    def __init__(self, capacity: int) -> None:
        self._capacity = capacity
        self._vectors: OrderedDict[bytes, Vector] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, text: str) -> Vector | None:
        if len(text) > MAX_CACHED_TEXT_CODE_POINTS:
            return None
        key = _hash(text)
        with self._lock:
            vector = self._vectors.get(key)
            if vector is not None:
                self._vectors.move_to_end(key)
            return vector

    def put(self, text: str, vector: Vector) -> None:
        if len(text) > MAX_CACHED_TEXT_CODE_POINTS:
            return
        key = _hash(text)
        with self._lock:
            # A row may be a view that would keep its whole batch alive.
            self._vectors[key] = vector.copy()
            self._vectors.move_to_end(key)
            if len(self._vectors) > self._capacity:
                self._vectors.popitem(last=False)


def _hash(text: str) -> bytes:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()
