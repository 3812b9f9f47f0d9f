"""Fixtures that many tests share: PostgreSQL, a migrated database, teams in it."""

from collections.abc import Iterator

import pytest
from corrigenda_core.testing.postgres import PostgresCluster, Team, ThrowawayDatabase, add_team, postgres_cluster


@pytest.fixture(scope="session")
def cluster() -> Iterator[PostgresCluster]:
    """The server of this session with a migrated template; started by the first test that needs it."""
    with postgres_cluster() as made:
        yield made


@pytest.fixture(scope="session")
def shared_database(cluster: PostgresCluster) -> Iterator[ThrowawayDatabase]:
    """One migrated database for all tests that keep to a team of their own: nothing crosses a team."""
    with cluster.database() as database:
        yield database


@pytest.fixture
def fresh_database(cluster: PostgresCluster) -> Iterator[ThrowawayDatabase]:
    """A migrated database of the test's own."""
    with cluster.database() as database:
        yield database


@pytest.fixture
def team(shared_database: ThrowawayDatabase) -> Team:
    """An open team with two profiles in the shared database."""
    return add_team(shared_database)
