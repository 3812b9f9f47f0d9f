"""A reference from one slot to another disputes in the target's slot, and both slots see the same case afterwards."""

import uuid
from dataclasses import replace
from datetime import UTC, datetime

import pytest
from corrigenda_core.domain.actors import Actor, ActorKind
from corrigenda_core.domain.cases import CaseKind
from corrigenda_core.domain.changes import CaseEffect, Changes, OutcomeKind, PlacementOutcome
from corrigenda_core.domain.evidence import Authority, Support
from corrigenda_core.domain.ids import (
    EntityId,
    FragmentId,
    IdRange,
    PredicateKey,
    ProfileId,
    ReferenceId,
    RelationshipId,
    StatementId,
    SupportId,
)
from corrigenda_core.domain.objects import EntityObject, Polarity, Slot
from corrigenda_core.domain.predicates import Predicate
from corrigenda_core.domain.relationships import CrossReference, ReferenceKind, Relationship, Status
from corrigenda_core.domain.slots import PlanContext, SlotView
from corrigenda_core.domain.team import TeamPolicy
from corrigenda_core.domain.time import Interval, Moment, TimeBasis
from corrigenda_core.policy.case_effects import plan_case_effects
from corrigenda_core.policy.case_side import plan_referred_side
from corrigenda_core.policy.view_changes import with_neighbour

PREDICATE = Predicate(key=PredicateKey("deploys_from"))
OURS = Slot(subject_id=EntityId("production"), predicate=PREDICATE.key)
THEIRS = Slot(subject_id=EntityId("staging"), predicate=PREDICATE.key)
NOW = datetime(2026, 6, 1, tzinfo=UTC)


def context(revision: int = 10) -> PlanContext:
    return PlanContext(
        moment=Moment(revision=revision, at=NOW),
        ids=IdRange(base=uuid.UUID(f"00000000-0000-7000-8000-{revision:04x}00000000")),
        actor=Actor(kind=ActorKind.PROFILE, profile_id=ProfileId("b")),
        policy=TeamPolicy(),
    )


def row(name: str, owner: str, slot: Slot) -> Relationship:
    return Relationship(
        relationship_id=RelationshipId(name),
        version=1,
        owner_id=ProfileId(owner),
        slot=slot,
        object=EntityObject(entity_id=EntityId("main")),
        polarity=Polarity.POSITIVE,
        validity=Interval(),
        start_basis=TimeBasis.RECORDED_FALLBACK,
        status=Status.ACTIVE,
        slot_exclusive=True,
        revision=1,
        recorded_at=NOW,
        first_recorded_at=NOW,
    )


def support(of: Relationship) -> Support:
    return Support(
        support_id=SupportId(f"s-{of.relationship_id}"),
        fragment_id=FragmentId(f"f-{of.relationship_id}"),
        author=of.owner_id,
        recorded_at=NOW,
        authority=Authority.PRIMARY,
        content_hash=of.relationship_id,
        relationship_id=of.relationship_id,
    )


TARGET, PLACED = row("target", "a", OURS), row("placed", "b", THEIRS)
VIEW = SlotView(slot=OURS, predicate=PREDICATE, rows=(TARGET,), supports=(support(TARGET),))
CORRECTS = CrossReference(
    reference_id=ReferenceId("x"),
    kind=ReferenceKind.CORRECTS,
    source_id=PLACED.relationship_id,
    target_id=TARGET.relationship_id,
)
PLACEMENT = Changes(
    relationships=(PLACED,),
    supports=(support(PLACED),),
    references=(CORRECTS,),
    outcomes=(
        PlacementOutcome(
            statement_id=StatementId("s"),
            kind=OutcomeKind.INSERTED,
            rule="R4.10",
            relationship_id=PLACED.relationship_id,
        ),
    ),
)


@pytest.mark.rule("R7.1", "R7.2")
def test_a_reference_opens_its_case_where_the_target_lies_and_says_so_to_the_placement() -> None:
    changes = plan_referred_side(VIEW, PLACED, PLACEMENT, context())
    (case,) = changes.cases
    assert (case.set_key.kind, case.set_key.slot) == (CaseKind.REFERENCE, OURS)
    assert {p.key: [m.relationship_id for m in p.members] for p in case.positions} == {
        "corrected": ["placed"],
        "recorded": ["target"],
    }
    (outcome,) = changes.outcomes
    assert (outcome.case_effect, outcome.conflict_id) == (CaseEffect.OPENS_CASE, case.conflict_id)


def test_a_second_reference_joins_the_case() -> None:
    opened = plan_referred_side(VIEW, PLACED, PLACEMENT, context())
    second = replace(PLACED, relationship_id=RelationshipId("second"), owner_id=ProfileId("c"))
    stands = with_neighbour(VIEW, THEIRS, replace(PLACEMENT, cases=opened.cases), joining=PLACED)
    placement = replace(
        PLACEMENT,
        relationships=(second,),
        supports=(support(second),),
        references=(replace(CORRECTS, reference_id=ReferenceId("y"), source_id=second.relationship_id),),
        outcomes=(replace(PLACEMENT.outcomes[0], relationship_id=second.relationship_id),),
    )
    changes = plan_referred_side(stands, second, placement, context(11))
    (case,) = changes.cases
    assert case.conflict_id == opened.cases[0].conflict_id
    assert changes.outcomes[0].case_effect is CaseEffect.JOINS_CASE


def test_the_slot_of_the_placed_row_opens_no_case_that_lies_elsewhere() -> None:
    theirs = SlotView(
        slot=THEIRS,
        predicate=PREDICATE,
        rows=(PLACED,),
        supports=(support(PLACED),),
        references=(CORRECTS,),
        rows_beside=(TARGET,),
        supports_beside=(support(TARGET),),
    )
    assert plan_case_effects(theirs, context()).cases == ()


def test_a_neighbour_takes_over_what_both_slots_know_and_nothing_else() -> None:
    opened = plan_referred_side(VIEW, PLACED, PLACEMENT, context())
    stands = with_neighbour(VIEW, THEIRS, replace(PLACEMENT, cases=opened.cases), joining=PLACED)
    assert stands.rows_beside == (PLACED,)
    assert stands.supports_beside == (support(PLACED),)
    assert stands.references == (CORRECTS,)
    assert stands.cases == opened.cases
    newer = replace(PLACED, version=2, status=Status.RETRACTED)
    stranger = replace(PLACED, relationship_id=RelationshipId("stranger"))
    after = with_neighbour(stands, THEIRS, Changes(relationships=(newer, stranger), supports=(support(stranger),)))
    assert after.rows_beside == (newer,)
    assert after.supports_beside == (support(PLACED),)
