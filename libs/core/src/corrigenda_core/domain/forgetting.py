"""Forgetting: what an owner says is no longer true, or never was."""

from __future__ import annotations

from dataclasses import dataclass

from corrigenda_core.domain.ids import FragmentId, RelationshipId
from corrigenda_core.domain.time import Instant, require_instant


@dataclass(frozen=True, slots=True, kw_only=True)
class RetractRow:
    """The relationship never was true; with ``revive`` what it alone had ended comes back.

    ``expected_version`` is the version that its owner saw; none means the current one.
    """

    row_id: RelationshipId
    expected_version: int | None = None
    revive: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class EndRow:
    """The relationship is no longer true from ``at`` on; none means the moment of the commit."""

    row_id: RelationshipId
    expected_version: int | None = None
    at: Instant | None = None

    def __post_init__(self) -> None:
        require_instant("at", self.at)


@dataclass(frozen=True, slots=True, kw_only=True)
class RetractFragment:
    """The text says nothing of its owner any more."""

    fragment_id: FragmentId


Forgetting = RetractRow | EndRow | RetractFragment
