"""Evidence and its support: verbatim fragments, and the links that carry a relationship."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from corrigenda_core.domain.ids import FragmentId, ProfileId, RelationshipId, StatementId, SupportId
from corrigenda_core.domain.time import Instant, TextSpan, WholeInterval, require_instant


class SourceType(StrEnum):
    """What kind of source a fragment comes from."""

    CONVERSATION = "conversation"
    DOCUMENT = "document"
    OBSERVATION = "observation"
    MANUAL = "manual"
    SYSTEM_RECORD = "system_record"


class Authority(StrEnum):
    """How authoritative a source is, as claimed by a fragment or granted to a support."""

    AUTHORITATIVE = "authoritative"
    PRIMARY = "primary"
    SECONDARY = "secondary"
    INFERRED = "inferred"
    UNKNOWN = "unknown"


class ScanVerdict(StrEnum):
    """What the deterministic scan of incoming text found."""

    PASS = "pass"
    GUARDED = "guarded"
    QUARANTINED = "quarantined"


@dataclass(frozen=True, slots=True, kw_only=True)
class StartWindow:
    """A start bound of a support: the whole interval that the words name, and whether the verifier confirmed it."""

    whole: WholeInterval
    verified: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Support:
    """One link relationship <- fragment, with what counting witnesses needs to know of the fragment.

    ``authority`` is the granted one. ``effective`` is the state after its last decision and its fragment's state.
    ``relationship_id`` and ``statement_id`` are ``None`` in a replayed snapshot that does not carry them. Once its
    fragment is ``erased``, or ``retired`` because its source has moved on, nothing makes it effective again.
    """

    support_id: SupportId
    fragment_id: FragmentId
    author: ProfileId
    recorded_at: Instant
    authority: Authority
    effective: bool = True
    retired: bool = False
    source_group: str | None = None
    source_key: str | None = None
    inherited_labels: tuple[str, ...] = ()
    content_hash: str | None = None
    adopted_from_fragment_id: FragmentId | None = None
    derived_from_fragment_ids: tuple[FragmentId, ...] = ()
    near_duplicate_fragment_ids: tuple[FragmentId, ...] = ()
    evidence_time: StartWindow | None = None
    occurred_at: Instant | None = None
    relationship_id: RelationshipId | None = None
    statement_id: StatementId | None = None
    spans: tuple[TextSpan, ...] = ()
    erased: bool = False

    def __post_init__(self) -> None:
        require_instant("recorded_at", self.recorded_at)
        require_instant("occurred_at", self.occurred_at)


class SupportDecisionKind(StrEnum):
    """What an append-only support decision does."""

    GRANT = "grant"
    REVOKE = "revoke"
    REINSTATE = "reinstate"


class Impediment(StrEnum):
    """Why a fragment carries nothing at the moment, whatever the decisions on its supports say."""

    QUARANTINED = "quarantined"
    RETIRED = "retired"
    ERASED = "erased"
    REVISION_SUPERSEDED = "revision_superseded"


@dataclass(frozen=True, slots=True, kw_only=True)
class SupportDecision:
    """One append-only decision that switches a support; the last one counts.

    ``granted_by_key`` says that the submitting key's own permission makes it authoritative, whatever the registry says.
    """

    support_id: SupportId
    kind: SupportDecisionKind
    authority: Authority
    reason: str
    granted_by_key: bool = False
