"""Keeps a service's model from mixing two spaces under one name: it must give a stored text the vector that is stored.

The name of a space promises that its vectors compare. A model of this machine keeps the promise by the digests of its
files; that of a service may have changed behind its name. So before its first vector is used, one text that is stored
with a vector of the space is embedded anew. If the two vectors differ, every request fails: readers go by words and say
so, and nothing is written.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence

import numpy as np
import structlog

from corrigenda_core.domain.errors import Refusal
from corrigenda_core.ports.providers import Embedder, ProviderFailed, StoredSample, Vectors

LEAST_COSINE = 0.99
"""Vectors of one text by one model differ by rounding; those of two models by much more."""

_log = structlog.get_logger("corrigenda.embedder")


class GuardedEmbedder:
    """An embedder that is compared with what is stored before it is believed.

    Args:
        embedder: the service's.
        sample: a stored text of its space with its vector, or ``None`` while there is none.
    """

    def __init__(self, embedder: Embedder, sample: Callable[[], Awaitable[StoredSample | None]]) -> None:
        self._embedder = embedder
        self._sample = sample
        self._fits: bool | None = None
        self._looking = asyncio.Lock()

    @property
    def space(self) -> str:
        """Name of the space."""
        return self._embedder.space

    @property
    def dimensions(self) -> int:
        """Length of a vector."""
        return self._embedder.dimensions

    async def embed(self, texts: Sequence[str]) -> Vectors:
        """The vectors of the texts.

        Raises:
            ProviderFailed: the service does not answer, or its model is not the one that the stored vectors are of.
        """
        async with self._looking:
            if self._fits is None:
                self._fits = await self._compared()
        if not self._fits:
            raise ProviderFailed("the model behind the service gives other vectors than those that are stored")
        return await self._embedder.embed(texts)

    async def close(self) -> None:
        """Closes the embedder."""
        await self._embedder.close()

    async def _compared(self) -> bool:
        try:
            sample = await self._sample()
        except Refusal as refusal:
            raise ProviderFailed("what is stored cannot be read to compare it") from refusal
        if sample is None:
            return True
        (vector,) = await self._embedder.embed([sample.content])
        stored = np.array(sample.vector[: len(vector)], dtype=np.float64)
        length = float(np.linalg.norm(stored))
        cosine = float(stored @ vector) / length if length else 0.0
        if cosine < LEAST_COSINE:
            _log.error("embedding_space_changed", space=self.space, cosine=round(cosine, 4))
        return cosine >= LEAST_COSINE
