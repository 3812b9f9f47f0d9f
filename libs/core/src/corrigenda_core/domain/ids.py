"""Typed identifiers: opaque text in the domain, UUIDs in storage and on the wire."""

from __future__ import annotations

import hashlib
import uuid
from dataclasses import dataclass
from typing import NewType

TeamId = NewType("TeamId", str)
ProfileId = NewType("ProfileId", str)
KeyId = NewType("KeyId", str)
FragmentId = NewType("FragmentId", str)
StatementId = NewType("StatementId", str)
"""The id of an observation; an entailed observation of modality ``statement`` is a statement under the same id."""
ProposalId = NewType("ProposalId", str)
"""The caller's own name for a proposed relationship, unique inside its submission."""
EntityId = NewType("EntityId", str)
PredicateKey = NewType("PredicateKey", str)
RelationshipId = NewType("RelationshipId", str)
SupportId = NewType("SupportId", str)
ReferenceId = NewType("ReferenceId", str)
TransitionId = NewType("TransitionId", str)
DecisionId = NewType("DecisionId", str)
ItemId = NewType("ItemId", str)
IngestId = NewType("IngestId", str)
ConflictId = NewType("ConflictId", str)
PositionId = NewType("PositionId", str)
EventId = NewType("EventId", str)
IdempotencyKey = NewType("IdempotencyKey", str)

_COUNTER_MASK = (1 << 62) - 1


@dataclass(frozen=True, slots=True, kw_only=True)
class IdRange:
    """A run of ids that a planner may hand out: the ``base`` UUIDv7 and those counted up from it.

    Planners are pure, so they cannot draw ids; the shell draws one UUIDv7 (RFC 9562) and the planner counts on from it
    inside its 62 random bits. Ids of one range are ordered and distinct; those of two ranges collide with the
    probability of two random UUIDv7 values of one millisecond.
    """

    base: uuid.UUID

    def part(self, k: int) -> IdRange:
        """The ``k``-th part of the range, for a planner that another one calls: ids of its own, whoever parts it on."""
        digest = hashlib.sha256(self.base.bytes + k.to_bytes(8, "big")).digest()
        drawn = int.from_bytes(digest[:8], "big") & _COUNTER_MASK
        return IdRange(base=uuid.UUID(int=(self.base.int & ~_COUNTER_MASK) | drawn))

    def nth(self, n: int) -> str:
        """The ``n``-th id of the range, ``n >= 0``, as canonical UUID text."""
        counted = (self.base.int & _COUNTER_MASK) + n & _COUNTER_MASK
        text = f"{(self.base.int & ~_COUNTER_MASK) | counted:032x}"
        return f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"
