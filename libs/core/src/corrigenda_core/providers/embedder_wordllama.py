"""The small local embedding model: WordLlama's table of token vectors, read from a file that a wheel carries.

A text's vector is the mean of its tokens' vectors: no network is computed, so it takes a fraction of a millisecond and
almost no memory, and tells meanings apart less well than the default. None of the wheel's own code is imported, and the
table is mapped, not loaded: pages that no text needs stay on the disk.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from corrigenda_core.ports.providers import ProviderFailed
from corrigenda_core.providers.batching import BatchingEmbedder, Vector
from corrigenda_core.providers.packaged_files import PackagedFile

DIMENSIONS = 256
VOCABULARY_TOKENS = 32_000
MAX_TOKENS = 512
# The rest of a longer text does not reach its vector.
MAX_READ_CODE_POINTS = 8192
SPACE = f"wordllama-l2-supercat-{DIMENSIONS}/1/{MAX_TOKENS}-mean"
_TABLE = "embedding.weight"
_HEADER_BYTES_MAX = 4096

WEIGHTS = PackagedFile(
    package="wordllama",
    path=f"weights/l2_supercat_{DIMENSIONS}.safetensors",
    sha256="64b47a2dc493cb8e85944076601189739852d7b64e0e1eedcb1937a251cd9fd5",
)
TOKENIZER = PackagedFile(
    package="wordllama",
    path="tokenizers/l2_supercat_tokenizer_config.json",
    sha256="bf467c9e0f536bda271283c6ef85eb1a943e3196b621c8a912d64953b205df83",
)


def wordllama_embedder(*, idle_seconds: float | None = None) -> BatchingEmbedder:
    """The embedder; it loads nothing before its first text.

    Args:
        idle_seconds: after how long without a text the model is dropped; ``None``: never.
    """
    return BatchingEmbedder(partial(WordLlama), space=SPACE, dimensions=DIMENSIONS, idle_seconds=idle_seconds)


class WordLlama:
    """The tokenizer and the table; used by one thread at a time.

    Raises:
        ProviderFailed: a file is missing or is another one.
    """

    def __init__(self, *, weights: PackagedFile = WEIGHTS, tokenizer: PackagedFile = TOKENIZER) -> None:
        from tokenizers import Tokenizer

        self._table = _mapped(weights.locate())
        self._tokenizer: Any = Tokenizer.from_file(str(tokenizer.locate()))
        self._tokenizer.enable_truncation(MAX_TOKENS)
        self._tokenizer.no_padding()

    def vectors(self, texts: Sequence[str]) -> list[Vector]:
        """A row of length 1 for each text."""
        return [self._vector(text) for text in texts]

    def _vector(self, text: str) -> Vector:
        ids = self._tokenizer.encode(text[:MAX_READ_CODE_POINTS], add_special_tokens=False).ids
        total = self._table[ids].astype(np.float32).sum(axis=0) if ids else np.zeros(DIMENSIONS, dtype=np.float32)
        length = float(np.linalg.norm(total))
        if length == 0.0:
            # A text without tokens still needs a direction; it shares it with other such texts.
            total[0] = length = 1.0
        unit: Vector = (total / np.float32(length)).astype(np.float32)
        return unit


def _mapped(file: Path) -> NDArray[np.float16]:
    """The table in a safetensors file: eight bytes of length, a header of JSON, then the figures."""
    with file.open("rb") as opened:
        size = int.from_bytes(opened.read(8), "little")
        header = json.loads(opened.read(min(size, _HEADER_BYTES_MAX)))
    table = header.get(_TABLE, {})
    if (table.get("dtype"), table.get("shape")) != ("F16", [VOCABULARY_TOKENS, DIMENSIONS]):
        raise ProviderFailed("the table of the embedding model has another form")
    offset = 8 + size + table["data_offsets"][0]
    return np.memmap(file, dtype=np.float16, mode="r", offset=offset, shape=(VOCABULARY_TOKENS, DIMENSIONS))
