"""Embeddings as the database reads them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredVector:
    """A vector in the text form of the database, and its space; vectors of two spaces are never compared."""

    text: str
    space: str

    @classmethod
    def of(cls, values: Sequence[float], space: str) -> Self:
        """The stored form of a vector; nine digits say a float32 exactly."""
        return cls(text=f"[{','.join(format(value, '.9g') for value in values)}]", space=space)
