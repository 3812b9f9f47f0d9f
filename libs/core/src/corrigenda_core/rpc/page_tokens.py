"""Page tokens: where a list goes on, sealed so that a caller can neither read, make nor reuse one for another list."""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import struct
from dataclasses import dataclass
from typing import Any

from google.protobuf.message import Message

from corrigenda_core.domain.actors import Caller
from corrigenda_core.domain.errors import Reason, Refusal
from corrigenda_core.policy.limits import decide_limit, decide_page_size

TOKEN_BYTES_MAX = decide_limit("page_token").greatest
_SEAL_BYTES = 16
_KEY_BYTES_MIN = 32
_LENGTH = struct.Struct(">I")


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """The page that a request asks for.

    ``after`` is the cursor that the page before ended with, empty on the first page; ``revision`` is the one that every
    page of the list shows, ``None`` on the first page, which chooses it.
    """

    size: int
    after: tuple[str, ...] = ()
    revision: int | None = None


class PageTokens:
    """Issues and reads tokens under one secret key of at least 32 bytes, shared by the replicas of a service."""

    def __init__(self, key: bytes) -> None:
        if len(key) < _KEY_BYTES_MIN:
            raise ValueError(f"the key of page tokens needs {_KEY_BYTES_MIN} bytes, not {len(key)}")
        self._key = key

    def page_of(self, request: Any, caller: Caller) -> Page:
        """The page that a request with ``page_size`` and ``page_token`` asks for.

        Raises:
            Refusal: PAGE_TOKEN_MISMATCH if the token is damaged, or was issued for another request or caller.
        """
        size = decide_page_size(request.page_size)
        if not request.page_token:
            return Page(size=size)
        revision, *after = _parts(self._opened(request.page_token, _context(request, caller)))
        return Page(size=size, after=tuple(after), revision=int(revision))

    def next_token(self, request: Any, caller: Caller, *, after: tuple[str, ...], revision: int) -> str:
        """The token of the page that begins after the cursor ``after``.

        Raises:
            ValueError: if the cursor is too long for a token.
        """
        body = _body(after, revision)
        seal = self._seal(body, _context(request, caller))
        token = base64.urlsafe_b64encode(seal + body).decode()
        if len(token) > TOKEN_BYTES_MAX:
            raise ValueError(f"a page token has at most {TOKEN_BYTES_MAX} bytes, not {len(token)}")
        return token

    def _opened(self, token: str, context: bytes) -> bytes:
        """The body of a token; the seal proves that this very body was written by `next_token`."""
        try:
            sealed = base64.b64decode(token.encode(), altchars=b"-_", validate=True)
        except binascii.Error as error:
            raise _mismatch() from error
        seal, body = sealed[:_SEAL_BYTES], sealed[_SEAL_BYTES:]
        if not hmac.compare_digest(seal, self._seal(body, context)):
            raise _mismatch()
        return body

    def _seal(self, body: bytes, context: bytes) -> bytes:
        return hmac.digest(self._key, context + body, "sha256")[:_SEAL_BYTES]


def _body(after: tuple[str, ...], revision: int) -> bytes:
    """The revision and the cursor, each text in UTF-8 behind its length: no script and no control makes it longer."""
    texts = [text.encode() for text in (str(revision), *after)]
    return b"".join(_LENGTH.pack(len(text)) + text for text in texts)


def _parts(body: bytes) -> list[str]:
    parts: list[str] = []
    while body:
        (length,) = _LENGTH.unpack_from(body)
        parts.append(body[_LENGTH.size : _LENGTH.size + length].decode())
        body = body[_LENGTH.size + length :]
    return parts


def _context(request: Message, caller: Caller) -> bytes:
    """What a token is bound to, of fixed length: the caller and the request without its paging fields."""
    bare = type(request)()
    bare.CopyFrom(request)
    for name in ("page_size", "page_token", "min_revision"):
        if name in bare.DESCRIPTOR.fields_by_name:
            bare.ClearField(name)
    owner = f"{request.DESCRIPTOR.full_name}\n{caller.team_id}\n{caller.profile_id}\n"
    return hashlib.sha256(owner.encode() + bare.SerializeToString(deterministic=True)).digest()


def _mismatch() -> Refusal:
    return Refusal(
        Reason.PAGE_TOKEN_MISMATCH,
        "the page token was not issued for this request",
        field="page_token",
    )
