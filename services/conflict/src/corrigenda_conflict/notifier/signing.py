"""Signatures of messages by the convention of Standard Webhooks, so that receivers can use any of its libraries.

The text ``<webhook-id>.<webhook-timestamp>.<body>`` is signed with HMAC-SHA256; the header holds ``v1,<base64>`` once
for every secret. The timestamp, in seconds since 1970, is that of the attempt: a receiver that refuses old ones is safe
from a message that somebody recorded and sends again.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import secrets as random
from collections.abc import Iterable
from dataclasses import dataclass, field

SECRET_PREFIX = "whsec_"
SECRET_BYTES_MIN, SECRET_BYTES_MAX = 24, 64
_NEW_SECRET_BYTES = 32


class UnusableSecret(ValueError):
    """A text is no secret; the message does not show it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Secret:
    """The key that an endpoint and its receiver share; never shown."""

    key: bytes = field(repr=False)


def parse_secret(text: str) -> Secret:
    """A secret as operators keep it.

    Raises:
        UnusableSecret: it is not ``whsec_`` and 24 to 64 bytes in base64.
    """
    if not text.startswith(SECRET_PREFIX):
        raise UnusableSecret(f"a secret begins with {SECRET_PREFIX}")
    try:
        key = base64.b64decode(text.removeprefix(SECRET_PREFIX), validate=True)
    except binascii.Error:
        raise UnusableSecret("a secret is base64") from None
    if not SECRET_BYTES_MIN <= len(key) <= SECRET_BYTES_MAX:
        raise UnusableSecret(f"a secret has {SECRET_BYTES_MIN} to {SECRET_BYTES_MAX} bytes")
    return Secret(key=key)


def new_secret() -> str:
    """A fresh secret, as operators keep it."""
    return SECRET_PREFIX + base64.b64encode(random.token_bytes(_NEW_SECRET_BYTES)).decode("ascii")


def signature_headers(
    message_id: str, timestamp_seconds: int, body: bytes, secrets: Iterable[Secret]
) -> dict[str, str]:
    """The three headers that let a receiver know a message."""
    signed = f"{message_id}.{timestamp_seconds}.".encode() + body
    signatures = [base64.b64encode(hmac.new(one.key, signed, hashlib.sha256).digest()).decode() for one in secrets]
    return {
        "webhook-id": message_id,
        "webhook-timestamp": str(timestamp_seconds),
        "webhook-signature": " ".join(f"v1,{signature}" for signature in signatures),
    }
