"""API keys: their form, their hash, and who a key is."""

import binascii
import uuid
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from corrigenda_core.domain.actors import Caller, KeyScope
from corrigenda_core.domain.errors import Reason, Refusal
from corrigenda_core.domain.ids import KeyId, ProfileId, TeamId
from corrigenda_core.security.keys import (
    KEY_CODE_POINTS,
    SECRET_BYTES,
    KnownKey,
    PresentedKey,
    decide_caller,
    draw_secret,
    hash_key,
    is_same_hash,
    key_text,
    parse_key,
)
from hypothesis import given
from hypothesis import strategies as st

KEY_ID = KeyId("0198f2c4-7a00-7000-8000-00000000abcd")
SECRET = bytes(range(32))
TEXT = key_text(KEY_ID, SECRET)
PEPPER = b"p" * 32
NOW = datetime(2026, 6, 1, tzinfo=UTC)
KNOWN = KnownKey(
    key_id=KEY_ID,
    team_id=TeamId("t"),
    profile_id=ProfileId("a"),
    scopes=frozenset({KeyScope.READ, KeyScope.WRITE}),
    expires_at=NOW + timedelta(days=1),
    is_revoked=False,
)


def refused(reason: Reason, text: str) -> str:
    with pytest.raises(Refusal) as refusal:
        parse_key(text)
    assert refusal.value.reason is reason
    return refusal.value.message


@pytest.mark.rule("R11.1")
@given(key_id=st.uuids(), secret=st.binary(min_size=SECRET_BYTES, max_size=SECRET_BYTES))
def test_a_key_reads_back(key_id: uuid.UUID, secret: bytes) -> None:
    text = key_text(KeyId(str(key_id)), secret)
    assert len(text) == KEY_CODE_POINTS
    assert parse_key(text) == PresentedKey(key_id=KeyId(str(key_id)), secret=secret)


@pytest.mark.rule("R11.1")
@given(place=st.integers(0, KEY_CODE_POINTS - 1), character=st.sampled_from("abcdefz234567_0189AZ -é"))
def test_a_key_with_a_wrong_character_is_invalid(place: int, character: str) -> None:
    damaged = TEXT[:place] + character + TEXT[place + 1 :]
    if damaged != TEXT:
        refused(Reason.CREDENTIAL_INVALID, damaged)


@pytest.mark.rule("R11.1")
@given(text=st.text(max_size=150))
def test_any_text_is_refused_in_the_same_words(text: str) -> None:
    assert refused(Reason.CREDENTIAL_INVALID, text) == refused(Reason.CREDENTIAL_INVALID, "")


@pytest.mark.parametrize("text", [TEXT.upper(), TEXT + "\n", " " + TEXT, TEXT[:-1], "Bearer " + TEXT, TEXT + TEXT])
def test_near_keys_are_invalid(text: str) -> None:
    refused(Reason.CREDENTIAL_INVALID, text)


def test_another_spelling_of_the_same_bits_is_invalid() -> None:
    body = TEXT.rpartition("_")[0]
    spelled = body[:-1] + chr(ord(body[-1]) + 1)
    refused(Reason.CREDENTIAL_INVALID, f"{spelled}_{binascii.crc32(spelled.encode()):08x}")


def test_a_key_shows_its_secret_in_no_representation() -> None:
    assert repr(SECRET)[2:20] not in repr(parse_key(TEXT))


@pytest.mark.parametrize("length", [SECRET_BYTES - 1, SECRET_BYTES + 1])
def test_a_secret_of_another_length_makes_no_key(length: int) -> None:
    with pytest.raises(ValueError, match="32 bytes"):
        key_text(KEY_ID, b"x" * length)


@pytest.mark.rule("R11.1")
def test_the_hash_depends_on_id_secret_and_pepper() -> None:
    presented = parse_key(TEXT)
    hashes = {
        hash_key(presented, PEPPER),
        hash_key(presented, b"q" * 32),
        hash_key(replace(presented, secret=draw_secret()), PEPPER),
        hash_key(replace(presented, key_id=KeyId(str(uuid.uuid4()))), PEPPER),
    }
    assert len(hashes) == 4
    assert {len(found) for found in hashes} == {32}
    assert is_same_hash(hash_key(presented, PEPPER), hash_key(parse_key(TEXT), PEPPER))
    assert not is_same_hash(hash_key(presented, PEPPER), hash_key(presented, b"q" * 32))


def test_secrets_are_drawn_anew() -> None:
    assert len({draw_secret() for _ in range(100)}) == 100


@pytest.mark.rule("R11.1")
@pytest.mark.parametrize(
    ("known", "reason"),
    [
        (None, Reason.CREDENTIAL_INVALID),
        (replace(KNOWN, is_revoked=True), Reason.CREDENTIAL_INVALID),
        (replace(KNOWN, is_revoked=True, expires_at=NOW), Reason.CREDENTIAL_INVALID),
        (replace(KNOWN, expires_at=NOW), Reason.CREDENTIAL_EXPIRED),
        (replace(KNOWN, expires_at=NOW + timedelta(microseconds=1)), None),
        (replace(KNOWN, expires_at=None), None),
        (KNOWN, None),
    ],
)
def test_who_a_key_is(known: KnownKey | None, reason: Reason | None) -> None:
    if reason is None:
        assert decide_caller(known, NOW) == Caller(
            team_id=TeamId("t"), profile_id=ProfileId("a"), key_id=KEY_ID, scopes=KNOWN.scopes
        )
    else:
        with pytest.raises(Refusal) as refusal:
            decide_caller(known, NOW)
        assert refusal.value.reason is reason


def test_times_of_keys_are_instants() -> None:
    with pytest.raises(ValueError, match="expires_at"):
        replace(KNOWN, expires_at=datetime.fromisoformat("2026-06-01T00:00:00"))
