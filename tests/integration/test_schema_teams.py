"""Row-level security by itself: no statement below says which team it means."""

from collections.abc import Iterator
from uuid import UUID

import pytest
from corrigenda_core.persistence.roles import MIGRATOR, ROLES
from corrigenda_core.persistence.sqlstates import IMMUTABLE_ROW
from corrigenda_core.persistence.tables import metadata
from corrigenda_core.testing.postgres import PostgresCluster
from corrigenda_core.testing.sample_rows import write_sample_team
from corrigenda_core.testing.sample_team import SampleTeam, new_id, set_team
from corrigenda_core.testing.sample_transactions import sample_transaction, sqlstate_of
from psycopg import errors

pytestmark = [pytest.mark.database, pytest.mark.rule("R11.2")]

TABLES = sorted(metadata.tables)
BOUND_ROLES = [role.name for role in ROLES if not role.bypasses_teams]
# The owners of definer functions look across teams, in exactly these tables; everybody else is bound to one team.
ACROSS_TEAMS = {
    ("corrigenda_definer", "api_keys"),
    ("corrigenda_definer", "case_lease"),
    ("corrigenda_definer", "conflict_cases"),
    ("corrigenda_definer", "review_runs"),
    ("corrigenda_definer", "search_documents"),
    ("corrigenda_definer", "search_refresh_intents"),
    ("corrigenda_definer", "team_clock"),
    ("corrigenda_definer", "teams"),
    ("corrigenda_search", "carriages"),
    ("corrigenda_search", "case_members"),
    ("corrigenda_search", "case_members_history"),
    ("corrigenda_search", "conflict_cases_history"),
    ("corrigenda_search", "entity_names"),
    ("corrigenda_search", "relationships_history"),
    ("corrigenda_search", "search_documents"),
    ("corrigenda_search", "support_decisions"),
    ("corrigenda_search", "supports"),
}


@pytest.fixture(scope="module")
def two_teams(cluster: PostgresCluster) -> Iterator[tuple[SampleTeam, SampleTeam]]:
    with cluster.database() as database, sample_transaction(database.superuser_url) as first:
        yield first, write_sample_team(first.connection)


def teams_seen(sample: SampleTeam, role: str, table: str, setting: UUID | None, *, reset: bool = False) -> set[UUID]:
    """The teams whose rows the role sees with every right on the table, under a setting of the team."""
    with sample.connection.transaction(force_rollback=True):
        sample.connection.execute(f"GRANT SELECT ON {table} TO {role}")
        if reset:
            sample.connection.execute("RESET app.team_id")
        else:
            set_team(sample.connection, setting)
        sample.connection.execute(f"SET LOCAL ROLE {role}")
        rows = sample.connection.execute(f"SELECT DISTINCT team_id FROM {table}").fetchall()
    return {team_id for (team_id,) in rows if isinstance(team_id, UUID)}


def test_every_table_forces_the_policy(two_teams: tuple[SampleTeam, SampleTeam]) -> None:
    first, _ = two_teams
    rows = first.connection.execute(
        "SELECT c.relname FROM pg_class AS c JOIN pg_attribute AS a ON a.attrelid = c.oid AND a.attname = 'team_id' "
        "WHERE c.relkind IN ('r', 'p') AND c.relnamespace = 'public'::regnamespace "
        "AND c.relrowsecurity AND c.relforcerowsecurity"
    ).fetchall()
    assert {name for (name,) in rows} == set(TABLES)
    policies = first.connection.execute(
        "SELECT tablename, policyname, roles::text[], cmd, qual, with_check FROM pg_policies"
    ).fetchall()
    common = {table: rest for table, name, *rest in policies if name == "team_only"}
    condition = "(team_id = (NULLIF(current_setting('app.team_id'::text, true), ''::text))::uuid)"
    assert common == {table: [["public"], "ALL", condition, condition] for table in TABLES}
    special = {
        (roles[0], table)
        for table, name, roles, command, using, _ in policies
        if name != "team_only" and isinstance(roles, list) and (len(roles), command, using) == (1, "SELECT", "true")
    }
    assert special == ACROSS_TEAMS
    assert len(policies) == len(TABLES) + len(ACROSS_TEAMS)


@pytest.mark.promise("apart.twice")
@pytest.mark.parametrize("table", TABLES)
def test_only_the_rows_of_the_transactions_team_are_seen(two_teams: tuple[SampleTeam, SampleTeam], table: str) -> None:
    first, second = two_teams
    both = {first.team_id, second.team_id}
    for role in BOUND_ROLES:
        everything = both if (role, table) in ACROSS_TEAMS else None
        assert teams_seen(first, role, table, first.team_id) == (everything or {first.team_id}), role
        assert teams_seen(first, role, table, second.team_id) == (everything or {second.team_id}), role
        assert teams_seen(first, role, table, new_id()) == (everything or set()), role
        assert teams_seen(first, role, table, None) == (everything or set()), role
        assert teams_seen(first, role, table, None, reset=True) == (everything or set()), role


@pytest.mark.promise("apart.twice")
@pytest.mark.parametrize("table", TABLES)
def test_no_row_of_another_team_is_written(two_teams: tuple[SampleTeam, SampleTeam], table: str) -> None:
    first, second = two_teams
    (row,) = first.connection.execute(
        f"SELECT to_jsonb(t)::text FROM {table} AS t WHERE team_id = %s LIMIT 1", [first.team_id]
    ).fetchone() or (None,)
    insert = f"INSERT INTO {table} SELECT * FROM jsonb_populate_record(NULL::{table}, %s)"
    # The guard of history fires before the policy is asked; both refuse.
    expected = IMMUTABLE_ROW if table.endswith("_history") else errors.InsufficientPrivilege.sqlstate
    for role in BOUND_ROLES:
        granted = f"INSERT ON {table}"
        code = sqlstate_of(first, role, insert, [row], granted=granted, team_id=second.team_id)
        assert code == expected, role


@pytest.mark.parametrize("table", TABLES)
def test_no_row_moves_to_another_team(two_teams: tuple[SampleTeam, SampleTeam], table: str) -> None:
    first, second = two_teams
    move = f"UPDATE {table} SET team_id = %s"
    code = sqlstate_of(first, MIGRATOR, move, [second.team_id])
    assert code in (IMMUTABLE_ROW, errors.InsufficientPrivilege.sqlstate)


@pytest.mark.promise("apart.twice")
@pytest.mark.parametrize("table", TABLES)
def test_the_net_is_the_policy(two_teams: tuple[SampleTeam, SampleTeam], table: str) -> None:
    """The anomaly switch: without row-level security the same statements reach both teams."""
    first, second = two_teams
    (row,) = first.connection.execute(
        f"SELECT to_jsonb(t)::text FROM {table} AS t WHERE team_id = %s LIMIT 1", [first.team_id]
    ).fetchone() or (None,)
    insert = f"INSERT INTO {table} SELECT * FROM jsonb_populate_record(NULL::{table}, %s)"
    with first.connection.transaction(force_rollback=True):
        # A table with checks that wait for the commit cannot be altered.
        first.connection.execute("SET CONSTRAINTS ALL IMMEDIATE")
        first.connection.execute(f"ALTER TABLE {table} DISABLE ROW LEVEL SECURITY")
        assert teams_seen(first, "corrigenda_recall", table, None) == {first.team_id, second.team_id}
        code = sqlstate_of(
            first, "corrigenda_recall", insert, [row], granted=f"INSERT ON {table}", team_id=second.team_id
        )
        # Keys and required columns are all that is left to say so; history has its guard.
        others = {errors.UniqueViolation.sqlstate, errors.NotNullViolation.sqlstate}
        assert code in ({IMMUTABLE_ROW} if table.endswith("_history") else others)


def test_no_service_role_can_step_around_the_policy(two_teams: tuple[SampleTeam, SampleTeam]) -> None:
    first, _ = two_teams
    rows = first.connection.execute(
        "SELECT rolname, rolsuper, rolbypassrls, rolinherit, rolcreaterole, rolcanlogin FROM pg_roles "
        "WHERE rolname = ANY (%s)",
        [[role.name for role in ROLES]],
    ).fetchall()
    assert {name: (bypass, login) for name, _, bypass, _, _, login in rows} == {
        role.name: (role.bypasses_teams, role.login) for role in ROLES
    }
    assert not any(superuser or inherit or create for _, superuser, _, inherit, create, _ in rows)
    members = first.connection.execute(
        "SELECT roleid::regrole::text, member::regrole::text FROM pg_auth_members "
        "WHERE roleid::regrole::text LIKE 'corrigenda\\_%' AND member::regrole::text LIKE 'corrigenda\\_%'"
    ).fetchall()
    assert set(members) == {
        ("corrigenda_definer", "corrigenda_migrator"),
        ("corrigenda_eraser", "corrigenda_migrator"),
        ("corrigenda_search", "corrigenda_migrator"),
    }
