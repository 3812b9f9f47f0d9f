"""What the paths of a result say to its reader: which cases they touch, what marks they bear, how they weigh."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from functools import lru_cache

from corrigenda_core.domain.cases import ConflictCase
from corrigenda_core.domain.evidence import Authority
from corrigenda_core.domain.ids import PositionId, RelationshipId
from corrigenda_core.domain.objects import Polarity
from corrigenda_core.domain.relationships import Relationship, Status
from corrigenda_core.domain.results import EdgeOutline, Mark
from corrigenda_core.policy.ranking import (
    AUTHORITY_PER_MILLE,
    CURRENCY_PER_MILLE,
    STANDING_PER_MILLE,
    TIER_PER_MILLE,
    CaseStanding,
    Currency,
    Traits,
)
from corrigenda_core.policy.visibility import Picture


@dataclass(frozen=True, slots=True, kw_only=True)
class Surroundings:
    """What a view knows around the rows of results.

    Attributes:
        live: live cases whose positions exclude each other at the asked instant.
        shown_resolved: resolved cases that are referred to at that instant.
        resolved: all resolved cases of the view.
        held_against: rows against which their owner holds another statement.
    """

    live: tuple[ConflictCase, ...] = ()
    shown_resolved: tuple[ConflictCase, ...] = ()
    resolved: tuple[ConflictCase, ...] = ()
    held_against: frozenset[RelationshipId] = frozenset()


def decide_surroundings(
    picture: Picture, cases: Iterable[ConflictCase], held_against: Collection[RelationshipId]
) -> Surroundings:
    """What comes with results (R9.2).

    Live cases count where their positions exclude each other at the asked instant, as they were at the view's
    revision; resolved ones are referred to from their cutoff on.

    Args:
        picture: what the view shows of the rows of results and of the members of their cases.
        cases: the cases of the view that those rows take part in, closed ones too.
        held_against: rows that a pending question of their owner names as standing.
    """
    return Surroundings(
        live=picture.live_cases,
        shown_resolved=picture.resolved_cases,
        resolved=tuple(case for case in cases if case.preferred_position_id is not None),
        held_against=frozenset(held_against),
    )


def decide_touched(cases: Iterable[ConflictCase], rows: Collection[RelationshipId]) -> tuple[ConflictCase, ...]:
    """The cases in which one of the rows takes a position, in the order given."""
    return tuple(case for case in cases if any(position_of(case, row) is not None for row in rows))


def position_of(case: ConflictCase, row: RelationshipId) -> PositionId | None:
    """The position that a row takes in a case, if any."""
    return next(
        (
            position.position_id
            for position in case.positions
            if any(member.relationship_id == row for member in position.members)
        ),
        None,
    )


def decide_marks(row: Relationship | EdgeOutline, around: Surroundings) -> tuple[Mark, ...]:
    """What a reader must know before relying on a row, in the order of `Mark`."""
    row_id = row.relationship_id
    taken = [(case, position_of(case, row_id)) for case in around.resolved]
    borne = (
        (Mark.COMPETING, row.status is Status.COMPETING),
        (Mark.HELD_AGAINST, row.status is not Status.COMPETING and row_id in around.held_against),
        (Mark.DISPUTED, any(position_of(case, row_id) is not None for case in around.live)),
        (Mark.PREFERRED, any(position == case.preferred_position_id for case, position in taken)),
        (Mark.OVERRULED_LATER, any(position not in {None, case.preferred_position_id} for case, position in taken)),
        (Mark.NEGATIVE, row.polarity is Polarity.NEGATIVE),
    )
    return tuple([mark for mark, is_borne in borne if is_borne])


def decide_traits(row: Relationship | EdgeOutline, authority: Authority, marks: Collection[Mark]) -> Traits:
    """How a row in force weighs for the fragment that supports it with this authority.

    One that was overruled later is in force only before the cutoff, where it is what held: it loses nothing there.
    """
    standing = CaseStanding.UNDISPUTED
    if Mark.DISPUTED in marks or Mark.COMPETING in marks:
        standing = CaseStanding.DISPUTED
    elif Mark.PREFERRED in marks:
        standing = CaseStanding.WON
    return Traits(tier=row.tier, authority=authority, currency=Currency.IN_FORCE, standing=standing)


def decide_best_traits(traits: Iterable[Traits]) -> Traits:
    """The traits of the best path: the greatest product of what they weigh.

    Raises:
        ValueError: there is no path.
    """
    return max(traits, key=weight_of)


@lru_cache(maxsize=256)
def weight_of(traits: Traits) -> tuple[int, ...]:
    """What orders the paths of one result, the greatest first: the product of their per mille, then each of them."""
    factors = (
        TIER_PER_MILLE[traits.tier],
        AUTHORITY_PER_MILLE[traits.authority],
        CURRENCY_PER_MILLE[traits.currency],
        STANDING_PER_MILLE[traits.standing],
    )
    product = 1
    for factor in factors:
        product *= factor
    return (product, *factors)
