"""Late split and merge: only the caller's observations and rows move."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from corrigenda_core.domain.entities import BoundObservation, Entity
from corrigenda_core.domain.errors import Reason, Refusal
from corrigenda_core.domain.ids import EntityId, PredicateKey, ProfileId, RelationshipId, StatementId
from corrigenda_core.domain.objects import EntityObject, Object, Polarity, Slot, ValueObject, ValueType
from corrigenda_core.policy.identity_correction import DividedRow, IdentityCorrection, plan_merge, plan_split
from hypothesis import given
from hypothesis import strategies as st

ANN, BOB = ProfileId("ann"), ProfileId("bob")
MARK, HUANG, OTHER = EntityId("mark"), EntityId("huang"), EntityId("other")


def entity(entity_id: EntityId) -> EntityObject:
    return EntityObject(entity_id=entity_id)


def observation(
    name: str,
    row: str | None,
    *,
    owner: ProfileId = ANN,
    subject: EntityId | None = MARK,
    predicate: str | None = "maintains",
    of: Object | None = None,
    polarity: Polarity = Polarity.POSITIVE,
) -> BoundObservation:
    return BoundObservation(
        observation_id=StatementId(name),
        owner_id=owner,
        subject_id=subject,
        object=of or ValueObject(type=ValueType.TEXT, canonical="corrigenda"),
        predicate=PredicateKey(predicate) if predicate else None,
        polarity=polarity,
        relationship_id=RelationshipId(row) if row else None,
    )


def split(observations: Sequence[BoundObservation], *chosen: str) -> IdentityCorrection:
    ids = frozenset(StatementId(name) for name in chosen) if chosen else None
    return plan_split(caller=ANN, entity_id=MARK, new_entity_id=HUANG, observations=observations, chosen=ids)


OBSERVATIONS = [
    observation("o1", "r1"),
    observation("o2", "r1"),
    observation("o3", "r2", subject=OTHER, predicate="reviews", of=entity(MARK)),
    observation("o4", "r3", owner=BOB),
    observation("o5", None, predicate=None),
    observation("o6", "r4", subject=OTHER, predicate="reviews", of=entity(OTHER)),
    observation("o7", None, subject=None, of=entity(MARK)),
]


@pytest.mark.rule("R3.9")
def test_a_dry_run_lists_only_what_of_the_caller_may_move_with_before_and_after() -> None:
    plan = split(OBSERVATIONS)
    assert [move.before.observation_id for move in plan.moves] == ["o1", "o2", "o3", "o5", "o7"]
    assert [(move.after.subject_id, move.after.object) for move in plan.moves] == [
        (HUANG, OBSERVATIONS[0].object),
        (HUANG, OBSERVATIONS[1].object),
        (OTHER, entity(HUANG)),
        (HUANG, OBSERVATIONS[4].object),
        (None, entity(HUANG)),
    ]
    assert [move.before for move in plan.moves] == [OBSERVATIONS[n] for n in (0, 1, 2, 4, 6)]
    assert plan.moved_rows == ("r1", "r2")
    assert plan.divided_rows == ()
    assert plan.marked_rows == ()
    assert (plan.owner_id, plan.from_id, plan.to_id) == (ANN, MARK, HUANG)


@pytest.mark.rule("R3.9")
def test_a_split_moves_exactly_the_chosen_and_divides_a_relationship_with_others() -> None:
    plan = split(OBSERVATIONS, "o2", "o3")
    assert [move.before.observation_id for move in plan.moves] == ["o2", "o3"]
    assert plan.moved_rows == ("r2",)
    assert plan.divided_rows == (
        DividedRow(relationship_id=RelationshipId("r1"), moving=(StatementId("o2"),), staying=(StatementId("o1"),)),
    )


@pytest.mark.rule("R3.9")
def test_the_slots_before_and_after_are_folded_again() -> None:
    maintains, reviews = PredicateKey("maintains"), PredicateKey("reviews")
    assert split(OBSERVATIONS, "o1", "o3", "o5").slots == (
        Slot(subject_id=HUANG, predicate=maintains),
        Slot(subject_id=MARK, predicate=maintains),
        Slot(subject_id=OTHER, predicate=reviews),
    )


@pytest.mark.rule("R3.9")
@pytest.mark.parametrize(
    ("chosen", "reason"),
    [
        ((), Reason.INVALID_FIELD),
        (("o1", "missing"), Reason.RESOURCE_NOT_FOUND),
        (("o1", "o4"), Reason.NOT_OWNER),
        # Of several, the refusal names the first by id, however they were chosen.
        (("missing", "nobody's", "o1", "o6", "o4"), Reason.RESOURCE_NOT_FOUND),
        (("o1", "o6"), Reason.INVALID_FIELD),
    ],
)
def test_a_choice_that_is_refused_as_a_whole(chosen: tuple[str, ...], reason: Reason) -> None:
    with pytest.raises(Refusal) as raised:
        plan_split(
            caller=ANN,
            entity_id=MARK,
            new_entity_id=HUANG,
            observations=OBSERVATIONS,
            chosen=[StatementId(name) for name in reversed(chosen)],
        )
    assert (raised.value.reason, raised.value.field) == (reason, "observation_ids")
    if chosen:
        first = min(name for name in chosen if name != "o1")
        assert raised.value.metadata == {"resource_type": "observation", "resource_id": first}


def person(entity_id: EntityId, kind: str = "person") -> Entity:
    return Entity(entity_id=entity_id, kind=kind, names=frozenset({"mark"}))


def merge(observations: Sequence[BoundObservation]) -> IdentityCorrection:
    return plan_merge(caller=ANN, source=person(MARK), target=person(HUANG), observations=observations)


@pytest.mark.rule("R3.9")
def test_a_merge_moves_the_callers_rows_and_marks_others() -> None:
    plan = merge([*OBSERVATIONS, observation("o8", "r8", owner=BOB, subject=HUANG)])
    assert [move.before.observation_id for move in plan.moves] == ["o1", "o2", "o3", "o5", "o7"]
    assert plan.moved_rows == ("r1", "r2")
    assert plan.divided_rows == ()
    assert plan.marked_rows == ("r3",)
    assert plan.collisions == ()


@pytest.mark.rule("R3.9")
def test_rows_that_mean_the_same_after_a_merge_collide() -> None:
    negative = Polarity.NEGATIVE
    plan = merge(
        [
            observation("o1", "r1"),
            observation("o2", "r2", subject=HUANG),
            observation("o3", "r3", subject=HUANG, polarity=negative),
            observation("o4", "r4", owner=BOB, subject=HUANG),
            observation("o0", "r5", subject=OTHER, predicate="reviews", of=entity(MARK)),
            observation("o6", "r6", subject=OTHER, predicate="reviews", of=entity(HUANG)),
            observation("o7", "r7", subject=HUANG, predicate="reviews", of=entity(HUANG)),
            observation("o8", None, subject=HUANG),
        ]
    )
    assert plan.collisions == (("r1", "r2"), ("r5", "r6"))


@pytest.mark.rule("R3.9")
def test_two_episodes_of_one_value_that_move_together_do_not_collide() -> None:
    assert merge([observation("o1", "r1"), observation("o2", "r2")]).collisions == ()


@pytest.mark.rule("R3.9")
@pytest.mark.parametrize("target", [person(MARK), person(HUANG, kind="company")])
def test_a_merge_that_is_refused(target: Entity) -> None:
    with pytest.raises(Refusal) as raised:
        plan_merge(caller=ANN, source=person(MARK), target=target, observations=OBSERVATIONS)
    assert (raised.value.reason, raised.value.field) == (Reason.INVALID_FIELD, "target_entity_id")


@st.composite
def records(draw: st.DrawFn) -> list[BoundObservation]:
    rows = draw(
        st.lists(
            st.tuples(
                st.sampled_from([ANN, BOB]),
                st.sampled_from([MARK, HUANG, OTHER]),
                st.sampled_from([entity(MARK), entity(HUANG), entity(OTHER)]),
                st.integers(1, 3),
            ),
            max_size=5,
        )
    )
    return [
        observation(f"o{row}.{n}", f"r{row}", owner=owner, subject=subject, of=of)
        for row, (owner, subject, of, count) in enumerate(rows)
        for n in range(count)
    ]


@pytest.mark.rule("R3.9")
@given(observations=records(), data=st.data())
def test_a_split_touches_nothing_else_and_a_merge_takes_it_back(
    observations: list[BoundObservation], data: st.DataObject
) -> None:
    new = EntityId("new")
    may = [move.before.observation_id for move in split(observations).moves]
    if not may:
        return
    chosen = data.draw(st.sets(st.sampled_from(may), min_size=1))
    plan = plan_split(caller=ANN, entity_id=MARK, new_entity_id=new, observations=observations, chosen=chosen)
    assert {move.before.observation_id for move in plan.moves} == chosen
    assert all(not move.after.names_entity(MARK) and move.after.names_entity(new) for move in plan.moves)
    touched = set(plan.moved_rows) | {row.relationship_id for row in plan.divided_rows}
    assert touched == {o.relationship_id for o in observations if o.observation_id in chosen}
    assert all(row.moving and row.staying for row in plan.divided_rows)

    after = {move.after.observation_id: move.after for move in plan.moves}
    now = [after.get(o.observation_id, o) for o in observations]
    back = plan_merge(caller=ANN, source=person(new), target=person(MARK), observations=now)
    restored = {move.after.observation_id: move.after for move in back.moves}
    assert [restored.get(o.observation_id, o) for o in now] == observations
    assert back.marked_rows == ()
