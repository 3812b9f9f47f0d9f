"""An embedder without a model, for tests: words hash to signed dimensions, so shared words make texts similar."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import numpy as np

from corrigenda_core.policy.search_terms import plan_document_terms
from corrigenda_core.ports.providers import Vectors


class HashingEmbedder:
    """The same text has the same vector in every process; texts without a common word are nearly orthogonal."""

    def __init__(self, dimensions: int = 384) -> None:
        self._dimensions = dimensions

    @property
    def space(self) -> str:
        """Name of the space, which depends on the number of dimensions."""
        return f"hashing/1/{self._dimensions}"

    @property
    def dimensions(self) -> int:
        """Length of a vector."""
        return self._dimensions

    async def embed(self, texts: Sequence[str]) -> Vectors:
        """One row of length 1 for each text."""
        rows = np.zeros((len(texts), self._dimensions), dtype=np.float32)
        for row, text in zip(rows, texts, strict=True):
            # A text without words still needs a direction; it shares it with other texts without words.
            for term in plan_document_terms(text) or ("",):
                digest = hashlib.blake2b(term.encode(), digest_size=8).digest()
                place = int.from_bytes(digest[:7], "big") % self._dimensions
                row[place] += 1.0 if digest[7] & 1 else -1.0
            length = float(np.linalg.norm(row))
            if length == 0.0:
                row[0] = length = 1.0
            row /= length
        return rows

    async def close(self) -> None:
        """Nothing to release."""
