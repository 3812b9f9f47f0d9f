"""Team conflict cases: durable records of disagreements between owners."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum

from corrigenda_core.domain.actors import Actor
from corrigenda_core.domain.ids import (
    ConflictId,
    EntityId,
    EventId,
    PositionId,
    PredicateKey,
    ProfileId,
    RelationshipId,
)
from corrigenda_core.domain.objects import Slot, occurrence_of_key
from corrigenda_core.domain.time import Instant, TimeBasis


class CaseKind(StrEnum):
    """What the positions of a case are."""

    CURRENT_STATE = "current_state"
    POLARITY = "polarity"
    REFERENCE = "reference"


class CaseStatus(StrEnum):
    """A live case is open or overdue; a closed one is never opened again."""

    OPEN = "open"
    OVERDUE = "overdue"
    RESOLVED = "resolved"
    DISMISSED = "dismissed"


LIVE_CASE_STATUSES = frozenset({CaseStatus.OPEN, CaseStatus.OVERDUE})


@dataclass(frozen=True, slots=True, kw_only=True)
class SetKey:
    """What a case is about; at most one live case has a given key.

    ``object_key`` is empty except for polarity cases; for one about an event it names the day, too.
    """

    kind: CaseKind
    subject_id: EntityId
    predicate: PredicateKey
    scope: str = ""
    object_key: str = ""

    @property
    def slot(self) -> Slot:
        """The slot that the key lies in."""
        return Slot(subject_id=self.subject_id, predicate=self.predicate, scope=self.scope)

    @property
    def occurred(self) -> Instant | None:
        """The start of the day of the event that a polarity case is about, if it is about one whose day is known."""
        return occurrence_of_key(self.object_key)[0]

    @property
    def of_any_day(self) -> SetKey:
        """The same without the day of an event."""
        return replace(self, object_key=occurrence_of_key(self.object_key)[1])


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseMember:
    """A relationship at a version that takes part in a position."""

    relationship_id: RelationshipId
    version: int
    owner_id: ProfileId


@dataclass(frozen=True, slots=True, kw_only=True)
class CasePosition:
    """One side of a case: ``key`` is the object key, the polarity, or ``recorded`` / ``corrected``.

    ``counted_groups`` and ``authoritative_groups`` are components by the policy; ``support_digest`` changes whenever
    the effective supports of its members do.
    """

    position_id: PositionId
    key: str
    members: tuple[CaseMember, ...]
    counted_groups: int
    authoritative_groups: int
    support_digest: str
    first_seen_at: Instant
    last_seen_at: Instant


@dataclass(frozen=True, slots=True, kw_only=True)
class ConflictCase:
    """The current version of a case with its positions (R7.9); leases and attempts are kept apart, no revisions."""

    conflict_id: ConflictId
    set_key: SetKey
    status: CaseStatus
    version: int
    opened_at: Instant
    review_due_at: Instant
    first_contradiction_at: Instant
    positions: tuple[CasePosition, ...]
    last_evaluated_at: Instant | None = None
    resolved_at: Instant | None = None
    dismissed_at: Instant | None = None
    effective_at: Instant | None = None
    effective_time_basis: TimeBasis | None = None
    preferred_position_id: PositionId | None = None
    resolution_reason: str | None = None
    policy_version: str | None = None
    previous_conflict_id: ConflictId | None = None

    @property
    def live(self) -> bool:
        """Whether the case is open or overdue."""
        return self.status in LIVE_CASE_STATUSES


class CaseAction(StrEnum):
    """What a case event records."""

    OPENED = "opened"
    JOINED = "joined"
    REFRESHED = "refreshed"
    MARKED_OVERDUE = "marked_overdue"
    RESOLVED = "resolved"
    DISMISSED = "dismissed"
    ALERTED = "alerted"


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseEvent:
    """One append-only event of a case."""

    event_id: EventId
    conflict_id: ConflictId
    prior_status: CaseStatus | None
    resulting_status: CaseStatus
    version: int
    actor: Actor
    action: CaseAction
    reason: str
    policy_version: str | None = None
    time_basis: TimeBasis | None = None
    relationship_versions: tuple[tuple[RelationshipId, int], ...] = ()
