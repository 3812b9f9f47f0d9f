"""Embeddings as the database reads them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

from corrigenda_core.persistence.tables.search import EMBEDDING_DIMENSIONS


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredVector:
    """A vector in the text form of the database, and its space; vectors of two spaces are never compared."""

    text: str
    space: str

    @classmethod
    def of(cls, values: Sequence[float], space: str) -> Self:
        """The stored form of a vector; nine digits say a float32 exactly.

        A shorter vector is filled up with zeros, which change no product of two of them.

        Raises:
            ValueError: it is longer than the database holds.
        """
        missing = EMBEDDING_DIMENSIONS - len(values)
        if missing < 0:
            raise ValueError(f"search documents hold {EMBEDDING_DIMENSIONS} dimensions, not {len(values)}")
        # One format for all of them: a query waits for this.
        return cls(text=f"[{','.join(['%.9g'] * len(values) + ['0'] * missing)}]" % tuple(values), space=space)
