"""Authenticates callers with a bounded memory of keys that were seen lately.

The promise: a key that is revoked, or whose scopes are taken away, is refused by every process at the latest
``max_age_seconds`` after the change is committed, and an expired key at once. What is remembered is what the database
said about a hash, stamped with the time *before* it was asked; failures are never remembered.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from corrigenda_core.domain.actors import Caller
from corrigenda_core.domain.ids import KeyId
from corrigenda_core.domain.time import Instant
from corrigenda_core.security.keys import KnownKey, decide_caller, hash_key, parse_key

MAX_REMEMBERED_KEYS = 10_000

KeyLookup = Callable[[KeyId, bytes], Awaitable[KnownKey | None]]
"""Asks the database for a key by id and hash."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Remembered:
    known: KnownKey
    asked_at_seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class _Asking:
    task: asyncio.Task[KnownKey | None]
    asked_at_seconds: float


class Authenticator:
    """Tells who a presented key is; used by one event loop.

    Args of the constructor:
        lookup: asks the database.
        pepper: the secret under which keys are hashed.
        max_age_seconds: how long an answer of the database is trusted; 0 asks every time.
        now: the real time, for expiry.
        monotonic_seconds: a clock that never jumps, for the age of what is remembered.
    """

    def __init__(
        self,
        *,
        lookup: KeyLookup,
        pepper: bytes,
        max_age_seconds: float,
        now: Callable[[], Instant],
        monotonic_seconds: Callable[[], float],
        capacity: int = MAX_REMEMBERED_KEYS,
    ) -> None:
        self._lookup = lookup
        self._pepper = pepper
        self._max_age_seconds = max_age_seconds
        self._now = now
        self._monotonic_seconds = monotonic_seconds
        self._capacity = capacity
        self._remembered: OrderedDict[bytes, _Remembered] = OrderedDict()
        self._asking: dict[bytes, _Asking] = {}
        self._forgotten_count = 0

    async def authenticate(self, text: str) -> Caller:
        """The caller that a key stands for.

        Raises:
            Refusal: CREDENTIAL_INVALID or CREDENTIAL_EXPIRED, or what the look-up raises.
        """
        presented = parse_key(text)
        key_hash = hash_key(presented, self._pepper)
        remembered = self._remembered.get(key_hash)
        if remembered is not None and self._is_fresh(remembered.asked_at_seconds):
            return decide_caller(remembered.known, self._now())
        return decide_caller(await self._ask_once(presented.key_id, key_hash), self._now())

    def forget(self, key_id: KeyId) -> None:
        """Forgets a key at once, after this process itself has changed or revoked it."""
        for key_hash in [h for h, remembered in self._remembered.items() if remembered.known.key_id == key_id]:
            del self._remembered[key_hash]
        # What is being asked now may have been read before the change: nobody else joins it, and it is not kept.
        self._asking.clear()
        self._forgotten_count += 1

    def _is_fresh(self, asked_at_seconds: float) -> bool:
        return self._monotonic_seconds() - asked_at_seconds < self._max_age_seconds

    async def _ask_once(self, key_id: KeyId, key_hash: bytes) -> KnownKey | None:
        """Calls that arrive together with the same key share one look-up, as long as it is fresh."""
        asking = self._asking.get(key_hash)
        if asking is None or not self._is_fresh(asking.asked_at_seconds):
            asked_at_seconds = self._monotonic_seconds()
            task = asyncio.create_task(self._ask(key_id, key_hash, asked_at_seconds))
            task.add_done_callback(_notice)
            asking = _Asking(task=task, asked_at_seconds=asked_at_seconds)
            self._asking[key_hash] = asking
        # One caller that gives up must not take the answer from the others.
        return await asyncio.shield(asking.task)

    async def _ask(self, key_id: KeyId, key_hash: bytes, asked_at_seconds: float) -> KnownKey | None:
        forgotten_count = self._forgotten_count
        try:
            known = await self._lookup(key_id, key_hash)
        finally:
            current = self._asking.get(key_hash)
            if current is not None and current.task is asyncio.current_task():
                del self._asking[key_hash]
        if known is None:
            self._remembered.pop(key_hash, None)
        elif forgotten_count == self._forgotten_count:
            self._remember(key_hash, _Remembered(known=known, asked_at_seconds=asked_at_seconds))
        return known

    def _remember(self, key_hash: bytes, answer: _Remembered) -> None:
        earlier = self._remembered.pop(key_hash, None)
        newer = earlier if earlier is not None and earlier.asked_at_seconds > answer.asked_at_seconds else answer
        self._remembered[key_hash] = newer
        if len(self._remembered) > self._capacity:
            self._remembered.popitem(last=False)


def _notice(task: asyncio.Task[KnownKey | None]) -> None:
    """Takes a failure that every caller has stopped waiting for."""
    if not task.cancelled():
        task.exception()
