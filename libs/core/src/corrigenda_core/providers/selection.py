"""Makes the providers that the settings name; called by a service's bootstrap and nowhere else."""

from __future__ import annotations

from typing import assert_never

from corrigenda_core.config import (
    EmbedderChoice,
    EmbedderSettings,
    ExtractorChoice,
    ExtractorSettings,
    JudgeChoice,
    JudgeSettings,
    VerifierChoice,
    VerifierSettings,
)
from corrigenda_core.ports.providers import Embedder
from corrigenda_core.providers.embedder_hashing import HashingEmbedder
from corrigenda_core.providers.embedder_minilm import minilm_embedder
from corrigenda_core.providers.extraction_validation import ValidatedExtractor
from corrigenda_core.providers.extractor_local import LocalExtractor
from corrigenda_core.providers.judge_local import LocalJudge
from corrigenda_core.providers.judge_validation import ValidatedJudge
from corrigenda_core.providers.local.times import TimeReader
from corrigenda_core.providers.validation import ValidatedVerifier
from corrigenda_core.providers.verifier_local import LocalVerifier


def make_embedder(settings: EmbedderSettings) -> Embedder:
    """The embedder; it loads nothing before its first text."""
    match settings.embedder:
        case EmbedderChoice.MINILM:
            return minilm_embedder(threads=settings.embedder_threads)
        case EmbedderChoice.HASHING:
            return HashingEmbedder()
        case unknown:
            assert_never(unknown)


def make_verifier(settings: VerifierSettings, read_times: TimeReader) -> ValidatedVerifier:
    """The verifier, with its answers checked."""
    match settings.verifier:
        case VerifierChoice.LOCAL:
            return ValidatedVerifier(
                LocalVerifier(read_times),
                call_timeout_seconds=settings.verifier_timeout_seconds,
                retries=settings.verifier_retries,
            )
        case unknown:
            assert_never(unknown)


def make_extractor(settings: ExtractorSettings, read_times: TimeReader) -> ValidatedExtractor:
    """The extractor, with its proposals checked."""
    match settings.extractor:
        case ExtractorChoice.LOCAL:
            return ValidatedExtractor(
                LocalExtractor(read_times),
                call_timeout_seconds=settings.extractor_timeout_seconds,
                retries=settings.extractor_retries,
            )
        case unknown:
            assert_never(unknown)


def make_judge(settings: JudgeSettings) -> ValidatedJudge:
    """The judge, with its answers checked."""
    match settings.judge:
        case JudgeChoice.LOCAL:
            return ValidatedJudge(
                LocalJudge(),
                call_timeout_seconds=settings.judge_timeout_seconds,
                retries=settings.judge_retries,
            )
        case unknown:
            assert_never(unknown)
