"""The embedder of a model service: texts in batches, vectors checked for number, order, length and every figure."""

from __future__ import annotations

import json
from collections.abc import Sequence

import numpy as np
from pydantic import BaseModel, ConfigDict, ValidationError

from corrigenda_core.ports.providers import ProviderFailed, UnusableAnswer, Vectors
from corrigenda_core.providers.remote.endpoint import Endpoint

MAX_BATCH_TEXTS = 32
MAX_READ_CODE_POINTS = 8192
"""What is sent of a text; models read no more, and some refuse a longer one."""
LEAST_LENGTH = 1e-150
"""The squares of a shorter vector's figures have lost digits, and so would its direction."""


class _Item(BaseModel):
    model_config = ConfigDict(extra="ignore", strict=True)

    index: int
    embedding: list[float]


class _Embeddings(BaseModel):
    model_config = ConfigDict(extra="ignore", strict=True)

    data: list[_Item]


class RemoteEmbedder:
    """Asks a model of an OpenAI-compatible service.

    Args:
        endpoint: the service.
        model: the name of the model.
        revision: what the operator calls this version of it; part of the space's name.
        dimensions: the length of its vectors.
        asks_for_length: whether the service is asked to shorten its vectors to that length.
    """

    def __init__(
        self, endpoint: Endpoint, *, model: str, revision: str, dimensions: int, asks_for_length: bool
    ) -> None:
        self._endpoint = endpoint
        self._model = model
        self._revision = revision
        self._dimensions = dimensions
        self._asks_for_length = asks_for_length

    @property
    def space(self) -> str:
        """Name of the space: the model, its revision and the length of its vectors."""
        return f"openai-compatible/1/{self._model}@{self._revision}/{self._dimensions}"

    @property
    def dimensions(self) -> int:
        """Length of a vector."""
        return self._dimensions

    async def embed(self, texts: Sequence[str]) -> Vectors:
        """One row of length 1 for each text, in the order given.

        Raises:
            ProviderFailed: the service does not answer, or not with the vectors that it was asked for.
        """
        rows = np.empty((len(texts), self._dimensions), dtype=np.float32)
        for first in range(0, len(texts), MAX_BATCH_TEXTS):
            batch = texts[first : first + MAX_BATCH_TEXTS]
            rows[first : first + len(batch)] = await self._batch(batch)
        return rows

    async def close(self) -> None:
        """Closes the connections to the service."""
        await self._endpoint.close()

    async def _batch(self, texts: Sequence[str]) -> Vectors:
        request: dict[str, object] = {
            "model": self._model,
            # A service may refuse an empty text; one that is blank says as little.
            "input": [text[:MAX_READ_CODE_POINTS] or " " for text in texts],
            "encoding_format": "float",
        }
        if self._asks_for_length:
            request["dimensions"] = self._dimensions
        body = await self._endpoint.post("embeddings", json.dumps(request, ensure_ascii=True).encode())
        return self._vectors(body, len(texts))

    def _vectors(self, body: bytes, count: int) -> Vectors:
        try:
            answer = _Embeddings.model_validate_json(body)
        except ValidationError:
            raise UnusableAnswer("the service's answer is no list of embeddings") from None
        if sorted(item.index for item in answer.data) != list(range(count)):
            raise UnusableAnswer("the service did not embed every text once")
        if any(len(item.embedding) != self._dimensions for item in answer.data):
            raise UnusableAnswer(f"the service's vectors do not have {self._dimensions} dimensions")
        found = np.empty((count, self._dimensions), dtype=np.float64)
        for item in answer.data:
            found[item.index] = item.embedding
        with np.errstate(over="ignore", invalid="ignore"):
            lengths = np.linalg.norm(found, axis=1, keepdims=True)
        if not np.isfinite(lengths).all() or (lengths < LEAST_LENGTH).any():
            raise ProviderFailed("the service's vectors are no directions")
        unit: Vectors = (found / lengths).astype(np.float32)
        return unit
