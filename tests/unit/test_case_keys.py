"""What a case is about, and what tells its positions apart."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from corrigenda_core.domain.cases import CaseKind, SetKey
from corrigenda_core.domain.ids import EntityId, PredicateKey, ProfileId, RelationshipId
from corrigenda_core.domain.objects import EntityObject, Polarity, Slot
from corrigenda_core.domain.relationships import Relationship, Status, Tier
from corrigenda_core.domain.time import ClosedToNothing, Interval, TimeBasis, Validity
from corrigenda_core.policy.case_keys import decide_position_key, decide_row_set_key, decide_set_key

SLOT = Slot(subject_id=EntityId("production"), predicate=PredicateKey("deploys_from"), scope="eu")
MAIN = EntityObject(entity_id=EntityId("main"))


@pytest.mark.rule("R7.3")
@pytest.mark.parametrize(
    ("kind", "object_key"),
    [(CaseKind.CURRENT_STATE, ""), (CaseKind.POLARITY, "entity:main"), (CaseKind.REFERENCE, "")],
)
def test_a_case_is_about_a_slot_and_a_polarity_case_about_one_object_of_it(kind: CaseKind, object_key: str) -> None:
    assert decide_set_key(kind, SLOT, MAIN) == SetKey(
        kind=kind,
        subject_id=EntityId("production"),
        predicate=PredicateKey("deploys_from"),
        scope="eu",
        object_key=object_key,
    )


MONDAY, TUESDAY = datetime(2026, 3, 2, tzinfo=UTC), datetime(2026, 3, 3, tzinfo=UTC)


def visit(validity: Validity, *, event: bool = True) -> Relationship:
    return Relationship(
        relationship_id=RelationshipId("r"),
        version=1,
        owner_id=ProfileId("a"),
        slot=SLOT,
        facet=0,
        object=MAIN,
        polarity=Polarity.POSITIVE,
        validity=validity,
        start_basis=TimeBasis.STATED_TIME,
        status=Status.ACTIVE,
        tier=Tier.VALIDATED_CLAIM,
        event=event,
        revision=1,
        recorded_at=MONDAY,
        first_recorded_at=MONDAY,
    )


@pytest.mark.rule("R7.3")
def test_disputes_about_an_event_on_two_days_are_two() -> None:
    monday, tuesday = (decide_row_set_key(CaseKind.POLARITY, visit(Interval(start=day))) for day in (MONDAY, TUESDAY))
    assert monday != tuesday
    assert (monday.occurred, tuesday.occurred) == (MONDAY, TUESDAY)
    assert monday.of_any_day == tuesday.of_any_day == decide_set_key(CaseKind.POLARITY, SLOT, MAIN)
    assert decide_row_set_key(CaseKind.POLARITY, visit(ClosedToNothing(at=MONDAY))) == monday


@pytest.mark.rule("R7.3")
@pytest.mark.parametrize(
    ("kind", "row"),
    [
        pytest.param(CaseKind.POLARITY, visit(Interval()), id="an event whose day nobody knows"),
        pytest.param(CaseKind.POLARITY, visit(Interval(start=MONDAY), event=False), id="a state"),
        pytest.param(CaseKind.REFERENCE, visit(Interval(start=MONDAY)), id="a reference to an event"),
    ],
)
def test_no_other_case_names_a_day(kind: CaseKind, row: Relationship) -> None:
    assert decide_row_set_key(kind, row) == decide_set_key(kind, SLOT, MAIN)
    assert decide_row_set_key(kind, row).occurred is None


@pytest.mark.rule("R7.4")
@pytest.mark.parametrize(
    ("kind", "key"),
    [(CaseKind.CURRENT_STATE, "entity:main"), (CaseKind.POLARITY, "-"), (CaseKind.REFERENCE, "corrected")],
)
def test_positions_differ_by_object_by_polarity_or_by_who_points(kind: CaseKind, key: str) -> None:
    assert decide_position_key(kind, MAIN, Polarity.NEGATIVE, "corrected") == key
