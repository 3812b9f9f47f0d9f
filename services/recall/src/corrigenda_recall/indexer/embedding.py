"""Embeds the texts of a batch, and tells a text that cannot be embedded from an embedder that cannot be reached."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from corrigenda_core.persistence.tables.search import EMBEDDING_DIMENSIONS
from corrigenda_core.persistence.vectors import StoredVector
from corrigenda_core.ports.providers import Embedder, ProviderFailed

from corrigenda_recall.indexer.metrics import IndexMetrics

_PROBE = "ready"


@dataclass(frozen=True, slots=True, kw_only=True)
class Embedded:
    """What became of some texts, in their order: ``None`` where there is no vector.

    ``reachable`` says whether the embedder answers: then a text without a vector is at fault itself.
    """

    vectors: tuple[StoredVector | None, ...]
    reachable: bool


class DocumentEmbedder:
    """An embedder whose failures are counted and cost no batch.

    Raises:
        ValueError: if its vectors are longer than the database holds.
    """

    def __init__(self, embedder: Embedder, metrics: IndexMetrics) -> None:
        if embedder.dimensions > EMBEDDING_DIMENSIONS:
            raise ValueError(f"search documents hold {EMBEDDING_DIMENSIONS} dimensions, not {embedder.dimensions}")
        self._embedder = embedder
        self._metrics = metrics

    @property
    def space(self) -> str:
        """The space of its vectors."""
        return self._embedder.space

    async def embed(self, texts: Sequence[str]) -> Embedded:
        """Embeds all texts at once; where that fails, each by itself if the embedder answers at all."""
        if not texts:
            return Embedded(vectors=(), reachable=True)
        together = await self._tried(texts)
        if together is not None:
            return Embedded(vectors=tuple(together), reachable=True)
        self._metrics.embedding_failures.inc()
        if await self._tried([_PROBE]) is None:
            return Embedded(vectors=(None,) * len(texts), reachable=False)
        alone = [await self._tried([text]) for text in texts]
        return Embedded(vectors=tuple(None if found is None else found[0] for found in alone), reachable=True)

    async def _tried(self, texts: Sequence[str]) -> list[StoredVector] | None:
        try:
            vectors = await self._embedder.embed(texts)
        except ProviderFailed:
            return None
        return [StoredVector.of(vector, self._embedder.space) for vector in vectors.tolist()]
