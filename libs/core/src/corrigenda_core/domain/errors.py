"""The closed list of refusals that the domain can answer; the wire's ``ErrorReason`` has the same names."""

from __future__ import annotations

from enum import StrEnum


class Reason(StrEnum):
    """Why a request is refused (contracts: one closed list)."""

    INVALID_FIELD = "INVALID_FIELD"
    QUOTE_NOT_FOUND = "QUOTE_NOT_FOUND"
    QUOTE_AMBIGUOUS = "QUOTE_AMBIGUOUS"
    NOT_IN_CONFLICT = "NOT_IN_CONFLICT"
    PAGE_TOKEN_MISMATCH = "PAGE_TOKEN_MISMATCH"
    TOO_LARGE = "TOO_LARGE"
    TOO_MANY_ITEMS = "TOO_MANY_ITEMS"
    CREDENTIAL_INVALID = "CREDENTIAL_INVALID"
    CREDENTIAL_EXPIRED = "CREDENTIAL_EXPIRED"
    SCOPE_MISSING = "SCOPE_MISSING"
    NOT_OWNER = "NOT_OWNER"
    SOURCE_NOT_ALLOWED = "SOURCE_NOT_ALLOWED"
    RESOURCE_NOT_FOUND = "RESOURCE_NOT_FOUND"
    IDEMPOTENCY_CONFLICT = "IDEMPOTENCY_CONFLICT"
    STALE_VERSION = "STALE_VERSION"
    CONFLICT_VERSION_STALE = "CONFLICT_VERSION_STALE"
    SOURCE_REVISION_STALE = "SOURCE_REVISION_STALE"
    CONTENTION = "CONTENTION"
    LEASE_LOST = "LEASE_LOST"
    ITEM_NOT_PENDING = "ITEM_NOT_PENDING"
    REVERT_BLOCKED = "REVERT_BLOCKED"
    IMPACT_TOKEN_EXPIRED = "IMPACT_TOKEN_EXPIRED"
    IMPACT_CHANGED = "IMPACT_CHANGED"
    PREDICATE_RETIRED = "PREDICATE_RETIRED"
    EVIDENCE_ERASED = "EVIDENCE_ERASED"
    SYSTEM_OF_RECORD = "SYSTEM_OF_RECORD"
    TEAM_OPEN = "TEAM_OPEN"
    CLOCK_AHEAD = "CLOCK_AHEAD"
    START_NEEDED = "START_NEEDED"
    RATE_LIMITED = "RATE_LIMITED"
    OVERLOADED = "OVERLOADED"
    STORE_UNAVAILABLE = "STORE_UNAVAILABLE"
    VERIFIER_UNAVAILABLE = "VERIFIER_UNAVAILABLE"
    REVISION_NOT_REPLICATED = "REVISION_NOT_REPLICATED"
    INTERNAL_ERROR = "INTERNAL_ERROR"


class Refusal(Exception):
    """A request that the domain refuses; nothing was changed.

    Attributes:
        reason: the closed reason.
        field: path of the offending field, where there is one (``proposal.relationships[0].evidence[0].start``).
        metadata: documented details, values as text.
        retry_after_seconds: when a retry makes sense, else ``None``.
    """

    def __init__(
        self,
        reason: Reason,
        message: str,
        *,
        field: str = "",
        metadata: dict[str, str] | None = None,
        retry_after_seconds: float | None = None,
    ) -> None:
        super().__init__(message)
        self.reason = reason
        self.message = message
        self.field = field
        self.metadata = metadata or {}
        self.retry_after_seconds = retry_after_seconds


def missing(resource_type: str, resource_id: str, *, field: str) -> Refusal:
    """The refusal of an id that the team does not have, whoever else may have it."""
    return Refusal(
        Reason.RESOURCE_NOT_FOUND,
        f"there is no such {resource_type.replace('_', ' ')}",
        field=field,
        metadata={"resource_type": resource_type, "resource_id": resource_id},
    )


def stale(
    message: str, *, resource_type: str, resource_id: str, expected: int | None, current: int, field: str = ""
) -> Refusal:
    """The refusal of a request that was made for another version of a record than the current one."""
    return Refusal(
        Reason.STALE_VERSION,
        message,
        field=field,
        metadata={
            "resource_type": resource_type,
            "resource_id": resource_id,
            "expected_version": str(expected),
            "current_version": str(current),
        },
    )
