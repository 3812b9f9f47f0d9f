"""How long a key is trusted without asking: never longer than promised, and one question at a time."""

import asyncio
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from corrigenda_core.domain.actors import KeyScope
from corrigenda_core.domain.errors import Reason, Refusal
from corrigenda_core.domain.ids import KeyId, ProfileId, TeamId
from corrigenda_core.security.caller_cache import Authenticator
from corrigenda_core.security.keys import KnownKey, draw_secret, hash_key, key_text, parse_key

NOW = datetime(2026, 6, 1, tzinfo=UTC)
PEPPER = b"p" * 32
MAX_AGE_SECONDS = 5.0


class World:
    """A database of keys and two clocks, with an authenticator on them."""

    def __init__(self, *, max_age_seconds: float = MAX_AGE_SECONDS, capacity: int = 10) -> None:
        self.known: dict[bytes, KnownKey] = {}
        self.asked: list[KeyId] = []
        self.now = NOW
        self.seconds = 100.0
        self.during_lookup: Callable[[], object] = lambda: None
        self.gate: asyncio.Event | None = None
        self.authenticator = Authenticator(
            lookup=self._look_up,
            pepper=PEPPER,
            max_age_seconds=max_age_seconds,
            now=lambda: self.now,
            monotonic_seconds=lambda: self.seconds,
            capacity=capacity,
        )

    async def _look_up(self, key_id: KeyId, key_hash: bytes) -> KnownKey | None:
        self.asked.append(key_id)
        found = self.known.get(key_hash)
        if self.gate is not None:
            await self.gate.wait()
        self.during_lookup()
        return found

    def add(self, number: int = 1) -> str:
        key_id = KeyId(f"0198f2c4-7a00-7000-8000-{number:012d}")
        text = key_text(key_id, draw_secret())
        self.known[hash_key(parse_key(text), PEPPER)] = KnownKey(
            key_id=key_id,
            team_id=TeamId("t"),
            profile_id=ProfileId(f"profile-{number}"),
            scopes=frozenset({KeyScope.READ}),
            expires_at=NOW + timedelta(hours=1),
            is_revoked=False,
        )
        return text

    def revoke(self, text: str) -> None:
        key_hash = hash_key(parse_key(text), PEPPER)
        self.known[key_hash] = replace(self.known[key_hash], is_revoked=True)

    async def outcome(self, text: str) -> str:
        try:
            return (await self.authenticator.authenticate(text)).profile_id
        except Refusal as refusal:
            return refusal.reason


@pytest.mark.rule("R11.1")
async def test_a_revocation_takes_effect_within_the_promised_time() -> None:
    world = World()
    text = world.add()
    assert await world.outcome(text) == "profile-1"
    world.revoke(text)
    world.seconds += MAX_AGE_SECONDS - 0.001
    assert await world.outcome(text) == "profile-1"
    world.seconds += 0.001
    assert await world.outcome(text) == Reason.CREDENTIAL_INVALID
    assert len(world.asked) == 2


async def test_the_age_counts_from_before_the_question() -> None:
    world = World()
    text = world.add()

    def slow() -> None:
        world.seconds += MAX_AGE_SECONDS

    world.during_lookup = slow
    assert await world.outcome(text) == "profile-1"
    world.revoke(text)
    assert await world.outcome(text) == Reason.CREDENTIAL_INVALID


@pytest.mark.rule("R11.1")
async def test_a_key_expires_at_once() -> None:
    world = World()
    text = world.add()
    assert await world.outcome(text) == "profile-1"
    world.now += timedelta(hours=1)
    assert await world.outcome(text) == Reason.CREDENTIAL_EXPIRED
    assert len(world.asked) == 1


async def test_failures_are_not_remembered() -> None:
    world = World()
    text = world.add()
    known = dict(world.known)
    world.known.clear()
    assert await world.outcome(text) == Reason.CREDENTIAL_INVALID
    world.known.update(known)
    assert await world.outcome(text) == "profile-1"


async def test_a_malformed_key_asks_nobody() -> None:
    world = World()
    assert await world.outcome("cor_nonsense") == Reason.CREDENTIAL_INVALID
    assert world.asked == []


async def test_zero_seconds_asks_every_time() -> None:
    world = World(max_age_seconds=0.0)
    text = world.add()
    world.gate = asyncio.Event()
    waiting = [asyncio.create_task(world.outcome(text)) for _ in range(3)]
    await asyncio.sleep(0)
    world.gate.set()
    assert await asyncio.gather(*waiting) == ["profile-1"] * 3
    assert len(world.asked) == 3


async def test_calls_that_arrive_together_share_one_question() -> None:
    world = World()
    text = world.add()
    world.gate = asyncio.Event()
    waiting = [asyncio.create_task(world.outcome(text)) for _ in range(20)]
    await asyncio.sleep(0)
    waiting[0].cancel()
    world.gate.set()
    assert await asyncio.gather(*waiting[1:]) == ["profile-1"] * 19
    assert len(world.asked) == 1


async def test_a_question_that_takes_long_is_asked_again() -> None:
    world = World()
    text = world.add()
    world.gate = asyncio.Event()
    first = asyncio.create_task(world.outcome(text))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    world.revoke(text)
    world.seconds += MAX_AGE_SECONDS
    second = asyncio.create_task(world.outcome(text))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    world.gate.set()
    assert await asyncio.gather(first, second) == ["profile-1", Reason.CREDENTIAL_INVALID]
    # The older answer came with the newer one and did not replace it.
    assert await world.outcome(text) == Reason.CREDENTIAL_INVALID


async def test_a_lookup_that_fails_fails_its_callers_and_is_forgotten() -> None:
    world = World()
    text = world.add()

    def fails() -> None:
        raise Refusal(Reason.STORE_UNAVAILABLE, "no database")

    world.during_lookup = fails
    assert await world.outcome(text) == Reason.STORE_UNAVAILABLE
    world.during_lookup = lambda: None
    assert await world.outcome(text) == "profile-1"


async def test_a_failure_that_nobody_waits_for_is_taken() -> None:
    world = World()
    text = world.add()
    world.gate = asyncio.Event()

    def fails() -> None:
        raise Refusal(Reason.STORE_UNAVAILABLE, "no database")

    world.during_lookup = fails
    for cancel_question in (False, True):
        caller = asyncio.create_task(world.outcome(text))
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        (asking,) = (asking.task for asking in world.authenticator._asking.values())
        caller.cancel()
        if cancel_question:
            asking.cancel()
        world.gate.set()
        await asyncio.wait([caller, asking])
        assert caller.cancelled()
        world.gate.clear()


async def test_forgetting_takes_effect_at_once_also_for_what_is_being_asked() -> None:
    world = World()
    text, other = world.add(1), world.add(2)
    assert await world.outcome(text) == "profile-1"
    assert await world.outcome(other) == "profile-2"
    world.seconds += MAX_AGE_SECONDS
    world.gate = asyncio.Event()
    in_flight = asyncio.create_task(world.outcome(text))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    world.revoke(text)
    world.authenticator.forget(parse_key(text).key_id)
    world.gate.set()
    assert await in_flight == "profile-1"
    assert await world.outcome(text) == Reason.CREDENTIAL_INVALID


async def test_the_memory_is_bounded() -> None:
    world = World(capacity=2)
    texts = [world.add(number) for number in range(3)]
    for text in texts:
        await world.outcome(text)
    for text in reversed(texts):
        await world.outcome(text)
    assert len(world.asked) == 4
    assert world.asked[-1] == parse_key(texts[0]).key_id
