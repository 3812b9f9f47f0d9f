"""How far each webhook endpoint of a team was told; what it is told are the events themselves, there is no outbox."""

from __future__ import annotations

from sqlalchemy import BigInteger, CheckConstraint, Integer, Text, Uuid

from corrigenda_core.persistence.tables.columns import INSTANT, member_of, optional, refers, required, team_table

# What the deployment calls an endpoint.
ENDPOINT_MAX_BYTES = 64

webhook_cursors = team_table(
    "webhook_cursors",
    required("endpoint", Text, "what the notifier's configuration calls it; neither its URL nor its secret is kept"),
    required("after_revision", BigInteger, "with the next one: what was told last; 0 before the first"),
    required("after_id", Uuid, "an event or an item"),
    *member_of("status", ("delivering", "parked")),
    required("attempts", Integer, "how often the message that follows has failed"),
    required("next_attempt_at", INSTANT, "real time, like the two that follow; -infinity: at once"),
    required("lease_expires_at", INSTANT, "-infinity: not leased"),
    optional("delivered_at", INSTANT, "when something was told last"),
    required("claim_token", BigInteger, "fencing token: rises with every claim"),
    optional("problem", Text, "why the last attempt failed, as a code"),
    CheckConstraint(f"octet_length(endpoint) BETWEEN 1 AND {ENDPOINT_MAX_BYTES}", name="endpoint"),
    CheckConstraint("after_revision >= 0", name="after_revision"),
    CheckConstraint("attempts >= 0", name="attempts"),
    CheckConstraint("(attempts > 0) = (problem IS NOT NULL)", name="problem"),
    CheckConstraint("status = 'delivering' OR attempts > 0", name="parked"),
    refers([], "teams"),
    key=("endpoint",),
    comment="How far a webhook endpoint was told, and who is telling it.",
)
