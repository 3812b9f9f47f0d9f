"""The reviewer's own records: leases, runs, reservations, alerts. None of them is a revision of anything."""

from __future__ import annotations

from sqlalchemy import BigInteger, Boolean, CheckConstraint, Date, Index, Integer, Text, Uuid, text
from sqlalchemy.dialects.postgresql import JSONB

from corrigenda_core.persistence.tables.columns import (
    INSTANT,
    index,
    member_of,
    optional,
    refers,
    required,
    team_table,
)

RUN_KINDS = ("nightly", "requested", "due")
RUN_STATUSES = ("queued", "running", "finished", "failed")
COUNTERS = ("examined", "resolved", "dismissed", "marked_overdue", "kept", "left", "failed")

case_lease = team_table(
    "case_lease",
    required("conflict_id", Uuid),
    required("next_review_at", INSTANT, "team time; infinity once the case is closed"),
    required("claim_token", BigInteger, "fencing token: rises with every claim"),
    required("lease_expires_at", INSTANT, "real time; -infinity: not leased"),
    required("attempts", Integer, "of the night attempts_date"),
    optional("attempts_date", Date),
    optional("last_evaluated_at", INSTANT, "team time"),
    required("on_driven_clock", Boolean, "whether the team's time is a driven one; set by triggers"),
    CheckConstraint("claim_token >= 0", name="claim_token"),
    CheckConstraint("attempts >= 0", name="attempts"),
    refers(["conflict_id"], "conflict_cases"),
    index(
        "case_lease_next_review_at_idx",
        "next_review_at",
        "conflict_id",
        serves="due cases in claim order; whether a driven team is due",
    ),
    # Without the team in front: which teams are due is asked before any team is known.
    Index(
        "case_lease_due_idx",
        "next_review_at",
        "team_id",
        postgresql_where=text("NOT on_driven_clock AND next_review_at < 'infinity'"),
        info={"serves": "which open teams are due"},
    ),
    key=("conflict_id",),
    comment="When a case is looked at next, and who holds it: a claim is not a revision.",
)

review_runs = team_table(
    "review_runs",
    required("run_id", Uuid),
    *member_of("kind", RUN_KINDS),
    *member_of("status", RUN_STATUSES),
    optional("requested_by", Uuid, "the profile that asked for it"),
    optional("local_date", Date, "the team's date of a nightly run"),
    required("policy_version", Text),
    required("claim_token", BigInteger, "fencing token: rises with every claim"),
    required("lease_expires_at", INSTANT, "real time; -infinity: not leased"),
    required("requested_at", INSTANT),
    optional("started_at", INSTANT),
    optional("finished_at", INSTANT),
    *(required(f"{counter}_cases", Integer) for counter in COUNTERS),
    CheckConstraint("(kind = 'nightly') = (local_date IS NOT NULL)", name="local_date"),
    CheckConstraint("(kind = 'requested') = (requested_by IS NOT NULL)", name="requested_by"),
    CheckConstraint("(status IN ('finished', 'failed')) = (finished_at IS NOT NULL)", name="finished_at"),
    CheckConstraint("(status = 'queued') = (started_at IS NULL)", name="started_at"),
    refers(["requested_by"], "profiles", ["profile_id"]),
    index(
        "review_runs_waiting_idx",
        "requested_at",
        "run_id",
        serves="runs to claim, oldest first; which teams have one",
        where="status IN ('queued', 'running')",
    ),
    index("review_runs_requested_at_idx", "requested_at", "run_id", serves="the list of runs by age, paged"),
    index(
        "review_runs_requested_by_idx",
        "requested_by",
        serves="runs that a profile asked for; foreign key to profiles",
        where="requested_by IS NOT NULL",
    ),
    key=("run_id",),
    comment="One run of the reviewer over the cases of a team.",
)

review_reservations = team_table(
    "review_reservations",
    required("local_date", Date),
    required("policy_version", Text),
    required("run_id", Uuid),
    required("reserved_at", INSTANT),
    refers(["run_id"], "review_runs"),
    index("review_reservations_run_id_idx", "run_id", serves="the night of a run; foreign key to review_runs"),
    key=("local_date", "policy_version"),
    comment="The nightly run of a team, a local date and a policy version happens once.",
)

alerts = team_table(
    "alerts",
    required("alert_id", Uuid),
    required("kind", Text),
    optional("conflict_id", Uuid),
    required("reason", Text),
    required("details", JSONB),
    required("raised_at", INSTANT),
    refers(["conflict_id"], "conflict_cases"),
    index("alerts_raised_at_idx", "raised_at", "alert_id", serves="the list of alerts by age, paged"),
    index(
        "alerts_conflict_id_idx",
        "conflict_id",
        serves="alerts of a case; foreign key to conflict_cases",
        where="conflict_id IS NOT NULL",
    ),
    key=("alert_id",),
    comment="Something that a person has to look at, such as exhausted attempts.",
)
