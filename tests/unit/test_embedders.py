"""The embedders: the hashing one, and the local model with its batches, its cache and its failures."""

import asyncio
import subprocess
import sys
import threading
from collections.abc import AsyncIterator
from dataclasses import replace

import numpy as np
import pytest
from corrigenda_core.config import EmbedderChoice, EmbedderSettings, VerifierSettings
from corrigenda_core.ports.providers import Embedder, ProviderFailed
from corrigenda_core.providers import embedder_minilm
from corrigenda_core.providers.embedder_hashing import HashingEmbedder
from corrigenda_core.providers.embedder_minilm import MODEL, TOKENIZER, MiniLmEmbedder
from corrigenda_core.providers.selection import make_embedder, make_verifier
from corrigenda_core.providers.validation import ValidatedVerifier

PARAPHRASES = [
    ("production deploys from main", "which branch is production deployed from?", "who pays for lunch?"),
    ("Alice lives in Berlin", "Alice's home is in Berlin", "the build failed twice"),
    ("The billing service stores its data in PostgreSQL", "billing uses a Postgres database", "Bob speaks Dutch"),
    ("Carol was promoted to team lead", "Carol now leads the team", "the server room is cold"),
]


@pytest.fixture(scope="module")
async def minilm() -> AsyncIterator[MiniLmEmbedder]:
    embedder = MiniLmEmbedder()
    yield embedder
    await embedder.close()


async def test_vectors_have_length_one_and_keep_their_order(minilm: MiniLmEmbedder) -> None:
    for embedder in (minilm, HashingEmbedder()):
        texts = ["production deploys from main", "", "🚀", "東京", "a" * 5000, "production deploys from main"]
        vectors = await embedder.embed(texts)
        assert (vectors.dtype, vectors.shape) == (np.float32, (len(texts), embedder.dimensions))
        assert np.allclose(np.linalg.norm(vectors, axis=1), 1.0, atol=1e-5)
        assert np.array_equal(vectors[0], vectors[5])
        assert (await embedder.embed([])).shape == (0, embedder.dimensions)


@pytest.mark.parametrize(("text", "same", "other"), PARAPHRASES)
async def test_a_paraphrase_is_nearer_than_something_else(
    minilm: MiniLmEmbedder, text: str, same: str, other: str
) -> None:
    vectors = await minilm.embed([text, same, other])
    near, far = float(vectors[0] @ vectors[1]), float(vectors[0] @ vectors[2])
    assert near > 0.5
    assert far < 0.25


async def test_a_vector_does_not_depend_on_its_batch(minilm: MiniLmEmbedder) -> None:
    texts = [f"sentence number {n} about {'words ' * (n % 7)}" + "x" * 513 for n in range(40)]
    alone = np.vstack([await minilm.embed([text]) for text in texts])
    assert np.array_equal(await minilm.embed(texts), alone)


async def test_the_window_is_a_prefix(minilm: MiniLmEmbedder) -> None:
    text = "production deploys from main " * 400
    vectors = await minilm.embed([text, text + "and something else entirely", text[:4000]])
    assert np.array_equal(vectors[0], vectors[1])
    assert np.array_equal(vectors[0], vectors[2])


async def test_concurrent_requests_share_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    sizes: list[int] = []
    inner = embedder_minilm._Model.vectors

    def counted(model: embedder_minilm._Model, texts: list[str]) -> list[embedder_minilm.Vector]:
        sizes.append(len(texts))
        return inner(model, texts)

    monkeypatch.setattr(embedder_minilm._Model, "vectors", counted)
    embedder = MiniLmEmbedder()
    # The model is loaded while these queue up, so the first batch is full.
    results = await asyncio.gather(*(embedder.embed([f"text {n % 20}"]) for n in range(40)))
    await embedder.close()
    assert sizes[0] == 20
    assert sum(sizes) <= 40
    assert np.array_equal(results[0], results[20])


async def test_short_texts_are_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    embedder = MiniLmEmbedder()
    short, long = "what does production deploy from?", "y " * 300
    first = await embedder.embed([short, long])
    computed: list[str] = []
    inner = embedder_minilm._Model.vectors

    def counted(model: embedder_minilm._Model, texts: list[str]) -> list[embedder_minilm.Vector]:
        computed.extend(texts)
        return inner(model, texts)

    monkeypatch.setattr(embedder_minilm._Model, "vectors", counted)
    second = await embedder.embed([short, long])
    await embedder.close()
    assert computed == [long]
    assert np.array_equal(first, second)


def test_the_memory_of_texts_is_bounded() -> None:
    cache = embedder_minilm._VectorCache(2)
    row = np.ones(3, dtype=np.float32)
    for text in ("a", "b"):
        cache.put(text, row)
    assert cache.get("a") is not None
    cache.put("c", row)
    assert [cache.get(text) is not None for text in ("a", "b", "c")] == [True, False, True]


async def test_a_changed_or_missing_file_fails_loudly() -> None:
    wrong = [
        {"model": replace(MODEL, sha256="0" * 64)},
        {"tokenizer": replace(TOKENIZER, path="nothing.json")},
        {"model": replace(MODEL, package="corrigenda_no_such_package")},
    ]
    for files in wrong:
        embedder = MiniLmEmbedder(**files)
        with pytest.raises(ProviderFailed):
            await embedder.embed(["text"])
        await embedder.close()


async def test_a_model_that_fails_fails_its_callers_and_works_again(monkeypatch: pytest.MonkeyPatch) -> None:
    embedder = MiniLmEmbedder()
    await embedder.embed(["warm"])

    def fails(model: embedder_minilm._Model, texts: list[str]) -> list[embedder_minilm.Vector]:
        raise MemoryError

    with monkeypatch.context() as patch:
        patch.setattr(embedder_minilm._Model, "vectors", fails)
        with pytest.raises(ProviderFailed, match="failed"):
            await embedder.embed(["one", "two"])
    assert (await embedder.embed(["one"])).shape == (1, 384)
    await embedder.close()


async def test_a_closed_embedder_refuses_and_a_full_one_too(monkeypatch: pytest.MonkeyPatch) -> None:
    embedder = MiniLmEmbedder()
    monkeypatch.setattr(embedder_minilm, "MAX_QUEUED_TEXTS", 2)
    with pytest.raises(ProviderFailed, match="too many"):
        await embedder.embed(["a", "b", "c"])
    await embedder.close()
    with pytest.raises(ProviderFailed, match="closed"):
        await embedder.embed(["a"])


async def test_a_caller_that_gives_up_costs_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    computed: list[str] = []
    inner = embedder_minilm._Model.vectors

    def counted(model: embedder_minilm._Model, texts: list[str]) -> list[embedder_minilm.Vector]:
        computed.extend(texts)
        return inner(model, texts)

    monkeypatch.setattr(embedder_minilm._Model, "vectors", counted)
    embedder = MiniLmEmbedder()
    # The thread is kept busy until both have queued up and one has gone.
    busy = threading.Event()
    embedder._executor.submit(busy.wait)
    impatient = asyncio.create_task(embedder.embed(["never mind"]))
    await asyncio.sleep(0)
    impatient.cancel()
    with pytest.raises(asyncio.CancelledError):
        await impatient
    busy.set()
    assert (await embedder.embed(["still here"])).shape == (1, 384)
    await embedder.close()
    assert computed == ["still here"]


def test_hashing_is_the_same_in_every_process() -> None:
    script = (
        "import asyncio; from corrigenda_core.providers.embedder_hashing import HashingEmbedder; "
        "print(asyncio.run(HashingEmbedder(16).embed(['production deploys from main'])).tobytes().hex())"
    )
    other = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    vectors = asyncio.run(HashingEmbedder(16).embed(["production deploys from main"]))
    assert other.stdout.strip() == vectors.tobytes().hex()


async def test_hashes_that_cancel_each_other_still_have_a_direction() -> None:
    vectors = await HashingEmbedder(1).embed([f"word{n} word{n + 1}" for n in range(20)])
    assert set(np.abs(vectors).flatten().tolist()) == {1.0}


async def test_hashing_makes_shared_words_similar() -> None:
    vectors = await HashingEmbedder().embed(["production deploys from main", "main deploys", "Alice lives in Kiel"])
    assert float(vectors[0] @ vectors[1]) > 0.5
    assert abs(float(vectors[0] @ vectors[2])) < 0.3


@pytest.mark.parametrize("choice", EmbedderChoice)
async def test_the_settings_choose(choice: EmbedderChoice) -> None:
    kinds = {EmbedderChoice.MINILM: MiniLmEmbedder, EmbedderChoice.HASHING: HashingEmbedder}
    embedder: Embedder = make_embedder(EmbedderSettings(embedder=choice))
    assert isinstance(embedder, kinds[choice])
    assert embedder.space
    await embedder.close()


def test_the_settings_choose_the_verifier() -> None:
    verifier = make_verifier(VerifierSettings(), lambda text, zone, *, mentions=(): ())
    assert isinstance(verifier, ValidatedVerifier)
