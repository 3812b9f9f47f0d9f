"""Makes the providers that the settings name; called by a service's bootstrap and nowhere else.

What a provider needs is imported where it is chosen: models and HTTP clients are memory that most processes never use.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import partial
from typing import assert_never

from corrigenda_core.config import (
    EmbedderChoice,
    EmbedderSettings,
    EmbedderSpec,
    ExtractorChoice,
    ExtractorSettings,
    JudgeChoice,
    JudgeSettings,
    VerifierChoice,
    VerifierSettings,
)
from corrigenda_core.ports.providers import Embedder, Extractor, Judge, StoredSample, Verifier
from corrigenda_core.providers.extraction_validation import ValidatedExtractor
from corrigenda_core.providers.extractor_local import LocalExtractor
from corrigenda_core.providers.judge_local import LocalJudge
from corrigenda_core.providers.judge_validation import ValidatedJudge
from corrigenda_core.providers.local.times import TimeReader
from corrigenda_core.providers.metrics import Observe, unobserved
from corrigenda_core.providers.validation import ValidatedVerifier
from corrigenda_core.providers.verifier_local import LocalVerifier

Sample = Callable[[str], Awaitable[StoredSample | None]]
"""A text that is stored with a vector of the space of this name, if there is one."""


def make_embedder(
    settings: EmbedderSettings, spec: EmbedderSpec | None = None, sample: Sample | None = None
) -> Embedder:
    """The embedder; it loads nothing before its first text.

    Args:
        settings: of the process.
        spec: which embedder; by default the one that the settings name.
        sample: lets a service's model be compared with what is stored; a local model is what its digest says.
    """
    asked = spec or settings.embedder_spec
    idle_seconds = settings.embedder_idle_seconds or None
    match asked.choice:
        case EmbedderChoice.MINILM:
            from corrigenda_core.providers.embedder_minilm import minilm_embedder

            return minilm_embedder(threads=settings.embedder_threads, idle_seconds=idle_seconds)
        case EmbedderChoice.WORDLLAMA:
            from corrigenda_core.providers.embedder_wordllama import wordllama_embedder

            return wordllama_embedder(idle_seconds=idle_seconds)
        case EmbedderChoice.HASHING:
            from corrigenda_core.providers.embedder_hashing import HashingEmbedder

            return HashingEmbedder()
        case EmbedderChoice.OPENAI:
            from corrigenda_core.providers.embedder_guarded import GuardedEmbedder
            from corrigenda_core.providers.remote.embedder import RemoteEmbedder
            from corrigenda_core.providers.remote.endpoint import Endpoint

            remote = RemoteEmbedder(
                Endpoint(settings.model_service(timeout_seconds=settings.embedder_timeout_seconds)),
                model=asked.model,
                revision=asked.revision,
                dimensions=asked.dimensions,
                asks_for_length=asked.shortens,
            )
            return remote if sample is None else GuardedEmbedder(remote, partial(sample, remote.space))
        case unknown:
            assert_never(unknown)


def make_verifier(
    settings: VerifierSettings, read_times: TimeReader, observe: Observe = unobserved
) -> ValidatedVerifier:
    """The verifier, with its answers checked; ``observe`` is told of each call."""
    verifier: Verifier
    match settings.verifier:
        case VerifierChoice.LOCAL:
            verifier = LocalVerifier(read_times)
        case VerifierChoice.OPENAI:
            from corrigenda_core.providers.remote.endpoint import Endpoint
            from corrigenda_core.providers.remote.verifier import RemoteVerifier

            service = settings.model_service(timeout_seconds=settings.verifier_timeout_seconds)
            verifier = RemoteVerifier(Endpoint(service), model=settings.verifier_model)
        case unknown:
            assert_never(unknown)
    return ValidatedVerifier(
        verifier,
        call_timeout_seconds=settings.verifier_timeout_seconds,
        retries=settings.verifier_retries,
        observe=observe,
    )


def make_extractor(
    settings: ExtractorSettings, read_times: TimeReader, observe: Observe = unobserved
) -> ValidatedExtractor:
    """The extractor, with its proposals checked; ``observe`` is told of each call."""
    extractor: Extractor
    match settings.extractor:
        case ExtractorChoice.LOCAL:
            extractor = LocalExtractor(read_times)
        case ExtractorChoice.OPENAI:
            from corrigenda_core.providers.remote.endpoint import Endpoint
            from corrigenda_core.providers.remote.extractor import RemoteExtractor

            service = settings.model_service(timeout_seconds=settings.extractor_timeout_seconds)
            extractor = RemoteExtractor(Endpoint(service), model=settings.extractor_model)
        case unknown:
            assert_never(unknown)
    return ValidatedExtractor(
        extractor,
        call_timeout_seconds=settings.extractor_timeout_seconds,
        retries=settings.extractor_retries,
        observe=observe,
    )


def make_judge(settings: JudgeSettings, observe: Observe = unobserved) -> ValidatedJudge:
    """The judge, with its answers checked; ``observe`` is told of each call."""
    judge: Judge
    match settings.judge:
        case JudgeChoice.LOCAL:
            judge = LocalJudge()
        case JudgeChoice.OPENAI:
            from corrigenda_core.providers.remote.endpoint import Endpoint
            from corrigenda_core.providers.remote.judge import RemoteJudge

            service = settings.model_service(timeout_seconds=settings.judge_timeout_seconds)
            judge = RemoteJudge(Endpoint(service), model=settings.judge_model)
        case unknown:
            assert_never(unknown)
    return ValidatedJudge(
        judge,
        call_timeout_seconds=settings.judge_timeout_seconds,
        retries=settings.judge_retries,
        observe=observe,
    )
