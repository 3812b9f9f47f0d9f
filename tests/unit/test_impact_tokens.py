"""Tokens of dry runs: good for ten minutes, for whoever they were given to, and for nothing else."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from corrigenda_core.domain.actors import Caller
from corrigenda_core.domain.errors import Reason, Refusal
from corrigenda_core.domain.ids import EntityId, KeyId, ProfileId, TeamId
from corrigenda_ingest.impact_tokens import LIFETIME, Impact, ImpactTokens

NOW = datetime(2026, 6, 1, tzinfo=UTC)
CALLER = Caller(team_id=TeamId("team"), profile_id=ProfileId("ann"), key_id=KeyId("key"), scopes=frozenset())
IMPACT = Impact(digest="d", entity_id=EntityId("e"))


def tokens(now: datetime = NOW) -> ImpactTokens:
    return ImpactTokens(b"k" * 32, now=lambda: now)


def reason_of(token: str, caller: Caller = CALLER, now: datetime = NOW) -> Reason:
    with pytest.raises(Refusal) as refused:
        tokens(now).impact_of(token, caller)
    assert refused.value.field == "impact_token"
    return refused.value.reason


@pytest.mark.error("IMPACT_TOKEN_EXPIRED")
@pytest.mark.rule("R3.9")
def test_a_token_keeps_what_was_shown_until_it_expires() -> None:
    token, expires_at = tokens().issued(CALLER, IMPACT)
    assert expires_at == NOW + LIFETIME
    assert tokens(expires_at - timedelta(microseconds=1)).impact_of(token, CALLER) == IMPACT
    assert reason_of(token, now=expires_at) is Reason.IMPACT_TOKEN_EXPIRED
    assert len(token) <= 1024


@pytest.mark.rule("R3.9")
def test_a_token_of_another_or_a_damaged_one_is_none() -> None:
    token, _ = tokens().issued(CALLER, IMPACT)
    for other in (replace(CALLER, profile_id=ProfileId("bob")), replace(CALLER, team_id=TeamId("other"))):
        assert reason_of(token, other) is Reason.INVALID_FIELD
    assert reason_of(token[:-4] + "AAAA") is Reason.INVALID_FIELD
    assert reason_of("no token") is Reason.INVALID_FIELD
