"""Tiers: which supports are effective, and what follows from them."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

import pytest
from corrigenda_core.domain.evidence import Authority, Impediment, Support, SupportDecision, SupportDecisionKind
from corrigenda_core.domain.ids import (
    EntityId,
    FragmentId,
    PredicateKey,
    ProfileId,
    RelationshipId,
    StatementId,
    SupportId,
)
from corrigenda_core.domain.objects import EntityObject, Polarity, Slot
from corrigenda_core.domain.relationships import Relationship, Statement, Status, Tier
from corrigenda_core.domain.time import Interval
from corrigenda_core.policy.tiers import apply_decisions, decide_tier, is_carried, is_effective, is_support_of
from hypothesis import given
from hypothesis import strategies as st

NOW = datetime(2026, 6, 1, tzinfo=UTC)
GRANT, REVOKE, REINSTATE = SupportDecisionKind.GRANT, SupportDecisionKind.REVOKE, SupportDecisionKind.REINSTATE
AUTHORITATIVE, PRIMARY = Authority.AUTHORITATIVE, Authority.PRIMARY


def support(name: str, *, author: str, authority: Authority = PRIMARY, effective: bool = True) -> Support:
    return Support(
        support_id=SupportId(name),
        fragment_id=FragmentId(f"fragment of {name}"),
        author=ProfileId(author),
        recorded_at=NOW,
        authority=authority,
        effective=effective,
    )


def decisions(*kinds: SupportDecisionKind, authority: Authority = PRIMARY) -> list[SupportDecision]:
    return [SupportDecision(support_id=SupportId("s"), kind=k, authority=authority, reason="because") for k in kinds]


@pytest.mark.rule("R4.2")
@pytest.mark.parametrize(
    ("supports", "tier"),
    [
        ([], Tier.CANDIDATE),
        ([support("s", author="ann", effective=False)], Tier.CANDIDATE),
        ([support("s", author="ann", authority=AUTHORITATIVE, effective=False)], Tier.CANDIDATE),
        ([support("s", author="ann")], Tier.VALIDATED_CLAIM),
        ([support("s", author="ann"), support("t", author="ann")], Tier.VALIDATED_CLAIM),
        ([support("s", author="ann"), support("t", author="bob", effective=False)], Tier.VALIDATED_CLAIM),
        (
            [support("s", author="ann"), support("t", author="bob", authority=AUTHORITATIVE, effective=False)],
            Tier.VALIDATED_CLAIM,
        ),
        ([support("s", author="ann", authority=AUTHORITATIVE)], Tier.FACT),
        ([support("s", author="ann"), support("t", author="ann", authority=AUTHORITATIVE)], Tier.FACT),
        ([support("s", author="ann"), support("t", author="bob")], Tier.FACT),
    ],
)
def test_the_tier_follows_from_the_supports(supports: list[Support], tier: Tier) -> None:
    assert decide_tier(supports) is tier


@pytest.mark.rule("R4.3")
@pytest.mark.parametrize(
    ("kinds", "effective"),
    [
        ([], False),
        ([GRANT], True),
        ([GRANT, REVOKE], False),
        ([GRANT, REVOKE, REINSTATE], True),
        ([GRANT, REVOKE, REINSTATE, REVOKE], False),
        ([GRANT, REVOKE, GRANT], True),
    ],
)
def test_the_last_decision_counts(kinds: list[SupportDecisionKind], effective: bool) -> None:
    assert is_effective(decisions(*kinds), ()) is effective


@pytest.mark.rule("R4.3")
@pytest.mark.parametrize("impediment", Impediment)
def test_a_fragment_that_something_stands_against_carries_nothing(impediment: Impediment) -> None:
    assert not is_effective(decisions(GRANT), {impediment})
    assert not is_effective(decisions(REVOKE, REINSTATE), set(Impediment))


def test_the_last_decision_brings_its_authority() -> None:
    one = support("s", author="ann", authority=AUTHORITATIVE)
    lowered = [*decisions(GRANT, authority=AUTHORITATIVE), *decisions(GRANT, authority=PRIMARY)]
    assert apply_decisions(one, lowered, ()) == replace(one, authority=PRIMARY)
    assert apply_decisions(one, [], ()) == replace(one, effective=False)
    assert apply_decisions(one, lowered, {Impediment.RETIRED}) == replace(one, authority=PRIMARY, effective=False)


def test_one_effective_support_carries_a_statement() -> None:
    dead, alive = support("s", author="ann", effective=False), support("t", author="ann")
    assert not is_carried([])
    assert not is_carried([dead])
    assert is_carried([dead, alive])


@given(st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from(Authority), st.booleans()), max_size=6), st.data())
def test_another_effective_support_never_lowers_the_tier(
    drawn: list[tuple[str, Authority, bool]], data: st.DataObject
) -> None:
    supports = [
        support(f"s{n}", author=author, authority=authority, effective=effective)
        for n, (author, authority, effective) in enumerate(drawn)
    ]
    order = list(Tier)
    more = [*supports, support("more", author="d")]
    assert order.index(decide_tier(more)) >= order.index(decide_tier(supports))
    assert decide_tier(data.draw(st.permutations(supports))) is decide_tier(supports)


SLOT = Slot(subject_id=EntityId("production"), predicate=PredicateKey("deploys_from"), scope="eu")
MAIN, RELEASE = EntityObject(entity_id=EntityId("main")), EntityObject(entity_id=EntityId("release"))
STATEMENT = Statement(
    statement_id=StatementId("o1"),
    owner_id=ProfileId("ann"),
    slot=SLOT,
    object=MAIN,
    witness_at=NOW,
    recorded_at=NOW,
    sequence=1,
)
ROW = Relationship(
    relationship_id=RelationshipId("r1"),
    version=1,
    owner_id=ProfileId("ann"),
    slot=SLOT,
    object=MAIN,
    validity=Interval(),
    status=Status.ACTIVE,
    revision=1,
    recorded_at=NOW,
    first_recorded_at=NOW,
)


def test_a_support_belongs_to_a_row_of_its_statement_only() -> None:
    assert is_support_of(STATEMENT, ROW)
    assert not is_support_of(replace(STATEMENT, owner_id=ProfileId("bob")), ROW)
    assert not is_support_of(replace(STATEMENT, slot=replace(SLOT, scope="")), ROW)
    assert not is_support_of(replace(STATEMENT, object=RELEASE), ROW)
    assert not is_support_of(replace(STATEMENT, polarity=Polarity.NEGATIVE), ROW)
