"""Adds and searches in two other memories, each as its documentation shows; run by bench/perf/peers.py.

Its own environment (bench/perf/peers.lock) has the two libraries and nothing of the product but the hashing embedder.
Reads one JSON object from standard input and writes one to standard output.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

os.environ.update(MEM0_TELEMETRY="False", OPENAI_API_KEY="unused", ANONYMIZED_TELEMETRY="False")
WORK = json.loads(sys.stdin.read())
os.environ["MEM0_DIR"] = WORK["folder"]

from corrigenda_core.providers.embedder_hashing import HashingEmbedder  # noqa: E402 - the settings come first
from langchain_core.embeddings import Embeddings  # noqa: E402
from langgraph.store.postgres import PostgresStore  # noqa: E402
from mem0 import Memory  # noqa: E402

DIMENSIONS = 384


class SameEmbedder(Embeddings):
    """The embedder that all three use."""

    def __init__(self) -> None:
        self._embedder = HashingEmbedder(DIMENSIONS)

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """One vector for each text."""
        vectors: list[list[float]] = asyncio.run(self._embedder.embed(texts)).tolist()
        return vectors

    def embed_query(self, text: str) -> list[float]:
        """The vector of a query."""
        return self.embed_documents([text])[0]


def seconds(work: Callable[[str], object], texts: list[str]) -> list[float]:
    """How long the work took for each text."""
    took = []
    for text in texts:
        started = time.perf_counter()
        work(text)
        took.append(time.perf_counter() - started)
    return took


def mem0_store() -> Memory:
    """mem0 on pgvector."""
    url = urlsplit(WORK["url"])
    store = {
        "user": unquote(url.username or ""),
        "password": unquote(url.password or ""),
        "host": url.hostname,
        "port": str(url.port),
        "dbname": url.path[1:],
        "collection_name": "bench",
        "embedding_model_dims": DIMENSIONS,
    }
    return Memory.from_config(
        {
            "vector_store": {"provider": "pgvector", "config": store},
            "embedder": {"provider": "langchain", "config": {"model": SameEmbedder()}},
            "llm": {"provider": "openai", "config": {"api_key": "unused"}},
            "history_db_path": str(Path(WORK["folder"]) / "history.db"),
        }
    )


def measured() -> dict[str, Any]:
    texts, queries = WORK["texts"], WORK["queries"]
    memory = mem0_store()
    found: dict[str, Any] = {
        "mem0": {
            "add": seconds(lambda text: memory.add(text, user_id="u", infer=False), texts),
            "search": seconds(lambda query: memory.search(query, filters={"user_id": "u"}), queries),
        }
    }
    index = {"dims": DIMENSIONS, "embed": SameEmbedder(), "fields": ["text"]}
    with PostgresStore.from_conn_string(WORK["url"], index=index) as store:  # type: ignore[arg-type]
        store.setup()
        place = ("u", "memories")
        found["langgraph"] = {
            "add": seconds(lambda text: store.put(place, text, {"text": text}), texts),
            "search": seconds(lambda query: store.search(place, query=query, limit=10), queries),
        }
    return found


# The libraries talk on standard output; the answer goes to the real one.
answer, sys.stdout = sys.stdout, sys.stderr
json.dump(measured(), answer)
