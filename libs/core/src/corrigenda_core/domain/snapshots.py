"""Case snapshots and what the policy answers for them: everything that a decision on a team case was taken from.

A snapshot is stored with each evaluation, so that any past decision can be replayed from it alone.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import ClassVar

from corrigenda_core.domain.evidence import Support
from corrigenda_core.domain.ids import PositionId, ProfileId, RelationshipId, SupportId
from corrigenda_core.domain.time import Instant, TimeBasis, WholeInterval, require_instant

INDEPENDENT_SOURCES = "independent-sources/1"
"""The one version of the policy; a snapshot that names another one cannot be replayed by this code."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SnapshotMember:
    """A relationship at a version as it stood when the case was looked at, with all its supports.

    ``valid_from`` and ``valid_to`` are ``None`` where unbounded; they are equal for a relationship closed to nothing.
    ``valid_from_basis`` may be ``None`` only beside an unbounded start. ``record`` marks a system of record.
    """

    relationship_id: RelationshipId
    version: int
    owner_id: ProfileId
    valid_from: Instant | None = None
    valid_from_basis: TimeBasis | None = None
    valid_to: Instant | None = None
    record: bool = False
    supports: tuple[Support, ...] = ()

    def __post_init__(self) -> None:
        require_instant("valid_from", self.valid_from)
        require_instant("valid_to", self.valid_to)
        if self.valid_from is not None:
            if self.valid_from_basis is None:
                raise ValueError("valid_from needs valid_from_basis")
            if self.valid_to is not None and self.valid_to < self.valid_from:
                raise ValueError(f"valid_to must not be before valid_from: {self.valid_to} and {self.valid_from}")

    @property
    def live(self) -> bool:
        """Whether the member has an effective support."""
        return any(support.effective for support in self.supports)


@dataclass(frozen=True, slots=True, kw_only=True)
class SnapshotPosition:
    """One side of the case with its members."""

    position_id: PositionId
    members: tuple[SnapshotMember, ...] = ()

    @property
    def live_members(self) -> tuple[SnapshotMember, ...]:
        """The members that have an effective support; a position without one takes no part."""
        return tuple(member for member in self.members if member.live)


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseSnapshot:
    """All that the policy reads: the moment of the look, the deadline, and the positions.

    ``first_contradiction_at`` is the recorded time of the first contradictory placement. Position, relationship and
    support ids are unique within a snapshot: each names one thing in the evaluation.
    """

    now: Instant
    review_due_at: Instant
    first_contradiction_at: Instant
    positions: tuple[SnapshotPosition, ...]
    policy: str = INDEPENDENT_SOURCES

    def __post_init__(self) -> None:
        if self.policy != INDEPENDENT_SOURCES:
            raise ValueError(f"unknown policy {self.policy!r}, this is {INDEPENDENT_SOURCES!r}")
        require_instant("now", self.now)
        require_instant("review_due_at", self.review_due_at)
        require_instant("first_contradiction_at", self.first_contradiction_at)
        members = [member for position in self.positions for member in position.members]
        _require_unique("position_id", (position.position_id for position in self.positions))
        _require_unique("relationship_id", (member.relationship_id for member in members))
        _require_unique("support_id", (support.support_id for member in members for support in member.supports))

    @property
    def due(self) -> bool:
        """Whether the deadline has come; it belongs to the time after it."""
        return self.now >= self.review_due_at


def _require_unique(field: str, ids: Iterable[str]) -> None:
    seen: set[str] = set()
    for one in ids:
        if one in seen:
            raise ValueError(f"{field} {one!r} stands twice in the snapshot")
        seen.add(one)


class ExclusionReason(StrEnum):
    """Why supports count for no position."""

    ON_BOTH_SIDES = "on_both_sides"
    COPY_OF_OTHER_SIDE = "copy_of_other_side"


@dataclass(frozen=True, slots=True, kw_only=True)
class Component:
    """Supports of one position that count as one witness, authoritative if any of them is; ids in order."""

    position_id: PositionId
    support_ids: tuple[SupportId, ...]
    authoritative: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Exclusion:
    """Supports of one position that count for nobody, and why; ids in order."""

    position_id: PositionId
    support_ids: tuple[SupportId, ...]
    reason: ExclusionReason


@dataclass(frozen=True, slots=True, kw_only=True)
class Witnesses:
    """Every counted component and every exclusion, ordered by position and supports."""

    components: tuple[Component, ...] = ()
    exclusions: tuple[Exclusion, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """The numbers of one live position that the rules compare.

    ``counted`` is n(p), ``authoritative`` a(p). ``start_bounds`` is how many verified start bounds its counted supports
    have, ``time`` their intersection: ``None`` if there are none, or if they conflict. ``authority_bounds_end`` is the
    latest end of a bound and ``authority_valid_from`` the latest known start of a member in its authoritative
    components. ``record`` says whether a system of record stands on this position.
    """

    position_id: PositionId
    counted: int
    authoritative: int
    start_bounds: int
    time: WholeInterval | None
    authority_bounds_end: Instant | None
    authority_valid_from: Instant | None
    record: bool


class Outcome(StrEnum):
    """What a look at a case leads to."""

    RESOLVE = "resolve"
    OVERDUE = "overdue"
    KEEP_OPEN = "keep_open"
    DISMISS = "dismiss"


class DecisionReason(StrEnum):
    """The rule that led to the outcome."""

    EARLY_QUORUM = "early_quorum"
    TIMED_OVERRIDE = "timed_override"
    UNIQUE_AUTHORITY = "unique_authority"
    DUE_MAJORITY = "due_majority"
    NO_QUALIFYING_POSITION = "no_qualifying_position"
    RECORD_PROTECTED = "record_protected"
    BEFORE_DEADLINE = "before_deadline"
    NO_MATERIAL_DISAGREEMENT = "no_material_disagreement"


@dataclass(frozen=True, slots=True, kw_only=True)
class Loser:
    """A losing relationship and the end that the resolution gives it; equal to its own start: closed to nothing."""

    relationship_id: RelationshipId
    valid_to: Instant


@dataclass(frozen=True, slots=True, kw_only=True)
class Resolve:
    """The case is resolved for ``winner``; the losers are ordered by id."""

    outcome: ClassVar[Outcome] = Outcome.RESOLVE
    reason: DecisionReason
    winner: PositionId
    cutoff: Instant
    basis: TimeBasis
    losers: tuple[Loser, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class MarkOverdue:
    """The deadline has come and nobody wins: the case is escalated."""

    outcome: ClassVar[Outcome] = Outcome.OVERDUE
    reason: DecisionReason


@dataclass(frozen=True, slots=True, kw_only=True)
class KeepOpen:
    """Nobody wins yet, and there is time left."""

    outcome: ClassVar[Outcome] = Outcome.KEEP_OPEN
    reason: DecisionReason


@dataclass(frozen=True, slots=True, kw_only=True)
class Dismiss:
    """There is no disagreement between owners left."""

    outcome: ClassVar[Outcome] = Outcome.DISMISS
    reason: DecisionReason = DecisionReason.NO_MATERIAL_DISAGREEMENT


CaseDecision = Resolve | MarkOverdue | KeepOpen | Dismiss


@dataclass(frozen=True, slots=True, kw_only=True)
class Evaluation:
    """A decision with all it was taken from; standings and witnesses are those of the live positions, in order.

    A dismissed case counts nothing: its standings and witnesses are empty.
    """

    decision: CaseDecision
    standings: tuple[Standing, ...] = ()
    witnesses: Witnesses = Witnesses()
    policy: str = INDEPENDENT_SOURCES
