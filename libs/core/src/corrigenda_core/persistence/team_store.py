"""Makes a team: its row, its clock, its first profile and key, in one transaction of the migrator's role.

A team that does not exist yet has no clock row to lock, so this one write goes past `transaction.py`. What it writes is
outside the ledger; the first revision is the first commit that follows.
"""

from __future__ import annotations

from dataclasses import dataclass

import psycopg

from corrigenda_core.domain.actors import KeyScope
from corrigenda_core.domain.ids import IdRange, KeyId, ProfileId, TeamId
from corrigenda_core.domain.team import TeamPolicy
from corrigenda_core.domain.time import Instant
from corrigenda_core.persistence import tables
from corrigenda_core.persistence.database import Unbounded
from corrigenda_core.persistence.ledger import GENESIS_HASH
from corrigenda_core.persistence.row_writing import writer_of
from corrigenda_core.policy.limits import may_offer
from corrigenda_core.security.keys import PresentedKey, draw_secret, hash_key, key_text

_EVERY_SCOPE = tuple(sorted(scope.value for scope in KeyScope))


@dataclass(frozen=True, slots=True, kw_only=True)
class NewTeam:
    """A team that was made, and the key of its administrator: the only time that it is shown."""

    team_id: TeamId
    profile_id: ProfileId
    key: str


def create_team(
    connection: psycopg.Connection[tuple[object, ...]],
    *,
    name: str,
    admin_name: str,
    driven_from: Instant | None,
    ids: IdRange,
    now: Instant,
    pepper: bytes,
    policy: TeamPolicy | None = None,
) -> NewTeam:
    """Makes a team with its first administrator.

    Args:
        connection: of the role that owns the schema, without an open transaction.
        name: the team's name.
        admin_name: the name of its first profile, whose key may do everything.
        driven_from: where its driven clock begins; ``None`` for a team that is open from the start.
        ids: ids for the team, the profile and the key.
        now: the real time.
        pepper: the secret under which keys are hashed.
        policy: its settings, if not the defaults.

    Raises:
        Refusal: INVALID_FIELD for a driven clock at the ends of the calendar.
    """
    if driven_from is not None:
        may_offer("driven_year", driven_from.year, field="driven_from")
    policy = policy or TeamPolicy()
    team_id, profile_id, key_id = TeamId(ids.nth(0)), ProfileId(ids.nth(1)), KeyId(ids.nth(2))
    secret = draw_secret()
    made = {"team_id": team_id, "revision": 0, "recorded_at": now if driven_from is None else driven_from}
    rows = [
        (
            tables.teams,
            {
                **made,
                "name": name,
                "review_period_days": policy.review_period_days,
                "review_start_minute": policy.review_start_minute,
                "time_zone": policy.time_zone,
                "trusts_declared_groups": policy.trusts_declared_groups,
                "clock_mode": "open" if driven_from is None else "driven",
                "driven_now": driven_from,
                "version": 1,
                "created_at": now,
                "opened_at": now if driven_from is None else Unbounded.END,
            },
        ),
        (
            tables.team_clock,
            {"team_id": team_id, "revision": 0, "closed_at": Unbounded.START, "ledger_head": GENESIS_HASH},
        ),
        (tables.profiles, {**made, "profile_id": profile_id, "name": admin_name}),
        (
            tables.api_keys,
            {
                **made,
                "key_id": key_id,
                "profile_id": profile_id,
                "label": "first administrator",
                "key_hash": hash_key(PresentedKey(key_id=key_id, secret=secret), pepper),
                "scopes": _EVERY_SCOPE,
                "created_at": now,
                "expires_at": Unbounded.END,
                "revoked_at": Unbounded.END,
                "replaces_key_id": None,
            },
        ),
    ]
    with connection.transaction():
        connection.execute(f"SET LOCAL app.team_id = '{team_id}'")
        for table, row in rows:
            writer = writer_of(table)
            query = writer.insert(writer.text(row))
            connection.execute(query.sql, query.parameters)
    return NewTeam(team_id=team_id, profile_id=profile_id, key=key_text(key_id, secret))
