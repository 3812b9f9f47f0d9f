"""In which order results are shown: fused ranks of the search branches, weighed by what the team knows of them.

Integers throughout, so that an order is the same on every machine.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from corrigenda_core.domain.evidence import Authority
from corrigenda_core.domain.ids import FragmentId
from corrigenda_core.domain.relationships import Tier

RANK_OFFSET = 60
"""Added to every rank, so that the first few of a branch do not drown the others (Cormack et al., SIGIR 2009)."""

SCALE = 10**9


class Branch(StrEnum):
    """One way of finding evidence."""

    LEXICAL = "lexical"
    VECTOR = "vector"
    ENTITY = "entity"


class Currency(StrEnum):
    """How the validity of a result stands to the asked instant."""

    IN_FORCE = "in_force"
    NOT_YET = "not_yet"
    ENDED = "ended"


class CaseStanding(StrEnum):
    """How a result stands in disputes."""

    UNDISPUTED = "undisputed"
    WON = "won"
    DISPUTED = "disputed"
    HELD = "held"
    LOST = "lost"


# Words carry: with equal weights the nearness of long conversations pushes down what words alone find. Two other
# branches that agree outweigh them.
BRANCH_WEIGHTS: Mapping[Branch, int] = {Branch.LEXICAL: 15, Branch.VECTOR: 10, Branch.ENTITY: 8}

# Per mille of the fused score, the best first. A disputed side loses little: both sides of a dispute are to be seen.
TIER_PER_MILLE: Mapping[Tier, int] = {Tier.FACT: 1000, Tier.VALIDATED_CLAIM: 950, Tier.CANDIDATE: 800}
AUTHORITY_PER_MILLE: Mapping[Authority, int] = {
    Authority.AUTHORITATIVE: 1000,
    Authority.PRIMARY: 970,
    Authority.SECONDARY: 940,
    Authority.INFERRED: 910,
    Authority.UNKNOWN: 900,
}
CURRENCY_PER_MILLE: Mapping[Currency, int] = {Currency.IN_FORCE: 1000, Currency.NOT_YET: 700, Currency.ENDED: 500}
STANDING_PER_MILLE: Mapping[CaseStanding, int] = {
    CaseStanding.UNDISPUTED: 1000,
    CaseStanding.WON: 1000,
    CaseStanding.DISPUTED: 980,
    CaseStanding.HELD: 900,
    CaseStanding.LOST: 500,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Traits:
    """What the team knows of a result, by the best of the relationship paths that make it eligible."""

    tier: Tier
    authority: Authority
    currency: Currency
    standing: CaseStanding


@dataclass(frozen=True, slots=True, kw_only=True)
class BranchShare:
    """What one branch adds to a fused score: ``share`` is ``weight * SCALE / (RANK_OFFSET + rank)``, rounded down."""

    branch: Branch
    rank: int
    weight: int
    share: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Ranked:
    """A result with its place, from 1, and everything that the place follows from.

    ``score`` is ``fused`` times the four per mille of its traits, one after the other, each product rounded down.
    """

    fragment_id: FragmentId
    place: int
    score: int
    fused: int
    shares: tuple[BranchShare, ...]
    traits: Traits
    per_mille: tuple[tuple[str, int], ...]


def decide_branch(hits: Sequence[FragmentId], eligible: Collection[FragmentId], limit: int) -> tuple[FragmentId, ...]:
    """The hits that a branch hands over: what is not eligible is left out before the cut and crowds out nothing.

    Args:
        hits: what the branch found, best first; a repeated hit counts where it stands first.
        eligible: the evidence of the team that the view shows.
        limit: how many are handed over.
    """
    return tuple(hit for hit in dict.fromkeys(hits) if hit in eligible)[:limit]


def decide_fusion(
    branches: Mapping[Branch, Sequence[FragmentId]], weights: Mapping[Branch, int] = BRANCH_WEIGHTS
) -> dict[FragmentId, tuple[BranchShare, ...]]:
    """Weighted reciprocal rank fusion: what each branch adds for each hit (R9.1).

    Args:
        branches: what each branch handed over, best first, each hit once.
        weights: the weight of each branch, not negative; only their proportions matter.

    Returns:
        For each hit its shares, in the order of the names of the branches.
    """
    shares: dict[FragmentId, tuple[BranchShare, ...]] = {}
    for branch in sorted(branches):
        for rank, hit in enumerate(branches[branch], start=1):
            weight = weights[branch]
            share = BranchShare(branch=branch, rank=rank, weight=weight, share=weight * SCALE // (RANK_OFFSET + rank))
            shares[hit] = (*shares.get(hit, ()), share)
    return shares


def decide_ranking(
    branches: Mapping[Branch, Sequence[FragmentId]],
    traits: Mapping[FragmentId, Traits],
    *,
    weights: Mapping[Branch, int] = BRANCH_WEIGHTS,
) -> tuple[Ranked, ...]:
    """The order of the results: fused score weighed by tier, authority, validity and case state (R9.3).

    Of two results of which one is at least as good in every rank and every trait, that one is first. Equal scores are
    ordered by tier, authority, validity and case state in turn, and then by id.

    Args:
        branches: what each branch handed over, best first, each hit once.
        traits: what hydration found; a hit without traits is no longer eligible and is left out.
        weights: the weight of each branch.
    """
    scored = [
        _scored(hit, shares, traits[hit]) for hit, shares in decide_fusion(branches, weights).items() if hit in traits
    ]
    scored.sort(key=lambda one: (-one[0], *(-per_mille for _, per_mille in one[2]), one[1]))
    return tuple(
        Ranked(
            fragment_id=hit,
            place=place,
            score=score,
            fused=sum(share.share for share in shares),
            shares=shares,
            traits=traits[hit],
            per_mille=per_mille,
        )
        for place, (score, hit, per_mille, shares) in enumerate(scored, start=1)
    )


def _scored(
    hit: FragmentId, shares: tuple[BranchShare, ...], traits: Traits
) -> tuple[int, FragmentId, tuple[tuple[str, int], ...], tuple[BranchShare, ...]]:
    per_mille = (
        ("tier", TIER_PER_MILLE[traits.tier]),
        ("authority", AUTHORITY_PER_MILLE[traits.authority]),
        ("validity", CURRENCY_PER_MILLE[traits.currency]),
        ("case_state", STANDING_PER_MILLE[traits.standing]),
    )
    score = sum(share.share for share in shares)
    for _, factor in per_mille:
        score = score * factor // 1000
    return score, hit, per_mille, shares
