"""Teams and who may act in them: settings, profiles, keys."""

from __future__ import annotations

from sqlalchemy import Boolean, CheckConstraint, Index, Integer, Text, Uuid

from corrigenda_core.domain.actors import KeyScope
from corrigenda_core.persistence.tables.columns import (
    INSTANT,
    TEXTS,
    digest,
    index,
    ledgered,
    member_of,
    optional,
    refers,
    required,
    team_table,
    unique,
)

SCOPES_SQL = ", ".join(f"'{scope}'" for scope in KeyScope)

teams = team_table(
    "teams",
    required("name", Text),
    required("review_period_days", Integer),
    required("review_start_minute", Integer, "local minute of the day at which the nightly run starts"),
    required("time_zone", Text, "IANA name"),
    required("trusts_declared_groups", Boolean),
    *member_of("clock_mode", ("driven", "open")),
    optional("driven_now", INSTANT, "the time of a driven clock; NULL once the team is open"),
    required("version", Integer, "version of the policy; an update names it"),
    required("created_at", INSTANT, "real time"),
    required("opened_at", INSTANT, "real time; infinity: not opened"),
    *ledgered(),
    CheckConstraint("review_period_days BETWEEN 1 AND 30", name="review_period_days"),
    CheckConstraint("review_start_minute BETWEEN 0 AND 1439", name="review_start_minute"),
    CheckConstraint("(clock_mode = 'driven') = (driven_now IS NOT NULL)", name="driven_now"),
    CheckConstraint("(clock_mode = 'driven') = (opened_at = 'infinity')", name="opened_at"),
    CheckConstraint("version >= 1", name="version"),
    index(
        "teams_driven_idx",
        serves="teams whose time does not move by itself: each is asked whether it is due",
        where="clock_mode = 'driven'",
    ),
    key=(),
    comment="One isolation boundary with its policy.",
)

profiles = team_table(
    "profiles",
    required("profile_id", Uuid),
    required("name", Text),
    *ledgered(),
    refers([], "teams"),
    unique("name", name="profiles_name_key"),
    key=("profile_id",),
    comment="An author inside a team.",
)

api_keys = team_table(
    "api_keys",
    required("key_id", Uuid),
    required("profile_id", Uuid),
    required("label", Text, "what it is for, in words"),
    *digest("key_hash"),
    required("scopes", TEXTS),
    required("created_at", INSTANT, "real time, like the two that follow"),
    required("expires_at", INSTANT, "infinity: never"),
    required("revoked_at", INSTANT, "infinity: not revoked"),
    optional("replaces_key_id", Uuid, "the key before it in a rotation"),
    *ledgered(),
    CheckConstraint(f"scopes <@ ARRAY[{SCOPES_SQL}]", name="scopes"),
    refers(["profile_id"], "profiles"),
    refers(["replaces_key_id"], "api_keys", ["key_id"]),
    index(
        "api_keys_replaces_key_id_key",
        "replaces_key_id",
        serves="the successor of a key, at most one; foreign key to api_keys",
        where="replaces_key_id IS NOT NULL",
        is_unique=True,
    ),
    index("api_keys_profile_id_idx", "profile_id", serves="keys of a profile; foreign key to profiles"),
    # Without the team in front: a key says which team it is for, nothing else can.
    Index("api_keys_key_id_idx", "key_id", info={"serves": "authenticate: the key before its team is known"}),
    key=("key_id",),
    comment="A keyed hash of a secret that was shown once, and what it permits.",
)
