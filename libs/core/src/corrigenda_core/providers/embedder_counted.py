"""Counts what became of an embedder's calls; else it is the embedder."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from corrigenda_core.ports.providers import Embedder, ProviderFailed, Vectors
from corrigenda_core.providers.metrics import Observe, Worth


class CountedEmbedder:
    """An embedder whose calls are observed.

    Args:
        embedder: what answers.
        observe: told of each call; one that its caller gave up is late.
    """

    def __init__(self, embedder: Embedder, observe: Observe) -> None:
        self._embedder = embedder
        self._observe = observe

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
            ProviderFailed: the embedder's.
        """
        try:
            vectors = await self._embedder.embed(texts)
        except ProviderFailed:
            self._observe(Worth.FAILED)
            raise
        except asyncio.CancelledError:
            self._observe(Worth.LATE)
            raise
        self._observe(Worth.USABLE)
        return vectors

    async def close(self) -> None:
        """Closes the embedder."""
        await self._embedder.close()
