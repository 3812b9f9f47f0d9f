"""Who acts: an authenticated caller, or the system reviewer."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from corrigenda_core.domain.ids import KeyId, ProfileId, TeamId


class KeyScope(StrEnum):
    """A permission that a key can carry."""

    READ = "read"
    WRITE = "write"
    ASSERT_AUTHORITY = "assert_authority"
    ADMIN = "admin"
    OPERATOR = "operator"


@dataclass(frozen=True, slots=True, kw_only=True)
class Caller:
    """The authenticated caller of an RPC; the team and the profile come from the key alone."""

    team_id: TeamId
    profile_id: ProfileId
    key_id: KeyId
    scopes: frozenset[KeyScope]


class ActorKind(StrEnum):
    """What kind of actor a record names."""

    PROFILE = "profile"
    REVIEWER = "reviewer"
    JUDGE = "judge"
    OPERATOR = "operator"


@dataclass(frozen=True, slots=True, kw_only=True)
class Actor:
    """Who a record says acted; ``profile_id`` is ``None`` for the system reviewer alone."""

    kind: ActorKind
    profile_id: ProfileId | None = None


SYSTEM_REVIEWER = Actor(kind=ActorKind.REVIEWER)
