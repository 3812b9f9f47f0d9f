"""Impact tokens: what a dry run has shown is what is applied, or nothing is."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta

from corrigenda_core.domain.actors import Caller
from corrigenda_core.domain.errors import Reason, Refusal
from corrigenda_core.domain.ids import EntityId
from corrigenda_core.domain.time import Instant
from corrigenda_core.policy.limits import decide_limit
from corrigenda_core.rpc.sealed_tokens import TokenSeal

LIFETIME = timedelta(seconds=decide_limit("impact_token_lifetime").default)

_FIELD = "impact_token"


@dataclass(frozen=True, slots=True, kw_only=True)
class Impact:
    """What a dry run has shown, as a digest, and the id that it allotted to a new entity."""

    digest: str
    entity_id: EntityId


class ImpactTokens:
    """Issues and reads the tokens of one service; a server keeps nothing of them, so every replica can read them.

    Args:
        key: the secret that seals, at least 32 bytes.
        now: the real time, by which tokens expire.
    """

    def __init__(self, key: bytes, *, now: Callable[[], Instant]) -> None:
        self._seal = TokenSeal(key, purpose="impact")
        self._now = now

    def issued(self, caller: Caller, impact: Impact) -> tuple[str, Instant]:
        """A token for what was shown, and until when it is good."""
        expires_at = self._now() + LIFETIME
        body = {"digest": impact.digest, "entity_id": impact.entity_id, "expires_at": expires_at.isoformat()}
        return self._seal.sealed(json.dumps(body).encode(), caller), expires_at

    def impact_of(self, token: str, caller: Caller) -> Impact:
        """What a token was issued for.

        Raises:
            Refusal: INVALID_FIELD if it is damaged or was given to somebody else, which of the two is not told;
                IMPACT_TOKEN_EXPIRED.
        """
        body = self._seal.opened(token, caller)
        if body is None:
            raise Refusal(Reason.INVALID_FIELD, "the impact token was not given to this caller", field=_FIELD)
        # The seal proves that this very body was written by `issued`.
        kept = json.loads(body)
        if datetime.fromisoformat(kept["expires_at"]) <= self._now():
            raise Refusal(
                Reason.IMPACT_TOKEN_EXPIRED,
                "the dry run is too long ago; make a new one",
                field=_FIELD,
                metadata={"expired_at": kept["expires_at"]},
            )
        return Impact(digest=kept["digest"], entity_id=EntityId(kept["entity_id"]))
