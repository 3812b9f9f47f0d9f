"""The team's clock, its hash chain, and the stored responses that make a repeated request harmless."""

from __future__ import annotations

from sqlalchemy import BigInteger, CheckConstraint, Text, Uuid
from sqlalchemy.dialects.postgresql import BYTEA

from corrigenda_core.persistence.tables.columns import (
    INSTANT,
    acted_by,
    digest,
    ledgered,
    refers,
    required,
    team_table,
    unique,
)

team_clock = team_table(
    "team_clock",
    required("revision", BigInteger, "the last committed revision; 0 before the first"),
    required("closed_at", INSTANT, "no later commit is recorded at or before this instant; -infinity before the first"),
    *digest("ledger_head"),
    CheckConstraint("revision >= 0", name="revision"),
    refers([], "teams"),
    key=(),
    comment="One row per team: the lock that every commit takes first.",
)

ledger = team_table(
    "ledger",
    *ledgered(),
    *digest("prior_hash"),
    *digest("change_hash"),
    *digest("hash"),
    *acted_by(),
    required("change_kind", Text, "what was committed, for readers of the ledger"),
    CheckConstraint("revision >= 1", name="revision"),
    refers([], "teams"),
    # The time of a revision is found by the primary key, the revision of a time by this.
    unique("recorded_at", name="ledger_recorded_at_key"),
    key=("revision",),
    comment="The hash chain: one immutable link per revision.",
)

idempotency_records = team_table(
    "idempotency_records",
    required("profile_id", Uuid),
    required("idempotency_key", Text),
    required("rpc", Text),
    *digest("request_hash"),
    required("response", BYTEA),
    *ledgered(),
    CheckConstraint("char_length(idempotency_key) BETWEEN 1 AND 128", name="idempotency_key"),
    refers(["profile_id"], "profiles"),
    key=("profile_id", "idempotency_key"),
    comment="The stored response of a mutation under its caller's key.",
)
