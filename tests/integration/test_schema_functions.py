"""What is answered before a team is known, or across teams: ids and times, never content."""

from collections.abc import Iterator
from datetime import datetime, timedelta
from uuid import UUID

import psycopg
import pytest
from corrigenda_core.persistence.sqlstates import INSTANT_NOT_REACHED, TEAM_NOT_SET
from corrigenda_core.testing.postgres import PostgresCluster, ThrowawayDatabase
from corrigenda_core.testing.sample_rows import write_sample_team
from corrigenda_core.testing.sample_team import SampleTeam, new_id, set_team
from corrigenda_core.testing.sample_transactions import rolled_back, sample_transaction

pytestmark = pytest.mark.database

DAY = timedelta(days=1)
TICK = timedelta(microseconds=1)


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


def as_role(sample: SampleTeam, role: str, team_id: UUID | None = None) -> None:
    """From here on the transaction is the role's, with the team set, or with none."""
    set_team(sample.connection, team_id)
    sample.connection.execute(f"SET LOCAL ROLE {role}")


def rows(sample: SampleTeam, statement: str, *parameters: object) -> list[tuple[object, ...]]:
    return sample.connection.execute(statement, parameters).fetchall()


class TestAuthenticate:
    @pytest.mark.rule("R11.1")
    @pytest.mark.parametrize("role", ["corrigenda_ingest", "corrigenda_conflict", "corrigenda_recall"])
    def test_a_key_says_whose_it_is(self, sample: SampleTeam, role: str) -> None:
        as_role(sample, role)
        found = rows(
            sample,
            "SELECT team_id, profile_id, key_id, scopes, expires_at::text, revoked_at::text FROM authenticate(%s, %s)",
            sample.key_id,
            sample.key_hash,
        )
        key = (sample.team_id, sample.owner_a, sample.key_id, ["read", "write"], "infinity", "infinity")
        assert found == [key]

    def test_a_wrong_secret_and_a_missing_key_look_the_same(self, sample: SampleTeam) -> None:
        as_role(sample, "corrigenda_ingest")
        assert rows(sample, "SELECT * FROM authenticate(%s, %s)", sample.key_id, bytes(32)) == []
        assert rows(sample, "SELECT * FROM authenticate(%s, %s)", new_id(), sample.key_hash) == []

    def test_a_revoked_key_is_returned_as_revoked(self, sample: SampleTeam) -> None:
        sample.update("api_keys", {"key_id": sample.key_id}, revoked_at=sample.recorded_at)
        as_role(sample, "corrigenda_ingest")
        found = rows(sample, "SELECT revoked_at FROM authenticate(%s, %s)", sample.key_id, sample.key_hash)
        assert found == [(sample.recorded_at,)]


class TestDueTeams:
    def due(self, sample: SampleTeam, limit: int = 10) -> list[object]:
        with sample.connection.transaction(force_rollback=True):
            as_role(sample, "corrigenda_reviewer")
            return [team_id for (team_id,) in rows(sample, "SELECT due_teams(%s)", limit)]

    def drive(self, sample: SampleTeam, now: datetime) -> None:
        sample.connection.execute("UPDATE teams SET driven_now = %s WHERE team_id = %s", [now, sample.team_id])

    def lease(self, sample: SampleTeam, assignment: str, *parameters: object) -> None:
        sample.connection.execute(
            f"UPDATE case_lease SET {assignment} WHERE team_id = %s", [*parameters, sample.team_id]
        )

    @pytest.mark.rule("R7.17")
    def test_a_driven_team_is_due_by_its_own_clock(self, sample: SampleTeam) -> None:
        next_review_at = sample.recorded_at + DAY
        self.lease(sample, "next_review_at = %s", next_review_at)
        assert self.due(sample) == []
        self.drive(sample, next_review_at - TICK)
        assert self.due(sample) == []
        self.drive(sample, next_review_at)
        assert self.due(sample) == [sample.team_id]

    @pytest.mark.rule("R7.17")
    def test_a_closed_instant_has_come(self, sample: SampleTeam) -> None:
        self.lease(sample, "next_review_at = %s", sample.recorded_at + DAY)
        sample.connection.execute(
            "UPDATE team_clock SET closed_at = %s WHERE team_id = %s", [sample.recorded_at + DAY, sample.team_id]
        )
        assert self.due(sample) == [sample.team_id]

    @pytest.mark.rule("R7.17")
    def test_an_open_team_is_due_by_real_time(self, sample: SampleTeam) -> None:
        sample.connection.execute(
            "UPDATE teams SET clock_mode = 'open', driven_now = NULL, opened_at = created_at WHERE team_id = %s",
            [sample.team_id],
        )
        self.lease(sample, "next_review_at = clock_timestamp() + interval '1 hour'")
        assert self.due(sample) == []
        self.lease(sample, "next_review_at = clock_timestamp() - interval '1 hour'")
        assert self.due(sample) == [sample.team_id]

    @pytest.mark.rule("R7.18")
    def test_a_held_case_is_not_due_until_its_lease_ends_in_real_time(self, sample: SampleTeam) -> None:
        self.lease(sample, "next_review_at = %s", sample.recorded_at - DAY)
        self.lease(sample, "lease_expires_at = clock_timestamp() + interval '1 minute'")
        assert self.due(sample) == []
        self.lease(sample, "lease_expires_at = clock_timestamp() - interval '1 second'")
        assert self.due(sample) == [sample.team_id]

    @pytest.mark.rule("R7.20")
    def test_a_queued_run_makes_its_team_due(self, sample: SampleTeam) -> None:
        sample.connection.execute(
            "INSERT INTO review_runs SELECT (jsonb_populate_record(r, jsonb_build_object('run_id', %s::uuid, "
            "'kind', 'requested', 'status', 'queued', 'requested_by', %s::uuid, 'local_date', NULL, "
            "'started_at', NULL, 'finished_at', NULL))).* FROM review_runs AS r WHERE team_id = %s",
            [new_id(), sample.owner_a, sample.team_id],
        )
        assert self.due(sample) == [sample.team_id]

    def test_the_longest_waiting_team_comes_first_and_the_limit_holds(self, sample: SampleTeam) -> None:
        other = write_sample_team(sample.connection)
        self.lease(sample, "next_review_at = %s", sample.recorded_at - DAY)
        sample.connection.execute(
            "UPDATE case_lease SET next_review_at = %s WHERE team_id = %s",
            [sample.recorded_at - 2 * DAY, other.team_id],
        )
        assert self.due(sample) == [other.team_id, sample.team_id]
        assert self.due(sample, 1) == [other.team_id]

    @pytest.mark.rule("R7.17")
    def test_a_team_that_is_opened_is_due_by_real_time_from_then_on(self, sample: SampleTeam) -> None:
        """Its leases were written on a driven clock, and no other index finds an open team."""
        self.lease(sample, "next_review_at = clock_timestamp() - interval '1 hour'")
        assert self.due(sample) == []
        sample.connection.execute(
            "UPDATE teams SET clock_mode = 'open', driven_now = NULL, opened_at = created_at WHERE team_id = %s",
            [sample.team_id],
        )
        assert self.due(sample) == [sample.team_id]
        self.lease(sample, "next_review_at = 'infinity'")
        assert self.due(sample) == []

    @pytest.mark.rule("R7.17")
    def test_a_poll_visits_no_team_that_is_not_due(self, sample: SampleTeam) -> None:
        """A thousand open teams, each with a case for later: the poll reads none of them."""
        connection = sample.connection
        connection.execute("SET LOCAL session_replication_role = replica")
        connection.execute(
            "INSERT INTO teams SELECT (jsonb_populate_record(t, jsonb_build_object('team_id', gen_random_uuid(), "
            "'clock_mode', 'open', 'driven_now', NULL, 'opened_at', t.created_at))).* "
            "FROM teams AS t, generate_series(1, 1000) WHERE team_id = %s",
            [sample.team_id],
        )
        connection.execute(
            "INSERT INTO team_clock SELECT t.team_id, c.revision, c.closed_at, c.ledger_head "
            "FROM teams AS t, team_clock AS c WHERE c.team_id = %(team)s AND t.team_id <> %(team)s",
            {"team": sample.team_id},
        )
        connection.execute(
            "INSERT INTO case_lease SELECT t.team_id, gen_random_uuid(), clock_timestamp() + interval '1 hour', 0, "
            "'-infinity', 0, NULL, NULL, false FROM teams AS t WHERE t.clock_mode = 'open'",
        )
        connection.execute("SET LOCAL session_replication_role = origin")
        connection.execute("ANALYZE teams, team_clock, case_lease, review_runs")
        touched = (
            "SELECT coalesce(sum(seq_tup_read + idx_tup_fetch), 0)::integer FROM pg_stat_xact_user_tables "
            "WHERE relname IN ('teams', 'team_clock', 'case_lease', 'review_runs')"
        )
        ((before,),) = rows(sample, touched)
        assert self.due(sample) == []
        ((after,),) = rows(sample, touched)
        assert isinstance(before, int)
        assert isinstance(after, int)
        assert after - before < 20


class TestReviewGauges:
    def gauges(self, sample: SampleTeam) -> dict[tuple[object, object], tuple[object, object]]:
        with sample.connection.transaction(force_rollback=True):
            as_role(sample, "corrigenda_reviewer")
            found = rows(sample, "SELECT gauge, state, number, oldest_seconds FROM review_gauges()")
        return {(gauge, state): (number, oldest) for gauge, state, number, oldest in found}

    def test_live_cases_are_counted_with_their_age_in_team_time(self, sample: SampleTeam) -> None:
        opened = sample.connection.execute("SELECT opened_at FROM conflict_cases").fetchone()
        assert opened is not None
        sample.connection.execute(
            "UPDATE teams SET driven_now = %s WHERE team_id = %s", [opened[0] + DAY, sample.team_id]
        )
        assert self.gauges(sample)["cases", "open"] == (1, 86_400.0)

    @pytest.mark.parametrize(
        ("assignment", "state"),
        [
            ("lease_expires_at = clock_timestamp() + interval '1 minute'", "held"),
            ("lease_expires_at = clock_timestamp() - interval '1 minute'", "abandoned"),
            ("next_review_at = '2000-01-01'", "due"),
            ("next_review_at = '2100-01-01'", "waiting"),
        ],
    )
    def test_leases_are_counted_by_state(self, sample: SampleTeam, assignment: str, state: str) -> None:
        sample.connection.execute(f"UPDATE case_lease SET {assignment} WHERE team_id = %s", [sample.team_id])
        assert [key for key in self.gauges(sample) if key[0] == "leases"] == [("leases", state)]

    def test_a_closed_case_is_in_no_gauge(self, sample: SampleTeam) -> None:
        sample.connection.execute("UPDATE case_lease SET next_review_at = 'infinity'")
        assert [key for key in self.gauges(sample) if key[0] == "leases"] == []


class TestStaleTeams:
    def stale(self, sample: SampleTeam) -> list[object]:
        with sample.connection.transaction(force_rollback=True):
            as_role(sample, "corrigenda_indexer")
            return [team_id for (team_id,) in rows(sample, "SELECT stale_teams(10)")]

    def test_a_team_is_stale_while_an_intent_waits(self, sample: SampleTeam) -> None:
        assert self.stale(sample) == [sample.team_id]
        with sample.connection.transaction():
            as_role(sample, "corrigenda_indexer", sample.team_id)
            sample.connection.execute("UPDATE search_refresh_intents SET consumed_at = clock_timestamp()")
            sample.connection.execute("RESET ROLE")
        assert self.stale(sample) == []


class TestCloseInstant:
    def close(self, sample: SampleTeam, instant: datetime, team_id: UUID | None) -> object:
        with sample.connection.transaction():
            as_role(sample, "corrigenda_recall", team_id)
            ((closed_at,),) = rows(sample, "SELECT close_instant(%s)", instant)
            sample.connection.execute("RESET ROLE")
        return closed_at

    def clock(self, sample: SampleTeam) -> tuple[object, ...]:
        (clock,) = rows(sample, "SELECT revision, closed_at FROM team_clock WHERE team_id = %s", sample.team_id)
        return clock

    @pytest.mark.rule("R8.1")
    def test_an_instant_that_has_come_is_settled_once(self, sample: SampleTeam) -> None:
        revision, before = self.clock(sample)
        assert isinstance(before, datetime)
        sample.connection.execute("UPDATE teams SET driven_now = %s WHERE team_id = %s", [before + DAY, sample.team_id])
        assert self.close(sample, before + DAY, sample.team_id) == before + DAY
        assert self.clock(sample) == (revision, before + DAY)
        assert self.close(sample, before, sample.team_id) == before + DAY
        assert self.clock(sample) == (revision, before + DAY)

    @pytest.mark.rule("R8.1")
    def test_the_future_is_refused(self, sample: SampleTeam) -> None:
        _, closed_at = self.clock(sample)
        assert isinstance(closed_at, datetime)
        with pytest.raises(psycopg.Error) as refused:
            self.close(sample, closed_at + TICK, sample.team_id)
        assert refused.value.sqlstate == INSTANT_NOT_REACHED
        assert self.clock(sample) == (1, closed_at)

    @pytest.mark.parametrize("team_id", [None, new_id()])
    def test_it_needs_a_team(self, sample: SampleTeam, team_id: UUID | None) -> None:
        with pytest.raises(psycopg.Error) as refused:
            self.close(sample, sample.recorded_at, team_id)
        assert refused.value.sqlstate == TEAM_NOT_SET
