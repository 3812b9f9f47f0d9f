"""Which disagreements about an entity are live: within an owner, between owners, grouped by slot."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime
from itertools import combinations

import pytest
from corrigenda_core.domain.cases import (
    CaseKind,
    CaseMember,
    CasePosition,
    CaseStatus,
    ConflictCase,
    SetKey,
)
from corrigenda_core.domain.competing import CompetingFacts, CompetingSlot
from corrigenda_core.domain.ids import ConflictId, EntityId, ItemId, PositionId, PredicateKey, ProfileId, RelationshipId
from corrigenda_core.domain.items import ItemKind, ItemStatus, ReviewItem
from corrigenda_core.domain.objects import EntityObject, Polarity, Slot
from corrigenda_core.domain.relationships import Relationship, Status
from corrigenda_core.domain.time import ClosedToNothing, Instant, Interval, TimeBasis, Validity
from corrigenda_core.policy.competing import decide_competing
from corrigenda_core.policy.exclusion import is_excluding
from corrigenda_core.policy.validity import is_in_force
from hypothesis import given
from hypothesis import strategies as st

PRODUCTION, DEPLOYS_FROM = EntityId("production"), PredicateKey("deploys_from")
SLOT = Slot(subject_id=PRODUCTION, predicate=DEPLOYS_FROM)


def day(month: int) -> Instant:
    return datetime(2026, month, 1, tzinfo=UTC)


NOW = day(6)
ALWAYS, MARCH_TO_MAY = Interval(), Interval(start=day(3), end=day(5))


def row(
    name: str,
    value: str,
    *,
    owner: str = "ann",
    status: Status = Status.ACTIVE,
    validity: Validity = ALWAYS,
    polarity: str = "+",
    facet: int = 0,
    slot: Slot = SLOT,
    exclusive: bool = True,
    recorded: int = 1,
) -> Relationship:
    return Relationship(
        relationship_id=RelationshipId(name),
        version=1,
        owner_id=ProfileId(owner),
        slot=slot,
        facet=facet,
        object=EntityObject(entity_id=EntityId(value)),
        polarity=Polarity(polarity),
        validity=validity,
        start_basis=TimeBasis.EVIDENCE_TIME if isinstance(validity, Interval) and validity.start else None,
        status=status,
        slot_exclusive=exclusive,
        revision=1,
        recorded_at=day(recorded),
        first_recorded_at=day(recorded),
    )


def case(
    *sides: tuple[str, Iterable[str]],
    kind: CaseKind = CaseKind.CURRENT_STATE,
    status: CaseStatus = CaseStatus.OPEN,
    cutoff: Instant | None = None,
    object_key: str = "",
    name: str = "case",
) -> ConflictCase:
    return ConflictCase(
        conflict_id=ConflictId(name),
        set_key=SetKey(kind=kind, subject_id=PRODUCTION, predicate=DEPLOYS_FROM, object_key=object_key),
        status=status,
        version=1,
        opened_at=day(6),
        review_due_at=day(7),
        first_contradiction_at=day(6),
        positions=tuple(
            CasePosition(
                position_id=PositionId(key),
                key=key,
                members=tuple(
                    CaseMember(relationship_id=RelationshipId(one), version=1, owner_id=ProfileId("somebody"))
                    for one in members
                ),
                counted_groups=1,
                authoritative_groups=0,
                support_digest="",
                first_seen_at=day(6),
                last_seen_at=day(6),
            )
            for key, members in sides
        ),
        effective_at=cutoff,
        preferred_position_id=None if cutoff is None else PositionId(sides[0][0]),
    )


def question(*rows: str, name: str = "item", **changes: object) -> ReviewItem:
    values = {"kind": ItemKind.RELATIONSHIP, "status": ItemStatus.PENDING, **changes}
    return ReviewItem(
        item_id=ItemId(name),
        version=1,
        owner_id=ProfileId("ann"),
        reason="same_moment",
        slot=SLOT,
        incoming=(RelationshipId(rows[0]),),
        opposing=tuple(RelationshipId(one) for one in rows[1:]),
        opened_at=day(6),
        **values,
    )


def competing(
    *rows: Relationship,
    cases: Iterable[ConflictCase] = (),
    items: Iterable[ReviewItem] = (),
    at: Instant = NOW,
    about: str = PRODUCTION,
) -> tuple[CompetingSlot, ...]:
    return decide_competing(EntityId(about), at, rows, tuple(cases), items)


def sides(facts: CompetingFacts) -> dict[str, list[str]]:
    return {side.key: [one.relationship_id for one in side.rows] for side in facts.sides}


def only(slots: tuple[CompetingSlot, ...]) -> CompetingFacts:
    (slot,) = slots
    (facts,) = slot.facts
    assert slot.slot == facts.set_key.slot
    return facts


HELD, COMPETING = Status.NEEDS_REVIEW, Status.COMPETING
X, Y, Z = (row(name, name, status=COMPETING, recorded=n) for n, name in enumerate("xyz", start=1))


@pytest.mark.rule("R9.5")
@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        pytest.param([row("x", "x")], None, id="one value"),
        pytest.param([X, Y], {"entity:x": ["x"], "entity:y": ["y"]}, id="two compete"),
        pytest.param(
            [row("x", "x"), row("y", "y", status=HELD)],
            {"entity:x": ["x"], "entity:y": ["y"]},
            id="one waits beside one in force",
        ),
        pytest.param(
            [row("x", "x", status=HELD), row("y", "y", status=HELD)],
            {"entity:x": ["x"], "entity:y": ["y"]},
            id="both wait",
        ),
        pytest.param(
            [row("x", "x", validity=Interval(start=day(3))), row("y", "y", status=HELD, validity=MARCH_TO_MAY)],
            None,
            id="what waits had ended by then",
        ),
        pytest.param(
            [row("x", "x", status=COMPETING, validity=MARCH_TO_MAY), Y], None, id="one side had ended by then"
        ),
        pytest.param(
            [row("x", "x", status=COMPETING, validity=ClosedToNothing()), Y], None, id="one side is closed to nothing"
        ),
        pytest.param([X, row("y", "y", status=COMPETING, facet=1)], None, id="parted by facets"),
        pytest.param(
            [row("x", "x", facet=1), row("y", "y", facet=2), row("n", "n", status=HELD)],
            {"entity:n": ["n"], "entity:x": ["x"], "entity:y": ["y"]},
            id="held against every facet",
        ),
        pytest.param([row("x", "x"), row("y", "y", facet=1)], None, id="kept side by side"),
        pytest.param([X, row("y", "y", owner="bob", status=COMPETING)], None, id="two owners without a case"),
        pytest.param([X, row("x2", "x", status=HELD, facet=1)], None, id="the same value"),
        pytest.param(
            [row("x", "x", exclusive=False), row("y", "y", exclusive=False, status=HELD)],
            None,
            id="many values may hold",
        ),
        pytest.param(
            [row("x", "x", exclusive=False), row("n", "x", exclusive=False, polarity="-", status=HELD)],
            {"+": ["x"], "-": ["n"]},
            id="asserted and denied",
        ),
        pytest.param(
            [X, row("y", "y", status=COMPETING, slot=Slot(subject_id=PRODUCTION, predicate=DEPLOYS_FROM, scope="eu"))],
            None,
            id="another scope",
        ),
    ],
)
def test_what_one_owner_has_not_settled(rows: list[Relationship], expected: dict[str, list[str]] | None) -> None:
    found = competing(*rows)
    assert (sides(only(found)) if expected else found) == (expected or ())
    if expected:
        assert only(found).conflict_id is None


@pytest.mark.rule("R9.5")
def test_three_sides_are_for_people() -> None:
    two, three = only(competing(X, Y)), only(competing(X, Y, Z))
    assert (two.size, two.needs_person) == (2, False)
    assert (three.size, three.needs_person) == (3, True)
    assert [side.key for side in three.sides] == ["entity:x", "entity:y", "entity:z"]


@pytest.mark.rule("R9.5")
@pytest.mark.parametrize("status", CaseStatus)
def test_owners_disagree_while_their_case_is_live(status: CaseStatus) -> None:
    rows = [row("m", "main"), row("r", "release", owner="bob", validity=Interval(start=day(3)), recorded=2)]
    cutoff = day(4) if status is CaseStatus.RESOLVED else None
    about = case(("entity:main", ["m"]), ("entity:release", ["r"]), status=status, cutoff=cutoff)
    if status in {CaseStatus.OPEN, CaseStatus.OVERDUE}:
        facts = only(competing(*rows, cases=[about]))
        assert sides(facts) == {"entity:main": ["m"], "entity:release": ["r"]}
        assert facts.conflict_id == "case"
        # Before March only one of the two held.
        assert competing(*rows, cases=[about], at=day(2)) == ()
    else:
        assert competing(*rows, cases=[about]) == ()


@pytest.mark.rule("R9.5")
def test_what_an_owner_and_the_team_dispute_is_one_disagreement() -> None:
    rows = [X, Y, row("r", "release", owner="bob", recorded=3), row("x2", "x", owner="bea", recorded=4)]
    about = case(("entity:x", ["x", "x2"]), ("entity:y", ["y"]), ("entity:release", ["r"]))
    facts = only(competing(*rows, cases=[about], items=[question("y", "x")]))
    assert sides(facts) == {"entity:x": ["x", "x2"], "entity:y": ["y"], "entity:release": ["r"]}
    assert (facts.size, facts.needs_person, facts.conflict_id, facts.item_ids) == (3, True, "case", ("item",))


@pytest.mark.rule("R9.5")
def test_a_side_of_a_live_case_is_shown_only_while_it_holds() -> None:
    rows = [row("m", "main"), row("r", "release", owner="bob"), row("t", "trunk", owner="bea", validity=MARCH_TO_MAY)]
    about = case(*((f"entity:{one.object.key.split(':')[1]}", [one.relationship_id]) for one in rows))
    assert only(competing(*rows, cases=[about], at=day(4))).size == 3
    assert sides(only(competing(*rows, cases=[about]))) == {"entity:main": ["m"], "entity:release": ["r"]}


@pytest.mark.rule("R9.5")
def test_a_winner_without_a_start_disputes_nothing_before_its_cutoff() -> None:
    """What counts from a cutoff on takes part in an older dispute of its slot from there on only."""
    won = case(("entity:w", ["w"]), ("entity:l", ["l"]), status=CaseStatus.RESOLVED, cutoff=day(4), name="won")
    live = case(("entity:w", ["w"]), ("entity:n", ["n"]), name="live")
    rows = [row("w", "w"), row("n", "n", owner="bob")]
    assert competing(*rows, cases=[won, live], at=day(3)) == ()
    assert only(competing(*rows, cases=[won, live], at=day(4))).conflict_id == "live"


@pytest.mark.rule("R9.5")
def test_a_case_about_a_reference_has_its_two_sides() -> None:
    rows = [row("m", "main", exclusive=False), row("r", "release", owner="bob", exclusive=False, recorded=2)]
    about = case(("recorded", ["m"]), ("corrected", ["r"]), kind=CaseKind.REFERENCE)
    facts = only(competing(*rows, cases=[about]))
    assert sides(facts) == {"recorded": ["m"], "corrected": ["r"]}
    assert facts.set_key.kind is CaseKind.REFERENCE


@pytest.mark.rule("R9.5")
def test_slots_and_kinds_are_apart() -> None:
    eu = Slot(subject_id=PRODUCTION, predicate=DEPLOYS_FROM, scope="eu")
    rows = [
        X,
        Y,
        row("n", "x", polarity="-", status=HELD),
        row("e1", "x", slot=eu),
        row("e2", "y", slot=eu, status=HELD),
    ]
    first, second = competing(*rows)
    assert [facts.set_key.kind for facts in first.facts] == [CaseKind.CURRENT_STATE, CaseKind.POLARITY]
    assert first.facts[1].set_key.object_key == "entity:x"
    assert (first.slot, second.slot) == (SLOT, eu)


@pytest.mark.rule("R9.5")
@pytest.mark.parametrize(
    ("about", "shown"), [(PRODUCTION, True), ("y", True), ("elsewhere", False)], ids=["subject", "object", "neither"]
)
def test_a_disagreement_is_about_its_subject_and_its_objects(about: str, shown: bool) -> None:
    assert bool(competing(X, Y, about=about)) is shown


@pytest.mark.rule("R9.5")
def test_a_correction_of_another_subject_is_about_both() -> None:
    staging = Slot(subject_id=EntityId("staging"), predicate=DEPLOYS_FROM)
    rows = [row("m", "main"), row("s", "main", owner="bob", slot=staging)]
    about = case(("recorded", ["m"]), ("corrected", ["s"]), kind=CaseKind.REFERENCE)
    assert only(competing(*rows, cases=[about], about="staging")).conflict_id == "case"


@pytest.mark.rule("R9.5")
@pytest.mark.parametrize(
    ("item", "named"),
    [
        (question("y", "x"), True),
        (question("y", "gone"), False),
        (question("y", "x", status=ItemStatus.RESOLVED), False),
        (question("y", "x", kind=ItemKind.WINNER_WITHDRAWN), False),
    ],
)
def test_a_pending_question_about_two_sides_is_named(item: ReviewItem, named: bool) -> None:
    assert only(competing(X, Y, items=[item])).item_ids == (("item",) if named else ())


ROWS = st.lists(
    st.tuples(
        st.sampled_from(["ann", "bob"]),
        st.sampled_from(["x", "y", "z"]),
        st.sampled_from(["+", "+", "-"]),
        st.sampled_from(list(Status)),
        st.sampled_from([Interval(), Interval(start=day(3)), MARCH_TO_MAY, ClosedToNothing()]),
        st.integers(0, 1),
        st.integers(1, 3),
    ),
    max_size=8,
)


@pytest.mark.rule("R9.5")
@given(drawn=ROWS, exclusive=st.booleans(), at=st.sampled_from([day(2), day(4), NOW]), seed=st.randoms())
def test_within_owners_it_is_every_pair_that_is_not_settled(
    drawn: list[tuple[str, str, str, Status, Validity, int, int]], exclusive: bool, at: Instant, seed: object
) -> None:
    """Against a reading of all pairs, one by one; the order in which rows come decides nothing."""
    rows = [
        row(
            f"r{number}",
            value,
            owner=owner,
            polarity=polarity,
            status=status,
            validity=validity,
            facet=facet,
            exclusive=exclusive,
            recorded=recorded,
        )
        for number, (owner, value, polarity, status, validity, facet, recorded) in enumerate(drawn)
    ]
    expected: set[tuple[CaseKind, str]] = set()
    for p, q in combinations(rows, 2):
        claimed = all(
            is_in_force(one.status, one.validity, at)
            or (one.status is HELD and is_in_force(Status.ACTIVE, one.validity, at))
            for one in (p, q)
        )
        open_ = HELD in {p.status, q.status} or (COMPETING in {p.status, q.status} and p.facet == q.facet)
        if p.owner_id == q.owner_id and claimed and open_ and is_excluding(p, q):
            kind = CaseKind.POLARITY if p.object.key == q.object.key else CaseKind.CURRENT_STATE
            expected |= {(kind, p.relationship_id), (kind, q.relationship_id)}
    found = competing(*rows, at=at)
    shown = {
        (facts.set_key.kind, one.relationship_id)
        for slot in found
        for facts in slot.facts
        for side in facts.sides
        for one in side.rows
    }
    assert shown == expected
    assert all(facts.size > 1 for slot in found for facts in slot.facts)
    assert all(facts.needs_person is (facts.size > 2) for slot in found for facts in slot.facts)
    assert competing(*rows[::-1], at=at) == found
