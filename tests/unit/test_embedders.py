"""The embedders: the local model's quality and repeatability, and the hashing one."""

import asyncio
import subprocess
import sys
from collections.abc import AsyncIterator, Callable
from dataclasses import replace

import numpy as np
import pytest
from corrigenda_core.config import EmbedderChoice, EmbedderSettings, VerifierSettings
from corrigenda_core.ports.providers import Embedder, ProviderFailed
from corrigenda_core.providers.batching import VectorModel
from corrigenda_core.providers.embedder_hashing import HashingEmbedder
from corrigenda_core.providers.embedder_minilm import MODEL, TOKENIZER, MiniLm, minilm_embedder
from corrigenda_core.providers.embedder_wordllama import WEIGHTS, WordLlama, wordllama_embedder
from corrigenda_core.providers.selection import make_embedder, make_verifier
from corrigenda_core.providers.validation import ValidatedVerifier

PARAPHRASES = [
    ("production deploys from main", "which branch is production deployed from?", "who pays for lunch?"),
    ("Alice lives in Berlin", "Alice's home is in Berlin", "the build failed twice"),
    ("The billing service stores its data in PostgreSQL", "billing uses a Postgres database", "Bob speaks Dutch"),
    ("Carol was promoted to team lead", "Carol now leads the team", "the server room is cold"),
]


@pytest.fixture(scope="module")
async def minilm() -> AsyncIterator[Embedder]:
    embedder = minilm_embedder(threads=1)
    yield embedder
    await embedder.close()


@pytest.fixture(scope="module")
async def wordllama() -> AsyncIterator[Embedder]:
    embedder = wordllama_embedder()
    yield embedder
    await embedder.close()


async def test_vectors_have_length_one_and_keep_their_order(minilm: Embedder, wordllama: Embedder) -> None:
    for embedder in (minilm, wordllama, HashingEmbedder()):
        texts = ["production deploys from main", "", "🚀", "東京", "a" * 5000, "production deploys from main"]
        vectors = await embedder.embed(texts)
        assert (vectors.dtype, vectors.shape) == (np.float32, (len(texts), embedder.dimensions))
        assert np.allclose(np.linalg.norm(vectors, axis=1), 1.0, atol=1e-5)
        assert np.array_equal(vectors[0], vectors[5])
        assert (await embedder.embed([])).shape == (0, embedder.dimensions)


@pytest.mark.parametrize(("text", "same", "other"), PARAPHRASES)
async def test_a_paraphrase_is_nearer_than_something_else(minilm: Embedder, text: str, same: str, other: str) -> None:
    vectors = await minilm.embed([text, same, other])
    near, far = float(vectors[0] @ vectors[1]), float(vectors[0] @ vectors[2])
    assert near > 0.5
    assert far < 0.25


@pytest.mark.parametrize(("text", "same", "other"), PARAPHRASES)
async def test_the_small_model_tells_a_paraphrase_too(wordllama: Embedder, text: str, same: str, other: str) -> None:
    vectors = await wordllama.embed([text, same, other])
    near, far = float(vectors[0] @ vectors[1]), float(vectors[0] @ vectors[2])
    assert near > far + 0.15


@pytest.mark.parametrize("load", [lambda: MiniLm(threads=2), WordLlama], ids=["minilm", "wordllama"])
def test_a_vector_does_not_depend_on_its_batch(load: Callable[[], VectorModel]) -> None:
    model = load()
    texts = [f"sentence number {n} about {'words ' * (n % 7 * 5)}" for n in range(20)]
    alone = [model.vectors([text])[0] for text in texts]
    assert np.array_equal(model.vectors(texts), alone)


async def test_the_window_is_a_prefix(minilm: Embedder, wordllama: Embedder) -> None:
    text = "production deploys from main " * 400
    vectors = await minilm.embed([text, text + "and something else entirely", text[:4000]])
    assert np.array_equal(vectors[0], vectors[1])
    assert np.array_equal(vectors[0], vectors[2])


@pytest.mark.parametrize(
    "files",
    [
        {"model": replace(MODEL, sha256="0" * 64)},
        {"tokenizer": replace(TOKENIZER, path="nothing.json")},
        {"model": replace(MODEL, package="corrigenda_no_such_package")},
    ],
)
def test_a_changed_or_missing_file_fails_loudly(files: dict[str, object]) -> None:
    with pytest.raises(ProviderFailed):
        MiniLm(**files)


@pytest.mark.parametrize(
    "files",
    [{"weights": replace(WEIGHTS, sha256="0" * 64)}, {"tokenizer": replace(WEIGHTS, path="nothing.json")}],
)
def test_a_changed_file_of_the_small_model_fails_loudly(files: dict[str, object]) -> None:
    with pytest.raises(ProviderFailed):
        WordLlama(**files)


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
    service = {"embedder_model": "m-1", "model_service_url": "http://127.0.0.1:1/v1"}
    embedder: Embedder = make_embedder(EmbedderSettings(embedder=choice, **service))
    assert choice in embedder.space.replace("-l6-v2", "")
    await embedder.close()


def test_the_settings_choose_the_verifier() -> None:
    verifier = make_verifier(VerifierSettings(), lambda text, zone, *, mentions=(): ())
    assert isinstance(verifier, ValidatedVerifier)
