"""What a recalled relationship tells its reader: marks, the cases that it touches, and how it weighs."""

from __future__ import annotations

from collections.abc import Collection
from datetime import UTC, datetime

import pytest
from corrigenda_core.domain.cases import CaseKind, CaseMember, CasePosition, CaseStatus, ConflictCase, SetKey
from corrigenda_core.domain.evidence import Authority
from corrigenda_core.domain.ids import ConflictId, EntityId, PositionId, PredicateKey, ProfileId, RelationshipId
from corrigenda_core.domain.objects import EntityObject, Polarity, Slot
from corrigenda_core.domain.relationships import Relationship, Status, Tier
from corrigenda_core.domain.results import Mark
from corrigenda_core.domain.time import Instant, Interval
from corrigenda_core.policy.ranking import CaseStanding, Currency, Traits
from corrigenda_core.policy.result_paths import (
    Surroundings,
    decide_best_traits,
    decide_marks,
    decide_surroundings,
    decide_touched,
    decide_traits,
    position_of,
    weight_of,
)
from corrigenda_core.policy.visibility import decide_known_picture

PRODUCTION, DEPLOYS_FROM = EntityId("production"), PredicateKey("deploys_from")
MAIN, RELEASE = RelationshipId("main"), RelationshipId("release")


def day(month: int) -> Instant:
    return datetime(2026, month, 1, tzinfo=UTC)


def row(
    name: RelationshipId, *, start: Instant | None = None, end: Instant | None = None, **changes: object
) -> Relationship:
    values = {"status": Status.ACTIVE, "polarity": Polarity.POSITIVE, **changes}
    return Relationship(
        relationship_id=name,
        version=1,
        owner_id=ProfileId(f"owner of {name}"),
        slot=Slot(subject_id=PRODUCTION, predicate=DEPLOYS_FROM),
        object=EntityObject(entity_id=EntityId(name)),
        validity=Interval(start=start, end=end),
        revision=1,
        recorded_at=day(1),
        first_recorded_at=day(1),
        **values,
    )


def case(status: CaseStatus, *, preferred: RelationshipId | None = None, cutoff: Instant | None = None) -> ConflictCase:
    return ConflictCase(
        conflict_id=ConflictId(f"case {status}"),
        set_key=SetKey(kind=CaseKind.CURRENT_STATE, subject_id=PRODUCTION, predicate=DEPLOYS_FROM),
        status=status,
        version=2,
        opened_at=day(6),
        review_due_at=day(7),
        first_contradiction_at=day(6),
        positions=tuple(
            CasePosition(
                position_id=PositionId(f"position {name}"),
                key=f"entity:{name}",
                members=(CaseMember(relationship_id=name, version=1, owner_id=ProfileId("owner")),),
                counted_groups=1,
                authoritative_groups=0,
                support_digest="",
                first_seen_at=day(6),
                last_seen_at=day(6),
            )
            for name in (MAIN, RELEASE)
        ),
        effective_at=cutoff,
        preferred_position_id=None if preferred is None else PositionId(f"position {preferred}"),
    )


OPEN = case(CaseStatus.OPEN)
RESOLVED = case(CaseStatus.RESOLVED, preferred=RELEASE, cutoff=day(3))
DISMISSED = case(CaseStatus.DISMISSED)


def around(valid_at: Instant, *cases: ConflictCase, held_against: Collection[RelationshipId] = ()) -> Surroundings:
    rows = [row(MAIN, end=day(3) if RESOLVED in cases else None), row(RELEASE, start=day(3))]
    return decide_surroundings(decide_known_picture(valid_at, rows, cases), cases, held_against)


@pytest.mark.rule("R9.2")
@pytest.mark.parametrize(
    ("surroundings", "live", "resolved"),
    [
        pytest.param(around(day(5), OPEN), [OPEN], [], id="both sides in force"),
        pytest.param(around(day(2), OPEN), [], [], id="only one side in force then"),
        pytest.param(around(day(3), RESOLVED), [], [RESOLVED], id="from the cutoff on"),
        pytest.param(around(day(2), RESOLVED), [], [], id="before the cutoff"),
        pytest.param(around(day(5), DISMISSED), [], [], id="dismissed"),
    ],
)
def test_cases_come_with_results_where_they_say_something(
    surroundings: Surroundings, live: list[ConflictCase], resolved: list[ConflictCase]
) -> None:
    assert list(surroundings.live) == live
    assert list(surroundings.shown_resolved) == resolved


def test_a_case_is_touched_by_its_members_alone() -> None:
    assert decide_touched([OPEN, RESOLVED], {MAIN}) == (OPEN, RESOLVED)
    assert decide_touched([OPEN, RESOLVED], {RelationshipId("bystander")}) == ()
    assert position_of(OPEN, RELEASE) == "position release"
    assert position_of(OPEN, RelationshipId("bystander")) is None


@pytest.mark.rule("R9.2")
@pytest.mark.parametrize(
    ("asked", "surroundings", "marks"),
    [
        pytest.param(row(MAIN), Surroundings(), [], id="undisputed"),
        pytest.param(row(MAIN), around(day(5), OPEN), [Mark.DISPUTED], id="a member of a live case"),
        pytest.param(row(MAIN), around(day(2), OPEN), [], id="a live case that disputes nothing then"),
        pytest.param(row(RelationshipId("bystander")), around(day(5), OPEN), [], id="no member"),
        pytest.param(row(RELEASE), around(day(5), RESOLVED), [Mark.PREFERRED], id="the winner"),
        pytest.param(row(RELEASE), around(day(2), RESOLVED), [Mark.PREFERRED], id="the winner, before the cutoff"),
        pytest.param(row(MAIN), around(day(2), RESOLVED), [Mark.OVERRULED_LATER], id="the loser, before the cutoff"),
        pytest.param(row(MAIN), around(day(5), held_against={MAIN}), [Mark.HELD_AGAINST], id="a statement held"),
        pytest.param(
            row(MAIN, status=Status.COMPETING), around(day(5), held_against={MAIN}), [Mark.COMPETING], id="competing"
        ),
        pytest.param(
            row(MAIN, polarity=Polarity.NEGATIVE),
            around(day(5), OPEN),
            [Mark.DISPUTED, Mark.NEGATIVE],
            id="a denial in dispute",
        ),
    ],
)
def test_marks(asked: Relationship, surroundings: Surroundings, marks: list[Mark]) -> None:
    assert list(decide_marks(asked, surroundings)) == marks


@pytest.mark.rule("R9.3")
@pytest.mark.parametrize(
    ("marks", "standing"),
    [
        ([], CaseStanding.UNDISPUTED),
        ([Mark.DISPUTED], CaseStanding.DISPUTED),
        ([Mark.COMPETING], CaseStanding.DISPUTED),
        ([Mark.DISPUTED, Mark.PREFERRED], CaseStanding.DISPUTED),
        ([Mark.PREFERRED], CaseStanding.WON),
        ([Mark.OVERRULED_LATER], CaseStanding.UNDISPUTED),
        ([Mark.HELD_AGAINST], CaseStanding.UNDISPUTED),
    ],
)
def test_standing_follows_from_marks(marks: list[Mark], standing: CaseStanding) -> None:
    traits = decide_traits(row(MAIN, tier=Tier.FACT), Authority.PRIMARY, marks)
    assert traits == Traits(tier=Tier.FACT, authority=Authority.PRIMARY, currency=Currency.IN_FORCE, standing=standing)


def test_the_best_path_weighs_for_its_fragment() -> None:
    fact = decide_traits(row(MAIN, tier=Tier.FACT), Authority.UNKNOWN, [])
    claim = decide_traits(row(MAIN, tier=Tier.VALIDATED_CLAIM), Authority.AUTHORITATIVE, [])
    disputed = decide_traits(row(MAIN, tier=Tier.FACT), Authority.AUTHORITATIVE, [Mark.DISPUTED])
    # 1000 * 900 against 950 * 1000 against 1000 * 1000 * 980 per mille.
    assert decide_best_traits([fact, claim]) == claim
    assert decide_best_traits([fact, claim, disputed]) == disputed
    assert weight_of(claim) > weight_of(fact)
    with pytest.raises(ValueError, match="empty"):
        decide_best_traits([])
