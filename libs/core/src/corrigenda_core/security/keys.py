"""API keys: how they look, how they are kept, and who a presented key is.

A key reads ``cor_<key id>_<secret>_<check>``: the id in 32 hexadecimal digits, 256 random bits in base 32, and a CRC-32
that lets a typing error or a truncated key be refused without a look at the database. The database keeps a keyed hash
alone: a stolen table is worth nothing without the pepper, and no fast hash can be tried against it.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import re
import secrets
import uuid
from dataclasses import dataclass, field

from corrigenda_core.domain.actors import Caller, KeyScope
from corrigenda_core.domain.errors import Reason, Refusal
from corrigenda_core.domain.ids import KeyId, ProfileId, TeamId
from corrigenda_core.domain.time import Instant, require_instant

SECRET_BYTES = 32
KEY_CODE_POINTS = 4 + 32 + 1 + 52 + 1 + 8
_KEY = re.compile(r"cor_(?P<id>[0-9a-f]{32})_(?P<secret>[a-z2-7]{52})_(?P<check>[0-9a-f]{8})")


@dataclass(frozen=True, slots=True, kw_only=True)
class PresentedKey:
    """A key as a caller sent it, well-formed and not yet believed."""

    key_id: KeyId
    secret: bytes = field(repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownKey:
    """What the database says about a key whose id and hash it knows; ``expires_at`` is ``None`` for a key without end.

    That it was revoked is all that counts, not when: the record's time is the team's clock, which may be driven.
    """

    key_id: KeyId
    team_id: TeamId
    profile_id: ProfileId
    scopes: frozenset[KeyScope]
    expires_at: Instant | None
    is_revoked: bool

    def __post_init__(self) -> None:
        require_instant("expires_at", self.expires_at)


def draw_secret() -> bytes:
    """A new secret from the system's source of randomness."""
    return secrets.token_bytes(SECRET_BYTES)


def key_text(key_id: KeyId, secret: bytes) -> str:
    """The key as it is shown, once, to whoever made it.

    Raises:
        ValueError: the id is no UUID, or the secret has not `SECRET_BYTES`.
    """
    if len(secret) != SECRET_BYTES:
        raise ValueError(f"a secret has {SECRET_BYTES} bytes, not {len(secret)}")
    body = f"cor_{uuid.UUID(key_id).hex}_{base64.b32encode(secret).decode().rstrip('=').lower()}"
    return f"{body}_{_check(body)}"


def parse_key(text: str) -> PresentedKey:
    """Reads a presented key.

    Raises:
        Refusal: CREDENTIAL_INVALID, the same words whatever is wrong.
    """
    found = _KEY.fullmatch(text)
    if found is None or not hmac.compare_digest(_check(text.rpartition("_")[0]), found["check"]):
        raise _invalid()
    secret = base64.b32decode(found["secret"].upper() + "====")
    presented = PresentedKey(key_id=KeyId(str(uuid.UUID(found["id"]))), secret=secret)
    # The last base-32 digit has bits to spare: only one spelling of a key is the key.
    if key_text(presented.key_id, secret) != text:
        raise _invalid()
    return presented


def hash_key(key: PresentedKey, pepper: bytes) -> bytes:
    """The 32 bytes that the database keeps: HMAC-SHA256 over id and secret under the pepper.

    Two hashes are compared with `is_same_hash`, or by the database, where time tells nothing: whoever lacks the pepper
    cannot choose the bytes that are compared.
    """
    return hmac.digest(pepper, b"corrigenda api key 1\x00" + uuid.UUID(key.key_id).bytes + key.secret, hashlib.sha256)


def is_same_hash(known: bytes, presented: bytes) -> bool:
    """Whether two hashes are equal, in a time that does not depend on where they differ."""
    return hmac.compare_digest(known, presented)


def decide_caller(known: KnownKey | None, now: Instant) -> Caller:
    """Who a key is, once its hash has been looked up: never shown again, scoped, expiring, revocable (R11.1).

    An unknown and a revoked key get the same answer; that a key has expired is told to whoever holds its secret.

    Args:
        known: what the database knows under the presented id and hash.
        now: the real time, which a team's driven clock does not move.

    Raises:
        Refusal: CREDENTIAL_INVALID or CREDENTIAL_EXPIRED.
    """
    if known is None or known.is_revoked:
        raise _invalid()
    if known.expires_at is not None and known.expires_at <= now:
        raise Refusal(
            Reason.CREDENTIAL_EXPIRED,
            "the API key has expired; ask an administrator for a new one",
            metadata={"expired_at": known.expires_at.isoformat()},
        )
    return Caller(team_id=known.team_id, profile_id=known.profile_id, key_id=known.key_id, scopes=known.scopes)


def _check(body: str) -> str:
    return f"{binascii.crc32(body.encode()):08x}"


def _invalid() -> Refusal:
    return Refusal(Reason.CREDENTIAL_INVALID, "the API key is missing, malformed, unknown or revoked")
