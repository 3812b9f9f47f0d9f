"""Transactions around a sample team: undone in the end, or asked for the code with which the server refuses."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from uuid import UUID

import psycopg

from corrigenda_core.testing.sample_rows import write_sample_team
from corrigenda_core.testing.sample_team import SampleTeam, set_team


@contextmanager
def sample_transaction(url: str) -> Iterator[SampleTeam]:
    """A sample team in a superuser's transaction that is rolled back in the end."""
    with psycopg.connect(url) as connection:
        sample = write_sample_team(connection)
        # Checks what would be checked at commit, then lets later writes come in any order again.
        connection.execute("SET CONSTRAINTS ALL IMMEDIATE")
        connection.execute("SET CONSTRAINTS ALL DEFERRED")
        yield sample
        connection.rollback()


@contextmanager
def rolled_back(sample: SampleTeam) -> Iterator[SampleTeam]:
    """The sample team at its next revision, for writes that are undone in the end, role and failures included."""
    with sample.connection.transaction(force_rollback=True):
        copy = replace(sample)
        copy.next_revision()
        yield copy


def sqlstate_at_commit(url: str, write: Callable[[SampleTeam], None]) -> str | None:
    """The error code that COMMIT answers after a superuser's ``write``, ``None`` if it goes through.

    The sample team is committed before; ``write`` itself must work.
    """
    with psycopg.connect(url) as connection:
        sample = write_sample_team(connection)
        connection.commit()
        set_team(connection, sample.team_id)
        sample.next_revision()
        write(sample)
        try:
            connection.commit()
        except psycopg.Error as error:
            return error.sqlstate
    return None


SUPERUSER = "a superuser"
"""The role of the test's own connection, where a role is asked for."""


def sqlstate_of(
    sample: SampleTeam,
    role: str,
    statement: str,
    parameters: Sequence[object] = (),
    *,
    granted: str | None = None,
    team_id: UUID | None = None,
) -> str | None:
    """The error code that a role gets for a statement, ``None`` if it goes through; nothing of it stays.

    ``granted`` gives the role rights first (``ALL ON ledger``); the team is the sample's unless ``team_id`` is given.
    """
    connection = sample.connection
    try:
        with connection.transaction(force_rollback=True):
            if granted:
                connection.execute(f"GRANT {granted} TO {role}")
            set_team(connection, team_id or sample.team_id)
            if role != SUPERUSER:
                connection.execute(f"SET LOCAL ROLE {role}")
            connection.execute(statement, parameters or None)
    except psycopg.Error as error:
        return error.sqlstate
    return None
