"""How well supported a relationship is: which supports are effective, and the tier that follows from them."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

from corrigenda_core.domain.evidence import Authority, Impediment, Support, SupportDecision, SupportDecisionKind
from corrigenda_core.domain.relationships import Relationship, Statement, Tier
from corrigenda_core.policy.independence import decide_independent_groups

INDEPENDENT_GROUPS_OF_A_FACT = 2

_SWITCHED_ON = frozenset({SupportDecisionKind.GRANT, SupportDecisionKind.REINSTATE})


def is_support_of(statement: Statement, row: Relationship) -> bool:
    """Whether a support of this statement belongs to this row: same owner, slot with its scope, object, polarity.

    A statement is entailed by definition, so what the verifier did not confirm cannot get here.
    """
    return (
        statement.owner_id == row.owner_id
        and statement.slot == row.slot
        and statement.object.key == row.object.key
        and statement.polarity is row.polarity
    )


def is_effective(decisions: Sequence[SupportDecision], impediments: Collection[Impediment]) -> bool:
    """Whether a support carries its statement now (R4.3).

    Args:
        decisions: the decisions on this support in the order in which they were recorded; only the last one counts.
        impediments: what stands against its fragment now, whoever has adopted the fragment.

    Returns:
        True if the last decision is a grant or a reinstatement and nothing stands against the fragment. A support
        without any decision carries nothing.
    """
    return bool(decisions) and decisions[-1].kind in _SWITCHED_ON and not impediments


def apply_decisions(
    support: Support, decisions: Sequence[SupportDecision], impediments: Collection[Impediment]
) -> Support:
    """The support as it stands now: effective or not, and with the authority that the last decision granted."""
    authority = decisions[-1].authority if decisions else support.authority
    return replace(support, effective=is_effective(decisions, impediments), authority=authority)


def is_carried(supports: Collection[Support]) -> bool:
    """Whether a statement with these supports takes part in its timeline: at least one of them is effective."""
    return any(support.effective for support in supports)


def decide_tier(supports: Collection[Support]) -> Tier:
    """The tier of a relationship: it follows from its supports, and nothing sets it (R4.2).

    Args:
        supports: all supports of the statements that carry the relationship; those without effect say nothing.

    Returns:
        `fact` with an effective authoritative support or two independent groups of effective supports,
        `validated_claim` with any other effective support, `candidate` without one.
    """
    effective = [support for support in supports if support.effective]
    if not effective:
        return Tier.CANDIDATE
    if any(support.authority is Authority.AUTHORITATIVE for support in effective):
        return Tier.FACT
    independent_groups = decide_independent_groups(effective)
    return Tier.FACT if independent_groups >= INDEPENDENT_GROUPS_OF_A_FACT else Tier.VALIDATED_CLAIM
