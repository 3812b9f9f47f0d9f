"""A new team of a running stack, made as an operator makes one, for tests that then ask the services."""

from __future__ import annotations

import psycopg

from corrigenda_core.domain.time import Instant
from corrigenda_core.persistence.team_store import NewTeam, create_team
from corrigenda_core.serving import new_ids, now


def made_team(
    migrator_url: str,
    key_pepper: str,
    *,
    driven_from: Instant | None,
    name: str = "a team",
    admin_name: str = "admin",
) -> NewTeam:
    """A team with an administrator and nobody else.

    Args:
        migrator_url: of the database, as the role that owns the schema.
        key_pepper: the secret under which the services hash keys.
        driven_from: where its driven clock begins; ``None`` for a team that follows real time.
        name: the team's name.
        admin_name: the name of its administrator.
    """
    with psycopg.connect(migrator_url, autocommit=True) as connection:
        return create_team(
            connection,
            name=name,
            admin_name=admin_name,
            driven_from=driven_from,
            ids=new_ids(),
            now=now(),
            pepper=key_pepper.encode(),
        )
