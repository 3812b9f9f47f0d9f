"""Cases as the database keeps them: one live case for a key, closed for good, a deadline that does not move."""

from collections.abc import Iterator
from datetime import timedelta

import psycopg
import pytest
from corrigenda_core.persistence.sqlstates import HISTORY_BROKEN, LIFECYCLE_REFUSED
from corrigenda_core.testing.postgres import PostgresCluster, ThrowawayDatabase
from corrigenda_core.testing.sample_team import SampleTeam, new_id
from corrigenda_core.testing.sample_transactions import rolled_back, sample_transaction, sqlstate_at_commit
from psycopg import errors

pytestmark = pytest.mark.database


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


def open_case(sample: SampleTeam, **values: object) -> None:
    row: dict[str, object] = {
        "conflict_id": new_id(),
        "kind": "current_state",
        "subject_id": sample.subject_id,
        "predicate": "deploys_from",
        "scope": "",
        "object_key": "",
        "status": "open",
        "version": 1,
        "opened_at": sample.recorded_at,
        "review_due_at": sample.recorded_at + timedelta(days=7),
        "first_contradiction_at": sample.recorded_at,
    }
    sample.insert("conflict_cases", **row | values)


def change_case(sample: SampleTeam, **values: object) -> None:
    sample.update("conflict_cases", {"conflict_id": sample.conflict_id}, **values)
    sample.next_revision()


def resolve(sample: SampleTeam, **values: object) -> None:
    resolution: dict[str, object] = {
        "version": 2,
        "status": "resolved",
        "resolved_at": sample.recorded_at,
        "effective_at": sample.recorded_at,
        "effective_time_basis": "recorded_fallback",
        "preferred_position_id": sample.position_b,
        "resolution_reason": "due_majority",
        "policy_version": "independent-sources/1",
    }
    change_case(sample, **resolution | values)


def dismiss(sample: SampleTeam, version: int = 2) -> None:
    change_case(sample, version=version, status="dismissed", dismissed_at=sample.recorded_at)


@pytest.mark.rule("R7.3")
class TestOneLiveCase:
    def test_a_second_one_of_the_same_key_is_refused(self, sample: SampleTeam) -> None:
        with pytest.raises(errors.UniqueViolation) as refused:
            open_case(sample)
        assert refused.value.diag.constraint_name == "conflict_cases_live_key"

    def test_also_beside_an_overdue_one(self, sample: SampleTeam) -> None:
        change_case(sample, status="overdue")
        with pytest.raises(errors.UniqueViolation):
            open_case(sample)

    @pytest.mark.parametrize("close", [resolve, dismiss])
    def test_a_closed_one_makes_room_for_the_next(self, sample: SampleTeam, close: object) -> None:
        assert callable(close)
        close(sample)
        open_case(sample, previous_conflict_id=sample.conflict_id)

    def test_other_keys_stand_beside_it(self, sample: SampleTeam) -> None:
        open_case(sample, scope="staging")
        open_case(sample, kind="reference")
        open_case(sample, kind="polarity", object_key=f"entity:{sample.main_id}")
        open_case(sample, kind="polarity", object_key=f"entity:{sample.release_id}")

    def test_the_object_is_part_of_polarity_keys_alone(self, sample: SampleTeam) -> None:
        with pytest.raises(errors.CheckViolation), sample.connection.transaction():
            open_case(sample, scope="x", object_key=f"entity:{sample.main_id}")
        with pytest.raises(errors.CheckViolation), sample.connection.transaction():
            open_case(sample, scope="x", kind="polarity")


class TestLifecycle:
    @pytest.mark.rule("R7.3")
    @pytest.mark.parametrize("status", ["open", "overdue", "resolved", "dismissed"])
    @pytest.mark.parametrize("close", [resolve, dismiss])
    def test_a_closed_case_is_never_changed(self, sample: SampleTeam, close: object, status: str) -> None:
        assert callable(close)
        close(sample)
        with pytest.raises(psycopg.Error) as refused:
            change_case(sample, version=3, status=status)
        assert refused.value.sqlstate == LIFECYCLE_REFUSED

    @pytest.mark.rule("R7.13")
    def test_overdue_is_not_undone_but_can_still_be_resolved(self, sample: SampleTeam) -> None:
        change_case(sample, status="overdue")
        with pytest.raises(psycopg.Error) as refused, sample.connection.transaction():
            change_case(sample, status="open")
        assert refused.value.sqlstate == LIFECYCLE_REFUSED
        resolve(sample)

    @pytest.mark.parametrize("status", ["overdue", "resolved", "dismissed"])
    def test_a_case_begins_open(self, sample: SampleTeam, status: str) -> None:
        with pytest.raises(psycopg.Error) as refused:
            open_case(sample, scope="x", status=status)
        assert refused.value.sqlstate == LIFECYCLE_REFUSED

    @pytest.mark.promise("case.deadline")
    @pytest.mark.rule("R7.6")
    @pytest.mark.parametrize("column", ["review_due_at", "opened_at", "first_contradiction_at"])
    def test_its_times_never_move(self, sample: SampleTeam, column: str) -> None:
        with pytest.raises(psycopg.Error) as refused:
            change_case(sample, version=2, **{column: sample.recorded_at})
        assert refused.value.sqlstate == HISTORY_BROKEN

    @pytest.mark.rule("R7.5")
    @pytest.mark.parametrize("version", [0, 3])
    def test_its_version_stays_or_rises_by_one(self, sample: SampleTeam, version: int) -> None:
        with pytest.raises(psycopg.Error) as refused:
            change_case(sample, version=version)
        assert refused.value.sqlstate in (HISTORY_BROKEN, errors.CheckViolation.sqlstate)

    @pytest.mark.rule("R7.5")
    def test_an_overdue_case_keeps_its_version_and_both_versions_of_the_row(self, sample: SampleTeam) -> None:
        change_case(sample, status="overdue")
        rows = sample.connection.execute(
            "SELECT version, status, recorded_to = 'infinity' FROM conflict_cases_history "
            "WHERE team_id = %s ORDER BY revision",
            [sample.team_id],
        ).fetchall()
        assert rows == [(1, "open", False), (1, "overdue", True)]

    @pytest.mark.parametrize(
        "missing", ["effective_at", "preferred_position_id", "resolution_reason", "policy_version", "resolved_at"]
    )
    def test_a_resolution_is_complete(self, sample: SampleTeam, missing: str) -> None:
        with pytest.raises(errors.CheckViolation):
            resolve(sample, **{missing: None})

    @pytest.mark.rule("R7.13")
    def test_no_case_prefers_a_position_before_it_is_resolved(self, sample: SampleTeam) -> None:
        with pytest.raises(errors.CheckViolation):
            change_case(sample, status="overdue", preferred_position_id=sample.position_a)

    def test_the_winner_is_a_position_of_the_case(self, database: ThrowawayDatabase) -> None:
        code = sqlstate_at_commit(database.superuser_url, lambda s: resolve(s, preferred_position_id=new_id()))
        assert code == errors.ForeignKeyViolation.sqlstate


class TestLease:
    @pytest.mark.rule("R7.18")
    @pytest.mark.parametrize("table", ["case_lease", "review_runs", "webhook_cursors"])
    def test_a_fencing_token_never_goes_back(self, sample: SampleTeam, table: str) -> None:
        raised = f"UPDATE {table} SET claim_token = claim_token + 1 WHERE team_id = %s"
        sample.connection.execute(raised, [sample.team_id])
        with pytest.raises(psycopg.Error) as refused:
            sample.connection.execute(raised.replace("+ 1", "- 1"), [sample.team_id])
        assert refused.value.sqlstate == HISTORY_BROKEN

    @pytest.mark.rule("R7.17")
    def test_one_reservation_for_a_team_a_night_and_a_policy(self, sample: SampleTeam) -> None:
        again = (
            "INSERT INTO review_reservations SELECT team_id, local_date + %s, policy_version || %s, run_id, "
            "reserved_at FROM review_reservations WHERE team_id = %s LIMIT 1"
        )
        with pytest.raises(errors.UniqueViolation), sample.connection.transaction():
            sample.connection.execute(again, [0, "", sample.team_id])
        sample.connection.execute(again, [1, "", sample.team_id])
        sample.connection.execute(again, [0, "+", sample.team_id])
