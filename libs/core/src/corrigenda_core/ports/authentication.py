"""The port through which a server learns who calls."""

from __future__ import annotations

from typing import Protocol

from corrigenda_core.domain.actors import Caller


class Authenticator(Protocol):
    """Finds the caller that a secret stands for."""

    async def authenticate(self, secret: str) -> Caller:
        """The caller of a key that is valid now.

        Raises:
            Refusal: CREDENTIAL_INVALID for an unknown, malformed or revoked key, without telling which;
                CREDENTIAL_EXPIRED with `expired_at`.
        """
        ...
