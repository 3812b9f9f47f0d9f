"""Verdicts and modalities: what a verifier can say about a proposal."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from corrigenda_core.domain.time import TextSpan


class Modality(StrEnum):
    """How a text says something; only a statement can become part of a timeline."""

    STATEMENT = "statement"
    QUESTION = "question"
    PLAN = "plan"
    SPECULATION = "speculation"
    QUOTATION = "quotation"


class VerificationVerdict(StrEnum):
    """Whether the cited text says what the proposal says."""

    ENTAILED = "entailed"
    CONTRADICTED = "contradicted"
    INSUFFICIENT = "insufficient"


@dataclass(frozen=True, slots=True, kw_only=True)
class CitedSpan:
    """A passage of one evidence text of a submission; ``evidence_index`` counts the submission's texts from 0."""

    evidence_index: int
    span: TextSpan

    def __post_init__(self) -> None:
        if self.evidence_index < 0:
            raise ValueError(f"evidence_index is not negative: {self.evidence_index}")
