"""What the core asks of models: ports of verifier, extractor, judge and embedder, and their values.

They see text that may be hostile and answer with proposals only. Their answers are checked by the caller's side
(`corrigenda_core.providers.validation`), so an implementation need not be trusted.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, TypeAlias

from corrigenda_core.domain.ids import EntityId, PredicateKey, ProposalId
from corrigenda_core.domain.judging import JudgeAnswer, JudgeQuestion
from corrigenda_core.domain.objects import Polarity, ValueObject
from corrigenda_core.domain.predicates import Predicate
from corrigenda_core.domain.submissions import ProposedEntity, ProposedRelationship
from corrigenda_core.domain.time import Instant, TimeBound
from corrigenda_core.domain.verification import CitedSpan, Modality, VerificationVerdict

# Most processes never embed, and need not load what holds vectors.
if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Vectors: TypeAlias = "NDArray[np.float32]"
"""Embeddings: shape (texts, dimensions), each row of length 1."""


class ProviderFailed(Exception):
    """A provider did not answer: unreachable, over its deadline or busy. The message holds no payload text."""


class UnusableAnswer(ProviderFailed):
    """A provider answered what cannot be read.

    Attributes:
        problems: what is wrong, in words that a model can act on; they quote nothing of the answer.
    """

    def __init__(self, *problems: str) -> None:
        super().__init__("; ".join(problems))
        self.problems = problems


@dataclass(frozen=True, slots=True, kw_only=True)
class EvidenceText:
    """One evidence text of the submission: data to be read, never an instruction."""

    content: str
    occurred_at: Instant | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class OfferedCandidate:
    """A known entity of the team that a mention may be."""

    entity_id: EntityId
    names: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class MentionedEntity:
    """An entity as the proposal mentions it; ``names`` is its name and its aliases, the name first."""

    names: tuple[str, ...]
    kind: str = ""
    known_entity_id: EntityId | None = None
    candidates: tuple[OfferedCandidate, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class PredicateWords:
    """The registered predicate of a proposal and its aliases; ``is_event`` says that it happens rather than holds."""

    key: PredicateKey
    aliases: tuple[str, ...] = ()
    is_event: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ProposalToVerify:
    """One proposed relationship whose predicate is known, with the passages that are said to state it."""

    proposal_id: ProposalId
    subject: MentionedEntity
    predicate: PredicateWords
    object: MentionedEntity | ValueObject
    polarity: Polarity = Polarity.POSITIVE
    modality: Modality = Modality.STATEMENT
    cited: tuple[CitedSpan, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class VerificationRequest:
    """Everything that a verifier sees of a submission; ``time_zone`` is the team's, for words without one."""

    evidence: tuple[EvidenceText, ...]
    proposals: tuple[ProposalToVerify, ...]
    time_zone: str = "UTC"


@dataclass(frozen=True, slots=True, kw_only=True)
class CitedBound:
    """A time bound and the evidence text that its span counts in."""

    evidence_index: int
    bound: TimeBound


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """The verdict on one proposal.

    ``reason`` is for people and carries no decision. ``found_polarity`` and ``found_modality`` say how the text reads
    where that differs from the proposal; they are shown to the author and change nothing by themselves.
    """

    proposal_id: ProposalId
    verdict: VerificationVerdict
    reason: str
    bounds: tuple[CitedBound, ...] = ()
    found_polarity: Polarity | None = None
    found_modality: Modality | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class VerifierAnswer:
    """One finding for each proposal, and which verifier made them (name and version, recorded with each verdict)."""

    verifier: str
    findings: tuple[Finding, ...]


class Verifier(Protocol):
    """Says whether cited texts state what is proposed; never whether anything conflicts."""

    async def verify(self, request: VerificationRequest, *, problems: tuple[str, ...] = ()) -> VerifierAnswer:
        """Reads one submission.

        Args:
            request: the whole submission; one call answers all its proposals.
            problems: why the last answer to the same request was refused; empty at the first call.

        Raises:
            ProviderFailed: there is no answer; `UnusableAnswer` if there is one that cannot be read.
        """
        ...

    async def close(self) -> None:
        """Releases what it holds; later calls fail."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class ExtractionRequest:
    """Everything that an extractor sees: texts of a submission without a proposal, and the predicates it may use.

    A text that may not be read is empty; so the others keep their places. ``time_zone`` is the team's.
    """

    evidence: tuple[EvidenceText, ...]
    predicates: tuple[Predicate, ...]
    time_zone: str = "UTC"


@dataclass(frozen=True, slots=True, kw_only=True)
class ExtractorAnswer:
    """What the texts are proposed to say, and which extractor proposes it (name and version)."""

    extractor: str
    entities: tuple[ProposedEntity, ...] = ()
    relationships: tuple[ProposedRelationship, ...] = ()


class Extractor(Protocol):
    """Proposes what texts say; the verifier checks its proposals like anybody's."""

    async def extract(self, request: ExtractionRequest, *, problems: tuple[str, ...] = ()) -> ExtractorAnswer:
        """Reads one submission.

        Args:
            request: the whole submission.
            problems: why the last answer to the same request was refused; empty at the first call.

        Raises:
            ProviderFailed: there is no answer; `UnusableAnswer` if there is one that cannot be read.
        """
        ...

    async def close(self) -> None:
        """Releases what it holds; later calls fail."""
        ...


class Judge(Protocol):
    """Says how two statements of one owner that exclude each other relate; it decides nothing by itself."""

    async def judge(self, question: JudgeQuestion, *, problems: tuple[str, ...] = ()) -> JudgeAnswer:
        """Looks at one pair.

        Args:
            question: both statements, with all that is known of them.
            problems: why the last answer to the same question was refused; empty at the first call.

        Raises:
            ProviderFailed: there is no answer; `UnusableAnswer` if there is one that cannot be read.
        """
        ...

    async def close(self) -> None:
        """Releases what it holds; later calls fail."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredSample:
    """A stored text and the vector that its document has."""

    content: str
    vector: tuple[float, ...]


class Embedder(Protocol):
    """Turns texts into vectors of one space; vectors of different spaces must never be compared."""

    @property
    def space(self) -> str:
        """Name of the space: model, version and everything else that changes a vector."""
        ...

    @property
    def dimensions(self) -> int:
        """Length of a vector."""
        ...

    async def embed(self, texts: Sequence[str]) -> Vectors:
        """The vectors of the texts, in their order; a text beyond the model's window is read up to there.

        Raises:
            ProviderFailed: the model cannot answer now; a reader falls back to words and says so.
        """
        ...

    async def close(self) -> None:
        """Releases the model; requests still waiting fail."""
        ...
