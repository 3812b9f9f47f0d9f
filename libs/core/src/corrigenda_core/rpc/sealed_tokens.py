"""Sealed tokens: what a server wants to find again at its next call, given to the caller, who cannot make or change it.

The body is sealed, not hidden: it holds nothing that its caller may not read.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac

from corrigenda_core.domain.actors import Caller

_SEAL_BYTES = 32
_KEY_BYTES_MIN = 32


class TokenSeal:
    """Seals tokens of one purpose under a secret key of at least 32 bytes, shared by the replicas of a service.

    Args:
        key: the secret.
        purpose: tokens of another purpose do not open, although the key is the same.
    """

    def __init__(self, key: bytes, *, purpose: str) -> None:
        if len(key) < _KEY_BYTES_MIN:
            raise ValueError(f"the key of tokens needs {_KEY_BYTES_MIN} bytes, not {len(key)}")
        self._key = key
        self._purpose = purpose

    def sealed(self, body: bytes, caller: Caller) -> str:
        """The token that gives a caller a body to keep."""
        return base64.urlsafe_b64encode(self._seal(body, caller) + body).decode()

    def opened(self, token: str, caller: Caller) -> bytes | None:
        """The body of a token, or ``None`` if it is damaged or was sealed for another caller or purpose."""
        try:
            sealed = base64.b64decode(token.encode(), altchars=b"-_", validate=True)
        except binascii.Error:
            return None
        seal, body = sealed[:_SEAL_BYTES], sealed[_SEAL_BYTES:]
        return body if hmac.compare_digest(seal, self._seal(body, caller)) else None

    def _seal(self, body: bytes, caller: Caller) -> bytes:
        owner = hashlib.sha256(f"{self._purpose}\n{caller.team_id}\n{caller.profile_id}".encode()).digest()
        return hmac.digest(self._key, owner + body, "sha256")
