"""Ranking: fusion of the branches, what weighs on it, and why a result stands where it stands."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

import pytest
from corrigenda_core.domain.evidence import Authority
from corrigenda_core.domain.ids import FragmentId
from corrigenda_core.domain.relationships import Tier
from corrigenda_core.policy.ranking import (
    AUTHORITY_PER_MILLE,
    BRANCH_WEIGHTS,
    CURRENCY_PER_MILLE,
    RANK_OFFSET,
    SCALE,
    STANDING_PER_MILLE,
    TIER_PER_MILLE,
    Branch,
    BranchShare,
    CaseStanding,
    Currency,
    Traits,
    decide_branch,
    decide_fusion,
    decide_ranking,
)
from hypothesis import given
from hypothesis import strategies as st

BEST = Traits(
    tier=Tier.FACT,
    authority=Authority.AUTHORITATIVE,
    currency=Currency.IN_FORCE,
    standing=CaseStanding.UNDISPUTED,
)
EQUAL = dict.fromkeys(Branch, 10)
TRAITS = st.builds(
    Traits,
    tier=st.sampled_from(Tier),
    authority=st.sampled_from(Authority),
    currency=st.sampled_from(Currency),
    standing=st.sampled_from(CaseStanding),
)


def ids(text: str) -> tuple[FragmentId, ...]:
    return tuple(FragmentId(one) for one in text)


BRANCHES = st.dictionaries(
    st.sampled_from(Branch), st.lists(st.sampled_from(ids("abcdefgh")), unique=True, max_size=8).map(tuple)
)


def traits_of(**given_traits: Traits) -> dict[FragmentId, Traits]:
    return {FragmentId(one): traits for one, traits in given_traits.items()}


@pytest.mark.rule("R9.1")
def test_what_is_not_eligible_is_left_out_before_the_cut() -> None:
    hits = ids("xxyyazb")
    assert decide_branch(hits, set(ids("ab")), limit=2) == ids("ab")
    assert decide_branch(ids("aab"), set(ids("ab")), limit=2) == ids("ab")
    assert decide_branch(hits, set(), limit=2) == ()


@pytest.mark.rule("R9.1")
def test_fusion_adds_what_each_branch_says() -> None:
    fused = decide_fusion({Branch.VECTOR: ids("ba"), Branch.LEXICAL: ids("a")}, {Branch.VECTOR: 2, Branch.LEXICAL: 3})
    assert fused[FragmentId("a")] == (
        BranchShare(branch=Branch.LEXICAL, rank=1, weight=3, share=3 * SCALE // 61),
        BranchShare(branch=Branch.VECTOR, rank=2, weight=2, share=2 * SCALE // 62),
    )
    assert fused[FragmentId("b")] == (BranchShare(branch=Branch.VECTOR, rank=1, weight=2, share=2 * SCALE // 61),)


@pytest.mark.rule("R9.1")
@given(branches=BRANCHES)
def test_fusion_is_the_exact_sum_up_to_rounding(branches: Mapping[Branch, tuple[FragmentId, ...]]) -> None:
    for hit, shares in decide_fusion(branches).items():
        exact = sum(
            Fraction(BRANCH_WEIGHTS[branch], RANK_OFFSET + hits.index(hit) + 1)
            for branch, hits in branches.items()
            if hit in hits
        )
        assert 0 <= exact * SCALE - sum(share.share for share in shares) < len(shares)


@pytest.mark.rule("R9.1", "R9.3")
def test_a_hit_that_hydration_does_not_find_is_left_out() -> None:
    ranked = decide_ranking({Branch.LEXICAL: ids("abc")}, traits_of(a=BEST, c=BEST))
    assert [one.fragment_id for one in ranked] == ["a", "c"]
    assert [one.place for one in ranked] == [1, 2]


@pytest.mark.rule("R9.3")
@pytest.mark.parametrize(
    ("better", "worse"),
    [
        (BEST, Traits(tier=tier, authority=BEST.authority, currency=BEST.currency, standing=BEST.standing))
        for tier in (Tier.VALIDATED_CLAIM, Tier.CANDIDATE)
    ]
    + [
        (BEST, Traits(tier=BEST.tier, authority=authority, currency=BEST.currency, standing=BEST.standing))
        for authority in Authority
        if authority is not Authority.AUTHORITATIVE
    ]
    + [
        (BEST, Traits(tier=BEST.tier, authority=BEST.authority, currency=currency, standing=BEST.standing))
        for currency in (Currency.NOT_YET, Currency.ENDED)
    ]
    + [
        (BEST, Traits(tier=BEST.tier, authority=BEST.authority, currency=BEST.currency, standing=standing))
        for standing in (CaseStanding.DISPUTED, CaseStanding.HELD, CaseStanding.LOST)
    ],
)
def test_tier_authority_validity_and_case_state_weigh(better: Traits, worse: Traits) -> None:
    # Both hits stand first in one of two branches of equal weight; only the traits tell them apart.
    branches = {Branch.LEXICAL: ids("a"), Branch.VECTOR: ids("b")}
    for best, other in ("ab", "ba"):
        traits = traits_of(**{best: better, other: worse})
        assert [one.fragment_id for one in decide_ranking(branches, traits, weights=EQUAL)] == [best, other]


@pytest.mark.rule("R9.1")
@given(lexical=st.integers(1, 31), branch=st.sampled_from([Branch.VECTOR, Branch.ENTITY]), other=st.integers(1, 40))
def test_the_lexical_branch_carries(lexical: int, branch: Branch, other: int) -> None:
    """What words find among their first thirty comes before whatever one other branch finds by itself."""
    words = [FragmentId(f"word {number}") for number in range(1, lexical + 1)]
    others = [FragmentId(f"other {number}") for number in range(1, other + 1)]
    traits = dict.fromkeys([*words, *others], BEST)
    ranked = [one.fragment_id for one in decide_ranking({Branch.LEXICAL: words, branch: others}, traits)]
    assert ranked[:lexical] == words


@pytest.mark.rule("R9.1")
def test_two_branches_that_agree_outweigh_the_lexical_one() -> None:
    branches = {Branch.LEXICAL: ids("a"), Branch.VECTOR: ids("b"), Branch.ENTITY: ids("b")}
    assert [one.fragment_id for one in decide_ranking(branches, traits_of(a=BEST, b=BEST))] == ["b", "a"]


@pytest.mark.rule("R9.3")
def test_ties_are_broken_by_id() -> None:
    for first, second in ("ab", "ba"):
        branches = {Branch.VECTOR: ids(first), Branch.LEXICAL: ids(second)}
        ranked = decide_ranking(branches, traits_of(a=BEST, b=BEST), weights=EQUAL)
        assert [one.fragment_id for one in ranked] == ["a", "b"]


@pytest.mark.rule("R9.3")
def test_equal_scores_are_ordered_by_tier_first() -> None:
    claim = Traits(tier=Tier.VALIDATED_CLAIM, authority=BEST.authority, currency=BEST.currency, standing=BEST.standing)
    ranked = decide_ranking({Branch.LEXICAL: ids("ab")}, traits_of(a=claim, b=BEST), weights={Branch.LEXICAL: 0})
    assert [(r.fragment_id, r.score) for r in ranked] == [("b", 0), ("a", 0)]


@pytest.mark.rule("R9.3")
@given(branches=BRANCHES, data=st.data())
def test_a_place_follows_from_its_explanation(
    branches: Mapping[Branch, tuple[FragmentId, ...]], data: st.DataObject
) -> None:
    traits = {hit: data.draw(TRAITS) for hits in branches.values() for hit in hits}
    ranked = decide_ranking(branches, traits)
    assert [one.place for one in ranked] == list(range(1, len(traits) + 1))
    for one in ranked:
        assert one.traits == traits[one.fragment_id]
        assert [name for name, _ in one.per_mille] == ["tier", "authority", "validity", "case_state"]
        assert one.fused == sum(share.share for share in one.shares)
        score = one.fused
        for _, factor in one.per_mille:
            score = score * factor // 1000
        assert one.score == score
    assert [one.score for one in ranked] == sorted((one.score for one in ranked), reverse=True)
    assert decide_ranking(dict(reversed(branches.items())), traits) == ranked


@pytest.mark.rule("R9.3")
@given(branches=BRANCHES, one=TRAITS, data=st.data())
def test_a_better_trait_never_lowers_a_result(
    branches: Mapping[Branch, tuple[FragmentId, ...]], one: Traits, data: st.DataObject
) -> None:
    hits = sorted({hit for found in branches.values() for hit in found})
    if not hits:
        return
    traits = {hit: data.draw(TRAITS) for hit in hits}
    chosen = data.draw(st.sampled_from(hits))
    before = {r.fragment_id: r.place for r in decide_ranking(branches, {**traits, chosen: one})}
    after = {r.fragment_id: r.place for r in decide_ranking(branches, {**traits, chosen: BEST})}
    assert after[chosen] <= before[chosen]


def test_every_trait_has_its_weight_and_the_best_keeps_the_whole_score() -> None:
    tables = (
        (TIER_PER_MILLE, Tier),
        (AUTHORITY_PER_MILLE, Authority),
        (CURRENCY_PER_MILLE, Currency),
        (STANDING_PER_MILLE, CaseStanding),
    )
    for table, members in tables:
        assert set(table) == set(members)
        assert max(table.values()) == 1000
    # The weights are a choice; an order that was explained yesterday is the same today.
    assert [list(table.values()) for table, _ in tables] == [
        [1000, 950, 800],
        [1000, 970, 940, 910, 900],
        [1000, 700, 500],
        [1000, 1000, 980, 900, 500],
    ]
    assert {branch: BRANCH_WEIGHTS[branch] for branch in Branch} == {
        Branch.LEXICAL: 15,
        Branch.VECTOR: 10,
        Branch.ENTITY: 8,
    }
    assert (RANK_OFFSET, SCALE) == (60, 1_000_000_000)
