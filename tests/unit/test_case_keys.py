"""What a case is about, and what tells its positions apart."""

from __future__ import annotations

import pytest
from corrigenda_core.domain.cases import CaseKind, SetKey
from corrigenda_core.domain.ids import EntityId, PredicateKey
from corrigenda_core.domain.objects import EntityObject, Polarity, Slot
from corrigenda_core.policy.case_keys import decide_position_key, decide_set_key

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


@pytest.mark.rule("R7.4")
@pytest.mark.parametrize(
    ("kind", "key"),
    [(CaseKind.CURRENT_STATE, "entity:main"), (CaseKind.POLARITY, "-"), (CaseKind.REFERENCE, "corrected")],
)
def test_positions_differ_by_object_by_polarity_or_by_who_points(kind: CaseKind, key: str) -> None:
    assert decide_position_key(kind, MAIN, Polarity.NEGATIVE, "corrected") == key
