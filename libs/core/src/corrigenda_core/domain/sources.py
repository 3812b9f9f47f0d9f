"""Sources: what a fragment claims to come from, and what the team's registry says about it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from corrigenda_core.domain.evidence import Authority
from corrigenda_core.domain.ids import FragmentId, PredicateKey, ProfileId


@dataclass(frozen=True, slots=True, kw_only=True)
class AnyProfile:
    """Every profile of the team may speak for the source."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OnlyProfiles:
    """Only the listed profiles may speak for the source."""

    profiles: frozenset[ProfileId]


Speakers = AnyProfile | OnlyProfiles


class SourceLifecycle(StrEnum):
    """A retired entry of the registry says nothing any more; its versions stay."""

    ACTIVE = "active"
    RETIRED = "retired"


class RetirementReason(StrEnum):
    """Why a fragment supports nothing any more."""

    REVISION_SUPERSEDED = "revision_superseded"
    SUPERSEDED_BY_AUTHOR = "superseded_by_author"


@dataclass(frozen=True, slots=True, kw_only=True)
class EveryPredicate:
    """The source is authoritative for whatever it speaks about."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OnlyPredicates:
    """The source is authoritative for the listed predicates; for none, if the list is empty."""

    keys: frozenset[PredicateKey] = frozenset()


AuthoritativeFor = EveryPredicate | OnlyPredicates


@dataclass(frozen=True, slots=True, kw_only=True)
class RegisteredSource:
    """The current version of one entry of the team's source registry.

    It names a source group, a source key, or both. ``record`` marks a system of record.
    """

    source_group: str | None = None
    source_key: str | None = None
    version: int = 1
    speakers: Speakers = AnyProfile()
    authoritative_for: AuthoritativeFor = OnlyPredicates()
    record: bool = False

    def __post_init__(self) -> None:
        if not self.source_group and not self.source_key:
            raise ValueError("a registered source names a group, a key or both")


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceClaim:
    """Where a fragment says that it comes from.

    ``source_key`` and ``source_revision`` stand together or not at all. ``previous_source_revision`` is the token that
    the revision takes the place of.
    """

    author: ProfileId
    source_group: str | None = None
    source_key: str | None = None
    source_revision: str | None = None
    previous_source_revision: str | None = None

    def __post_init__(self) -> None:
        if (self.source_key is None) != (self.source_revision is None):
            raise ValueError("source_key and source_revision stand together or not at all")
        if self.previous_source_revision is not None and self.previous_source_revision == self.source_revision:
            raise ValueError("a source revision does not take its own place")
        if self.source_key is None and self.previous_source_revision is not None:
            raise ValueError("previous_source_revision needs source_key")


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceState:
    """Where a source key stands in the team: its first user, its current revision and the one before."""

    source_key: str
    first_user: ProfileId
    current_revision: str
    prior_revision: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class FragmentSource:
    """A stored fragment with what says which source it is of."""

    fragment_id: FragmentId
    claim: SourceClaim


@dataclass(frozen=True, slots=True, kw_only=True)
class RetiredFragment:
    """A fragment that supports nothing any more: its source has moved on, or ``superseded_by`` takes its place."""

    fragment_id: FragmentId
    superseded_by: FragmentId | None = None

    @property
    def reason(self) -> RetirementReason:
        """Why."""
        if self.superseded_by is None:
            return RetirementReason.REVISION_SUPERSEDED
        return RetirementReason.SUPERSEDED_BY_AUTHOR


@dataclass(frozen=True, slots=True, kw_only=True)
class GrantedAuthority:
    """What a support is worth for its predicate; ``note`` tells the caller that it is less than was claimed."""

    authority: Authority
    note: str = ""
