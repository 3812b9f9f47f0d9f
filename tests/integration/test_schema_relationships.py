"""The rules that the database enforces on relationships, each by the error code that it answers with."""

from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from typing import NamedTuple

import pytest
from corrigenda_core.testing.postgres import PostgresCluster, ThrowawayDatabase
from corrigenda_core.testing.sample_team import SampleTeam, closed_state, new_id
from corrigenda_core.testing.sample_transactions import rolled_back, sample_transaction, sqlstate_at_commit
from psycopg import errors

pytestmark = pytest.mark.database

JANUARY, MARCH, MAY, JULY = (datetime(2026, month, 1, tzinfo=UTC) for month in (1, 3, 5, 7))
FROM_BASIS = {"valid_from_basis": "evidence_time"}


class Row(NamedTuple):
    """A relationship to insert: which object, and what differs from an active, unbounded, positive statement."""

    is_release: bool
    values: dict[str, object]


def between(start: object, end: object, **values: object) -> dict[str, object]:
    return {"valid_from": start, "valid_to": end, **FROM_BASIS, **values}


@pytest.fixture(scope="module")
def database(cluster: PostgresCluster) -> Iterator[ThrowawayDatabase]:
    with cluster.database() as database:
        yield database


@pytest.fixture(scope="module")
def written(database: ThrowawayDatabase) -> Iterator[SampleTeam]:
    with sample_transaction(database.superuser_url) as sample:
        yield sample


@pytest.fixture
def sample(written: SampleTeam) -> Iterator[SampleTeam]:
    with rolled_back(written) as sample:
        yield sample


def write_rows(sample: SampleTeam, rows: list[Row], owner_of: Callable[[int], object]) -> None:
    for number, row in enumerate(rows):
        # A scope of their own keeps them apart from the sample's own rows.
        values = {"scope": "test", **row.values}
        owner = owner_of(number)
        assert owner in (sample.owner_a, sample.owner_b)
        object_id = sample.release_id if row.is_release else sample.main_id
        sample.relationship(
            new_id(), sample.owner_a if owner == sample.owner_a else sample.owner_b, object_id, **values
        )


MAIN, RELEASE = False, True
VIOLATION = errors.ExclusionViolation.sqlstate
EVENT = {"event": True, "slot_exclusive": False}

OWNERS_ROWS: list[tuple[str, list[Row], str | None]] = [
    ("two values at once", [Row(MAIN, between(JANUARY, MAY)), Row(RELEASE, between(MARCH, JULY))], VIOLATION),
    ("two unbounded values", [Row(MAIN, {}), Row(RELEASE, {})], VIOLATION),
    ("unbounded and later", [Row(MAIN, {}), Row(RELEASE, between(MARCH, "infinity"))], VIOLATION),
    ("an active and a superseded one", [Row(MAIN, {"status": "superseded"}), Row(RELEASE, {})], VIOLATION),
    ("touching intervals", [Row(MAIN, between(JANUARY, MARCH)), Row(RELEASE, between(MARCH, MAY))], None),
    ("a gap", [Row(MAIN, between(JANUARY, MARCH)), Row(RELEASE, between(MAY, JULY))], None),
    ("one closed to nothing", [Row(MAIN, between(MARCH, MARCH)), Row(RELEASE, between(JANUARY, MAY))], None),
    ("competing", [Row(MAIN, {"status": "competing"}), Row(RELEASE, {"status": "competing"})], None),
    ("one held", [Row(MAIN, {}), Row(RELEASE, {"status": "needs_review"})], None),
    ("two facets", [Row(MAIN, {}), Row(RELEASE, {"facet": 1})], None),
    ("two scopes", [Row(MAIN, {}), Row(RELEASE, {"scope": "elsewhere"})], None),
    ("cardinality many", [Row(MAIN, {"slot_exclusive": False}), Row(RELEASE, {"slot_exclusive": False})], None),
    ("opposite polarity", [Row(MAIN, {}), Row(MAIN, {"polarity": "-"})], VIOLATION),
    (
        "an event and its denial",
        [
            Row(MAIN, between(JANUARY, "infinity", **EVENT)),
            Row(MAIN, between(JANUARY, "infinity", **EVENT, polarity="-")),
        ],
        VIOLATION,
    ),
    (
        "an event and the denial of another",
        [
            Row(MAIN, between(JANUARY, "infinity", **EVENT)),
            Row(MAIN, between(MARCH, "infinity", **EVENT, polarity="-")),
        ],
        None,
    ),
    (
        "opposite polarity, cardinality many",
        [Row(MAIN, {"slot_exclusive": False}), Row(MAIN, {"slot_exclusive": False, "polarity": "-"})],
        VIOLATION,
    ),
    (
        "opposite polarity one after the other",
        [Row(MAIN, between(JANUARY, MARCH)), Row(MAIN, between(MARCH, MAY, polarity="-"))],
        None,
    ),
    ("opposite polarity of two objects", [Row(MAIN, {}), Row(RELEASE, {"polarity": "-"})], None),
    (
        "two rows of one start, cardinality many",
        [
            Row(MAIN, between(JANUARY, MARCH, slot_exclusive=False)),
            Row(MAIN, between(JANUARY, MAY, slot_exclusive=False)),
        ],
        VIOLATION,
    ),
    (
        "two rows of one start, one of them empty",
        [Row(MAIN, between(JANUARY, JANUARY)), Row(MAIN, between(JANUARY, MAY))],
        None,
    ),
]


@pytest.mark.promise("time.one-value")
@pytest.mark.rule("R4.1", "R4.8", "R4.11")
@pytest.mark.parametrize(("rows", "code"), [case[1:] for case in OWNERS_ROWS], ids=[case[0] for case in OWNERS_ROWS])
def test_one_owner_says_one_thing_at_a_time(database: ThrowawayDatabase, rows: list[Row], code: str | None) -> None:
    assert (
        sqlstate_at_commit(database.superuser_url, lambda sample: write_rows(sample, rows, lambda _: sample.owner_a))
        == code
    )


@pytest.mark.parametrize("rows", [case[1] for case in OWNERS_ROWS], ids=[case[0] for case in OWNERS_ROWS])
def test_two_owners_may_disagree_in_every_way(database: ThrowawayDatabase, rows: list[Row]) -> None:
    def write(sample: SampleTeam) -> None:
        write_rows(sample, rows, lambda number: (sample.owner_a, sample.owner_b)[number])

    assert sqlstate_at_commit(database.superuser_url, write) is None


def test_a_plan_may_write_in_any_order(database: ThrowawayDatabase) -> None:
    """The new value is written while the old one is still in force; the constraint looks at commit."""

    def write(sample: SampleTeam) -> None:
        sample.relationship(new_id(), sample.owner_a, sample.release_id, **between(MARCH, "infinity"))
        sample.close_relationship_a(MARCH)

    assert sqlstate_at_commit(database.superuser_url, write) is None


@pytest.mark.rule("R4.4")
class TestTransitionRequired:
    def test_a_new_row_without_one(self, database: ThrowawayDatabase) -> None:
        def write(sample: SampleTeam) -> None:
            sample.relationship(new_id(), sample.owner_a, sample.main_id, scope="x", transition=False)

        assert sqlstate_at_commit(database.superuser_url, write) == errors.ForeignKeyViolation.sqlstate

    def test_a_change_without_one(self, database: ThrowawayDatabase) -> None:
        assert (
            sqlstate_at_commit(database.superuser_url, lambda s: s.close_relationship_a(MARCH, transition=False))
            == errors.ForeignKeyViolation.sqlstate
        )

    def test_a_change_with_one(self, database: ThrowawayDatabase) -> None:
        assert sqlstate_at_commit(database.superuser_url, lambda s: s.close_relationship_a(MARCH)) is None

    def test_one_that_says_something_else(self, database: ThrowawayDatabase) -> None:
        def write(sample: SampleTeam) -> None:
            sample.close_relationship_a(MARCH, transition=False)
            sample.transition(sample.relationship_a, closed_state(MARCH) | {"tier": "fact"})

        assert sqlstate_at_commit(database.superuser_url, write) == errors.ForeignKeyViolation.sqlstate

    def test_one_without_a_change(self, database: ThrowawayDatabase) -> None:
        def write(sample: SampleTeam) -> None:
            sample.transition(sample.relationship_a, closed_state(MARCH))

        assert sqlstate_at_commit(database.superuser_url, write) == errors.ForeignKeyViolation.sqlstate

    def test_two_of_one_version(self, sample: SampleTeam) -> None:
        sample.close_relationship_a(MARCH)
        with pytest.raises(errors.UniqueViolation):
            sample.transition(sample.relationship_a, closed_state(MARCH))


BROKEN_ROWS = [
    ({"valid_from": MAY, "valid_to": MARCH, **FROM_BASIS}, "relationships_validity_check"),
    ({"valid_from": "infinity", **FROM_BASIS}, "relationships_validity_check"),
    ({"valid_from": MARCH}, "relationships_start_basis_check"),
    ({"object_entity_id": None}, "relationships_object_check"),
    (
        {"value_type": "text", "value_canonical": "a", "value_unit": "", "value_display": "A"},
        "relationships_object_check",
    ),
    ({"object_entity_id": None, "value_type": "text"}, "relationships_value_check"),
    ({"object_key": "entity:another"}, "relationships_object_key_check"),
    ({"scope": "x" * 513}, "relationships_scope_check"),
    ({"facet": -1}, "relationships_facet_check"),
    ({"status": "forgotten"}, "relationships_status_check"),
    ({"polarity": "?"}, "relationships_polarity_check"),
]


@pytest.mark.rule("R4.5")
@pytest.mark.parametrize(("values", "constraint"), BROKEN_ROWS, ids=[str(case[1]) for case in BROKEN_ROWS])
def test_an_impossible_row_is_refused(sample: SampleTeam, values: dict[str, object], constraint: str) -> None:
    with pytest.raises(errors.CheckViolation) as refused:
        sample.relationship(new_id(), sample.owner_a, sample.main_id, transition=False, **values)
    assert refused.value.diag.constraint_name == constraint


@pytest.mark.rule("R4.5")
@pytest.mark.parametrize("at", [MARCH, "-infinity"])
def test_closed_to_nothing_is_a_value_of_its_own(database: ThrowawayDatabase, at: object) -> None:
    def write(sample: SampleTeam) -> None:
        sample.relationship(new_id(), sample.owner_a, sample.main_id, scope="x", **between(at, at))

    assert sqlstate_at_commit(database.superuser_url, write) is None
