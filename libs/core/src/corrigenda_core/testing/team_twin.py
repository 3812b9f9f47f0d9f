"""What the team machine asks for, and of whom: a vocabulary of two teams, and the twins that carry commands out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Protocol

from corrigenda_core.domain.evidence import Authority
from corrigenda_core.domain.ids import DecisionId, FragmentId, PredicateKey, RelationshipId
from corrigenda_core.domain.items import ReviewItem
from corrigenda_core.domain.predicates import (
    Cardinality,
    Predicate,
    SameMomentPolicy,
    StartGranularity,
    SupersessionBasis,
)
from corrigenda_core.domain.relationships import Relationship
from corrigenda_core.domain.resolutions import Resolution
from corrigenda_core.domain.sources import RegisteredSource
from corrigenda_core.domain.submissions import ConflictContext
from corrigenda_core.domain.time import Instant
from corrigenda_core.domain.views import TemporalSelector
from corrigenda_core.testing.memory_team import MemoryTeam

PREDICATES = (
    Predicate(key=PredicateKey("deploys_from")),
    Predicate(
        key=PredicateKey("owned_by"),
        basis=SupersessionBasis.STATED_TIME,
        same_moment=SameMomentPolicy.COMPETE,
    ),
    Predicate(
        key=PredicateKey("hosted_on"),
        basis=SupersessionBasis.OBSERVED_TIME,
        same_moment=SameMomentPolicy.CLOSE,
        granularity=StartGranularity.DAY,
    ),
    Predicate(key=PredicateKey("uses"), cardinality=Cardinality.MANY),
)
PROFILES = ("A", "B", "C")
SUBJECTS = ("production", "staging")
VALUES = ("main", "release", "trunk")
BEGAN = datetime(2026, 6, 1, 9, tzinfo=UTC)


@dataclass(frozen=True, slots=True, kw_only=True)
class Utterance:
    """What one submission says, by names; ``target`` and ``answer`` name ids."""

    subject: str
    predicate: PredicateKey
    value: str
    content: str
    denied: bool = False
    scope: str = ""
    valid_from: Instant | None = None
    valid_to: Instant | None = None
    occurred_at: Instant | None = None
    source_group: str | None = None
    source_key: str | None = None
    source_revision: str | None = None
    previous_source_revision: str | None = None
    authority: Authority = Authority.UNKNOWN
    target: RelationshipId | None = None
    answer: ConflictContext | None = None


class Twin(Protocol):
    """One team that carries out commands, and its model; a command that is refused changes neither."""

    model: MemoryTeam

    def remember(self, who: str, what: Utterance, *, foreseen: bool = False) -> None:
        """Remembers; ``foreseen`` asks before what would happen."""

    def remember_all(self, who: str, what: Sequence[Utterance]) -> None:
        """Remembers several things in one submission."""

    def register_source(self, source: RegisteredSource) -> None:
        """Registers a source, or its next version; those who may speak for it are named by name."""

    def resolve(self, who: str, item: ReviewItem, resolution: Resolution, version: int) -> None:
        """Answers an item."""

    def merge(self, who: str, item: ReviewItem, what: Utterance) -> None:
        """Answers an item with a sentence."""

    def end(self, who: str, row: Relationship, at: Instant | None) -> None:
        """Ends a relationship."""

    def retract(self, who: str, row: Relationship, *, revive: bool) -> None:
        """Takes a relationship back."""

    def retract_text(self, who: str, fragment_id: FragmentId) -> None:
        """Takes a text back."""

    def revert(self, who: str, decision_id: DecisionId) -> None:
        """Takes a decision back."""

    def adopt(self, who: str, row: Relationship, fragment_id: FragmentId) -> None:
        """Lets a relationship stand on a text of another profile."""

    def erase(self, fragment_id: FragmentId) -> None:
        """Erases a text."""

    def drive(self, time: Instant) -> None:
        """Sets the clock, and lets what is due by then be reviewed."""

    def review(self) -> None:
        """Looks at every live case now."""

    def repeat(self) -> None:
        """Sends the last command again under its key."""

    def look_back(self, subject: str, selector: TemporalSelector) -> None:
        """Asks for the past."""

    def trace(self, row_id: RelationshipId) -> None:
        """Asks for everything about a relationship."""

    def name_of(self, named: str) -> str:
        """The name of a profile or an entity."""

    def close(self) -> None:
        """Looks at everything once more, and lets go of what the team needs."""
