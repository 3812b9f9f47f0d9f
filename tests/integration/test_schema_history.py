"""Versions follow each other without a gap, and each role's part in them: history, the reviewer's, the clock's."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import psycopg
import pytest
from corrigenda_core.persistence.sqlstates import HISTORY_BROKEN, LIFECYCLE_REFUSED
from corrigenda_core.persistence.tables import metadata
from corrigenda_core.testing.postgres import PostgresCluster, ThrowawayDatabase
from corrigenda_core.testing.sample_team import SampleTeam, closed_state, new_id
from corrigenda_core.testing.sample_transactions import rolled_back, sample_transaction, sqlstate_at_commit
from psycopg import errors

pytestmark = pytest.mark.database

JANUARY, MARCH, MAY, JULY = (datetime(2026, month, 1, tzinfo=UTC) for month in (1, 3, 5, 7))


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


class TestHistory:
    @pytest.mark.promise("kept.versions")
    def test_every_version_is_kept_without_a_gap(self, sample: SampleTeam) -> None:
        for version, end in enumerate((JULY, MAY, MARCH), start=2):
            sample.close_relationship_a(end, version=version)
            sample.next_revision()
        rows = sample.connection.execute(
            "SELECT version, recorded_to = coalesce(lead(recorded_from) OVER (ORDER BY version), 'infinity') "
            "FROM relationships_history WHERE team_id = %s AND relationship_id = %s ORDER BY version",
            [sample.team_id, sample.relationship_a],
        ).fetchall()
        assert rows == [(1, True), (2, True), (3, True), (4, True)]

    @pytest.mark.parametrize("table", sorted(name for name in metadata.tables if name.endswith("_history")))
    def test_the_last_version_is_the_row(self, sample: SampleTeam, table: str) -> None:
        sample.close_relationship_a(MARCH)
        columns = [column.name for column in metadata.tables[table.removesuffix("_history")].columns]
        current = ", ".join(f"c.{name}" for name in columns)
        kept = ", ".join(f"h.{'recorded_from' if name == 'recorded_at' else name}" for name in columns)
        key = " AND ".join(
            f"h.{column.name} = c.{column.name}"
            for column in metadata.tables[table.removesuffix("_history")].primary_key.columns
        )
        (different,) = sample.connection.execute(
            f"SELECT count(*) FROM {table.removesuffix('_history')} AS c LEFT JOIN {table} AS h "
            f"ON {key} AND h.recorded_to = 'infinity' WHERE ({current}) IS DISTINCT FROM ({kept})"
        ).fetchone() or (None,)
        assert different == 0

    @pytest.mark.parametrize(
        "values",
        [
            {"version": 3},
            {"version": 1},
            {"version": 2, "revision": 1},
            {"version": 2, "recorded_at": datetime(2026, 6, 1, 12, tzinfo=UTC)},
            {"version": 2, "first_recorded_at": JANUARY},
        ],
        ids=str,
    )
    def test_a_version_goes_on_from_the_last_one(self, sample: SampleTeam, values: dict[str, object]) -> None:
        with pytest.raises(psycopg.Error) as refused:
            sample.update("relationships", {"relationship_id": sample.relationship_a}, **values)
        assert refused.value.sqlstate == HISTORY_BROKEN

    def test_the_owner_of_a_row_never_changes(self, sample: SampleTeam) -> None:
        with pytest.raises(psycopg.Error) as refused:
            sample.update(
                "relationships", {"relationship_id": sample.relationship_a}, version=2, owner_id=sample.owner_b
            )
        assert refused.value.sqlstate == HISTORY_BROKEN

    def test_the_first_version_is_one(self, sample: SampleTeam) -> None:
        with pytest.raises(psycopg.Error) as refused:
            sample.relationship(new_id(), sample.owner_a, sample.main_id, scope="x", version=2)
        assert refused.value.sqlstate == HISTORY_BROKEN

    def test_two_versions_are_never_current_at_once(self, sample: SampleTeam) -> None:
        sample.close_relationship_a(MARCH)
        sample.connection.execute("SET CONSTRAINTS ALL IMMEDIATE")
        sample.connection.execute("ALTER TABLE relationships_history DISABLE TRIGGER USER")
        with pytest.raises(errors.ExclusionViolation):
            sample.connection.execute(
                "UPDATE relationships_history SET recorded_to = 'infinity' WHERE relationship_id = %s",
                [sample.relationship_a],
            )


REVIEWERS_CHANGES: list[tuple[str, dict[str, object], dict[str, object], str | None]] = [
    ("active to superseded", {}, {"status": "superseded", "valid_to": MARCH}, None),
    ("competing to superseded", {"status": "competing"}, {"status": "superseded", "valid_to": MARCH}, None),
    ("the end stays", {"valid_to": MAY}, {"status": "superseded"}, None),
    ("the end grows", {"valid_to": MARCH}, {"status": "superseded", "valid_to": MAY}, LIFECYCLE_REFUSED),
    ("to retracted", {}, {"status": "retracted", "valid_to": MARCH}, LIFECYCLE_REFUSED),
    ("stays active", {}, {"valid_to": MARCH}, LIFECYCLE_REFUSED),
    ("stays competing alone", {"status": "competing"}, {"valid_to": MARCH}, LIFECYCLE_REFUSED),
    ("competing to active", {"status": "competing"}, {"status": "active", "valid_to": MARCH}, LIFECYCLE_REFUSED),
    ("superseded already", {"status": "superseded"}, {"status": "superseded", "valid_to": MARCH}, LIFECYCLE_REFUSED),
    ("held", {"status": "needs_review"}, {"status": "superseded", "valid_to": MARCH}, LIFECYCLE_REFUSED),
    ("retracted", {"status": "retracted"}, {"status": "superseded", "valid_to": MARCH}, LIFECYCLE_REFUSED),
    ("another tier", {}, {"status": "superseded", "tier": "fact"}, errors.InsufficientPrivilege.sqlstate),
    ("another facet", {}, {"status": "superseded", "facet": 1}, errors.InsufficientPrivilege.sqlstate),
    ("another start", {}, {"status": "superseded", "valid_from": JANUARY}, errors.InsufficientPrivilege.sqlstate),
]


@pytest.mark.rule("R7.19")
@pytest.mark.parametrize(
    ("row", "change", "code"), [case[1:] for case in REVIEWERS_CHANGES], ids=[case[0] for case in REVIEWERS_CHANGES]
)
def test_the_reviewer_only_closes(
    sample: SampleTeam, row: dict[str, object], change: dict[str, object], code: str | None
) -> None:
    relationship_id = new_id()
    sample.relationship(relationship_id, sample.owner_b, sample.main_id, scope="test", **row)
    sample.next_revision()
    sample.connection.execute("SET LOCAL ROLE corrigenda_reviewer")
    found = None
    try:
        sample.update("relationships", {"relationship_id": relationship_id}, version=2, **change)
    except psycopg.Error as error:
        found = error.sqlstate
    assert found == code


RIVALS: list[tuple[str, dict[str, object], dict[str, object], str | None]] = [
    ("another side of its dispute", {"status": "competing"}, {"valid_to": MARCH}, None),
    ("a side that ends with it", {"status": "competing", "valid_to": MARCH}, {"valid_to": MARCH}, None),
    ("a record beside it", {"record": True}, {"valid_to": MARCH}, None),
    ("the end grows", {"status": "competing"}, {"valid_to": JULY}, LIFECYCLE_REFUSED),
    ("becomes active", {"status": "competing"}, {"status": "active", "valid_to": MARCH}, LIFECYCLE_REFUSED),
    ("one after it", {"status": "competing", "valid_from": MARCH}, {"valid_to": MARCH}, LIFECYCLE_REFUSED),
    ("in another facet", {"status": "competing", "facet": 1}, {"valid_to": MARCH}, LIFECYCLE_REFUSED),
    ("one that is held", {"status": "needs_review"}, {"valid_to": MARCH}, LIFECYCLE_REFUSED),
    ("another owner's", {"owner": "a"}, {"valid_to": MARCH}, LIFECYCLE_REFUSED),
]


@pytest.mark.rule("R7.16", "R7.19")
@pytest.mark.parametrize(("rival", "change", "code"), [case[1:] for case in RIVALS], ids=[case[0] for case in RIVALS])
def test_a_side_stays_competing_only_beside_another_of_its_owner(
    sample: SampleTeam, rival: dict[str, object], change: dict[str, object], code: str | None
) -> None:
    relationship_id, values = new_id(), {name: value for name, value in rival.items() if name != "owner"}
    owner = sample.owner_a if "owner" in rival else sample.owner_b
    between = {"valid_from": JANUARY, "valid_from_basis": "evidence_time"}
    sample.relationship(
        relationship_id, sample.owner_b, sample.main_id, scope="test", **between, valid_to=MAY, status="competing"
    )
    sample.relationship(new_id(), owner, sample.release_id, scope="test", **{**between, **values})
    sample.next_revision()
    sample.connection.execute("SET LOCAL ROLE corrigenda_reviewer")
    found = None
    try:
        sample.update("relationships", {"relationship_id": relationship_id}, version=2, **change)
    except psycopg.Error as error:
        found = error.sqlstate
    assert found == code


@pytest.mark.rule("R7.16")
@pytest.mark.parametrize(
    ("statuses", "code"),
    [
        (("superseded", "superseded"), errors.ExclusionViolation.sqlstate),
        (("competing", "competing"), None),
        (("superseded", "competing"), None),
    ],
)
def test_two_sides_of_one_owner_that_lose_together(
    database: ThrowawayDatabase, statuses: tuple[str, str], code: str | None
) -> None:
    """Both would be values in force of one time; the reviewer's own commit, as its plan is and as it must not be."""

    def write(sample: SampleTeam) -> None:
        sides = [(new_id(), sample.main_id), (new_id(), sample.release_id)]
        for relationship_id, object_id in sides:
            sample.relationship(relationship_id, sample.owner_a, object_id, scope="test", status="competing")
        sample.next_revision()
        sample.connection.execute("SET LOCAL ROLE corrigenda_reviewer")
        for (relationship_id, _), status in zip(sides, statuses, strict=True):
            sample.update(
                "relationships", {"relationship_id": relationship_id}, version=2, status=status, valid_to=MARCH
            )
            sample.transition(
                relationship_id,
                {**closed_state(MARCH), "status": status},
                actor_kind="reviewer",
                actor_profile_id=None,
                conflict_id=sample.conflict_id,
            )

    assert sqlstate_at_commit(database.superuser_url, write) == code


def test_the_same_change_is_nobody_elses_business(sample: SampleTeam) -> None:
    """The trigger binds the reviewer's role alone: the refusals above come from it."""
    sample.connection.execute("SET LOCAL ROLE corrigenda_ingest")
    sample.update("relationships", {"relationship_id": sample.relationship_a}, version=2, status="retracted")


def test_a_look_at_the_reviewers_whole_commit(database: ThrowawayDatabase) -> None:
    """Everything that a resolution writes, written by the reviewer's own role."""

    def write(sample: SampleTeam) -> None:
        sample.connection.execute("SET LOCAL ROLE corrigenda_reviewer")
        sample.close_relationship_a(MARCH, transition=False)
        sample.transition(
            sample.relationship_a,
            closed_state(MARCH),
            actor_kind="reviewer",
            actor_profile_id=None,
            conflict_id=sample.conflict_id,
            closing_at=MARCH,
            closing_facet=0,
            closing_object_key=f"entity:{sample.main_id}",
            closing_polarity="+",
            closing_statement_ids=[sample.observation_id],
            closing_made_for=[],
            closing_conditional=False,
        )
        sample.update(
            "conflict_cases",
            {"conflict_id": sample.conflict_id},
            version=2,
            status="resolved",
            resolved_at=sample.recorded_at,
            effective_at=MARCH,
            effective_time_basis="evidence_time",
            preferred_position_id=sample.position_b,
            resolution_reason="due_majority",
            policy_version="independent-sources/1",
        )
        sample.connection.execute(
            "UPDATE case_lease SET next_review_at = 'infinity', claim_token = claim_token + 1, last_evaluated_at = %s "
            "WHERE team_id = %s AND conflict_id = %s",
            [sample.recorded_at, sample.team_id, sample.conflict_id],
        )
        sample.insert(
            "search_refresh_intents",
            fragment_id=sample.fragment_id,
            reason="eligibility_changed",
            consumed_at="infinity",
        )
        sample.connection.execute(
            "UPDATE team_clock SET revision = revision + 1, closed_at = closed_at + interval '1 minute' "
            "WHERE team_id = %s",
            [sample.team_id],
        )

    assert sqlstate_at_commit(database.superuser_url, write) is None


@pytest.mark.promise("time.driven")
def test_a_clock_never_goes_back(sample: SampleTeam) -> None:
    for statement, parameter in (
        ("UPDATE team_clock SET revision = revision - 1 WHERE team_id = %s", sample.team_id),
        ("UPDATE team_clock SET closed_at = closed_at - interval '1 us' WHERE team_id = %s", sample.team_id),
        ("UPDATE teams SET driven_now = driven_now - interval '1 us' WHERE team_id = %s", sample.team_id),
    ):
        with pytest.raises(psycopg.Error) as refused, sample.connection.transaction():
            sample.connection.execute(statement, [parameter])
        assert refused.value.sqlstate == HISTORY_BROKEN


@pytest.mark.promise("time.driven")
@pytest.mark.rule("R8.4")
def test_a_team_is_opened_for_good(sample: SampleTeam) -> None:
    sample.connection.execute(
        "UPDATE teams SET clock_mode = 'open', driven_now = NULL, opened_at = clock_timestamp() WHERE team_id = %s",
        [sample.team_id],
    )
    with pytest.raises(psycopg.Error) as refused:
        sample.connection.execute(
            "UPDATE teams SET clock_mode = 'driven', driven_now = %s, opened_at = 'infinity' WHERE team_id = %s",
            [sample.recorded_at + timedelta(days=1), sample.team_id],
        )
    assert refused.value.sqlstate == HISTORY_BROKEN
