"""Views: what a reader asks for on the two time axes, and versions of rows that answer it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic, TypeVar

from corrigenda_core.domain.time import Instant, Moment, require_instant

Row = TypeVar("Row")


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownNow:
    """What the team knows now."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownAt:
    """What the team knew at an instant, that instant included."""

    at: Instant

    def __post_init__(self) -> None:
        require_instant("known_at", self.at)


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownAtRevision:
    """What the team knew when a revision was committed, that revision included; 0 is before the first."""

    revision: int

    def __post_init__(self) -> None:
        if self.revision < 0:
            raise ValueError(f"a revision is not negative: {self.revision}")


Known = KnownNow | KnownAt | KnownAtRevision


@dataclass(frozen=True, slots=True, kw_only=True)
class TemporalSelector:
    """What a reader asks by: ``valid_at`` in the world, ``known`` in the team's record."""

    valid_at: Instant | None = None
    known: Known = KnownNow()

    def __post_init__(self) -> None:
        require_instant("valid_at", self.valid_at)


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """A resolved selector: an instant of the world and a revision of the record."""

    valid_at: Instant
    revision: int

    def __post_init__(self) -> None:
        require_instant("valid_at", self.valid_at)


@dataclass(frozen=True, slots=True, kw_only=True)
class Version(Generic[Row]):
    """One version of a row: the current one from the commit ``since`` on, until the commit ``until`` (exclusive).

    The versions of a row neither overlap nor leave a gap; ``until`` is ``None`` for the current version.
    """

    row: Row
    since: Moment
    until: Moment | None = None

    def __post_init__(self) -> None:
        if self.until is not None and not (self.since.revision < self.until.revision and self.since.at < self.until.at):
            raise ValueError(f"a version ends after it begins, not {self.since} and {self.until}")
